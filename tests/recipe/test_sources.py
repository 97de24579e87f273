"""Which corpora a recipe reads, through the real readers and the real `load_dataset`."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_cli.corpus import parse_spec, read_pairs
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.recipe import choose_corpora, find_recipe
from nmt_cli.recipe.definition import NamedRecipe
from nmt_cli.recipe.sources import SETS, Corpora, local_sizes

SIZES = {"train": 7, "validation": 3, "test": 4}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def count(found: NamedRecipe, corpora: Corpora, name: str) -> int:
    recipe = found.recipe
    specs = [
        parse_spec(text, source_lang=recipe.source_lang, target_lang=recipe.target_lang)
        for text in corpora.of(name)
    ]
    return sum(len(block.source) for spec in specs for block in read_pairs(spec))


class TestHubShapes:
    """A copy of each dataset's repository, in its own shape, read with the recipe's own SPECs."""

    def pairs(self, languages: tuple[str, str], split: str) -> Iterator[dict[str, str]]:
        for number in range(SIZES[split]):
            yield {language: f"{split} {language} {number}" for language in languages}

    def check(self, name: str, folder: Path) -> None:
        found = find_recipe(name)
        corpora = choose_corpora(found, folder, smoke=False)
        assert not corpora.remote
        for ours, theirs in zip(SETS, SIZES, strict=True):
            if corpora.of(ours):
                assert count(found, corpora, ours) == SIZES[theirs]
        assert corpora.train
        assert corpora.test

    @pytest.mark.parametrize("name", ["multi30k-de-en", "multi30k-en-de"])
    def test_json_lines_with_flat_columns(self, name: str, tmp_path: Path) -> None:
        for split, file in (("train", "train"), ("validation", "val"), ("test", "test")):
            rows = datasets.Dataset.from_list(list(self.pairs(("en", "de"), split)))
            rows.to_json(tmp_path / "copy" / f"{file}.jsonl")
        self.check(name, tmp_path / "copy")

    def test_parquet_with_flat_columns(self, tmp_path: Path) -> None:
        (tmp_path / "copy" / "data").mkdir(parents=True)
        for split in ("train", "test"):
            table = pa.Table.from_pylist(list(self.pairs(("en", "vi"), split)))
            pq.write_table(table, tmp_path / "copy" / "data" / f"{split}-00000-of-00001.parquet")
        found = find_recipe("iwslt15-en-vi")
        corpora = choose_corpora(found, tmp_path / "copy", smoke=False)
        assert count(found, corpora, "train") == SIZES["train"]
        assert count(found, corpora, "test") == SIZES["test"]
        assert corpora.valid == ()  # the one of the hub is its test set

    @pytest.mark.parametrize(
        ("name", "config", "pair"),
        [
            ("iwslt14-de-en", "de-en", ("de", "en")),
            ("iwslt17-en-de", "iwslt2017-en-de", ("en", "de")),
            ("iwslt17-en-fr", "iwslt2017-en-fr", ("en", "fr")),
        ],
    )
    def test_converted_parquet_by_data_files(
        self, name: str, config: str, pair: tuple[str, str], tmp_path: Path
    ) -> None:
        for split in SIZES:
            folder = tmp_path / "copy" / config / split
            folder.mkdir(parents=True)
            rows = [{"translation": row} for row in self.pairs(pair, split)]
            pq.write_table(pa.Table.from_pylist(rows), folder / "0000.parquet")
        self.check(name, tmp_path / "copy")

    @pytest.mark.parametrize("name", ["wmt14-en-de", "wmt16-en-de", "wmt16-ro-en", "wmt17-en-de"])
    def test_configs_with_a_translation_struct(self, name: str, tmp_path: Path) -> None:
        languages = ("ro", "en") if "ro" in name else ("de", "en")
        for repository in ("wmt14", "wmt16", "wmt17"):
            folder = tmp_path / "hub" / "wmt" / repository
            self.write_wmt(folder, "-".join(languages), languages)
        self.check(name, tmp_path / "hub")

    def write_wmt(self, folder: Path, config: str, languages: tuple[str, str]) -> None:
        (folder / config).mkdir(parents=True)
        lines = ["---", "configs:", f"- config_name: {config}", "  data_files:"]
        for split in SIZES:
            rows = [{"translation": row} for row in self.pairs(languages, split)]
            pq.write_table(pa.Table.from_pylist(rows), folder / config / f"{split}-00000-of-00001.parquet")
            lines += [f"  - split: {split}", f"    path: {config}/{split}-*"]
        (folder / "README.md").write_text("\n".join([*lines, "---", ""]), "utf-8")


class TestLocalFiles:
    def test_the_first_existing_name_is_used(self, numbers: NamedRecipe, text: Path) -> None:
        corpora = choose_corpora(numbers, text, smoke=False)
        assert corpora == Corpora((f"{text}/train",), (f"{text}/valid",), (f"{text}/test",))

    def test_changed_text_changes_the_sizes(self, numbers: NamedRecipe, text: Path) -> None:
        before = local_sizes(choose_corpora(numbers, text, smoke=False), numbers.recipe)
        with (text / "train.de").open("a") as file:
            file.write("noch eine\n")
        after = local_sizes(choose_corpora(numbers, text, smoke=False), numbers.recipe)
        assert len(before) == 6
        assert before != after

    def test_a_missing_set_is_reported_with_all_candidate_names(
        self, numbers: NamedRecipe, text: Path
    ) -> None:
        (text / "test.de").unlink()
        (text / "test.en").unlink()
        with pytest.raises(CorpusError) as caught:
            choose_corpora(numbers, text, smoke=False)
        assert "has no test set for numbers" in caught.value.message
        assert "test.de + .en" in caught.value.hint

    def test_a_missing_side_is_reported(self, numbers: NamedRecipe, text: Path) -> None:
        (text / "test.en").unlink()
        corpora = choose_corpora(numbers, text, smoke=False)
        with pytest.raises(CorpusError) as caught:
            count(numbers, corpora, "test")
        assert "test.en" in caught.value.message

    def test_a_missing_folder_is_reported(self, numbers: NamedRecipe, tmp_path: Path) -> None:
        with pytest.raises(UsageError) as caught:
            choose_corpora(numbers, tmp_path / "nowhere", smoke=False)
        assert "nowhere is not a directory" in caught.value.message

    def test_a_recipe_without_a_hub_needs_data(self, numbers: NamedRecipe) -> None:
        with pytest.raises(UsageError) as caught:
            choose_corpora(numbers, None, smoke=False)
        assert "--data DIR" in caught.value.hint

    def test_a_table_may_be_compressed(self, tmp_path: Path, corpora: Path) -> None:
        shutil.copy(corpora / "dialogue" / "chatterbot.en.tsv.gz", tmp_path)
        found = find_recipe("chat")
        chosen = choose_corpora(found, tmp_path, smoke=False)
        assert chosen.train == (f"{tmp_path}/chatterbot.en.tsv.gz#2,3",)
        assert count(found, chosen, "train") == 1230


@pytest.mark.parametrize(
    ("name", "folder", "smoke"),
    [
        ("multi30k-de-en", "multi30k", False),
        ("multi30k-en-de", "multi30k", False),
        ("multi30k-en-fr", "multi30k", False),
        ("tatoeba-en-de", "tatoeba", False),
        ("software-en-de", "", False),
        ("chat", "dialogue", False),
        ("iwslt14-de-en", "ted-iwslt", True),
        ("iwslt15-en-vi", "ted-iwslt", True),
        ("iwslt17-en-de", "ted-iwslt", True),
        ("iwslt17-en-fr", "ted-iwslt", True),
        ("wmt14-en-de", "wmt", True),
        ("wmt16-en-de", "wmt", True),
        ("wmt17-en-de", "wmt", True),
        ("wmt16-ro-en", "align", True),
    ],
)
def test_real_corpora_are_found_under_their_own_names(
    name: str, folder: str, smoke: bool, corpora: Path
) -> None:
    found = find_recipe(name)
    chosen = choose_corpora(found, corpora / folder, smoke=smoke)
    assert chosen.stand_in is smoke
    if not smoke:
        assert count(found, chosen, "train") == (found.recipe.pairs or 1230)
    if found.expected.sentences and chosen.test and not name.startswith("iwslt17"):
        assert count(found, chosen, "test") == found.expected.sentences
