"""Published baselines with one command. Read in this order:

definition   recipe.toml and expected.toml, and where recipes are found
sources      which corpora a recipe reads: on the hub, on the web, or below --data DIR
fetch        downloads them; for --smoke, a few hundred pairs
plan         one `nmt` command per step; recipe.json says which are done
verdict      whether the score is as expected
"""

from nmt_cli.recipe.definition import Expected, NamedRecipe, Recipe, find_recipe, recipe_names
from nmt_cli.recipe.fetch import fetch
from nmt_cli.recipe.plan import Choices, RecipePlan, RecipeStep, StepLog, make_plan
from nmt_cli.recipe.sources import Corpora, choose_corpora
from nmt_cli.recipe.verdict import Verdict, check_score

__all__ = [
    "Choices",
    "Corpora",
    "Expected",
    "NamedRecipe",
    "Recipe",
    "RecipePlan",
    "RecipeStep",
    "StepLog",
    "Verdict",
    "check_score",
    "choose_corpora",
    "fetch",
    "find_recipe",
    "make_plan",
    "recipe_names",
]
