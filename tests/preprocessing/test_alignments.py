"""Given word alignments: which links the data directory has, and what is wrong with a file of them."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.data.aligner import Aligner, align_texts, unpack_links
from nmt_cli.data.directory import DataDirectory
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.preprocessing import DataCard
from nmt_cli.runtime.words import pharaoh

from .conftest import Runner, numbered, write_pairs
from .test_preprocess import NO_HOLDOUT

WORDS = ("vocabulary.kind=word", "vocabulary.size=60", *NO_HOLDOUT)
Links = list[tuple[int, int]]


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def stored(directory: Path) -> list[Links]:
    """The links (source, target) of each training pair."""
    split = DataDirectory.open(directory).train
    assert split.links is not None
    links = split.links.take(np.arange(len(split)))
    rows = [unpack_links(links[row]) for row in range(len(links))]
    return [list(zip(s.tolist(), t.tolist(), strict=True)) for t, s in rows]


@pytest.fixture
def words(run: Runner, tmp_path: Path) -> Runner:
    """A vocabulary of the words below, with which every word is a token."""
    texts = [("a b c d e f g h", "A B C D E F G H"), *[("x y z", "X Y Z")] * 4]
    run(texts, "vocabulary.kind=word", "vocabulary.size=26", "data.duplicate=false", *NO_HOLDOUT, out="words")
    return run


def align(run: Runner, pairs: list[tuple[str, str]], lines: list[str], *settings: str) -> DataCard:
    """Preprocess these pairs with these links, and the vocabulary of `words`."""
    file = write(run.folder / "links", lines)
    return run(pairs, *NO_HOLDOUT, *settings, alignments=[file], vocabulary=run.folder / "words")


def test_the_pairs_that_are_kept_have_their_own_links(words: Runner, tmp_path: Path) -> None:
    pairs = [("a b", "A B"), ("", "A"), ("a b", "A B"), ("c d e", "D C"), ("x", "x"), ("y z", "Y Z")]
    card = align(words, pairs, ["0-1", "", "1-0", "0-1 1-0 1-0", "0-0", ""])
    # The second is blank, the third a duplicate, the fifth a copy of the source.
    assert stored(tmp_path / "out") == [[(0, 1)], [(1, 0), (0, 1)], []]
    assert card.links is not None
    assert (card.links[0].pairs, card.links[0].links, card.links[0].token_links) == (2, 4, 3)


def test_held_out_pairs_take_their_links_along(run: Runner, tmp_path: Path) -> None:
    pairs = numbered(300)
    file = write(tmp_path / "links", [f"{number % 4}-{number // 4 % 4}" for number in range(300)])
    run(pairs, "vocabulary.kind=word", "vocabulary.size=200", alignments=[file])
    data = DataDirectory.open(tmp_path / "out")
    numbers = [int(text.split()[1]) for text in data.train.texts(np.arange(len(data.train)), "source")]
    assert len(numbers) < 300
    assert stored(tmp_path / "out") == [[(number % 4, number // 4 % 4)] for number in numbers]
    assert data.valid is not None
    assert data.valid.links is None


def test_each_corpus_has_its_own_file(words: Runner, tmp_path: Path) -> None:
    first = write_pairs(tmp_path / "first", [("a b", "A B"), ("b c", "B C")])
    second = write_pairs(tmp_path / "second", [("c d", "C D")])
    files = [write(tmp_path / "1", ["0-0", "0-1"]), write(tmp_path / "2", ["1-1"])]
    card = words(None, *NO_HOLDOUT, train=[first, second], alignments=files, vocabulary=tmp_path / "words")
    assert stored(tmp_path / "out") == [[(0, 0)], [(0, 1)], [(1, 1)]]
    assert card.links is not None
    assert [each.links for each in card.links] == [2, 1]


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "gz"])
def test_any_corpus_with_a_pair_on_each_line_can_have_alignments(
    words: Runner, tmp_path: Path, kind: str
) -> None:
    rows = {
        "tsv": "a b\tA B\nnot a pair\nc d\tC D\n",
        "jsonl": '{"de": "a b", "en": "A B"}\n{"de": 1}\n{"de": "c\\nd", "en": "C D"}\n',
    }
    spec = str(tmp_path / f"x.{kind}")
    if kind == "gz":
        spec = write_pairs(tmp_path / "x", [("a b", "A B"), ("", ""), ("c d", "C D")])
    else:
        Path(spec).write_text(rows[kind], "utf-8")
    file = tmp_path / "links.gz"
    file.write_bytes(gzip.compress(b"0-0\r\n7-7\r\n1-0\r\n" if kind != "gz" else b"0-0\n\n1-0"))
    words(spec, *NO_HOLDOUT, alignments=[file], vocabulary=tmp_path / "words")
    assert stored(tmp_path / "out") == [[(0, 0)], [(1, 0)]]


def test_imported_links_of_nmt_align_are_those_that_training_computes(run: Runner, tmp_path: Path) -> None:
    """If every word is a token, and no pair is dropped."""
    chance = np.random.default_rng(1)
    vocabulary = [f"w{number}" for number in range(25)]
    rows = [chance.choice(vocabulary, chance.integers(1, 8)).tolist() for _ in range(400)]
    pairs = [(" ".join(row), " ".join(word.upper() for word in row[::-1])) for row in rows]
    links = list(align_texts([source for source, _ in pairs], [target for _, target in pairs]))
    file = write(tmp_path / "links", [pharaoh(row) for row in links])
    run(pairs, *WORDS, "vocabulary.size=54", "data.duplicate=false", alignments=[file])
    data = DataDirectory.open(tmp_path / "out")
    numbers = np.arange(len(data.train))
    source, target = data.train.gather(numbers, "source"), data.train.gather(numbers, "target")
    assert len(source) == 400
    computed = Aligner.train(source, target, (54, 54)).align(source, target)
    given = data.train.links
    assert given is not None
    assert np.array_equal(given.take(numbers).offsets, computed.offsets)
    assert np.array_equal(given.take(numbers).values, computed.values)


def test_every_token_of_a_word_is_linked(run: Runner, tmp_path: Path) -> None:
    file = write(tmp_path / "links", ["0-0 3-3"] * 60)
    run(numbered(60), *NO_HOLDOUT, "vocabulary.kind=char", alignments=[file])
    found = stored(tmp_path / "out")[
        0
    ]  # "Satz 0 von vielen", "sentence 0 of many", each with a space before it
    assert {s for s, t in found if t < 9} == set(range(5))
    assert {s for s, t in found if t > 12} == set(range(11, 18))
    assert len(found) == 5 * 9 + 7 * 5


def test_without_alignments_there_is_no_trace_of_them(run: Runner, tmp_path: Path) -> None:
    run(numbered(60))
    assert DataDirectory.open(tmp_path / "out").train.links is None
    assert "alignments" not in json.loads((tmp_path / "out" / "data-card.json").read_text("utf-8"))
    assert "Word alignments" not in (tmp_path / "out" / "data-card.md").read_text("utf-8")


def test_normalization_keeps_links_of_words_that_it_does_not_remove(words: Runner, tmp_path: Path) -> None:
    table = write(tmp_path / "table.tsv", ["- \t", "h\tx y"])
    pairs = [("- a b", "A B"), ("a h b", "A B"), ("c d", "C D")]
    lines = ["0-0 1-0 2-1", "0-0 1-1 2-1", "0-0"]
    card = align(words, pairs, lines, f"data.normalization={table}")
    assert stored(tmp_path / "out") == [[(0, 0), (1, 1)], [(0, 0), (1, 1), (2, 1), (3, 1)], [(0, 0)]]
    assert card.links is not None
    assert (card.links[0].left_out, card.links[0].pairs_changed) == (1, 1)
    [warning] = [each for each in card.warnings if each.name == "changed-words"]
    assert "1 links of 1 pairs" in warning.message
    assert "changed-words" in words.warnings


def test_links_of_words_with_too_many_tokens_are_reported_as_such(run: Runner, tmp_path: Path) -> None:
    pairs = [*numbered(60), ("ab" * 40, "cd" * 40)]
    file = write(tmp_path / "links", ["0-0"] * 61)
    card = run(pairs, *NO_HOLDOUT, "vocabulary.kind=char", alignments=[file])
    [warning] = [each for each in card.warnings if each.name in ("changed-words", "long-words")]
    assert warning.message == (
        f"{file}: 1 links of 1 pairs are not used, because their words have more than 4,096 pairs of tokens"
    )
    assert stored(tmp_path / "out")[-1] == []
    assert "unused" in (tmp_path / "out" / "data-card.md").read_text("utf-8")


MISTAKES = [
    (["0-0", "0-0", "3-"], "line 3: '3-' is not a link", "such as 0-0 1-2"),
    (["0-0", "a-b", ""], "line 2: 'a-b' is not a link", "such as 0-0 1-2"),
    (["0-0", "", "0-0 -1-0"], "line 3: '-1-0' is not a link", "such as 0-0 1-2"),
    (["0-0 1p1", "", ""], "line 1: '1p1' is not a link", "write - for p"),
    (["0-0 ||| -3.2", "", ""], r"line 1: '\|\|\|' is not a link", "leave out scores"),
    (["0-0", "٣-٣", ""], "line 2: '٣-٣' is not a link", "such as 0-0 1-2"),
    (["0-0", "0-0", "9999999999-0"], "line 3: '9999999999-0' is not a link", "such as"),
    (
        ["0-0 1-0", "0-0 3-0", ""],
        "line 2: the link 3-0 is past the end of the source, which has 3 words",
        "must be",
    ),
    (
        ["0-0", "0-0 1-4", ""],
        "line 2: the link 1-4 is past the end of the target, which has 1 word\\n",
        "must be",
    ),
    (["1-1", "3-1", ""], "line 1: the link 1-1 is past the end of the target", "subtract 1"),
    (["0-0", "0-2 0-0", ""], "line 2: the link 0-2 is past the end of the target", "target-source"),
    (["0-0", "0-0"], "links has 2 lines, .*train-out has 3 pairs", "leave it empty"),
    (["0-0", "0-0", "", ""], "links has 4 lines, .*train-out has 3 pairs", "leave it empty"),
    ([], "links has 0 lines, .*train-out has 3 pairs", "leave it empty"),
]


@pytest.mark.parametrize(("lines", "message", "hint"), MISTAKES)
def test_a_mistake_in_the_file_is_an_error_with_the_line(
    words: Runner, tmp_path: Path, lines: list[str], message: str, hint: str
) -> None:
    with pytest.raises(CorpusError, match=message) as caught:
        align(words, [("a b", "A"), ("c d e", "C"), ("x", "X")], lines)
    assert hint in caught.value.hint
    assert not (tmp_path / "out").exists()


def test_line_numbers_are_those_of_the_file_in_later_blocks(run: Runner, tmp_path: Path) -> None:
    for line in ("0-9", "what"):
        file = write(tmp_path / "links", [*["0-0"] * 9000, line, *["0-0"] * 999])
        with pytest.raises(CorpusError, match="links, line 9001: "):
            run(numbered(10_000), alignments=[file])


def test_a_missing_file_is_an_error(run: Runner, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"links does not exist"):
        run(numbered(9), alignments=[tmp_path / "links"])


def test_links_far_behind_the_start_of_an_endless_line_are_not_used(words: Runner, tmp_path: Path) -> None:
    pairs = [("a " * 70_000, "A B"), ("b", "B")]
    align(words, pairs, ["0-1 69999-0 65535-0", "0-0"], "data.too_long=false", "data.length_ratio=false")
    assert stored(tmp_path / "out") == [[], [(0, 0)]]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ([""] * 30, ["no-links"]),
        (["1-1"] * 30, ["alignment-base"]),
        (["0-1"] * 30, []),
        (["1-1"] * 10 + [""] * 20, []),
    ],
)
def test_suspicious_files_are_warned_about(
    run: Runner, tmp_path: Path, lines: list[str], names: list[str]
) -> None:
    card = run(numbered(30), alignments=[write(tmp_path / "links", lines)])
    assert [each.name for each in card.warnings if "link" in each.name or "align" in each.name] == names


@pytest.mark.parametrize(("line", "names"), [("0-0 1-1", ["alignment-space"]), ("0-0 2-2", [])])
def test_fast_align_does_not_split_words_at_no_break_spaces(
    words: Runner, line: str, names: list[str]
) -> None:
    pairs = [("a\u00a0b c", "A\u00a0B C"), ("d", "D")]
    card = align(words, pairs, [line, "0-0"])
    assert [each.name for each in card.warnings if "align" in each.name] == names


def test_requests_that_cannot_be_met_are_usage_errors(run: Runner, tmp_path: Path) -> None:
    spec, file = write_pairs(tmp_path / "x", numbered(9)), write(tmp_path / "links", ["0-0"] * 9)
    for files in ([file], [file] * 3):
        with pytest.raises(UsageError, match=r"--alignments is given .* and --train 2 times"):
            run(None, train=[spec, spec], alignments=files)
    csv = write(tmp_path / "x.csv", ["de,en", "a,b"])
    with pytest.raises(UsageError, match="entries are not numbered by lines") as caught:
        run(str(csv), alignments=[file])
    assert "two text files" in caught.value.hint
    with pytest.raises(UsageError, match="is one of the input files"):
        run(spec, alignments=[file], dropped=file)


def test_the_card_describes_the_alignments(run: Runner, tmp_path: Path) -> None:
    file = write(tmp_path / "links", ["0-0 1-1"] * 60)
    run(numbered(60), *NO_HOLDOUT, alignments=[file])
    text = (tmp_path / "out" / "data-card.md").read_text("utf-8")
    assert "## Word alignments of train" in text
    assert '"links": 120' in (tmp_path / "out" / "data-card.json").read_text("utf-8")
