"""Plain text with paragraphs, sentence by sentence: a paragraph of several lines is one text, and is wrapped again."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from nmt_cli.documents.document import Document, Entry, Lines, Parts, Segment, decode, plain, replacement
from nmt_cli.documents.options import DocumentOptions

_LINE = re.compile(r"[^\n]*\n?")
_LEAD = re.compile(r"[ \t]*(?:(?:[-*+•·–—>]|\d{1,3}[.)]|\([a-z\d]{1,3}\))[ \t]+)*")
_RULE = re.compile(r"[^\w]*")
MAX_WIDTH = 1 << 30


def read_text(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The paragraphs of a text; items of a list and lines that stand apart are paragraphs of their own."""
    text, encoding, mark = decode(data, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = Lines(text)
    entries: list[Entry] = []
    paragraph: list[tuple[int, int]] = []  # start and end of its lines, without indentation

    def finish() -> None:
        if paragraph:
            entries.append(_entry(text, paragraph, lines.at(paragraph[0][0]), newline))
            paragraph.clear()

    for match in _LINE.finditer(text):
        content = match[0].rstrip("\r\n")
        lead = _LEAD.match(content)
        assert lead
        start, end = match.start() + lead.end(), match.start() + len(content.rstrip())
        is_apart = not paragraph or lead[0].strip() or _indentation(text, paragraph[-1][0]) != lead.end()
        if start >= end or is_apart:
            finish()
        if start < end and not _RULE.fullmatch(text, start, end):
            paragraph.append((start, end))
    finish()
    return Document(text, entries, encoding=encoding, mark=mark)


def _indentation(text: str, start: int) -> int:
    return start - (text.rfind("\n", 0, start) + 1)


def _entry(text: str, lines: list[tuple[int, int]], where: str, newline: str) -> Entry:
    start, end = lines[0][0], lines[-1][1]
    contents = [text[first:last] for first, last in lines]
    indentation = " " * _indentation(text, start)
    width = max(map(len, contents)) if len(lines) > 1 else MAX_WIDTH
    render = partial(wrapped, width=width, separator=newline + indentation)
    return replacement(where, Segment(("\n".join(contents),)), start, end, render)


def wrapped(parts: Parts, *, width: int, separator: str) -> str:
    """The text in lines of at most `width` characters, unless a word is longer."""
    words = [word for word in re.split(r"[ \n]+", plain(parts)) if word]
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return separator.join(lines)
