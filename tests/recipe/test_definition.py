"""The recipes that come with nmt are found, complete, and consistent with their README."""

import re
from pathlib import Path

import pytest

from nmt_cli.config import resolve
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.recipe.definition import assignments, find_recipe, recipe_names, recipes_folder
from nmt_cli.recipe.ladder import ladder_names
from nmt_cli.recipe.sources import SETS

NAMES = (
    "chat",
    "iwslt14-de-en",
    "iwslt15-en-vi",
    "iwslt17-en-de",
    "iwslt17-en-fr",
    "multi30k-de-en",
    "multi30k-en-de",
    "multi30k-en-fr",
    "software-en-de",
    "tatoeba-back-translation",
    "tatoeba-en-de",
    "tenses",
    "wmt14-en-de",
    "wmt16-en-de",
    "wmt16-ro-en",
    "wmt17-en-de",
)


def test_all_recipes_are_found() -> None:
    assert tuple(recipe_names()) == NAMES
    assert len(NAMES) == 16


def test_every_folder_is_a_recipe() -> None:
    folders = sorted(path.name for path in recipes_folder().iterdir() if path.is_dir())
    assert folders == sorted([*NAMES, *ladder_names()])


@pytest.mark.parametrize("name", NAMES)
class TestEach:
    def test_all_settings_exist(self, name: str) -> None:
        recipe = find_recipe(name).recipe
        for processes in (1, *recipe.processes):
            texts = assignments(recipe.settings) + assignments(recipe.processes.get(processes, {}))
            resolved = resolve(None, texts)
            assert sum(origin == "--set" for origin in resolved.provenance.values()) >= len(set(texts)) - 2

    def test_every_process_count_makes_the_same_updates(self, name: str) -> None:
        recipe = find_recipe(name).recipe
        for settings in recipe.processes.values():
            one, many = ({**recipe.settings["train"], **extra} for extra in ({}, settings["train"]))
            assert one["batch_tokens"] * one["accumulate"] == many["batch_tokens"] * many["accumulate"]  # type: ignore[operator]

    def test_the_readme_names_every_local_file_and_every_published_score(self, name: str) -> None:
        found = find_recipe(name)
        readme = (found.folder / "README.md").read_text("utf-8")
        assert readme.startswith(f"# {name}\n")
        for split in SETS:
            for spec in getattr(found.recipe.local, split):
                for part in re.split(r",| \+ ", spec.partition("#")[0]):
                    assert f"`{part}" in readme, part
        for anchor in found.expected.anchor:
            assert f"{anchor.score:g}" in readme
            assert anchor.source in readme
            assert anchor.source.startswith("https://")

    def test_a_readme_says_if_the_recipe_has_not_been_run(self, name: str) -> None:
        found = find_recipe(name)
        readme = (found.folder / "README.md").read_text("utf-8")
        run_here = name.startswith(("multi30k", "software", "tatoeba", "chat", "tenses"))
        assert ("Not run here" in readme) is not run_here
        assert not (found.expected.band and not run_here)

    def test_several_gpus_are_described(self, name: str) -> None:
        found = find_recipe(name)
        readme = (found.folder / "README.md").read_text("utf-8")
        for processes, settings in found.recipe.processes.items():
            (command,) = re.findall(
                rf"^torchrun --standalone --nproc-per-node {processes} .*",
                readme.replace("\\\n", ""),
                re.MULTILINE,
            )
            expected = assignments(found.recipe.settings) + assignments(settings)
            for text in {text.partition("=")[0]: text for text in expected}.values():
                assert (f"--set {text}" in command) is not text.startswith(("vocabulary.", "data."))
            assert "memory per GPU" in readme


def test_validation_of_en_vi_is_never_the_test_set() -> None:
    corpus = find_recipe("iwslt15-en-vi").recipe.corpus
    assert corpus is not None
    assert all("tst2012" in spec for spec in corpus.valid)


def test_an_unknown_recipe_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        find_recipe("multi30k-deen")
    assert "did you mean multi30k-de-en" in caught.value.message


def test_an_unknown_key_in_a_recipe_is_reported(recipes: Path) -> None:
    path = recipes / "numbers" / "recipe.toml"
    path.write_text(path.read_text("utf-8").replace("title =", "titel ="), "utf-8")
    with pytest.raises(ConfigError) as caught:
        find_recipe("numbers")
    assert "titel" in caught.value.message
    assert "title" in caught.value.message
