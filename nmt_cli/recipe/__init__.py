"""Published baselines, and a ladder of systems to learn from, with one command. Read in this order:

definition   recipe.toml and expected.toml, where recipes are found, whether a score is as expected
sources      which corpora a recipe reads: on the hub, on the web, or below --data DIR; how they are downloaded
plan         one `nmt` command per step: preprocess, train, translate, evaluate
step_log     recipe.json says which steps are done
back_translation  adds pairs with back-translated text to the training set of a recipe
ladder       several systems on generated text, from no attention to beam search
ladder_page  their results as a web page
"""

from nmt_cli.recipe.back_translation import make_plan
from nmt_cli.recipe.definition import (
    Expected,
    NamedRecipe,
    Recipe,
    Verdict,
    check_score,
    find_recipe,
    recipe_names,
)
from nmt_cli.recipe.ladder import Ladder, LadderPlan, NamedLadder, find_ladder, ladder_names
from nmt_cli.recipe.plan import Choices, RecipePlan, RecipeStep, StepPlan
from nmt_cli.recipe.sources import Corpora, choose_corpora
from nmt_cli.recipe.step_log import StepLog

__all__ = [
    "Choices",
    "Corpora",
    "Expected",
    "Ladder",
    "LadderPlan",
    "NamedLadder",
    "NamedRecipe",
    "Recipe",
    "RecipePlan",
    "RecipeStep",
    "StepLog",
    "StepPlan",
    "Verdict",
    "check_score",
    "choose_corpora",
    "find_ladder",
    "find_recipe",
    "ladder_names",
    "make_plan",
    "recipe_names",
]
