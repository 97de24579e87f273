"""From lines to the segments that are translated: a line that is too long for the model is split.

It is split into sentences, one segment each, because that is what models are trained on. A sentence that is still too
long is split after a clause (comma, colon, dash, bracket), else at a space, else anywhere, into as few chunks as
possible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.errors import UsageError
from nmt_cli.vocabulary import Vocabulary
from nmt_cli.vocabulary.vocabulary import CONTROL

# Every repetition is bounded: a megabyte of dots must not take forever.
_CLOSING = r"[\"'’”»›)\]}」』）】]{0,3}"
# A space must follow the mark, except for Chinese and Japanese marks.
_SENTENCE = re.compile(rf"[.!?…‽؟।۔]{_CLOSING}(?=\s)|[。！？]{_CLOSING}(?![。！？」』）】])")
_CLAUSE = re.compile(r"[,;:)\]}»”–—،؛](?=\s)|[、，；：）】」』](?![、，；：）】」』])")
_SPACE = re.compile(r"\S(?=\s)")
_NO_SPACE = "\0"  # as a separator: no space followed the mark
_NUMBER_STRIDE = 1 << 40  # segment i of line n is numbered n + i · 2^40

TokenCounter = Callable[[Sequence[str]], Sequence[int]]


class Segment(NamedTuple):
    """What is translated: a line, or a piece of a line that was too long."""

    text: str
    prefix: str  # of its translation
    number: int  # determines, with search.seed, what is sampled


class SegmentedLine(NamedTuple):
    """The segments of a line that is not blank."""

    row: int  # index of the line
    segments: tuple[Segment, ...]
    separators: tuple[str, ...]  # after each segment


def segment_lines(
    texts: Sequence[str],
    prefixes: Sequence[str],
    *,
    first_line: int,
    normalization: Normalization,
    vocabulary: Vocabulary,
    max_tokens: int | None,
) -> list[SegmentedLine]:
    """The lines to translate, normalized, and split if they have more than `max_tokens`; blank ones are left out."""
    normalized = [replace_surrogates(normalization(text)) for text in texts]
    rows = [row for row, text in enumerate(normalized) if text.strip()]
    too_long = _too_long([normalized[row] for row in rows], vocabulary, max_tokens)
    lines = []
    for row, is_too_long in zip(rows, too_long, strict=True):
        text, prefix, number = normalized[row], prefixes[row], first_line + row
        if not is_too_long or max_tokens is None:
            lines.append(SegmentedLine(row, (Segment(text, prefix, number),), ("",)))
            continue
        chunks = split_line(text, max_tokens, lambda texts: vocabulary.encode(texts).lengths.tolist())
        segments = (
            Segment(chunk.text, "" if i else prefix, number + i * _NUMBER_STRIDE)
            for i, chunk in enumerate(chunks)
        )
        lines.append(SegmentedLine(row, tuple(segments), tuple(chunk.separator for chunk in chunks)))
    return lines


def check_prefixes(prefixes: Sequence[str] | None, count: int) -> Sequence[str]:
    r"""One prefix per line. A trailing space would be a word of its own, so it is removed.

    A "\r" within a line separates words, as in a source; "\n" would be a second line.
    """
    if prefixes is None:
        return [""] * count
    if len(prefixes) != count:
        raise UsageError(
            f"there are {len(prefixes)} prefixes for {count} texts",
            hint='give one for each text, or "" for none',
        )
    for number, prefix in enumerate(prefixes, start=1):
        if "\n" in prefix:
            raise UsageError(
                f"the prefix of line {number} has a line break",
                hint="a translation is one line: leave the break out",
            )
    return [prefix.replace("\r", " ").rstrip() for prefix in prefixes]


def _too_long(texts: Sequence[str], vocabulary: Vocabulary, max_tokens: int | None) -> list[bool]:
    if max_tokens is None:
        return [False] * len(texts)
    # A token covers at least one byte, so short lines need not be encoded; ≥, because a space is added in front.
    candidates = [row for row, text in enumerate(texts) if 4 * len(text) >= max_tokens]
    result = [False] * len(texts)
    lengths = vocabulary.encode([texts[row] for row in candidates]).lengths
    for row, length in zip(candidates, lengths.tolist(), strict=True):
        result[row] = length > max_tokens
    return result


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
