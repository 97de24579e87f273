"""Text in lines of limited length: paragraphs of plain text, and the cues of SubRip and WebVTT subtitles.

Time codes and numbers of subtitles stay, and lines are broken anew. A cue of several lines is one text, unless each
line starts with a dash: then it is a dialogue, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from nmt_cli.documents.document import (
    Document,
    DocumentOptions,
    Entry,
    Lines,
    Markup,
    Parts,
    Role,
    Segment,
    broken,
    decode,
    merged,
    plain,
    replacement,
)

# ------------------------------------------------------------------------------------------------------------
# Plain text

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


# ------------------------------------------------------------------------------------------------------------
# Subtitles

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[,.]\d{1,3}"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}[^\n]*")
_ARROW = re.compile(r".*-->.*")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>|<\d[\d:.]{1,20}>|\{\\[^{}\n]{1,200}\}|<[vc][^<>\n]{0,200}>")
_DASH = re.compile(r"\s*[-–—‐]\s?(?=\S)")
_NOT_CUES = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")


def read_srt(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The cues of a SubRip file."""
    return _read(data, path, options, vtt=False)


def read_vtt(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The cues of a WebVTT file."""
    return _read(data, path, options, vtt=True)


def _read(data: bytes, path: Path, options: DocumentOptions, *, vtt: bool) -> Document:
    text, encoding, mark = decode(data, path)
    if vtt and not text.startswith("WEBVTT"):
        raise broken(path, "line 1", "it does not start with WEBVTT", "is it a WebVTT file?")
    newline = "\r\n" if "\r\n" in text else "\n"
    entries: list[Entry] = []
    found_times = False
    for block in _blocks(text):
        if vtt and _NOT_CUES.match(block[0][2]):
            continue
        times = next((index for index, (*_, line) in enumerate(block[:2]) if _TIMES.fullmatch(line)), None)
        if times is None:
            _check_times(block, path)
            continue
        found_times = True
        entries += _cue(text, block[times + 1 :], newline, options.line_length)
    if text.strip() and not found_times and not vtt:
        raise broken(path, "line 1", "there are no time codes", "is it a SubRip file?")
    return Document(text, entries, encoding=encoding, mark=mark)


_NumberedLine = tuple[int, int, str]
"""Number, position, text without its line break."""


def _blocks(text: str) -> Iterator[list[_NumberedLine]]:
    """Lines between blank lines."""
    block: list[_NumberedLine] = []
    position = number = 0
    while position < len(text):
        number += 1
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end].removesuffix("\r")
        if line.strip():
            block.append((number, position, line))
        elif block:
            yield block
            block = []
        position = end + 1
    if block:
        yield block


def _check_times(block: list[_NumberedLine], path: Path) -> None:
    for number, _, line in block[:2]:
        if _ARROW.fullmatch(line):
            raise broken(
                path,
                f"line {number}",
                f"this is not a time code: {line.strip()[:60]}",
                "correct it: 00:00:01,000 --> 00:00:02,500",
            )


def _cue(text: str, lines: list[_NumberedLine], newline: str, limit: int) -> Iterator[Entry]:
    if not lines:
        return
    is_dialogue = len(lines) > 1 and all(_DASH.match(line) for *_, line in lines)
    groups = [[line] for line in lines] if is_dialogue else [lines]
    for group in groups:
        number, start, first = group[0]
        _, last_start, last = group[-1]
        if is_dialogue and (dash := _DASH.match(first)):
            start += dash.end()
        end = last_start + len(last)
        segment = Segment(_parts(text[start:end].replace("\r\n", "\n")))
        render = partial(
            _render, limit=limit if len(groups) == 1 else 1 << 30, newline=newline, most=len(lines)
        )
        yield replacement(f"line {number}", segment, start, end, render)


def _parts(text: str) -> Parts:
    parts: list[str | Markup] = []
    position = 0
    for match in _TAG.finditer(text):
        raw = match[0]
        paired = raw[0] == "<" and not raw[1].isdigit()
        role: Role = ("close" if raw.startswith("</") else "open") if paired else "point"
        parts += [text[position : match.start()], Markup(raw, role)]
        position = match.end()
    return merged([*parts, text[position:]])


def _render(parts: Parts, *, limit: int, newline: str, most: int) -> str:
    """Lines within the limit, of about equal length; more lines than in the source only if necessary."""
    text = " ".join(plain(parts).split("\n"))
    words = text.split(" ")
    total = _length(text)
    if total <= limit:
        return text
    count = max(2, -(-total // limit))
    for lines in range(count, count + 3):
        broken_lines = _balanced(words, total / lines, limit)
        if all(_length(line) <= limit for line in broken_lines) and len(broken_lines) <= max(lines, most):
            break
    return newline.join(broken_lines)


def _balanced(words: list[str], target: float, limit: int) -> list[str]:
    """Break after the word that brings a line closest to the target length."""
    lines, line = list[str](), ""
    for word in words:
        longer = f"{line} {word}" if line else word
        too_long = _length(longer) > limit or abs(_length(longer) - target) > abs(_length(line) - target)
        if line and too_long and _length(line) > 0:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]


def _length(text: str) -> int:
    """Characters that are shown."""
    return len(_TAG.sub("", text)) if "<" in text or "{" in text else len(text)
