"""A line that is longer than a model can take, cut where it hurts least.

Whole sentences come one by one: that is what models are trained on. A sentence that is still too long is cut after a
clause (comma, colon, dash, bracket), else at a space, else anywhere, into as few segments as will do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.errors import UsageError
from nmt_cli.search.penalties import LengthNormalization
from nmt_cli.translator.translation import Translation
from nmt_cli.vocabulary import Vocabulary
from nmt_cli.vocabulary.token_ids import Ragged

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


# What is searched for: each line once, or in parts if it is too long.


_PART_NUMBERS = 1 << 40  # what is sampled for part p of line n is decided by n + p · 2^40


class Part(NamedTuple):
    """A line or a segment of one."""

    text: str
    prefix: str  # what its translation begins with
    number: int  # decides what is sampled


class Line(NamedTuple):
    """A line that is not blank: which one it is, and its parts."""

    row: int
    parts: tuple[Part, ...]
    separators: tuple[str, ...]  # after each part


def make_lines(
    texts: Sequence[str],
    prefixes: Sequence[str],
    *,
    first_line: int,
    normalization: Normalization,
    vocabulary: Vocabulary,
    max_tokens: int | None,
) -> list[Line]:
    """The lines to translate, normalized; blank ones are left out."""
    normalized = [readable(normalization(text)) for text in texts]
    rows = [row for row, text in enumerate(normalized) if text.strip()]
    lines = []
    for row, long in zip(
        rows, _too_long([normalized[row] for row in rows], vocabulary, max_tokens), strict=True
    ):
        text, prefix, number = normalized[row], prefixes[row], first_line + row
        if not long or max_tokens is None:
            lines.append(Line(row, (Part(text, prefix, number),), ("",)))
            continue
        segments = split_line(text, max_tokens, lambda texts: vocabulary.encode(texts).lengths.tolist())
        parts = (
            Part(segment.text, "" if p else prefix, number + p * _PART_NUMBERS)
            for p, segment in enumerate(segments)
        )
        lines.append(Line(row, tuple(parts), tuple(segment.separator for segment in segments)))
    return lines


def check_prefixes(prefixes: Sequence[str] | None, count: int) -> Sequence[str]:
    """A prefix for each line, if there are any. A space at its end would be a word of its own: it is left out."""
    if prefixes is None:
        return [""] * count
    if len(prefixes) != count:
        raise UsageError(
            f"there are {len(prefixes)} prefixes for {count} texts",
            hint='give one for each text, or "" for none',
        )
    if any("\n" in prefix or "\r" in prefix for prefix in prefixes):
        raise UsageError("a prefix has a line break", hint="a translation is one line: leave the break out")
    return [prefix.rstrip() for prefix in prefixes]


def _too_long(texts: Sequence[str], vocabulary: Vocabulary, max_tokens: int | None) -> list[bool]:
    if max_tokens is None:
        return [False] * len(texts)
    # A token stands for one byte at least, so most lines need not be counted; the first has a space in front.
    suspects = [row for row, text in enumerate(texts) if 4 * len(text) >= max_tokens]
    long = [False] * len(texts)
    lengths = (
        vocabulary.encode([texts[row] for row in suspects]).lengths
        if suspects
        else Ragged.from_rows([]).lengths
    )
    for row, length in zip(suspects, lengths.tolist(), strict=True):
        long[row] = length > max_tokens
    return long


def readable(text: str) -> str:
    """Half of a surrogate pair is no character; sentencepiece would refuse it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass").decode(errors="replace")
    return text


# The translation of a line from those of its parts.


def join(parts: Sequence[Translation], separators: Sequence[str], config: SearchConfig) -> Translation:
    """One translation of all parts; its i-th best is made of the i-th best of each part (or of their last).

    log P is the sum over the parts, and the score is that of a translation with this log P and as many tokens (a
    coverage penalty is left out).
    """
    if len(parts) == 1:
        return parts[0]
    n_best = None
    if parts[0].n_best is not None:
        lists = [part.n_best or (part,) for part in parts]
        n_best = tuple(
            _join([some[min(i, len(some) - 1)] for some in lists], separators, config)
            for i in range(max(map(len, lists)))
        )
    return _join(parts, separators, config, n_best)


def _join(
    parts: Sequence[Translation],
    separators: Sequence[str],
    config: SearchConfig,
    n_best: tuple[Translation, ...] | None = None,
) -> Translation:
    first = parts[0]
    log_p = None if first.log_probability is None else sum(part.log_probability or 0.0 for part in parts)
    length = sum(len(part.target_pieces) for part in parts)
    return Translation(
        text=join_texts([part.text for part in parts], separators),
        source=join_texts([part.source for part in parts], separators),
        source_pieces=tuple(chain.from_iterable(part.source_pieces for part in parts)),
        target_pieces=tuple(chain.from_iterable(part.target_pieces for part in parts)),
        score=None
        if log_p is None
        else float(LengthNormalization.of(config).score(torch.tensor(log_p), length)),
        log_probability=log_p,
        token_log_probabilities=_tokens(parts),
        attention=_blocks(parts),
        alignment=_links(parts),
        n_best=n_best,
        tree=None if first.tree is None else tuple(chain.from_iterable(part.tree or () for part in parts)),
        parts=sum(part.parts for part in parts),
        reached_limit=any(part.reached_limit for part in parts),
        whole_words=first.whole_words,
    )


def _tokens(parts: Sequence[Translation]) -> tuple[float, ...] | None:
    if parts[0].token_log_probabilities is None:
        return None
    return tuple(chain.from_iterable(part.token_log_probabilities or () for part in parts))


def _blocks(parts: Sequence[Translation]) -> Tensor | None:
    """Each part looks at its own source only."""
    blocks = [part.attention for part in parts if part.attention is not None]
    if len(blocks) != len(parts):
        return None
    T, S = (sum(block.shape[side] for block in blocks) for side in (0, 1))
    whole = blocks[0].new_zeros(T, S)
    t = s = 0
    for block in blocks:
        whole[t : t + len(block), s : s + block.shape[1]] = block
        t, s = t + len(block), s + block.shape[1]
    return whole


def _links(parts: Sequence[Translation]) -> tuple[tuple[int, int], ...] | None:
    """The words of a part are counted on after those of the parts before it."""
    links: list[tuple[int, int]] = []
    i = j = 0
    for part in parts:
        if part.alignment is None:
            return None
        links += [(i + source, j + target) for source, target in part.alignment]
        i, j = i + len(part.source_groups), j + len(part.target_groups)
    return tuple(links)
