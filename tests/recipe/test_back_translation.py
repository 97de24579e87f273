"""Back-translation: which text the two models are trained on, and which commands run."""

import os
import shlex
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from nmt_cli.config import resolve
from nmt_cli.corpus.cleaning import normalization_of
from nmt_cli.data.directory import DataDirectory
from nmt_cli.errors import ConfigError, CorpusError, DirectoryError, NmtError, UsageError
from nmt_cli.recipe import Choices, RecipePlan, choose_corpora, find_recipe, make_plan, recipe_names
from nmt_cli.recipe.definition import BackTranslation, Band, NamedRecipe, assignments
from nmt_cli.run.logs import ScoresLog
from tests.cli.conftest import Run

from .conftest import RECIPE

STEPS = ["preprocess", "train", "translate", "preprocess", "train", "translate", "evaluate"]


@pytest.fixture
def monolingual(tmp_path: Path) -> Path:
    path = tmp_path / "more.en"
    path.write_text("".join(f"sentence number {n}\n" for n in range(500, 520)) + "\n", "utf-8")
    return path


@pytest.fixture
def halves(recipes: Path) -> NamedRecipe:
    """A recipe that uses only the target side of half of its pairs."""
    (recipes / "numbers" / "recipe.toml").write_text(
        RECIPE.replace("[settings.", "[back_translation]\nshare = 0.5\nweight = 2\n\n[settings.", 1), "utf-8"
    )
    return find_recipe("numbers")


def plan(recipe: NamedRecipe, text: Path, out: Path, *monolingual: str, sample: bool = False) -> RecipePlan:
    choices = Choices(out=out, monolingual=monolingual, sample=sample)
    return make_plan(recipe, choose_corpora(recipe, text, smoke=False), choices)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


@pytest.mark.usefixtures("recipes")
def test_monolingual_text_is_translated_back_tagged_and_trained_on(
    nmt: Run, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = ["recipe", "numbers", "--data", text, "--out", out, "--monolingual", monolingual]
    for name in ("undecodable", "length_ratio", "too_long"):  # four updates are not enough for translations
        arguments += ["--set", f"data.{name}=false"]
    found = nmt(*arguments, "--threads", 1)
    assert found.code == 0, found.stderr
    commands = [shlex.split(line[2:]) for line in found.stderr.split("\n") if line.startswith("$ ")]
    assert [words[1] for words in commands] == STEPS
    assert "[9/9] verdict" in found.stderr

    made = out / "back-translation"
    reverse = DataDirectory.open(made / "data")
    assert (reverse.source_lang, reverse.target_lang) == ("en", "de")
    assert len(lines(made / "synthetic.de")) == len(lines(made / "text" / "monolingual.en")) == 20
    assert reverse.train.texts(np.array([7]), "source") == ["sentence number 7"]

    train = DataDirectory.open(copytree(out / "data", tmp_path / "copy")).train  # open data is not replaced
    rows = np.arange(len(train))
    sources, targets = train.texts(rows, "source"), train.texts(rows, "target")
    tagged = [target for source, target in zip(sources, targets, strict=True) if source.startswith("⟨bt⟩ ")]
    assert tagged
    assert set(tagged) <= set(lines(monolingual))
    assert [target for target in targets if target not in tagged] == lines(text / "train.en")

    again = nmt(*arguments)
    assert again.code == 0
    assert "$ " not in again.stderr

    with monolingual.open("a") as file:
        file.write("one more\n")
    before = contents(out)
    for options in ([], ["--sample"]):
        changed = nmt(*arguments, *options)
        assert changed.code == 2
        assert "other settings or other text" in changed.error
        assert contents(out) == before
    replaced = nmt(*arguments, "--overwrite", "--threads", 1)
    assert replaced.code == 0, replaced.stderr
    assert "reverse model: " in replaced.stderr  # not trained again: the parallel text is the same
    assert len(lines(made / "synthetic.de")) == 21

    (made / "text" / "train.en").unlink()
    assert nmt(*arguments).code == 0
    assert len(lines(made / "text" / "train.en")) == 300


def test_text_that_was_written_for_other_options_is_not_used(
    numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    out, blank = tmp_path / "out", tmp_path / "blank.en"
    blank.write_text("\n", "utf-8")
    mine = plan(numbers, text, out, str(monolingual))
    mine.fetch(lambda progress: None)
    assert plan(numbers, text, out, str(monolingual)).is_fetched()
    with pytest.raises(CorpusError, match=r"--monolingual .*blank.en: there are only blank lines"):
        plan(numbers, text, out, str(blank)).fetch(lambda progress: None)
    assert not plan(numbers, text, out, str(monolingual)).is_fetched()
    assert not plan(numbers, text, out, str(blank)).is_fetched()


def test_every_corpus_keeps_its_weight_and_its_tag(
    numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    corpora = choose_corpora(numbers, text, smoke=False)
    (train,) = corpora.train
    corpora = replace(corpora, train=(f"{train}@weight=3@tag=<old>", f"{text / 'valid'}"))
    mine = make_plan(numbers, corpora, Choices(out=tmp_path / "out", monolingual=[str(monolingual)]))
    mine.fetch(lambda progress: None)
    made = tmp_path / "out" / "back-translation" / "text"
    assert lines(made / "train-1.de") == lines(text / "train.de")
    assert lines(made / "train-2.en") == lines(text / "valid.en")
    reverse, forward = (list(mine.steps())[index].arguments for index in (0, 3))
    assert f"{made / 'train-1.en'},{made / 'train-1.de'}@weight=3" in reverse
    assert f"{made / 'train-1.de'},{made / 'train-1.en'}@weight=3@tag=<old>" in forward
    assert f"{made / 'train-2.de'},{made / 'train-2.en'}" in forward


@pytest.mark.parametrize(
    ("spec", "file"),
    [
        ("hf:{}#text", "train.jsonl"),
        ("hf:{}/train.jsonl#text", "train.jsonl"),
        ("hf:json#text@data_files={}/train.jsonl", "train.jsonl"),
        ("hf:json#text@data_files={}/**/*.jsonl", "a/b/train.jsonl"),
    ],
)
def test_a_changed_local_dataset_is_other_text(
    numbers: NamedRecipe, text: Path, tmp_path: Path, spec: str, file: str
) -> None:
    folder = tmp_path / "dataset"
    rows = folder / file
    rows.parent.mkdir(parents=True)
    rows.write_text('{"text": "one"}\n', "utf-8")
    mine = plan(numbers, text, tmp_path / "out", spec.format(folder))
    assert not mine.is_remote
    before = mine.fetch_fingerprint()
    rows.write_text('{"text": "one"}\n{"text": "two"}\n', "utf-8")
    assert plan(numbers, text, tmp_path / "out", spec.format(folder)).fetch_fingerprint() != before


def test_a_pipe_is_rejected_because_it_cannot_be_read_again(
    numbers: NamedRecipe, text: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.en")
    with pytest.raises(UsageError, match="cannot be read again"):
        plan(numbers, text, tmp_path / "out", str(tmp_path / "pipe.en"))


def test_more_text_is_not_expected_to_reach_the_same_score(
    numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    band = Band(low=90, high=95, scores=(93,), hardware="", time="", version="")
    numbers = replace(numbers, expected=numbers.expected.model_copy(update={"band": band}))
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
    record = {"sentences": 5, "scores": [{"metric": "BLEU", "score": 12.3, "signature": signature}]}
    (tmp_path / "out" / "run").mkdir(parents=True)
    ScoresLog(tmp_path / "out" / "run").append(record)
    alone = plan(numbers, text, tmp_path / "out").verdict()
    more = plan(numbers, text, tmp_path / "out", str(monolingual)).verdict()
    assert not alone.passed
    assert more.passed
    assert more.sentence == "BLEU 12.3 on numbers; 90.0–95.0 is expected without the additional text"


@pytest.mark.usefixtures("recipes")
def test_results_of_the_plain_recipe_are_kept(
    nmt: Run, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = ["recipe", "numbers", "--data", text, "--out", out]
    assert nmt(*arguments, "--threads", 1).code == 0
    before = contents(out)
    found = nmt(*arguments, "--monolingual", monolingual)
    assert found.code == 2
    assert f"{out / 'data'} was made with other settings or other text" in found.error
    assert contents(out) == before


@pytest.mark.usefixtures("recipes")
def test_the_default_directory_is_not_that_of_the_plain_recipe(
    nmt: Run, text: Path, monolingual: Path
) -> None:
    found = nmt("recipe", "numbers", "--data", text, "--monolingual", monolingual, "--smoke", "--dry-run")
    assert "runs/numbers-back-translation-smoke/run" in found.stdout


def test_monolingual_text_has_no_influence_on_the_reverse_model(
    numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    more = tmp_path / "even-more.en"
    more.write_text("sentence\n", "utf-8")
    one, two = (
        list(plan(numbers, text, tmp_path / "out", *map(str, files)).steps())
        for files in ([monolingual], [monolingual, more])
    )
    same = [mine.fingerprint == yours.fingerprint for mine, yours in zip(one, two, strict=True)]
    assert same[:4] == [True, True, False, False]


def test_search_settings_of_the_user_apply_to_the_test_set_only(
    numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    choices = Choices(out=tmp_path / "out", monolingual=[str(monolingual)], settings=["search.beam_size=3"])
    corpora = choose_corpora(numbers, text, smoke=False)
    steps = list(make_plan(numbers, corpora, choices).steps())
    with_beam = [step.name for step in steps if "search.beam_size=3" in step.arguments]
    assert with_beam == ["translate", "evaluate"]


def test_the_weight_of_the_text_is_that_of_the_synthetic_pairs(
    numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    steps = list(plan(numbers, text, tmp_path / "out", f"{monolingual}@weight=0.5").steps())
    assert any(word.endswith("monolingual.en@weight=0.5@tag=⟨bt⟩") for word in steps[3].arguments)


@pytest.mark.parametrize("name", recipe_names())
def test_the_settings_of_every_recipe_leave_its_tag_alone(name: str) -> None:
    recipe = find_recipe(name).recipe
    tag = (recipe.back_translation or BackTranslation()).tag
    data = resolve(None, assignments(recipe.settings)).config.data
    assert normalization_of(data)(tag) == tag


def test_half_of_the_pairs_give_only_their_target_side(
    halves: NamedRecipe, text: Path, tmp_path: Path
) -> None:
    for side in ("de", "en"):  # every target twice, with another source
        with (text / f"train.{side}").open("a", encoding="utf-8") as file:
            start = "Noch ein Satz Nummer" if side == "de" else "sentence number"
            file.writelines(f"{start} {n}\n" for n in range(300))
    mine = plan(halves, text, tmp_path / "out")
    mine.fetch(lambda progress: None)
    made = tmp_path / "out" / "back-translation" / "text"
    sources, targets, held_back = (lines(made / name) for name in ("train.de", "train.en", "monolingual.en"))
    assert len(sources) == len(targets)
    assert sorted(targets + held_back) == sorted(lines(text / "train.en"))
    assert not set(targets) & set(held_back)
    assert 0.4 < len(held_back) / 600 < 0.6
    pairs = set(zip(lines(text / "train.de"), lines(text / "train.en"), strict=True))
    assert set(zip(sources, targets, strict=True)) <= pairs
    assert lines(made / "valid.de") == lines(text / "valid.de")
    preprocess = list(mine.steps())[3].arguments
    assert any(word.endswith("monolingual.en@weight=2@tag=⟨bt⟩") for word in preprocess)


def test_back_translations_are_sampled_on_request(
    numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    beam, sample = (
        list(plan(numbers, text, tmp_path / "out", str(monolingual), sample=sample).steps())[2]
        for sample in (False, True)
    )
    assert "--sample" not in beam.arguments
    assert "--sample" in sample.arguments
    assert beam.fingerprint != sample.fingerprint


def test_both_models_have_the_settings_of_the_recipe(
    numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
) -> None:
    steps = list(plan(numbers, text, tmp_path / "out", str(monolingual)).steps())
    assert [step.command[0] for step in steps] == STEPS
    assert plan(numbers, text, tmp_path / "out", str(monolingual)).number_of_steps() == len(STEPS)
    reverse, forward = ([word for word in steps[index].arguments if "=" in word] for index in (1, 4))
    assert reverse == forward
    assert "train.max_updates=4" in reverse


class TestMistakes:
    def test_sampling_needs_monolingual_text(self, numbers: NamedRecipe, text: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="--sample applies only"):
            plan(numbers, text, tmp_path / "out", sample=True)

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("-", "cannot be read again"),
            ("more.en@tag=<BT>", "no source side"),
            ("more.en@weight=0", "--monolingual .* is not a positive number"),
            ("more.en,more.en", "does not exist"),
        ],
    )
    def test_a_spec_that_does_not_fit_is_an_error_with_a_hint_that_does(
        self, numbers: NamedRecipe, text: Path, monolingual: Path, spec: str, message: str
    ) -> None:
        spec = spec.replace("more.en", str(monolingual))
        with pytest.raises(NmtError, match=message) as found:
            plan(numbers, text, monolingual.parent / "out", spec)
        assert "--source-lang" not in str(found.value.hint)

    def test_texts_have_the_same_weight(
        self, numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
    ) -> None:
        with pytest.raises(UsageError, match="the same @weight"):
            plan(numbers, text, tmp_path / "out", f"{monolingual}@weight=2", str(monolingual))

    def test_a_weight_is_not_too_large(self, halves: NamedRecipe, text: Path, tmp_path: Path) -> None:
        own = halves.recipe.model_copy(update={"back_translation": BackTranslation(weight=1000)})
        spec = f"{text / 'train.en'}@weight=1000"
        with pytest.raises(UsageError, match="@weight times the weight of the recipe"):
            plan(replace(halves, recipe=own), text, tmp_path / "out", spec)

    def test_a_tag_that_settings_change_is_an_error_before_anything_runs(
        self, numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "table.tsv").write_text("bt\tBT\n", "utf-8")
        choices = Choices(
            out=tmp_path / "out",
            monolingual=[str(monolingual)],
            settings=[f"data.normalization={tmp_path / 'table.tsv'}"],
        )
        with pytest.raises(UsageError, match="the tag of back-translations, to '⟨BT⟩'"):
            make_plan(numbers, choose_corpora(numbers, text, smoke=False), choices)

    def test_labels_cannot_be_translated_back(
        self, numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
    ) -> None:
        expected = numbers.expected.model_copy(update={"metric": "accuracy"})
        with pytest.raises(UsageError, match="are labels"):
            plan(replace(numbers, expected=expected), text, tmp_path / "out", str(monolingual))

    def test_nothing_is_written_through_a_link(
        self, numbers: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "out" / "back-translation"
        folder.mkdir(parents=True)
        (folder / "synthetic.de").symlink_to(monolingual)
        with pytest.raises(DirectoryError, match="is a symbolic link"):
            plan(numbers, text, tmp_path / "out", str(monolingual))

    @pytest.mark.parametrize("line", ["weight = -1", 'tag = "two words"', 'tag = "bt"'])
    def test_values_in_a_recipe_are_checked(self, recipes: Path, line: str) -> None:
        (recipes / "numbers" / "recipe.toml").write_text(f"{RECIPE}\n[back_translation]\n{line}\n", "utf-8")
        with pytest.raises(ConfigError, match="back_translation"):
            find_recipe("numbers")

    def test_monolingual_text_is_rejected_if_the_recipe_has_its_own(
        self, halves: NamedRecipe, text: Path, monolingual: Path, tmp_path: Path
    ) -> None:
        with pytest.raises(UsageError, match="takes monolingual text from its own corpus"):
            plan(halves, text, tmp_path / "out", str(monolingual))

    def test_a_missing_file_is_an_error_before_anything_runs(
        self, numbers: NamedRecipe, text: Path, tmp_path: Path
    ) -> None:
        with pytest.raises(CorpusError, match="does not exist"):
            plan(numbers, text, tmp_path / "out", str(tmp_path / "nothing.en"))
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        ("content", "message"), [("\n \n", "there are only blank lines"), ("", "is empty")]
    )
    def test_text_without_a_sentence_is_an_error_before_the_rest_is_fetched(
        self, numbers: NamedRecipe, text: Path, tmp_path: Path, content: str, message: str
    ) -> None:
        blank = tmp_path / "blank.en"
        blank.write_text(content, "utf-8")
        with pytest.raises(CorpusError, match=rf"^--monolingual {blank}:? {message}"):
            plan(numbers, text, tmp_path / "out", str(blank)).fetch(lambda progress: None)
        assert not list((tmp_path / "out").rglob("*.de"))

    def test_held_out_sets_are_rejected(
        self, recipes: Path, text: Path, monolingual: Path, tmp_path: Path
    ) -> None:
        (recipes / "numbers" / "recipe.toml").write_text(
            RECIPE.replace("[local]", "[local]\nheld_out = true"), "utf-8"
        )
        for side in ("de", "en"):
            (text / f"test.{side}").unlink()
        with pytest.raises(UsageError, match="not held out from the training text"):
            plan(find_recipe("numbers"), text, tmp_path / "out", str(monolingual))

    @pytest.mark.parametrize("options", [["--monolingual", "x.de"], ["--sample"]])
    def test_a_ladder_has_none(self, nmt: Run, options: list[str]) -> None:
        found = nmt("recipe", "ladder", *options)
        assert found.code == 2
        assert "does not support back-translation" in found.error
