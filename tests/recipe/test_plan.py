"""The plan: which commands run, which are skipped, and what is never overwritten."""

import json
from pathlib import Path

import pytest

from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.recipe import Choices, RecipePlan, RecipeStep, choose_corpora, make_plan
from nmt_cli.recipe.definition import NamedRecipe


def plan(
    found: NamedRecipe, text: Path, out: Path, *settings: str, smoke: bool = False, overwrite: bool = False
) -> RecipePlan:
    corpora = choose_corpora(found, text, smoke=smoke)
    return make_plan(found, corpora, Choices(out=out, settings=settings, smoke=smoke, overwrite=overwrite))


def pretend(step: RecipeStep, content: str = "{}") -> None:
    """Write something like the result of a step."""
    if step.name in ("preprocess", "train"):
        step.output.mkdir(parents=True, exist_ok=True)
        manifest = {"files": {"model.safetensors": {"sha256": content}}}
        (step.output / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        (step.output / "config.json").write_text(content, "utf-8")
    else:
        step.output.write_text(content, "utf-8")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_each_setting_goes_to_the_step_it_belongs_to(numbers: NamedRecipe, text: Path, out: Path) -> None:
    preprocess, train, translate, evaluate = (
        step.arguments
        for step in plan(
            numbers, text, out, "data.seed=3", "train.seed=4", "search.beam_size=2", "vocabulary.size=310"
        ).steps()
    )
    assert [word for word in preprocess if "=" in word] == ["vocabulary.size=310", "data.seed=3"]
    assert "train.seed=4" in train
    assert "search.max_length=5" in train
    assert "search.beam_size=2" not in train
    for command in (translate, evaluate):
        assert [word for word in command if "=" in word] == ["search.beam_size=2"]


def test_a_smoke_run_is_small_whatever_the_recipe(numbers: NamedRecipe, text: Path, out: Path) -> None:
    preprocess, train, *_ = plan(numbers, text, out, smoke=True).steps()
    assert not any(word.startswith("vocabulary.size") for word in preprocess.arguments)
    assert "train.max_updates=20" in train.arguments
    assert "train.max_updates=4" not in train.arguments


def test_all_wrong_settings_are_reported_at_once(numbers: NamedRecipe, text: Path, out: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        plan(numbers, text, out, "train.sead=1", "model.cell=grue")
    assert "train.sead" in caught.value.message
    assert "model.cell" in caught.value.message


def test_a_step_is_done_if_its_output_exists_and_has_the_same_settings(
    numbers: NamedRecipe, text: Path, out: Path
) -> None:
    for name in ("preprocess", "train", "translate", "evaluate"):
        mine = plan(numbers, text, out)
        step: RecipeStep = getattr(mine, name)()
        assert not mine.is_done(step)
        mine.begin(step)
        pretend(step)
        assert not mine.is_done(getattr(plan(numbers, text, out), name)())
        mine.finish(step)
        assert mine.is_done(getattr(plan(numbers, text, out), name)())
    other = plan(numbers, text, out, "train.seed=2")
    assert other.is_done(other.preprocess())
    assert not other.is_done(other.train())
    with pytest.raises(UsageError):
        other.protect_other(other.train())


def test_changed_text_is_always_detected(numbers: NamedRecipe, text: Path, out: Path) -> None:
    mine = plan(numbers, text, out)
    step = mine.preprocess()
    pretend(step)
    mine.finish(step)
    with (text / "train.de").open("a") as german, (text / "train.en").open("a") as english:
        german.write("neu\n")
        english.write("new\n")
    other = plan(numbers, text, out)
    assert not other.is_done(other.preprocess())
    with pytest.raises(UsageError) as caught:
        other.protect_other(other.preprocess())
    assert "other settings or other text" in caught.value.message


def test_an_unfinished_run_is_resumed(numbers: NamedRecipe, text: Path, out: Path) -> None:
    mine = plan(numbers, text, out)
    mine.begin(mine.train())
    assert "--resume" not in plan(numbers, text, out).train().arguments  # killed before it wrote anything
    pretend(mine.train())
    assert plan(numbers, text, out).train().arguments == ["train", "--resume", str(out / "run")]


def test_a_replacement_that_was_killed_early_does_not_resume_the_old_run(
    numbers: NamedRecipe, text: Path, out: Path
) -> None:
    old = plan(numbers, text, out)
    pretend(old.train(), "old")
    old.finish(old.train())

    new = plan(numbers, text, out, "train.seed=2", overwrite=True)
    assert new.train().arguments[-1] == "--overwrite"
    new.begin(new.train())
    again = plan(numbers, text, out, "train.seed=2").train()
    assert "--resume" not in again.arguments
    assert again.arguments[-1] == "--overwrite"
    pretend(again, "new")
    assert "--resume" in plan(numbers, text, out, "train.seed=2").train().arguments


def test_data_not_recorded_as_done_is_made_again(numbers: NamedRecipe, text: Path, out: Path) -> None:
    mine = plan(numbers, text, out)
    mine.begin(mine.preprocess())
    pretend(mine.preprocess())
    assert plan(numbers, text, out).preprocess().arguments[-1] == "--overwrite"
