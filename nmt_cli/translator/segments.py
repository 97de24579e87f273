"""A line that is longer than a model can take, cut where it hurts least.

Whole sentences come one by one: that is what models are trained on. A sentence that is still too long is cut after a
clause (comma, colon, dash, bracket), else at a space, else anywhere, into as few segments as will do.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

# No pattern repeats without a bound: a megabyte of dots must not take forever.
_CLOSING = r"[\"'’”»›)\]}」』）】]{0,3}"
# After the mark comes a space; the marks of Chinese and Japanese need none.
_SENTENCE = re.compile(rf"[.!?…‽؟।۔]{_CLOSING}(?=\s)|[。！？]{_CLOSING}(?![。！？」』）】])")
_CLAUSE = re.compile(r"[,;:)\]}»”–—،؛](?=\s)|[、，；：）】」』](?![、，；：）】」』])")
_SPACE = re.compile(r"\S(?=\s)")
_BREAKS = str.maketrans("\n\r", "  ")
_NO_SPACE = "\0"  # as a separator: there was no space after a mark

Count = Callable[[Sequence[str]], Sequence[int]]


class Segment(NamedTuple):
    """A part of a line, and what stood between it and the next one."""

    text: str
    separator: str


def split_line(text: str, limit: int, count: Count) -> list[Segment]:
    """Segments of at most `limit` tokens; `count` tells how many tokens texts have.

    Segments and what stood between them are the line again, without spaces at its ends.
    """
    assert limit >= 1
    return _shorten([Segment(text.strip(), "")], limit, count)


def join_texts(texts: Sequence[str], separators: Sequence[str]) -> str:
    """Translations of segments with the spacing of the source between them.

    Where the source had no space after a sentence or clause, as in Chinese, there is one, unless the translation
    is written without spaces, too.
    """
    joined, separator = "", ""
    parts: list[str] = []
    for text, after in zip(texts, separators, strict=True):
        if text:
            if separator == _NO_SPACE:
                separator = "" if _is_wide(joined) or _is_wide(text[0]) else " "
            parts += [separator, text]
            joined, separator = text[-1], ""
        separator = separator or after
    return "".join(parts[1:])


def _shorten(segments: list[Segment], limit: int, count: Count) -> list[Segment]:
    """Cut what is too long at ever worse places."""
    for pattern in (_SENTENCE, _CLAUSE, _SPACE, None):
        result: list[Segment] = []
        for segment, tokens in zip(segments, count([s.text for s in segments]), strict=True):
            if tokens <= limit:
                result.append(segment)
            elif pattern is None:
                result += _chop(segment, limit, count)
            elif pattern is _SENTENCE:
                result += _cut(segment, pattern)
            else:
                result += _pack(_cut(segment, pattern), limit, count)
        segments = result
    return segments


def _cut(segment: Segment, pattern: re.Pattern[str]) -> list[Segment]:
    """Cut after every match; the space that follows becomes the separator."""
    text, parts, start = segment.text, [], 0
    for match in pattern.finditer(text):
        end = after = match.end()
        while after < len(text) and text[after].isspace():
            after += 1
        if after == len(text):
            break
        separator = text[end:after].translate(_BREAKS)  # a line break would break the count of lines
        parts.append(Segment(text[start:end], separator or _NO_SPACE))
        start = after
    return [*parts, Segment(text[start:], segment.separator)]


def _pack(atoms: Sequence[Segment], limit: int, count: Count) -> list[Segment]:
    """Put neighbours together again as long as they are within the limit."""
    befores = ["", *(atom.separator.replace(_NO_SPACE, "") for atom in atoms)]
    sizes = count([before + atom.text for before, atom in zip(befores, atoms, strict=False)])
    groups: list[list[str]] = []
    packed: list[Segment] = []
    room = 0
    for atom, before, tokens in zip(atoms, befores, sizes, strict=False):
        if groups and tokens <= room:
            groups[-1] += [before, atom.text]
            packed[-1] = atom
            room -= tokens
        else:
            groups.append([atom.text])
            packed.append(atom)
            room = limit - tokens
    return [Segment("".join(group), last.separator) for group, last in zip(groups, packed, strict=True)]


def _chop(segment: Segment, limit: int, count: Count) -> list[Segment]:
    """Cut anywhere, but not within a character of several code points, if that can be helped."""
    text, parts, start = segment.text, [], 0
    while start < len(text):
        size = _fitting(text[start : start + 16 * limit], limit, count)
        end = start + size
        while start + max(1, size // 2) < end < len(text) and _continues(text[end]):
            end -= 1
        parts.append(Segment(text[start:end], ""))
        start = end
    return [*parts[:-1], Segment(parts[-1].text, segment.separator)]


def _fitting(text: str, limit: int, count: Count) -> int:
    """How many characters to take so that they are within the limit, nearly as many as possible; at least 1."""
    size = len(text)
    while size > 1 and (tokens := count([text[:size]])[0]) > limit:
        size = max(1, min(size - 1, size * limit // tokens))
    return size


def _continues(character: str) -> bool:
    """Whether it belongs to the character before: an accent, a part of an emoji."""
    return unicodedata.combining(character) > 0 or character in "\u200d\ufe0f" or "🏻" <= character <= "🏿"


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
