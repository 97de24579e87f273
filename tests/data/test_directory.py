import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config import VocabularyConfig, resolve
from nmt_cli.data.directory import CorpusRows, DataDirectory, Side, Split, SplitWriter
from nmt_cli.errors import DirectoryError, OutputError
from nmt_cli.files.manifest import write_manifest
from nmt_cli.vocabulary import Vocabularies, Vocabulary
from nmt_cli.vocabulary.token_ids import Ragged, gather, narrowest

Pair = tuple[str, str, list[int], list[int]]

PAIRS = st.lists(
    st.tuples(st.text(max_size=5), st.text(max_size=5), *[st.lists(st.integers(0, 299), max_size=5)] * 2),
    max_size=30,
)


def make(rows: int) -> list[Pair]:
    random = np.random.default_rng(rows)
    return [
        (
            f"Satz {i} ß",
            f"sentence {i}",
            *(random.integers(4, 275, random.integers(0, 9)).tolist() for _ in range(2)),
        )
        for i in range(rows)
    ]


def write(
    path: Path,
    pairs: list[Pair],
    block: int = 100_000,
    sizes: tuple[int, int] = (300, 300),
    links: list[list[int]] | None = None,
) -> Path:
    with SplitWriter(path, *sizes, links=links is not None) as writer:
        for start in range(0, len(pairs), block):
            part = pairs[start : start + block]
            source = Ragged.from_rows([pair[2] for pair in part])
            target = Ragged.from_rows([pair[3] for pair in part])
            given = Ragged.from_rows(links[start : start + block], np.uint32) if links is not None else None
            writer.write([pair[0] for pair in part], [pair[1] for pair in part], source, target, given)
        assert writer.rows == len(pairs)
    return path


def read(split: Split, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[Pair]:
    texts = [split.texts(rows, side) for side in SIDES]
    ids = [split.gather(rows, side) for side in SIDES]
    return [(texts[0][i], texts[1][i], ids[0][i].tolist(), ids[1][i].tolist()) for i in range(len(rows))]


SIDES: tuple[Side, Side] = ("source", "target")


@given(pairs=PAIRS)
@settings(max_examples=30, deadline=None)
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> None:
    path = write(tmp_path_factory.mktemp("store") / "x.arrow", pairs)
    assert read(Split.open(path), np.arange(len(pairs))) == pairs


def test_rows_are_found_across_groups(tmp_path: Path) -> None:
    pairs = make(40_000)
    split = Split.open(write(tmp_path / "x.arrow", pairs))
    assert len(split) == 40_000
    rows = np.array([39_999, 0, 16_383, 16_384, 32_767, 32_768, 0])
    assert read(split, rows) == [pairs[row] for row in rows]
    assert split.source_lengths.tolist() == [len(pair[2]) for pair in pairs]
    assert split.target_lengths.tolist() == [len(pair[3]) for pair in pairs]
    assert split.source_lengths.dtype == np.uint8
    with pytest.raises(IndexError):
        split.gather(np.array([40_000]), "source")
    with pytest.raises(IndexError):
        split.texts(np.array([-1]), "source")


@pytest.mark.parametrize("block", [7, 999, 16_384, 20_000])
def test_the_same_rows_give_the_same_bytes_however_they_are_fed(tmp_path: Path, block: int) -> None:
    pairs = make(20_000 if block > 10 else 2_000)
    assert write(tmp_path / "a", pairs).read_bytes() == write(tmp_path / "b", pairs, block).read_bytes()


def test_ids_are_stored_in_the_narrowest_type(tmp_path: Path) -> None:
    pair = [("a", "b", [1, 255], [1, 65_536])]
    split = Split.open(write(tmp_path / "x.arrow", pair, sizes=(256, 65_537)))
    rows = np.array([0])
    assert split.gather(rows, "source").values.dtype == np.uint8
    assert split.gather(rows, "target").values.dtype == np.uint32
    assert split.gather(rows, "target").values.tolist() == [1, 65_536]
    assert [narrowest(size) for size in (256, 257, 65_536, 65_537)] == [
        np.uint8,
        np.uint16,
        np.uint16,
        np.uint32,
    ]


@pytest.mark.parametrize("block", [7, 20_000])
def test_word_alignments_are_a_column_of_their_own(tmp_path: Path, block: int) -> None:
    pairs = [pair for pair in make(20_000) if pair[2] and pair[3]]
    rows = [[(len(pair[3]) - 1) << 16, len(pair[2]) - 1][: row % 3] for row, pair in enumerate(pairs)]
    split = Split.open(write(tmp_path / "x.arrow", pairs, block, links=rows))
    numbers = np.arange(len(pairs))[::-1]
    assert read(split, numbers) == pairs[::-1]
    assert split.links is not None
    found = split.links.take(numbers)
    assert found.values.dtype == np.uint32
    assert [found[row].tolist() for row in range(len(rows))] == rows[::-1]
    assert Split.open(write(tmp_path / "y.arrow", pairs)).links is None


def test_datasets_opens_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    from datasets import Dataset

    pairs = make(20_000)
    dataset = Dataset.from_file(str(write(tmp_path / "x.arrow", pairs)))
    assert len(dataset) == 20_000
    row = dataset[17_000]
    assert (row["source_text"], row["target_text"], row["source"], row["target"]) == pairs[17_000]


def test_an_empty_split_is_a_split(tmp_path: Path) -> None:
    split = Split.open(write(tmp_path / "x.arrow", []))
    assert len(split) == 0
    assert len(split.target_lengths) == 0
    assert split.texts(np.arange(0), "source") == []


def test_opening_reads_no_values_into_memory(tmp_path: Path) -> None:
    split = Split.open(write(tmp_path / "x.arrow", make(100)))
    values = split._columns["source"]._values
    assert not values.flags.owndata
    assert not values.flags.writeable


@pytest.mark.parametrize("content", [b"", b"garbage" * 99])
def test_a_file_that_is_not_a_split_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.arrow"
    path.write_bytes(content)
    with pytest.raises(DirectoryError, match=r"x\.arrow"):
        Split.open(path)


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "x.arrow", make(100))
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(DirectoryError, match=r"x\.arrow is damaged"):
        Split.open(path)


def test_a_file_truncated_while_in_use_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    path = write(tmp_path / "x.arrow", make(20_000))
    split, rows = Split.open(path), np.arange(19_000, 20_000)
    split.gather(rows, "source")
    os.truncate(path, 5000)
    for access in (
        lambda: split.gather(rows, "source"),
        lambda: split.texts(rows, "target"),
        lambda: split.source_lengths,
    ):
        with pytest.raises(DirectoryError, match=r"x\.arrow was truncated while in use: 5,000 of .* bytes"):
            access()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DirectoryError, match="cannot read"):
        Split.open(tmp_path / "none.arrow")


def test_a_full_disk_is_an_error_for_the_user() -> None:
    with pytest.raises(OutputError, match=r"cannot write /dev/full"):
        write(Path("/dev/full"), make(20_000))


def test_a_writer_that_fails_leaves_no_open_file(tmp_path: Path) -> None:
    with pytest.raises(KeyError), SplitWriter(tmp_path / "x.arrow", 9, 9) as writer:
        raise KeyError
    assert writer._stream.closed


def test_gather_takes_any_rows() -> None:
    ragged = Ragged.from_rows([[1, 2], [], [3], [4, 5, 6]])
    taken = ragged.take(np.array([3, 1, 0, 3]))
    assert [taken[row].tolist() for row in range(4)] == [[4, 5, 6], [], [1, 2], [4, 5, 6]]
    assert len(gather(ragged.values, ragged.offsets[:0], ragged.lengths[:0])) == 0


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    vocabulary = Vocabulary.train(["the cat sat on the mat"] * 9, VocabularyConfig(size=275))
    return Vocabularies(vocabulary, vocabulary)


@pytest.fixture
def directory(tmp_path: Path, vocabularies: Vocabularies) -> Path:
    write(tmp_path / "train.arrow", make(50))
    write(tmp_path / "valid.arrow", make(5))
    DataDirectory.finish(
        tmp_path,
        source_lang="de",
        target_lang="en",
        vocabularies=vocabularies,
        resolved=resolve(assignments=["vocabulary.size=275"]),
        corpora=[CorpusRows("a", 0, 30), CorpusRows("b", 30, 50, 2.5)],
    )
    return tmp_path


def test_any_file_name_can_be_the_name_of_a_corpus(tmp_path: Path, vocabularies: Vocabularies) -> None:
    folder = tmp_path / os.fsdecode(b"gr\xfc\xdfe")
    folder.mkdir()
    write(folder / "train.arrow", make(5))
    corpora = [CorpusRows(os.fsdecode(b"\xff"), 0, 5)]
    DataDirectory.finish(
        folder,
        source_lang="de",
        target_lang="en",
        vocabularies=vocabularies,
        resolved=resolve(assignments=[]),
        corpora=corpora,
    )
    assert DataDirectory.open(folder, hashes=True).corpora == tuple(corpora)


def test_a_data_directory_returns_what_was_written(directory: Path, vocabularies: Vocabularies) -> None:
    data = DataDirectory.open(directory, hashes=True)
    assert (len(data.train), data.valid and len(data.valid), data.test) == (50, 5, None)
    assert (data.source_lang, data.target_lang) == ("de", "en")
    assert data.corpora == (CorpusRows("a", 0, 30, 1.0), CorpusRows("b", 30, 50, 2.5))
    assert data.vocabularies == vocabularies
    assert data.config.vocabulary.size == 275
    assert data.resolved.provenance["vocabulary.size"] == "--set"


def test_a_data_directory_without_training_data_is_an_error(directory: Path) -> None:
    (directory / "train.arrow").unlink()
    with pytest.raises(DirectoryError, match=r"train\.arrow is missing"):
        DataDirectory.open(directory)
    write_manifest(directory, "data")
    with pytest.raises(DirectoryError, match="has no training data"):
        DataDirectory.open(directory)


def test_a_setting_of_another_version_is_an_error_for_the_user(directory: Path) -> None:
    content = json.loads((directory / "config.json").read_text())
    content["settings"]["train"]["unheard_of"] = 1
    (directory / "config.json").write_text(json.dumps(content))
    write_manifest(directory, "data")
    with pytest.raises(DirectoryError, match="unheard_of"):
        DataDirectory.open(directory)
