"""What is searched for: each line once, or in parts if it is too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.corpus.normalization import Normalization
from nmt_cli.errors import UsageError
from nmt_cli.ragged import Ragged
from nmt_cli.translator.segments import split_line
from nmt_cli.vocabulary import Vocabulary

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
