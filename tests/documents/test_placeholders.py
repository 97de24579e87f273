"""Every placeholder is in the translation exactly once, or there is no translation."""

import re
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.documents.document import Markup, Parts, Segment, plain
from nmt_cli.documents.insertion import Alignment, restore
from nmt_cli.documents.placeholders import Recognizer
from nmt_cli.documents.segment_translation import SegmentTranslator
from nmt_cli.documents.sentences import lines_of
from nmt_cli.errors import UsageError

from .translators import Line, by_line

RECOGNIZED = [
    ("Copied %s to %s", "", ["%s", "%s"]),
    ("%1$d of %(name)s, %-5.2f %lu %%", "", ["%1$d", "%(name)s", "%-5.2f", "%lu", "%%"]),
    ("100% sure", "", []),
    ("100% sure", "c", ["% s"]),
    ("{0} {name!r:>3} {}", "", ["{0}", "{name!r:>3}", "{}"]),
    ("{n, plural, one {# file} other {{n} files}}!", "", ["{n, plural, one {# file} other {{n} files}}"]),
    ("{n, plural, one {# file}", "", []),
    ("${x} $HOME {{ y }} {% if a %}", "", ["${x}", "$HOME", "{{ y }}", "{% if a %}"]),
    ("a <b>c</b> &amp; <br/>", "", ["<b>", "</b>", "&amp;", "<br/>"]),
    ("a < b and b > c", "", []),
    ("see https://a.org/b?c=d. Mail x.y@z.org.", "", ["https://a.org/b?c=d", "x.y@z.org"]),
    ("in /etc/passwd, ~/x.txt or C:\\a\\b", "", ["/etc/passwd", "~/x.txt", "C:\\a\\b"]),
    ("and/or", "", []),
    ("use --long-option=FILE or -x", "", ["--long-option=FILE", "-x"]),
    ("a well-known word", "", []),
    ("call `f(x)` and :func:`open`", "", ["`f(x)`", ":func:`open`"]),
]


@pytest.mark.parametrize(("text", "syntax", "found"), RECOGNIZED)
def test_placeholders_are_recognized(text: str, syntax: str, found: list[str]) -> None:
    assert [one.raw for one in Recognizer().placeholders((text,), syntax)] == found


def test_own_patterns_are_recognized_and_checked() -> None:
    assert [one.raw for one in Recognizer([r"@\w+@"]).placeholders(("a @X@ b",))] == ["@X@"]
    for pattern in ("(", "x*"):
        with pytest.raises(UsageError, match="placeholder pattern"):
            Recognizer([pattern])


PIECES = [
    "%s",
    "%d",
    "{0}",
    "<b>",
    "</b>",
    "&amp;",
    "$x",
    "`code`",
    "word",
    "Words",
    ",",
    ".",
    "%",
    "{",
    "&",
    "_x",
]
SENTENCES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(
    source=SENTENCES, outputs=st.lists(SENTENCES, min_size=1, max_size=3), syntax=st.sampled_from(["", "c"])
)
def test_no_model_can_break_a_placeholder(source: str, outputs: list[str], syntax: str) -> None:
    """Whatever the model writes, even placeholders of its own."""
    calls: list[str] = []

    def model(text: str) -> str:
        calls.append(text)
        return outputs[len(calls) % len(outputs)]

    segment = Segment((source,), syntax, accelerators=True)
    [result] = by_line(model).translate([segment])
    if result.parts is None:
        assert result.reason
        return
    recognizer = Recognizer()
    wanted = sorted(one.raw for one in recognizer.placeholders((source,), syntax))
    assert sorted(one.raw for one in recognizer.placeholders(result.parts, syntax)) == wanted
    for mark in ("%s", "%d", "{0}", "<b>", "</b>", "&amp;", "$x", *(["`code`"] if not syntax else [])):
        assert plain(result.parts).count(mark) == source.count(mark)
    ordered = re.compile(r"%[sd]")
    assert ordered.findall(plain(result.parts)) == ordered.findall(source)


def test_what_a_model_does_not_copy_is_inserted() -> None:
    """A model that drops everything but words; they are aligned by their order."""
    translator = by_line(lambda text: " ".join(re.findall(r"\w{3,}", text)).upper())
    source = Segment(("please copy {name} from /usr/share/doc into the folder",))
    [result] = translator.translate([source])
    assert result.parts is not None
    assert plain(result.parts) == "PLEASE COPY {name} FROM /usr/share/doc INTO THE FOLDER"


def _always(translation: str, text: str) -> str:
    return translation


def test_what_stood_next_to_punctuation_is_not_attached_to_a_word() -> None:
    """The model drops the placeholder, so it is inserted in front of another word than in the source."""
    for source, dropped, expected in (
        ("mounted at /sys, see it", "eingehängt siehe", "eingehängt /sys siehe"),
        ("the (%s) file", "Datei hier", "Datei %s hier"),
        ("width {n}px here", "Breite px hier", "Breite {n}px hier"),
    ):
        [result] = by_line(partial(_always, dropped)).translate([Segment((source,))])
        assert result.parts is not None, (source, result.reason)
        assert plain(result.parts).split() == expected.split()


def test_a_truncated_translation_is_not_used() -> None:
    def lines(texts: Sequence[str], align: bool) -> list[Line]:
        return [Line(text[:3], reached_limit=True) for text in texts]

    [result] = SegmentTranslator(lines).translate([Segment(("a long sentence",))])
    assert (result.parts, result.reason) == (None, "its translation is too long")


def _tagged(text: str) -> Parts:
    """`a [b] c` with brackets as a pair of tags, | as an empty tag."""
    roles = {"[": Markup("<g>", "open"), "]": Markup("</g>", "close"), "|": Markup("<x/>", "point")}
    return tuple(roles.get(piece, piece) for piece in re.split(r"([\[\]|])", text) if piece)


def _inserted(source: str, target: str, links: list[tuple[int, int]]) -> str:
    """Links are (target word, source word)."""
    [line] = lines_of(_tagged(source))
    words = [[match.span() for match in re.finditer(r"\w+|[^\w\s]", text)] for text in (line.text, target)]
    weights = np.zeros((len(words[1]), len(words[0])), np.float32)
    for j, i in links:
        weights[j, i] = 1.0
    parts = restore(line, target, Alignment(words[0], words[1], weights))
    assert parts is not None
    return plain((*line.before, *parts, *line.after))


def test_a_pair_of_tags_wraps_the_words_that_attend_to_what_it_wrapped() -> None:
    links = [(0, 0), (1, 3), (2, 1), (3, 2)]
    assert _inserted("I see [the dog] today", "Ich heute Hund sehe", [(0, 0), (1, 4), (2, 3), (3, 1)]) == (
        "Ich heute <g>Hund</g> sehe"
    )
    assert _inserted("a [b c] d", "A D B C", links) == "A D <g>B C</g>"


def test_tags_stay_nested_and_none_is_lost() -> None:
    everything = [(j, 3 - j) for j in range(4)]
    assert _inserted("a [b [c] d]", "D C B A", everything) == "<g>D <g>C</g> B</g> A"
    assert _inserted("[a] [b] c d", "X", [(0, 3)]).count("g>") == 4


def test_a_point_goes_in_front_of_the_word_that_attends_to_the_next_one() -> None:
    assert _inserted("a |b c", "C B A", [(0, 2), (1, 1), (2, 0)]) == "C <x/>B A"
    assert _inserted("a b|", "B A", [(0, 1), (1, 0)]) == "B A<x/>"


ACCELERATORS = [
    ("_File", "Datei", "_Datei"),
    ("&Save as", "Speichern", "&Speichern"),
    ("E_xit", "Exit", "E_xit"),
]


@pytest.mark.parametrize(("source", "words", "target"), [*ACCELERATORS, ("_File", "文件", "文件(_F)")])
def test_an_accelerator_is_in_front_of_the_same_letter_if_possible(
    source: str, words: str, target: str
) -> None:
    translator = by_line(lambda text: words if "_" not in text and "&" not in text else "seen")
    [result] = translator.translate([Segment((source,), accelerators=True)])
    assert result.parts in ((target,), (source,))


def test_names_with_underscores_are_not_accelerators() -> None:
    seen: list[str] = []
    by_line(lambda text: seen.append(text) or text).translate(  # type: ignore[func-returns-value]
        [Segment((text,), accelerators=True) for text in ("set max_size here", "the __init__ method", "AT&T")]
    )
    assert seen == ["set max_size here", "the __init__ method", "AT&T"]


def test_sentences_end_where_sentences_end() -> None:
    text = "See e.g. Dr. Smith. He said: “Yes!” Version 2.0 is out? done. 漢字。漢字"
    assert [line.text for line in lines_of((text,))] == [
        "See e.g. Dr. Smith.",
        "He said: “Yes!”",
        "Version 2.0 is out?",
        "done.",
        "漢字。",
        "漢字",
    ]
