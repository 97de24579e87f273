"""What of a text is translated, and how the translations are put back: lines of plain text, text nodes of HTML.

Everything else stays byte for byte as it is: line breaks, indentation, tags, comments, scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from html.parser import HTMLParser
from typing import Any

_LINE_END = re.compile(r"(\r?\n)")
_SPACES = re.compile(r"\s+")
_LETTER = re.compile(r"[^\W\d_]")
_LEADING = re.compile(r"(?:\s|&nbsp;|&#160;)+")
_TRAILING = re.compile(r"(?:\s|&nbsp;|&#160;)\Z")
# Elements whose text is not language.
_OPAQUE = frozenset(
    {"script", "style", "code", "pre", "kbd", "samp", "var", "textarea", "template", "svg", "math"}
)
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905 - a list of words
)


@dataclass
class Layout:
    """A text cut into pieces, some of which are translated."""

    pieces: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # indices of the pieces to be translated
    encode: Callable[[str], str] = str  # how a translation is written

    def keep(self, text: str) -> None:
        """Append a piece that stays as it is."""
        self.pieces.append(text)

    def translate(self, before: str, text: str, after: str) -> None:
        """Append a piece to be translated, with the white space around it."""
        self.rows.append(len(self.pieces) + 1)
        self.pieces += [before, text, after]

    @property
    def texts(self) -> list[str]:
        """What is to be translated."""
        return [self.pieces[row] for row in self.rows]

    def filled(self, translations: Sequence[str]) -> str:
        """The text with its translations."""
        pieces = list(self.pieces)
        for row, translation in zip(self.rows, translations, strict=True):
            pieces[row] = self.encode(translation)
        return "".join(pieces)


def text_layout(text: str) -> Layout:
    """Every line that is not blank is translated."""
    layout = Layout()
    for index, part in enumerate(_LINE_END.split(text)):
        core = part.strip()
        if index % 2 or not core:
            layout.keep(part)
        else:
            start = len(part) - len(part.lstrip())
            layout.translate(part[:start], core, part[start + len(core) :])
    return layout


def html_layout(text: str) -> Layout:
    """Every text node is translated, except in scripts, code and elements with translate="no"."""
    parser = _Parser(text)
    parser.feed(text)
    parser.close()
    parser.flush(len(text))
    return parser.layout


class _Parser(HTMLParser):
    """Finds where text nodes begin and end; markup is never written anew, only copied."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.layout = Layout(encode=lambda translation: escape(translation, quote=False))
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._start = 0  # of what has not been added yet
        self._is_text = False
        self._kept: list[str] = []  # open elements whose text is kept, outermost first

    def _position(self) -> int:
        line, offset = self.getpos()
        return self._lines[line - 1] + offset

    def flush(self, end: int) -> None:
        """Add what came before `end`."""
        raw = self._text[self._start : end]
        self._start = end
        if not self._is_text or self._kept or not _LETTER.search(unescape(raw)):
            self.layout.keep(raw)
            return
        first = match.end() if (match := _LEADING.match(raw)) else 0
        last = len(raw)
        while match := _TRAILING.search(raw, max(first, last - 6), last):
            last = match.start()
        self.layout.translate(raw[:first], _SPACES.sub(" ", unescape(raw[first:last])), raw[last:])

    def _markup(self) -> None:
        if self._is_text:
            self.flush(self._position())
        self._is_text = False

    def _node(self) -> None:
        if not self._is_text:
            self.flush(self._position())
        self._is_text = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self._markup()
        if tag in _VOID:
            return
        if self._kept or tag in _OPAQUE or ("translate", "no") in attrs:
            self.flush(self._position())
            self._kept.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element without content."""
        self._markup()

    def handle_endtag(self, tag: str) -> None:
        """An element ends, and with it those that were not closed."""
        self._markup()
        if tag in self._kept:
            self.flush(self._position())
            while self._kept.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Text."""
        self._node()

    def handle_entityref(self, name: str) -> None:
        """A character in text, such as &amp;."""
        self._node()

    def handle_charref(self, name: str) -> None:
        """A character in text, such as &#39;."""
        self._node()

    def handle_comment(self, data: str) -> None:
        """A comment."""
        self._markup()

    def handle_decl(self, decl: str) -> None:
        """<!DOCTYPE html>"""
        self._markup()

    def handle_pi(self, data: str) -> None:
        """A processing instruction."""
        self._markup()

    def unknown_decl(self, data: Any) -> None:
        """<![CDATA[…]]> and the like."""
        self._markup()
