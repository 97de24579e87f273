"""Laws of all formats: the identity gives the same bytes, and what was written can be read again."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.documents.document import plain
from nmt_cli.documents.formats import FORMATS, format_of
from nmt_cli.errors import CorpusError

from .samples import MONOLINGUAL, SAMPLES, XLIFF2
from .translators import IDENTITY, SWAPPED, by_line, read, texts, translate

REPOSITORY = Path(__file__).parents[2]
PAGES = [*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").glob("*.md"))]


def test_every_format_has_a_sample() -> None:
    assert set(SAMPLES) == set(FORMATS)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", MONOLINGUAL)
def test_the_identity_gives_the_same_bytes(name: str, newline: str) -> None:
    data = SAMPLES[name].replace("\n", newline).encode()
    assert len(read(data, name).entries) >= 2
    assert translate(data, name) == data


@pytest.mark.parametrize("name", SAMPLES)
def test_a_document_without_translations_is_the_same_bytes(name: str) -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        data = mark + SAMPLES[name].encode()
        document = read(data, name)
        assert document.write([None] * len(document.entries)) == data


@pytest.mark.parametrize("name", MONOLINGUAL)
def test_what_was_written_is_read_again(name: str) -> None:
    data = SAMPLES[name]
    translated = translate(data, name, SWAPPED)
    assert translated != data.encode()
    before, after = texts(data, name), texts(translated, name)
    assert len(after) == len(before)
    assert translate(translated, name, IDENTITY) == translated
    assert [_letters(text) for text in after] == [_letters(text) for text in before]


def _letters(text: str) -> list[str]:
    return sorted(text.lower().replace(" ", "").replace("\n", ""))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_projects_own_pages_survive(page: Path) -> None:
    data = page.read_bytes()
    assert translate(data, "markdown") == data
    translated = translate(data, "markdown", SWAPPED)
    assert len(texts(translated, "markdown")) == len(texts(data, "markdown"))


def test_pages_are_found() -> None:
    assert len(PAGES) >= 20


def test_real_files_survive(corpora: Path) -> None:
    count = 0
    for path in sorted((corpora / "formats").rglob("*")):
        found = format_of(Path(path.name.removesuffix(".gz")))
        if not path.is_file() or found is None or path.stat().st_size > 300_000:
            continue
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        try:
            document = read(data, found.name)
        except CorpusError:
            assert "invalid" in path.name
            continue
        assert document.write([None] * len(document.entries)) == data, path
        count += 1
    assert count >= 10


# Text that a person might write, and what formats use for themselves.
TEXT = st.text(
    st.one_of(
        st.sampled_from("abc def äß漢'\"&<>|{}[]()*_`#-+=:;,.!?%$@\\/~^\u00a0\u2028"),
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(text=TEXT)
@pytest.mark.parametrize("name", MONOLINGUAL)
def test_any_translation_leaves_the_structure_alone(name: str, text: str) -> None:
    """A model may write anything. The document has as many segments as before, and the others are unchanged."""
    data = SAMPLES[name]
    before = texts(data, name)
    text = f"x{text}"
    chosen = next(
        row for row, one in enumerate(before) if one.strip(" .").isalpha() or row == len(before) - 1
    )
    source = before[chosen]
    translator = by_line(lambda line: text if line.strip() == source.strip() else line)
    after = texts(translate(data, name, translator), name)
    others = [one for row, one in enumerate(after) if row != chosen]
    assert others == [one for row, one in enumerate(before) if row != chosen]


@settings(max_examples=40, deadline=None)
@given(text=TEXT)
@pytest.mark.parametrize("name", ["json", "properties", "android", "html", "srt"])
def test_a_translation_is_read_again_as_it_was(name: str, text: str) -> None:
    cases = {
        "json": '{"key": "the source"}',
        "properties": "key = the source\n",
        "android": '<resources><string name="a">the source</string></resources>',
        "html": "<p>the source</p>",
        "srt": "1\n00:00:01,000 --> 00:00:02,000\nthe source\n",
    }
    document = read(cases[name], name)
    [entry] = document.entries
    wanted = " ".join(f"x{text}".split())
    again = texts(document.write([((wanted,),)]), name)
    assert "".join(again).split() == wanted.split() or entry.segments[0].parts == (wanted,)


def test_xliff_2_is_filled_in() -> None:
    document = read(XLIFF2, "xliff", target_language="de")
    assert [plain(entry.segments[0].parts) for entry in document.entries] == [
        'Hello <pc id="1">big</pc> world'
    ]
    written = translate(XLIFF2, "xliff", SWAPPED, target_language="de").decode()
    assert 'trgLang="de"' in written
    assert '<segment id="s" state="translated" subState="nmt:machine">' in written
    assert '<target>hELLO <pc id="1">BIG</pc> WORLD</target>' in written
    assert translate(written, "xliff", SWAPPED).decode() == written
