"""Where two files with different numbers of lines diverge, judged by the lengths of their lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.checks.alignment import COST_CAP, Floats, equal_spread, log_lengths, pair_costs
from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import read_chunks
from nmt_cli.files.line_reader import LineReader

_WINDOW_LINES = 1 << 19
_SMOOTH = 64
_NEAR_OFFSETS = 8  # lines may be missing on both sides, so the difference in total is not the only offset
_MAX_OFFSETS = 40
_REFINE = 300
# Mean gain in cost per line by which another offset must be better; translations gain 0.08 or more.
_MIN_GAIN = 0.06


class _Survey(NamedTuple):
    diverge: int | None  # line, from 1
    first_blank: dict[str, int]
    only_blank_after: bool  # the longer file has only blank lines after the end of the shorter one


def unequal_error(source: Path, target: Path, source_count: int, target_count: int) -> CorpusError:
    """The error for two files of unequal length; they are read again to find out where they diverge."""
    message = f"{source} has {source_count} lines, {target} has {target_count}"
    hint = "line n of one file must be the translation of line n of the other"
    if not (source.is_file() and target.is_file()):  # a pipe cannot be read twice
        return CorpusError(message, hint=hint)
    survey = _survey(source, target, source_count, target_count)
    shorter = min(source_count, target_count)
    longer = source if source_count > target_count else target
    if survey.only_blank_after:
        hint += f"; {longer} has only blank lines after line {shorter}: remove them"
    elif survey.diverge is None:
        pass
    elif survey.diverge > shorter - _SMOOTH:
        hint += f"; they seem to match up to about line {shorter}, the end of the shorter file"
    else:
        hint += f"; they seem to diverge at about line {survey.diverge}"
    if not survey.only_blank_after:
        for side, number in survey.first_blank.items():
            hint += f"; the first blank line of the {side} is line {number}"
    return CorpusError(message, hint=hint)


def _survey(source: Path, target: Path, source_count: int, target_count: int) -> _Survey:
    readers = [LineReader(str(path), read_chunks(path)) for path in (source, target)]
    shorter = min(source_count, target_count)
    diverge: int | None = None
    first_blank: dict[str, int] = {}
    only_blank_after = True
    begin = 0
    for lines in _lockstep(readers):
        for side, texts in zip(("source", "target"), lines, strict=True):
            blank = next((row for row, text in enumerate(texts) if not text or text.isspace()), None)
            if blank is not None:
                first_blank.setdefault(side, begin + blank + 1)
            if any(text and not text.isspace() for text in texts[max(shorter - begin, 0) :]):
                only_blank_after = False
        if diverge is None and min(map(len, lines)):
            diverge = _change_point(log_lengths(lines[0]), log_lengths(lines[1]), target_count - source_count)
            diverge = None if diverge is None else begin + diverge + 1
        begin += _WINDOW_LINES
    return _Survey(diverge, first_blank, only_blank_after)


def _lockstep(readers: list[LineReader]) -> Iterator[list[list[str]]]:
    while any(lines := [reader.take(_WINDOW_LINES) for reader in readers]):
        yield lines


def _change_point(source: Floats, target: Floats, difference: int) -> int | None:
    """The row from which an offset other than 0 explains the lengths better; None if none does."""
    source, target = equal_spread(source, target)
    reach = min(abs(difference) + _NEAR_OFFSETS, _MAX_OFFSETS)
    offsets = sorted({*range(-reach, reach + 1), difference} - {0})
    best_other = np.full(len(source), COST_CAP, dtype=np.float32)
    for offset in offsets:
        np.minimum(best_other, _smooth(_costs(source, target, offset)), out=best_other)
    straight = _costs(source, target, 0)
    gain = _running_sum(straight - best_other)  # lowest where pairing line n with line n stops being best
    row = int(np.argmin(gain))
    rest = len(source) - row
    if rest == 0 or (gain[-1] - gain[row]) / rest < _MIN_GAIN:
        return None
    after = slice(row, row + _REFINE)
    offset = min(offsets, key=lambda offset: float(_costs(source, target, offset)[after].mean()))
    low, high = max(0, row - _REFINE), min(len(source), row + _REFINE)
    sharp = _running_sum((straight - _costs(source, target, offset))[low:high])
    return low + int(np.argmin(sharp))


def _costs(source: Floats, target: Floats, offset: int) -> Floats:
    """The cost of pairing source line i with target line i + offset."""
    costs = np.full(len(source), COST_CAP, dtype=np.float32)
    low, high = max(0, -offset), min(len(source), len(target) - offset)
    if low < high:
        costs[low:high] = pair_costs(source[low:high], target[low + offset : high + offset])
    return costs


def _running_sum(values: Floats) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


def _smooth(values: Floats) -> Floats:
    total = _running_sum(values)
    rows = np.arange(len(values))
    low, high = np.maximum(rows - _SMOOTH // 2, 0), np.minimum(rows + _SMOOTH // 2 + 1, len(values))
    smoothed: Floats = ((total[high] - total[low]) / (high - low)).astype(np.float32)
    return smoothed
