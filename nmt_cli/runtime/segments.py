"""Lines in windows, and long lines: what is too long for the model is split, translated in chunks, and joined again.

It is split into sentences, one chunk each, because that is what models are trained on. A sentence that is still too
long is split after a clause (comma, colon, dash, bracket), else at a space, else anywhere, into as few chunks as
possible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

# Every repetition is bounded: a megabyte of dots must not take forever.
_CLOSING = r"[\"'’”»›)\]}」』）】]{0,3}"
# A space must follow the mark, except for Chinese and Japanese marks.
_SENTENCE = re.compile(rf"[.!?…‽؟।۔]{_CLOSING}(?=\s)|[。！？]{_CLOSING}(?![。！？」』）】])")
_CLAUSE = re.compile(r"[,;:)\]}»”–—،؛](?=\s)|[、，；：）】」』](?![、，；：）】」』])")
_SPACE = re.compile(r"\S(?=\s)")
# Control characters but tab, which no translation contains.
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_NO_SPACE = "\0"  # as a separator: no space followed the mark

_WINDOW_CHARACTERS = 1 << 20  # windows of very long lines have fewer lines

Item = TypeVar("Item", str, tuple[str, str])
TokenCounter = Callable[[Sequence[str]], Sequence[int]]


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which are not characters: sentencepiece would reject them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass").decode(errors="replace")
    return text


class Chunk(NamedTuple):
    """A stretch of a line, and what stood between it and the next one."""

    text: str
    separator: str


def split_line(text: str, limit: int, count: TokenCounter) -> list[Chunk]:
    """Chunks of at most `limit` tokens; `count` returns the number of tokens of each text.

    Chunks and separators concatenated are the line, without leading and trailing spaces.
    """
    assert limit >= 1
    return _shorten([Chunk(text.strip(), "")], limit, count)


def join_texts(texts: Sequence[str], separators: Sequence[str]) -> str:
    """Join the translations of chunks with the spacing of the source.

    Where the source had no space after a sentence or clause, as in Chinese, a space is added unless the
    translation is written without spaces, too.
    """
    joined, separator = "", ""
    pieces: list[str] = []
    for text, after in zip(texts, separators, strict=True):
        if text:
            if separator == _NO_SPACE:
                separator = "" if _is_wide(joined) or _is_wide(text[0]) else " "
            pieces += [separator, text]
            joined, separator = text[-1], ""
        separator = separator or after
    return "".join(pieces[1:])


def _shorten(chunks: list[Chunk], limit: int, count: TokenCounter) -> list[Chunk]:
    """Split what is too long: at sentences first, then at clauses, at spaces, anywhere."""
    for pattern in (_SENTENCE, _CLAUSE, _SPACE, None):
        result: list[Chunk] = []
        for chunk, tokens in zip(chunks, count([chunk.text for chunk in chunks]), strict=True):
            if tokens <= limit:
                result.append(chunk)
            elif pattern is None:
                result += _chop(chunk, limit, count)
            elif pattern is _SENTENCE:
                result += _split_after(chunk, pattern)
            else:
                result += _pack(_split_after(chunk, pattern), limit, count)
        chunks = result
    return chunks


def _split_after(chunk: Chunk, pattern: re.Pattern[str]) -> list[Chunk]:
    """Split after every match; the white space that follows becomes the separator."""
    text, result, start = chunk.text, list[Chunk](), 0
    for match in pattern.finditer(text):
        end = after = match.end()
        while after < len(text) and text[after].isspace():
            after += 1
        if after == len(text):
            break
        separator = CONTROL.sub(" ", text[end:after])  # it becomes part of the translation
        result.append(Chunk(text[start:end], separator or _NO_SPACE))
        start = after
    return [*result, Chunk(text[start:], chunk.separator)]


def _pack(atoms: Sequence[Chunk], limit: int, count: TokenCounter) -> list[Chunk]:
    """Merge neighbors again as long as they are within the limit."""
    befores = ["", *(atom.separator.replace(_NO_SPACE, "") for atom in atoms)]
    sizes = count([before + atom.text for before, atom in zip(befores, atoms, strict=False)])
    groups: list[list[str]] = []
    packed: list[Chunk] = []
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
    return [Chunk("".join(group), last.separator) for group, last in zip(groups, packed, strict=True)]


def _chop(chunk: Chunk, limit: int, count: TokenCounter) -> list[Chunk]:
    """Split anywhere, if possible not within a character of several code points."""
    text, result, start = chunk.text, list[Chunk](), 0
    while start < len(text):
        size = _fitting(text[start : start + 16 * limit], limit, count)
        end = start + size
        while start + max(1, size // 2) < end < len(text) and _continues(text[end]):
            end -= 1
        result.append(Chunk(text[start:end], ""))
        start = end
    return [*result[:-1], Chunk(result[-1].text, chunk.separator)]


def _fitting(text: str, limit: int, count: TokenCounter) -> int:
    """Number of characters to take, close to the most that are within the limit; at least 1."""
    size = len(text)
    while size > 1 and (tokens := count([text[:size]])[0]) > limit:
        size = max(1, min(size - 1, size * limit // tokens))
    return size


def _continues(character: str) -> bool:
    """Whether it belongs to the previous character: an accent, a part of an emoji."""
    return unicodedata.combining(character) > 0 or character in "\u200d\ufe0f" or "🏻" <= character <= "🏿"


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def windows(lines: Iterable[Item], max_lines: int) -> Iterator[list[Item]]:
    """Windows of at most `max_lines` lines; a window ends early with the line that exceeds a million characters."""
    window: list[Item] = []
    characters = 0
    for line in lines:
        window.append(line)
        characters += len(line) if isinstance(line, str) else sum(map(len, line))
        if len(window) >= max_lines or characters >= _WINDOW_CHARACTERS:
            yield window
            window, characters = [], 0
    if window:
        yield window
