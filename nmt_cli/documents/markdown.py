"""Markdown (CommonMark with tables, footnotes and front matter): paragraphs, headings, list items and table cells.

Code, HTML blocks, link targets and front matter are left as they are. A paragraph of several lines is wrapped again to
its own width.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nmt_cli.documents.document import (
    Document,
    DocumentOptions,
    Entry,
    Lines,
    Markup,
    Parts,
    Segment,
    decode,
    plain,
    replacement,
)
from nmt_cli.documents.markdown_inline import definitions, inline_parts
from nmt_cli.documents.plain_text import MAX_WIDTH

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_PREFIX = re.compile(r"(?:[ \t]{0,3}>[ \t]?)*")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+\[[ xX]\](?=[ \t]))?[ \t]+(?=\S)")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(?P<text>.*?)(?:[ \t]+#+)?(?:[ \t]+\{[^{}]*\})?[ \t]*")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*")
_RULE = re.compile(r"[ ]{0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})")
_DELIMITER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_DEFINITION = re.compile(r"[ ]{0,3}\[(?!\^)[^\]\n]{1,999}\]:[ \t]*\S")
_FOOTNOTE = re.compile(r"[ ]{0,3}\[\^[^\]\n]{1,99}\]:[ \t]+")
_HTML = re.compile(r"[ ]{0,3}<(?:[A-Za-z][\w-]*(?=[\s/>])|/[A-Za-z]|!--|!\[CDATA|\?|!DOCTYPE)", re.IGNORECASE)
_DIRECTIVE = re.compile(r"[ ]{0,3}(?::{3,}|\{%.*%\}\s*$|\{\{.*\}\}\s*$|!!! |\?\?\? )")
_CELL = re.compile(r"(?:\\.|(?P<ticks>`+)(?:.*?[^`])??(?P=ticks)(?!`)|[^|\\])*")
_BLOCK_START = re.compile(r"(?:[-+*>#=|]|\d{1,9}[.)]|~~~|```)")


@dataclass(frozen=True)
class _Row:
    """A line: where its content starts and ends, without the marks of quotations and lists around it."""

    start: int
    end: int


def read_markdown(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The texts of a Markdown document."""
    text, encoding, mark = decode(data, path)
    known = definitions(text)
    lines = Lines(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    entries: list[Entry] = []
    for rows, is_cell in _Blocks(text).read():
        entries.append(_entry(text, rows, lines.at(rows[0].start), newline, known, is_cell=is_cell))
    return Document(text, entries, encoding=encoding, mark=mark)


class _Blocks:
    """Goes through the lines and finds the blocks with text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [match.span() for match in re.finditer(r"[^\n]*\n|[^\n]+", text)]
        self._paragraph: list[_Row] = []
        self._in_list = False

    def read(self) -> Iterator[tuple[list[_Row], bool]]:
        """The rows of each text, and whether it is the cell of a table."""
        index = self._after_front_matter()
        while index < len(self._lines):
            start, end, quotes = self._content(index)
            line = self._text[start:end]
            if not line.strip():
                yield from self._finish()
                self._in_list = self._in_list and self._continues_list(index + 1)
                index += 1
            elif skipped := self._skipped(index, start, line, quotes):
                yield from self._finish()
                index = skipped
            elif self._is_table(index):
                yield from self._finish()
                while index < len(self._lines) and "|" in self._line(index) and self._line(index).strip():
                    yield from self._cells(index)
                    index += 1
            else:
                yield from self._text_line(index, start, end, line)
                index += 1
        yield from self._finish()

    def _line(self, index: int) -> str:
        if index >= len(self._lines):
            return ""
        start, end, _ = self._content(index)
        return self._text[start:end]

    def _content(self, index: int) -> tuple[int, int, str]:
        """A line without quotation marks and line break, and the quotation marks."""
        start, end = self._lines[index]
        prefix = _PREFIX.match(self._text, start, end)
        assert prefix
        stop = start + len(self._text[start:end].rstrip("\r\n"))
        return min(prefix.end(), stop), stop, prefix[0]

    def _after_front_matter(self) -> int:
        first = self._line(0).rstrip()
        if first in ("---", "+++"):
            for index in range(1, len(self._lines)):
                if self._line(index).rstrip() in (first, "..." if first == "---" else first):
                    return index + 1
        return 0

    def _skipped(self, index: int, start: int, line: str, quotes: str) -> int:
        """The index after a block that is not text; 0 if it is text."""
        item = _ITEM.match(line)
        content = line[item.end() if item else 0 :].lstrip(" \t")
        if fence := _FENCE.match(content):
            return self._after_fence(index, fence[1])
        if not self._paragraph and not self._in_list and re.match(r" {4}|[ ]{0,3}\t", line):
            return index + 1  # indented code
        if self._in_list and not self._paragraph and re.match(r" {8}|\t\t", line):
            return index + 1
        if not self._paragraph and _HTML.match(line):
            while index < len(self._lines) and self._line(index).strip():
                index += 1
            return index
        is_apart = _RULE.fullmatch(line) or _DELIMITER.fullmatch(line) or _DIRECTIVE.match(line)
        if is_apart or _UNDERLINE.fullmatch(line) or (not self._paragraph and _DEFINITION.match(line)):
            return index + 1
        return 0

    def _after_fence(self, index: int, fence: str) -> int:
        for at in range(index + 1, len(self._lines)):
            line = self._line(at).strip()
            if line.startswith(fence) and not line.strip(fence[0]):
                return at + 1
        return len(self._lines)

    def _is_table(self, index: int) -> bool:
        below = self._line(index + 1)
        return (
            "|" in self._line(index) and "-" in below and "|" in below and bool(_DELIMITER.fullmatch(below))
        )

    def _cells(self, index: int) -> Iterator[tuple[list[_Row], bool]]:
        start, end, _ = self._content(index)
        if _DELIMITER.fullmatch(self._text, start, end):
            return
        position = start
        while position <= end:
            cell = _CELL.match(self._text, position, end)
            assert cell
            content = cell[0]
            first = position + len(content) - len(content.lstrip())
            last = cell.end() - (len(content) - len(content.rstrip()))
            if first < last:
                yield [_Row(first, last)], True
            position = cell.end() + 1

    def _text_line(self, index: int, start: int, end: int, line: str) -> Iterator[tuple[list[_Row], bool]]:
        if heading := _HEADING.fullmatch(line):
            yield from self._finish()
            if heading["text"].strip():
                yield [_Row(start + heading.start("text"), start + heading.end("text"))], False
            return
        shift = 0
        if footnote := _FOOTNOTE.match(line):
            yield from self._finish()
            shift, self._in_list = footnote.end(), True
        while item := _ITEM.match(line, shift):
            yield from self._finish()
            shift, self._in_list = item.end(), True
            if inner := _HEADING.fullmatch(line, shift):
                yield [_Row(start + inner.start("text"), start + inner.end("text"))], False
                return
        content = line[shift:]
        first = start + shift + len(content) - len(content.lstrip())
        if first < end and not _RULE.fullmatch(content):
            self._paragraph.append(_Row(first, end))

    def _continues_list(self, index: int) -> bool:
        """Whether the text after a blank line still belongs to a list."""
        while index < len(self._lines) and not self._line(index).strip():
            index += 1
        line = self._line(index)
        return bool(_ITEM.match(line)) or line[:1] in (" ", "\t")

    def _finish(self) -> Iterator[tuple[list[_Row], bool]]:
        if self._paragraph:
            yield self._paragraph, False
            self._paragraph = []


def _entry(
    text: str, rows: Sequence[_Row], where: str, newline: str, known: frozenset[str], *, is_cell: bool
) -> Entry:
    contents = [text[row.start : row.end] for row in rows]
    # White space at the end of the last line is not part of the text; at the end of another it may be a break.
    end = rows[-1].start + len(contents[-1].rstrip())
    contents[-1] = contents[-1].rstrip()
    start = rows[0].start
    parts = inline_parts("\n".join(contents), known)
    line_start = text.rfind("\n", 0, start) + 1
    if len(rows) > 1:
        second = text.rfind("\n", 0, rows[1].start) + 1
        prefix = text[second : rows[1].start]
    else:
        prefix = re.sub(r"[^>\s]", " ", text[line_start:start])
    width = max(row.end - row.start for row in rows) if len(rows) > 1 else MAX_WIDTH
    render = partial(_render, source=parts, separator=newline + prefix, width=width, is_cell=is_cell)
    return replacement(where, Segment(parts), start, end, render)


def _render(parts: Parts, *, source: Parts, separator: str, width: int, is_cell: bool) -> str:
    """Markdown on lines of at most `width`; a line never starts with what would be a list or a heading there."""
    present = set(plain(tuple(part for part in source if isinstance(part, str))))
    special = "".join(mark for mark in "*`[]<~|" if mark not in present or (mark == "|" and is_cell))
    pattern = (
        re.compile(rf"[{re.escape(special)}]" + (r"|(?<!\w)_|_(?!\w)" if "_" not in present else ""))
        if special
        else None
    )
    pieces: list[str] = []
    for part in parts:
        if isinstance(part, Markup):
            pieces.append(part.raw.replace(" ", _KEPT) if "\n" not in part.raw else part.raw)
        else:
            pieces.append(pattern.sub(r"\\\g<0>", part) if pattern else part)
    lines: list[str] = []
    for stretch in re.split(r"(?<=  )\n|(?<=\\)\n", "".join(pieces)):
        lines += [*_wrapped(stretch, width)]
    return separator.join(lines).replace(_KEPT, " ")


_KEPT = "\ue000"  # a space within markup, where a line must not be broken


def _wrapped(text: str, width: int) -> list[str]:
    hard = text[len(text.rstrip(" ")) :] if text.endswith("  ") else ""
    lines: list[str] = []
    for word in re.split(r"[ \n]+", text.strip(" \n")):
        if lines and (len(lines[-1]) + 1 + len(word) <= width or _BLOCK_START.match(word)):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [*lines[:-1], lines[-1] + hard]
