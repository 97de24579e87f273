"""Broken documents: one line that says where, or the entry is left as it is and listed."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.documents.document import MAX_SEGMENT_CHARACTERS
from nmt_cli.documents.formats import FORMATS
from nmt_cli.errors import CorpusError

from .samples import SAMPLES
from .translators import IDENTITY, read, texts, translate

BOMB = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<xliff version="1.2"><file><body><trans-unit id="1"><source>&b;</source></trans-unit></body></file></xliff>"""
EXTERNAL = BOMB.replace('<!ENTITY a "aaaaaaaaaa">', '<!ENTITY a SYSTEM "file:///etc/passwd">')

BROKEN = [
    ("po", 'msgid "a\nmsgstr ""\n', "line 1: this is not PO syntax"),
    ("po", 'msgid "a"\n\nmsgid "b"\nmsgstr ""\n', "line 3: msgid occurs twice"),
    (
        "po",
        'msgid "a"\nmsgstr ""\n\nmsgid "a"\nmsgstr ""\n',
        "line 4: the message of line 1 is defined again",
    ),
    ("po", '"a"\n', "line 1: a string without keyword"),
    ("po", 'msgid "a"\n', "line 1: a message has no msgstr"),
    ("po", "hello\n", "line 1: this is not PO syntax"),
    ("xliff", BOMB, "line 1: it declares entities"),
    ("xliff", EXTERNAL, "line 1: it declares entities"),
    (
        "xliff",
        SAMPLES["xliff"].replace("</file>", ""),
        "line 13, column 3: the XML is not well-formed: mismatched tag",
    ),
    ("xliff", "<html/>", "the root element is not <xliff>"),
    ("xliff", "", "the XML is not well-formed"),
    ("xliff", "<a>" * 600, "elements are nested more than"),
    ("android", "<a/>", "the root element is not <resources>"),
    ("srt", "hello\n", "there are no time codes"),
    ("srt", "1\n00:00:01 --> 2\nx\n", "line 2: this is not a time code"),
    ("vtt", "hello\n", "line 1: it does not start with WEBVTT"),
    ("html", "hello\n", "there is no tag"),
    ("json", '{"a": "b",}', "line 1, column 11: } instead of a key"),
    ("json", '{"a": "b"', "it ends too early"),
    ("json", '{"a": \n "b\n"}', "line 2, column 2: this is not JSON"),
    ("json", '{"a" 1}', "line 1, column 6: 1 instead of a colon"),
    ("json", "[" * 300, "more than 200 levels"),
    ("json", "[] x", "after the end"),
]


@pytest.mark.parametrize(("name", "data", "message"), BROKEN)
def test_a_broken_document_is_an_error_that_says_where(name: str, data: str, message: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(data, name)
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"properties"}))
def test_a_wrong_encoding_is_an_error_that_says_where(name: str) -> None:
    data = SAMPLES[name].encode() + b"\n\xff\xfe\n"
    with pytest.raises(CorpusError, match=r"is not valid UTF-8: line \d+, byte \d+"):
        read(data, name)


def test_utf_16_is_read_and_written() -> None:
    for name in ("xliff", "html", "srt"):
        data = SAMPLES[name].replace('encoding="UTF-8"', 'encoding="UTF-16"').encode("utf-16")
        document = read(data, name)
        assert document.entries
        assert document.write([None] * len(document.entries)) == data


def test_an_unknown_encoding_is_named() -> None:
    with pytest.raises(CorpusError, match="unknown encoding 'x-none'"):
        read(SAMPLES["xliff"].replace("UTF-8", "x-none"), "xliff")


DUPLICATES = [
    ("json", '{"a": "one text", "a": "another text"}', "the key a is defined twice"),
    ("properties", "a = one\na = two\n", "the key a is defined in line 1 already"),
    (
        "android",
        '<resources><string name="a">b</string><string name="a">c</string></resources>',
        "name a is defined",
    ),
    ("html", "<p>one <b>two</p><p>three</b> four</p><p>five</p>", "tags are not balanced"),
]


@pytest.mark.parametrize(("name", "data", "reason"), DUPLICATES)
def test_a_bad_entry_is_left_and_listed(name: str, data: str, reason: str) -> None:
    document = read(data, name)
    assert reason in document.untouched[0].reason
    assert document.untouched[0].where == ("line 2" if name == "properties" else "line 1")
    assert len(document.entries) == 1
    assert translate(data, name) == data.encode()


HUGE: dict[str, Callable[[str], str]] = {
    "po": lambda text: f'msgid "{text}"\nmsgstr ""\n\nmsgid "small"\nmsgstr ""\n',
    "xliff": lambda text: (
        f'<xliff version="1.2"><file><trans-unit id="1"><source>{text}</source></trans-unit></file></xliff>'
    ),
    "srt": lambda text: f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n",
    "markdown": lambda text: text,
    "html": lambda text: f"<p>{text}</p>",
    "json": lambda text: f'["{text}"]',
    "properties": lambda text: f"a = {text}",
    "text": lambda text: text,
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_segment_is_left_as_it_is(name: str) -> None:
    data = HUGE[name]("word " * (MAX_SEGMENT_CHARACTERS // 5 + 1) + "end")
    document = read(data, name)
    results = IDENTITY.translate([segment for entry in document.entries for segment in entry.segments])
    assert "characters" in results[0].reason


ENDLESS = [
    '"',
    "`",
    "[",
    "](",
    "<",
    "<a ",
    "&",
    "{",
    "*",
    "_",
    "|",
    "\\",
    "<!--",
    "#",
    ">",
    "- ",
    "1\n",
    "%",
    "'",
    "\t",
    "--> ",
]


@pytest.mark.parametrize("name", FORMATS)
def test_repetitions_take_linear_time(name: str) -> None:
    """With a pattern that takes quadratic time, this test would take minutes."""
    for mark in ENDLESS:
        for data in (SAMPLES[name] + mark * 5_000, mark * 5_000):
            try:
                texts(data, name)
            except CorpusError:
                continue


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_documents_never_crash(name: str, data: st.DataObject) -> None:
    sample = SAMPLES[name]
    at = data.draw(st.integers(0, len(sample)))
    length = data.draw(st.integers(0, 30))
    noise = data.draw(st.text(st.sampled_from("\"<>&{}[]()*_`|\\#\n\r\t -:%='x/é\0"), max_size=10))
    damaged = sample[:at] + noise + sample[at + length :]
    try:
        document = read(damaged, name)
    except CorpusError as error:
        assert re.search(r"line \d+|byte \d+", error.message)  # noqa: PT017
        return
    assert document.write([None] * len(document.entries)) == damaged.encode()
    if name not in ("po", "xliff"):
        assert translate(damaged, name) == damaged.encode()
