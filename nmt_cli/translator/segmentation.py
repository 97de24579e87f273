"""From lines to the segments that are translated: a line that is too long for the model is split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.errors import UsageError
from nmt_cli.runtime.placeholders import Masked, renumbered
from nmt_cli.runtime.segments import replace_surrogates, split_line
from nmt_cli.translator.terminology import RequiredTerm
from nmt_cli.vocabulary import Vocabulary

_NUMBER_STRIDE = 1 << 40  # segment i of line n is numbered n + i · 2^40


class Segment(NamedTuple):
    """What is translated: a line, or a piece of a line that was too long."""

    text: str
    prefix: str  # of its translation
    number: int  # determines, with search.seed, what is sampled
    required: tuple[RequiredTerm, ...] = ()  # terms that its translation must contain
    # What its symbols stand for; None: placeholders are ordinary text.
    originals: tuple[str, ...] | None = None


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
    normalized = [normalization.masked(replace_surrogates(text)) for text in texts]
    rows = [row for row, masked in enumerate(normalized) if masked.text.strip()]
    too_long = _too_long([normalized[row].text for row in rows], vocabulary, max_tokens)
    has_symbols = normalization.placeholders is not None
    lines = []
    for row, is_too_long in zip(rows, too_long, strict=True):
        masked, prefix, number = normalized[row], prefixes[row], first_line + row
        if not is_too_long or max_tokens is None:
            originals = masked.originals if has_symbols else None
            segment = Segment(masked.text, prefix, number, originals=originals)
            lines.append(SegmentedLine(row, (segment,), ("",)))
            continue
        chunks = split_line(masked.text, max_tokens, lambda texts: vocabulary.encode(texts).lengths.tolist())
        own = [
            renumbered(chunk.text, masked.originals) if has_symbols else Masked(chunk.text, ())
            for chunk in chunks
        ]
        segments = (
            Segment(
                text,
                "" if i else prefix,
                number + i * _NUMBER_STRIDE,
                originals=originals if has_symbols else None,
            )
            for i, (text, originals) in enumerate(own)
        )
        lines.append(SegmentedLine(row, tuple(segments), tuple(chunk.separator for chunk in chunks)))
    return lines


def check_prefixes(
    prefixes: Sequence[str] | None, count: int, *, reverse_target: bool = False
) -> Sequence[str]:
    r"""One prefix per line. A trailing space would be a word of its own, so it is removed.

    A "\r" within a line separates words, as in a source; "\n" would be a second line. With `reverse_target`, the model
    writes the end of a text first and cannot continue a prefix.
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
    cleaned = [prefix.replace("\r", " ").rstrip() for prefix in prefixes]
    if reverse_target and any(cleaned):
        raise UsageError(
            "a right-to-left model (model.reverse_target = true) writes the end first and cannot continue a given "
            "beginning",
            hint="leave out the beginning, or use a left-to-right model",
        )
    return cleaned


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
