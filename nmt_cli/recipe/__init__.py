"""Published baselines with one command, to be read in this order:

definition   recipe.toml and expected.toml
catalog      where recipes are
sources      which corpora a recipe reads: of the hub, of the web, or below --data DIR
fetch        gets them; for --smoke a few hundred pairs of them
plan         the `nmt` commands of a recipe, one a step
progress     which steps are done
verdict      what a score means
"""

from nmt_cli.recipe.catalog import find_recipe, recipe_names
from nmt_cli.recipe.definition import Expected, Recipe
from nmt_cli.recipe.fetch import fetch
from nmt_cli.recipe.plan import Choices, Plan, Step, make_plan
from nmt_cli.recipe.progress import StepLog
from nmt_cli.recipe.sources import Corpora, choose_corpora
from nmt_cli.recipe.verdict import Verdict, judge

__all__ = [
    "Choices",
    "Corpora",
    "Expected",
    "Plan",
    "Recipe",
    "Step",
    "StepLog",
    "Verdict",
    "choose_corpora",
    "fetch",
    "find_recipe",
    "judge",
    "make_plan",
    "recipe_names",
]
