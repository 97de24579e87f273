"""A tiny recipe, and corpora in the formats that recipes read."""

from pathlib import Path

import pytest

from nmt_cli.recipe import definition
from nmt_cli.recipe.definition import NamedRecipe, find_recipe
from tests.cli.conftest import nmt

__all__ = ["nmt"]

TINY = """
[settings.model]
embedding_size = 8
hidden_size = 8

[settings.train]
max_updates = 4
max_epochs = 0
warmup_updates = 1
validate_every = 4
validate_sentences = 2
average_best = 1
"""  # a model and a training that take seconds
RECIPE = f"""
title = "Numbers"
source_lang = "de"
target_lang = "en"
pairs = 300
time = "seconds"
license = "none"

[local]
train = ["train"]
valid = ["valid"]
test = ["test"]

[settings.vocabulary]
size = 300
{TINY}
[settings.search]
max_length = 5
"""
EXPECTED = """
test_set = "numbers"
sentences = 5
signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"
"""


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the one recipe `numbers`."""
    folder = tmp_path / "recipes"
    (folder / "numbers").mkdir(parents=True)
    (folder / "numbers" / "recipe.toml").write_text(RECIPE, "utf-8")
    (folder / "numbers" / "expected.toml").write_text(EXPECTED, "utf-8")
    monkeypatch.setattr(definition, "recipes_folder", lambda: folder)
    return folder


@pytest.fixture
def numbers(recipes: Path) -> NamedRecipe:
    """The recipe `numbers`."""
    return find_recipe("numbers")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A folder with train, valid and test of that recipe."""
    folder = tmp_path / "text"
    folder.mkdir()
    for name, count, first in (("train", 300, 0), ("valid", 4, 1000), ("test", 5, 2000)):
        numbers = range(first, first + count)
        (folder / f"{name}.de").write_text("".join(f"Satz Nummer {n}\n" for n in numbers), "utf-8")
        (folder / f"{name}.en").write_text("".join(f"sentence number {n}\n" for n in numbers), "utf-8")
    return folder
