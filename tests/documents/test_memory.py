"""The translation memory: equal texts are reused, similar ones are offered."""

import gzip
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from nmt_cli.documents.memory import MemoryLines, TranslationMemory
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.runtime.translation import Translation

UNITS = [
    ("Open the file", "Öffnen Sie die Datei", ""),
    ("Close the window", "Schließen Sie das Fenster", ""),
    ("Open", "Öffnen", "menu"),
    ("Open", "Offen", "state"),
    ("Open", "Offen", ""),
]


def memory(threshold: float = 75) -> TranslationMemory:
    return TranslationMemory(UNITS, threshold=threshold)


def test_an_equal_text_is_an_exact_match_whatever_its_white_space() -> None:
    for text in ("Open the file", " Open  the\nfile "):
        match = memory().lookup(text)
        assert match is not None
        assert match.is_exact
        assert (match.source, match.target) == ("Open the file", "Öffnen Sie die Datei")


def test_a_similar_text_is_a_near_match_with_its_similarity() -> None:
    match = memory().lookup("Open the files")
    assert match is not None
    assert not match.is_exact
    assert match.similarity == pytest.approx(fuzz.ratio("Open the files", "Open the file"))
    assert match.target == "Öffnen Sie die Datei"
    assert memory(threshold=97).lookup("Open the files") is None
    assert memory(threshold=100).lookup("Open the files") is None
    assert memory().lookup("Something else") is None
    assert memory().lookup("  ") is None


def test_a_translation_with_control_characters_is_not_used() -> None:
    units = [("a", "\x1b[31mred", ""), ("b", "\x9b2J", ""), ("c", "two\r\nlines\tand more", "")]
    found = TranslationMemory(units, threshold=100)
    assert [found.lookup(text) is not None for text in "abc"] == [False, False, True]
    lines = MemoryLines(found, ["c"])
    window = Window(0, list(lines), [Translation("", "")])
    [restored] = lines.restored([window])
    assert restored.translations[0].text == "two lines\tand more"


def test_the_context_decides_between_several_translations_and_then_the_majority() -> None:
    for context, target in (("menu", "Öffnen"), ("state", "Offen"), ("", "Offen"), ("other", "Offen")):
        match = memory().lookup("Open", context)
        assert match is not None
        assert match.target == target


@given(
    st.text("ab ", min_size=1, max_size=8),
    st.lists(st.text("ab ", max_size=12), max_size=20),
    st.integers(30, 99),
)
def test_the_near_match_is_the_most_similar_text(text: str, sources: list[str], threshold: int) -> None:
    found = TranslationMemory([(source, "x", "") for source in sources], threshold=threshold).lookup(text)
    normalized = {" ".join(source.split()) for source in sources} - {""}
    best = max((fuzz.ratio(" ".join(text.split()), source) for source in normalized), default=0.0)
    if not text.strip() or best < threshold:
        assert found is None
    else:
        assert found is not None
        assert found.similarity == pytest.approx(best, abs=0.02)


class TestFiles:
    TMX = (
        '<tmx><body><tu><tuv xml:lang="en-US"><seg>Open</seg></tuv><tuv xml:lang="de"><seg>Öffnen</seg></tuv></tu>'
        '<tu><tuv xml:lang="en-US"><seg>only</seg></tuv></tu></body></tmx>'
    )
    PO = 'msgctxt "menu"\nmsgid "Open"\nmsgstr "Öffnen"\n\n#, fuzzy\nmsgid "Shut"\nmsgstr "Zu"\n'

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("x.tmx", TMX),
            ("x.po", PO),
            ("x.tsv", "Open\tÖffnen\n\t\n"),
            ("x.csv", "en,de\nOpen,Öffnen\n"),
            ("x.jsonl", '{"en": "Open", "de": "Öffnen"}\n'),
        ],
    )
    def test_finished_translations_of_every_format_are_loaded(
        self, tmp_path: Path, name: str, content: str
    ) -> None:
        path = tmp_path / name
        path.write_text(content, "utf-8")
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress(content.encode()))
        for file in (path, packed):
            loaded = TranslationMemory.load(file, "en", "de")
            match = loaded.lookup("Open")
            assert len(loaded) == 1
            assert match is not None
            assert match.target == "Öffnen"

    def test_a_file_without_translations_or_of_another_format_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "x.tmx").write_text(self.TMX, "utf-8")
        with pytest.raises(CorpusError, match="no finished translations from en to fr"):
            TranslationMemory.load(tmp_path / "x.tmx", "en", "fr")
        (tmp_path / "x.txt").touch()
        with pytest.raises(UsageError, match="not a translation memory"):
            TranslationMemory.load(tmp_path / "x.txt", "en", "de")
        with pytest.raises(CorpusError, match="does not exist"):
            TranslationMemory.load(tmp_path / "y.tmx", "en", "de")

    def test_a_real_memory_has_all_of_its_texts(self, corpora: Path) -> None:
        loaded = TranslationMemory.load(corpora / "formats" / "tico19.en-fr.tmx.gz", "en", "fr")
        match = loaded.lookup("and along with a fever")
        assert match is not None
        assert match.target == "et surtout si vous avez de la fièvre"
        near = loaded.lookup("and along with fever")
        assert near is not None
        assert 90 < near.similarity < 100


class Window(NamedTuple):
    first: int
    sources: list[str]
    translations: list[Translation]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("skipped", [0, 2])
def test_lines_with_an_exact_match_never_reach_the_translator(size: int, skipped: int) -> None:
    lines = ["Open the file", "new text", "Open the files", "Open", ""]
    through = MemoryLines(memory(), lines)
    stream = iter(through)
    for _ in range(skipped):
        next(stream)
    rest = list(stream)
    assert list(filter(None, rest)) == ["new text", "Open the files"][max(0, skipped - 1) :]

    parts = [rest[i : i + size] for i in range(0, len(rest), size)]
    windows = [
        Window(skipped + i * size, part, [Translation(text.upper(), text) for text in part])
        for i, part in enumerate(parts)
    ]
    restored = list(through.restored(windows))
    expected = ["Öffnen Sie die Datei", "NEW TEXT", "OPEN THE FILES", "Offen", ""]
    assert [one.text for window in restored for one in window.translations] == expected[skipped:]
    assert [line for window in restored for line in window.sources] == lines[skipped:]
