import copy
import gzip
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config import VocabularyConfig
from nmt_cli.errors import VocabularyError
from nmt_cli.vocabulary import BOS, EOS, PAD, UNK, Vocabularies, Vocabulary
from nmt_cli.vocabulary.token_ids import Ragged
from nmt_cli.vocabulary.vocabulary import CONTROL

TEXT = [
    "the cat sat on the mat",
    "a dog barks at the cat",
    "<unk> and <s> are only text",
    "Über den Wolken",
    "x\ty",
] * 40
HOSTILE = [
    *[
        "",
        " ",
        "  ",
        " a",
        "a ",
        " a  b ",
        "\t",
        "a\tb",
        "\0",
        "a\0b",
        "\n",
        "a\nb",
        "\r\n",
        "\x7f",
        "\x85",
        "\u2028",
    ],
    *[
        "<unk>",
        "<s>",
        "</s>",
        "<pad>",
        "<0x41>",
        "<0x0A>",
        "a<unk>b",
        "<s> <s>",
        " ⁇ ",
        "⁇",
        "▅",
        "\ufeffa",
        "\ufffd",
    ],
    *[
        "\u00a0",
        "\u3000x",
        "e\u0301",
        "\u00e9",
        "ﬁ",
        "\u200b",
        "👨‍👩‍👧",
        "\U0010ffff",
        "中文 字",
        "x" * 20000,
    ],
]
KINDS = ["bpe", "unigram", "char"]


def train(kind: str = "bpe", lines: list[str] = TEXT, **config: object) -> Vocabulary:
    return Vocabulary.train(lines, VocabularyConfig.model_validate({"kind": kind, "size": 290, **config}))


VOCABULARIES = {kind: train(kind) for kind in KINDS}


@pytest.fixture(scope="module")
def english(corpora: Path) -> list[str]:
    """Some thousand real lines."""
    with gzip.open(corpora / "multi30k/train.en.gz", "rt", encoding="utf-8") as lines:
        return [next(lines).rstrip("\n") for _ in range(4000)]


def round_trip(vocabulary: Vocabulary, text: str) -> str:
    return vocabulary.decode(vocabulary.encode([text]).values)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_text_survives_a_round_trip(kind: str) -> None:
    for text in HOSTILE:
        assert round_trip(VOCABULARIES[kind], text) == text


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text())
@settings(deadline=None)
def test_any_text_survives_a_round_trip(kind: str, text: str) -> None:
    assert round_trip(VOCABULARIES[kind], text) == text.replace("▁", " ")


@pytest.mark.parametrize("kind", KINDS)
def test_naughty_strings_survive_a_round_trip(kind: str, corpora: Path, english: list[str]) -> None:
    # Only "\n" ends a line: splitlines() would cut some of the strings.
    strings = (corpora / "robustness/blns.txt").read_text("utf-8").split("\n")
    assert len(strings) > 500
    for vocabulary in (VOCABULARIES[kind], train(kind, english, size=1000), train(kind, strings, size=2000)):
        changed = [text for text in strings if round_trip(vocabulary, text) != text.replace("▁", " ")]
        assert changed == []


def test_text_that_looks_like_a_reserved_piece_is_ordinary_text() -> None:
    for vocabulary in VOCABULARIES.values():
        ids = vocabulary.encode(["<unk> <s> </s> <pad>"]).values
        assert not set(ids.tolist()) & {PAD, UNK, BOS, EOS}


def test_reserved_ids_are_fixed() -> None:
    for kind in [*KINDS, "word"]:
        vocabulary = train(kind, size=290 if kind != "word" else 10)
        assert vocabulary.pieces[:4] == ("<pad>", "<unk>", "<s>", "</s>")
        assert vocabulary.kind == kind


def test_no_control_character_but_a_tab_can_come_out_of_a_search() -> None:
    vocabulary = train(size=310, lines=["a\nb\rc", "\x1b[31m", "\x85\x9b"] * 9 + TEXT)
    assert {"\x1b", "\x85"} <= set("".join(vocabulary.pieces))
    allowed = set(range(len(vocabulary))) - set(vocabulary.banned)
    texts = "".join(vocabulary.decode([token]) for token in allowed)
    assert not CONTROL.search(texts)
    assert "\t" in texts
    assert {PAD, UNK, BOS} <= set(vocabulary.banned)
    assert EOS in allowed
    assert {chr(code) for code in range(256) if CONTROL.fullmatch(chr(code))} == {
        chr(code) for code in range(256) if unicodedata.category(chr(code)) == "Cc"
    } - {"\t"}


def test_byte_pieces_are_marked() -> None:
    vocabulary = VOCABULARIES["bpe"]
    ids = vocabulary.encode(["cat ☃"]).values
    assert vocabulary.is_byte[ids].sum() == len("☃".encode())
    assert vocabulary.is_byte.sum() == 256


def test_a_word_vocabulary_has_one_unknown_for_each_unknown_word() -> None:
    vocabulary = train("word", size=10, symbols=("<ent>",))
    ids = vocabulary.encode(["the  xyz zyx cat <ent>"]).values
    assert ids.tolist().count(UNK) == 2
    assert vocabulary.has_unknown
    assert UNK not in vocabulary.banned
    assert vocabulary.decode(ids) == "the <unk> <unk> cat <ent>"
    assert vocabulary.decode(ids, unknown=["eins", "zwei"]) == "the eins zwei cat <ent>"


def test_without_byte_fallback_unknown_characters_are_unknown() -> None:
    vocabulary = train(size=60, byte_fallback=False)
    assert vocabulary.has_unknown
    assert round_trip(vocabulary, "the ☃cat") == "the <unk>cat"


def test_symbols_are_never_split() -> None:
    for kind in KINDS:
        vocabulary = train(kind, symbols=("<ent>", "a,b"))
        pieces = [vocabulary.pieces[token] for token in vocabulary.encode(["see<ent> a,b"]).values]
        assert "<ent>" in pieces
        assert "a,b" in pieces
        assert round_trip(vocabulary, "see<ent> a,b") == "see<ent> a,b"


@pytest.mark.parametrize("symbols", [[""], ["a b"], ["<s>"], ["<0x41>"], ["▁x"], ["<e>", "<e>"]])
def test_symbols_that_sentencepiece_needs_are_refused(symbols: list[str]) -> None:
    with pytest.raises(ValueError, match=r"vocabulary\.symbols"):
        VocabularyConfig.model_validate({"symbols": symbols})


@pytest.mark.parametrize("kind", [*KINDS, "word"])
def test_the_same_text_gives_the_same_model(kind: str) -> None:
    size = 10 if kind == "word" else 290
    assert train(kind, size=size) == train(kind, size=size)


def test_long_lines_are_not_skipped() -> None:
    line = "wort " * 3000
    assert "▁wort" in train(lines=[line, *TEXT]).pieces


def test_ids_come_in_the_narrowest_type_and_order() -> None:
    vocabulary = VOCABULARIES["bpe"]
    ids = vocabulary.encode(["the cat", "", "a dog"], threads=2)
    assert ids.values.dtype == np.uint16
    assert [vocabulary.decode(ids[row]) for row in range(3)] == ["the cat", "", "a dog"]
    assert len(vocabulary.encode([])) == 0


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
def test_a_size_that_is_too_large_names_the_largest_possible_one(kind: str) -> None:
    with pytest.raises(VocabularyError, match="50000 is too large") as failed:
        train(kind, size=50000)
    largest = int(failed.value.hint.split()[3])
    assert len(train(kind, size=largest)) == largest


@pytest.mark.parametrize("kind", [*KINDS, "word"])
def test_an_absurd_size_is_an_error(kind: str) -> None:
    config = VocabularyConfig.model_validate({"kind": kind}).model_copy(update={"size": 10**12})
    with pytest.raises(VocabularyError, match="sentencepiece cannot train a vocabulary") as failed:
        Vocabulary.train(TEXT, config)
    assert "vocabulary.size" in failed.value.hint


@pytest.mark.parametrize("kind", [*KINDS, "word"])
def test_a_size_that_is_too_small_names_the_smallest_possible_one(kind: str) -> None:
    with pytest.raises(VocabularyError, match="5 is too small") as failed:
        train(kind, size=5, symbols=["<ent>"])
    smallest = int(failed.value.hint.split()[3])
    assert len(train(kind, size=smallest, symbols=["<ent>"])) == smallest


@pytest.mark.parametrize("kind", [*KINDS, "word"])
def test_without_a_size_a_small_text_gives_a_small_vocabulary(kind: str) -> None:
    assert 4 < len(train(kind, size=None)) < 500


def test_a_char_vocabulary_has_the_size_it_needs() -> None:
    assert 260 < len(train("char", size=50000)) < 290


@pytest.mark.parametrize("lines", [[], ["", "  \t"]])
def test_no_text_is_an_error(lines: list[str]) -> None:
    with pytest.raises(VocabularyError, match="no text"):
        train(lines=lines)


def test_an_error_while_reading_lines_is_passed_on() -> None:
    def lines() -> Iterator[str]:
        yield "one"
        raise KeyError("two")

    with pytest.raises(KeyError, match="two"):
        Vocabulary.train(lines(), VocabularyConfig())


def test_sentencepiece_is_silent(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    train(lines=["a\0b", "y" * 9000, *TEXT])
    with pytest.raises(VocabularyError):
        train(size=50000)
    (tmp_path / "x").write_bytes(b"garbage")
    with pytest.raises(VocabularyError):
        Vocabulary.load(tmp_path / "x")
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_a_saved_vocabulary_is_the_same(tmp_path: Path) -> None:
    bpe, char = VOCABULARIES["bpe"], VOCABULARIES["char"]
    Vocabularies(bpe, bpe).save(tmp_path)
    loaded = Vocabularies.load(tmp_path)
    assert loaded.joint
    assert loaded.source == bpe
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shared.model"]
    (tmp_path / "two").mkdir()
    Vocabularies(bpe, char).save(tmp_path / "two")
    loaded = Vocabularies.load(tmp_path / "two")
    assert (loaded.source, loaded.target, loaded.joint) == (bpe, char, False)
    assert loaded.target.kind == "char"


@pytest.mark.parametrize("joint", [True, False])
def test_a_joint_vocabulary_learns_from_both_sides(joint: bool) -> None:
    def lines(sides: tuple[str, ...]) -> list[str]:
        return [text for side in sides for text in {"source": ["äöü"] * 9, "target": ["xyz"] * 9}[side]]

    config = VocabularyConfig(kind="char", joint=joint)
    vocabularies = Vocabularies.train(lines, config)
    assert vocabularies.joint == joint
    assert "ä" in vocabularies.source.pieces
    assert ("x" in vocabularies.source.pieces) == joint
    assert "x" in vocabularies.target.pieces


def test_a_vocabulary_can_be_sent_to_another_process() -> None:
    bpe = VOCABULARIES["bpe"]
    copied = copy.deepcopy(Vocabularies(bpe, bpe))
    assert copied.source == bpe
    assert copied.joint


def test_a_directory_without_vocabulary_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="has no vocabulary"):
        Vocabularies.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\n" * 40, bytes(100)])
def test_a_file_that_is_not_a_model_is_an_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "shared.model"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=r"shared\.model: not a sentencepiece model"):
        Vocabulary.load(path)


def test_a_missing_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="cannot read"):
        Vocabulary.load(tmp_path / "none.model")


def test_a_model_with_other_reserved_ids_is_refused(tmp_path: Path) -> None:
    prefix = tmp_path / "other"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT),
        model_prefix=str(prefix),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    with pytest.raises(VocabularyError, match="are -1, 0, 1, 2 instead of 0, 1, 2, 3"):
        Vocabulary.load(prefix.with_suffix(".model"))


def test_the_vocabulary_imports_neither_torch_nor_arrow() -> None:
    code = (
        "import sys, nmt_cli.vocabulary; print({'torch', 'datasets', 'pandas', 'pyarrow'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_survive_as_bytes_in_flat_arrays(texts: list[str]) -> None:
    assert Ragged.from_texts(texts).texts() == texts
