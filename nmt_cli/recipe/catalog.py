"""Where recipes are: in the folder `recipes` of a checkout, which travels in the package."""

import difflib
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.errors import UsageError
from nmt_cli.recipe.definition import Expected, Recipe, read_expected, read_recipe


@dataclass(frozen=True)
class Found:
    """A recipe by its name."""

    name: str
    folder: Path
    recipe: Recipe
    expected: Expected


def recipes_folder() -> Path:
    """The folder with one folder a recipe."""
    package = Path(__file__).resolve().parent.parent
    # The package has a link to the folder of the checkout; a system without links has the folder itself only.
    return next(
        (folder for folder in (package / "recipes", package.parent / "recipes") if folder.is_dir()),
        package / "recipes",
    )


def recipe_names() -> list[str]:
    """All recipes, in the order of the alphabet."""
    return sorted(path.parent.name for path in recipes_folder().glob("*/recipe.toml"))


def find_recipe(name: str) -> Found:
    """The recipe of this name; of another name, the nearest one is told."""
    names = recipe_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
        nearest = f" (nearest: {near[0]})" if near else ""
        raise UsageError(f"there is no recipe {name}{nearest}", hint="`nmt recipe` lists all of them")
    folder = recipes_folder() / name
    return Found(name, folder, read_recipe(folder), read_expected(folder))
