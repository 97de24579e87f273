"""Symbols for placeholders: what goes in comes out, exactly once, whatever the model does."""

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.config import resolve
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.export.folder import export
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.runtime.placeholders import (
    SYMBOLS,
    PlaceholderPatterns,
    PlaceholderSymbols,
    renumbered,
    restore,
)
from nmt_cli.runtime.translate import ExportedTranslator
from nmt_cli.translator import Translator

from .runs import make_run

REPLACE = PlaceholderSymbols()
PIECES = [
    "%s",
    "{name}",
    "<b>",
    "</b>",
    "/etc/passwd",
    "--all",
    "`x y`",
    "⟦1⟧",
    "⟦7⟧",
    " ",
    "  ",
    "ba",
    "Be",
    ",",
    ".",
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)


def symbols_of(text: str) -> list[str]:
    return re.findall("⟦[0-9]+⟧", text)


@given(TEXT | st.text(max_size=40))
def test_what_was_replaced_is_put_back(text: str) -> None:
    masked = REPLACE.mask(text)
    assert restore(*masked) == text
    assert symbols_of(masked.text) == list(SYMBOLS[: len(masked.originals)])


@given(TEXT, TEXT)
def test_both_sides_of_a_pair_have_the_same_symbols(source: str, target: str) -> None:
    masked = REPLACE.mask_pair(source, target)
    found = [
        [text[one.start : one.end] for one in PlaceholderPatterns().find(text)] for text in (source, target)
    ]
    shared = [text for text in found[0] if found[0].count(text) == found[1].count(text)]
    if any(text in SYMBOLS for text in {*found[0], *found[1]} - {*shared}):
        return  # literal symbols that are not in both remain, and look like those of others
    assert symbols_of(masked[0]) == list(SYMBOLS[: len(shared)])
    assert Counter(symbols_of(masked[1])) == Counter(symbols_of(masked[0]))
    assert [restore(text, shared) for text in masked] == [source, target]


def test_a_placeholder_that_only_one_side_has_is_ordinary_text_and_the_pair_is_kept() -> None:
    assert REPLACE.mask_pair("open %s in /etc/x", "%s öffnen, d.h. in /etc/y") == (
        "open ⟦1⟧ in /etc/x",
        "⟦1⟧ öffnen, d.h. in /etc/y",
    )
    assert REPLACE.mask_pair("%s and %s", "%s") == ("%s and %s", "%s")
    assert REPLACE.mask_pair("%s of %d", "%d aus %s") == ("⟦1⟧ of ⟦2⟧", "⟦2⟧ aus ⟦1⟧")


@pytest.mark.parametrize(
    ("translation", "restored"),
    [
        ("⟦2⟧ aus ⟦1⟧", "/b aus %s"),
        ("nur ⟦2⟧", "nur /b %s"),
        ("⟦1⟧ ⟦1⟧ ⟦2⟧ ⟦9⟧ x", "%s /b x"),
        ("⟦9⟧ x", "x %s /b"),
        ("", "%s /b"),
    ],
)
def test_symbols_too_many_are_removed_and_what_is_missing_follows(translation: str, restored: str) -> None:
    assert restore(translation, ["%s", "/b"]) == restored


@given(st.lists(st.sampled_from(PIECES[:7]), max_size=12), st.integers(0, 12))
def test_stretches_of_a_text_have_numbers_of_their_own(pieces: list[str], cut: int) -> None:
    text = " und ".join(pieces)
    masked = REPLACE.mask(text)
    words = masked.text.split(" und ")
    parts = [renumbered(" und ".join(some), masked.originals) for some in (words[:cut], words[cut:])]
    assert " und ".join(restore(*part) for part in parts if part.text) == text
    assert all(symbols_of(part.text) == list(SYMBOLS[: len(part.originals)]) for part in parts)


def test_placeholders_keep_their_case_and_are_not_normalized() -> None:
    normalization = Normalization(True, (("1", "one"), ("/", "-")), REPLACE)
    masked = normalization.masked("Open /Etc/X 1 or %S")
    assert masked.text == "open ⟦1⟧ one or %s"
    assert restore(*masked) == "open /Etc/X one or %s"
    assert normalization.without_placeholders("A/B") == "a-b"


PAIRS = [(f"Open file{n}.txt and count {n}.", f"Datei{n} heißt file{n}.txt, {n}.") for n in range(60)]


def test_preprocessing_writes_symbols_and_settings_without_it_write_none(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), "utf-8")
    texts = {}
    for name, setting in (("on", ["data.placeholders=true"]), ("off", [])):
        out = tmp_path / name
        settings = resolve(None, ["data.valid_size=2", "data.test_size=2", *setting])
        preprocess(
            PreprocessRequest(
                source_lang="en",
                target_lang="de",
                train=[str(tmp_path / "a.tsv")],
                out=out,
                settings=settings,
            )
        )
        texts[name] = (out / "train.arrow").read_bytes()
        vocabulary = (out / "shared.model").read_bytes()
        assert (SYMBOLS[0].encode() in vocabulary) is (name == "on")
        # Held-out text is stored as it was read.
        assert ".txt" in next(out.glob("test.en")).read_text("utf-8")
    assert b"Open \xe2\x9f\xa61\xe2\x9f\xa7 and" in texts["on"]
    assert b".txt" not in texts["on"]
    assert SYMBOLS[0].encode() not in texts["off"]


@pytest.mark.parametrize(
    "settings",
    [
        ["data.placeholders=true", "vocabulary.kind=word"],
        ['data.placeholder_patterns=["@[a-z]+@"]'],
        ["data.placeholders=true", 'data.placeholder_patterns=["("]'],
    ],
)
def test_contradictory_settings_are_rejected(settings: list[str]) -> None:
    with pytest.raises(ConfigError, match="placeholder"):
        resolve(None, settings)


def test_monolingual_text_and_vocabularies_without_symbols_are_refused(tmp_path: Path) -> None:
    train = tmp_path / "a.tsv"
    train.write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), "utf-8")
    plain = PreprocessRequest(source_lang="en", target_lang="de", train=[str(train)], out=tmp_path / "plain")
    preprocess(plain)
    settings = resolve(None, ["data.placeholders=true"])
    for source, vocabulary in (("", None), ("en", tmp_path / "plain")):
        with pytest.raises(UsageError, match=r"data\.placeholders"):
            preprocess(
                PreprocessRequest(
                    source_lang=source,
                    target_lang="de",
                    train=[str(train)],
                    out=tmp_path / "new",
                    settings=settings,
                    vocabulary=vocabulary,
                )
            )


LINES = [
    "Ba %s be {name}.",
    "do /du/fa --fe fi",
    "no placeholder",
    "",
    "%s %s",
    "be ⟦3⟧ ba",
    "ba %d be. " * 20,
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    symbols = ",".join(f'"{symbol}"' for symbol in SYMBOLS)
    settings = ("data.placeholders=true", f"vocabulary.symbols=[{symbols}]", "search.beam_size=2")
    return make_run(tmp_path_factory.mktemp("runs") / "run", settings, prefers_bytes=False)


def test_whatever_the_model_writes_every_placeholder_is_there_once(run: Path) -> None:
    translator = Translator.load(run)
    for source, translation in zip(LINES, translator.translate(LINES), strict=True):
        before, after = (
            Counter(text[one.start : one.end] for one in PlaceholderPatterns().find(text))
            for text in (source, translation.text)
        )
        assert before == after, (source, translation.text)
        assert not symbols_of(translation.text.replace("⟦3⟧", ""))


def test_an_exported_model_puts_the_same_placeholders_back(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out", shortlist="none")
    exported = ExportedTranslator(tmp_path / "out")
    expected = [one.text for one in Translator.load(run).translate(LINES)]
    assert [one.text for one in exported.translate(LINES)] == expected
    scores = [one.score(["ba %s"], ["be %s."])[0].log_probability for one in (exported, Translator.load(run))]
    assert scores[0] == pytest.approx(scores[1], rel=1e-4)


def test_a_run_without_symbols_treats_them_as_text(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", prefers_bytes=False)
    assert Translator.load(run).normalization.placeholders is None
    assert Translator.load(run).translate("⟦3⟧ %s").source == "⟦3⟧ %s"


def test_real_text_survives(corpora: Path) -> None:
    for name in ("manpages/test.en-de.en.gz", "python-docs/test.en-es.en.gz"):
        lines = gzip.decompress((corpora / name).read_bytes()).decode().split("\n")
        masked = [REPLACE.mask(line) for line in lines]
        assert sum(bool(one.originals) for one in masked) > 100
        assert [restore(*one) for one in masked] == lines
