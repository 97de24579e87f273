"""Misaligned regions of a corpus, found by the lengths of its lines: a translation is about as long as its source.

With s, t the log lengths of a line and of a candidate translation, both sides centered and of equal spread, the
cost of the pair is min(|t - s|, CAP): about 0.1 for translations, 0.2 to 0.6 for unrelated lines.

Pairs are grouped in cells of 16. c is the mean cost of a cell, c₁ its cost if every source were paired with a
target some lines away, c₀ the usual cost of a cell in this corpus. An aligned cell costs about c₀, a misaligned
one about c₁; if the standard deviation of costs is proportional to c₁, the log-likelihood ratio of the two is

    Λ = 16 (c₁ - c₀) (c - (c₁ + c₀) / 2) / (0.75 c₁)²

minus a small drift. A stretch is reported where Λ adds up to more than `_EVIDENCE` (CUSUM, Page 1954). If
neighboring lines have equal lengths, as in a corpus sorted by length, then c₁ ≈ c₀ and lengths prove nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import read_chunks
from nmt_cli.files.line_reader import LineReader

Floats = NDArray[np.float32]

COST_CAP = 0.8  # so that a few outliers prove nothing
_SHORT = 8  # characters added before the logarithm, because the lengths of short lines vary a lot

_CHUNK = 8192
_CELL = 16
_MIN_PAIRS = 96
_SHIFTS = tuple(sign * shift for shift in (5, 7, 13, 19, 31, 43) for sign in (1, -1))
_NEIGHBORS = 3  # cells on each side that share a typical difference of length

# Aligned stretches of 100 real corpora stay below 15; 120 misaligned pairs in them reach 42 to 67 (quartiles).
_EVIDENCE = 20.0
_MIN_LENGTH = 48
_CLOSE = 10.0  # a stretch ends when its evidence falls this much below its peak
_DRIFT = 0.2  # subtracted from every cell, so that many weak hints do not add up
_INFORMATIVE = 1.35  # c₁ / c₀ below which a cell is ignored
_HEALTHY_COST = 0.25
_HEALTHY_RATIO = 0.6  # of c₀ to c₁, for a corpus that is misaligned throughout
_VARIED_COST = 0.28  # of c₁: lengths vary enough to expect that ratio
_MAX_OFFSET = 100
_OFFSET_GAIN = 0.7  # an offset is reported if its cost is below this share of the cost in place
_MAX_STRETCHES = 50


def log_lengths(lines: Sequence[str]) -> Floats:
    """log(characters + 8) of every line."""
    lengths = np.fromiter(map(len, lines), dtype=np.float32, count=len(lines))
    return np.log(lengths + _SHORT)


def equal_spread(source: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Center both sides and scale the source to the spread of the target.

    Neither depends on how the lines are paired, so misaligned text is measured in the same way.
    """
    spread_source, spread_target = (
        float(np.subtract(*np.percentile(side, [85, 15]))) for side in (source, target)
    )
    scale = np.float32(np.clip(spread_target / max(spread_source, 1e-3), 0.5, 2.0))
    return (source - np.median(source)) * scale, target - np.median(target)


def pair_costs(source: Floats, target: Floats) -> Floats:
    """The cost of each pair, from sides of equal spread."""
    costs: Floats = np.minimum(np.abs(target - source), np.float32(COST_CAP))
    return costs


@dataclass(frozen=True)
class Stretch:
    """Lines `first` to `last` look misaligned; source n seems to belong to target n + `offset`."""

    first: int
    last: int
    evidence: float
    offset: int | None


class _Cells(NamedTuple):
    evidence: NDArray[np.float64]
    source: Floats  # of equal spread, to search for the offset
    target: Floats
    lines: NDArray[np.int64]


class AlignmentCheck:
    """Observes the lengths of a corpus, block by block, and collects the stretches that look misaligned."""

    def __init__(self) -> None:
        self._source: list[Floats] = []
        self._target: list[Floats] = []
        self._lines: list[NDArray[np.int64]] = []
        self._waiting = 0
        self._usual: float | None = None  # c₀ of the healthy chunks so far
        self._stretches: list[Stretch] = []
        self._count = 0
        self._sum = self._peak = 0.0
        self._begin = self._end = 0
        self._offset: int | None = None

    def observe(self, first: int, source: list[str], target: list[str]) -> None:
        """Take the next pairs; a pair with a blank side is ignored."""
        source_lengths, target_lengths = log_lengths(source), log_lengths(target)
        blank = log_lengths([""])[0]
        kept = (source_lengths > blank) & (target_lengths > blank)
        self._source.append(source_lengths[kept])
        self._target.append(target_lengths[kept])
        self._lines.append(np.flatnonzero(kept) + first)
        self._waiting += int(kept.sum())
        self._catch_up()

    def add(self, later: "AlignmentCheck") -> None:
        """Take the pairs of another check, which has too few to have begun."""
        assert later._waiting < 2 * _CHUNK
        self._source += later._source
        self._target += later._target
        self._lines += later._lines
        self._waiting += later._waiting
        self._catch_up()

    def _catch_up(self) -> None:
        while self._waiting >= 2 * _CHUNK:
            self._advance(_CHUNK)

    def stretches(self) -> tuple[list[Stretch], int]:
        """The first 50 stretches in order, and the number of all. Call it once, after the last block."""
        while self._waiting:
            self._advance(self._waiting if self._waiting < 2 * _CHUNK else _CHUNK)
        self._close()
        return self._stretches, self._count

    def _advance(self, count: int) -> None:
        source, target, lines = self._gathered()
        self._source, self._target, self._lines = [source[count:]], [target[count:]], [lines[count:]]
        self._waiting -= count
        if count >= _MIN_PAIRS:
            self._follow(self._weigh(source[:count], target[:count], lines[:count]))

    def _gathered(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        return np.concatenate(self._source), np.concatenate(self._target), np.concatenate(self._lines)

    def _weigh(self, source: Floats, target: Floats, lines: NDArray[np.int64]) -> _Cells:
        """The evidence of misalignment in every cell of a chunk."""
        source, target = equal_spread(source, target)
        cells = len(source) // _CELL
        used = cells * _CELL
        padded = np.pad(
            (target - source)[:used].reshape(cells, _CELL), ((_NEIGHBORS, _NEIGHBORS), (0, 0)), mode="reflect"
        )
        around = sliding_window_view(padded, 2 * _NEIGHBORS + 1, axis=0)  # (cells, _CELL, 7)
        typical = np.median(around.reshape(cells, -1), axis=1)
        source = source + np.resize(np.repeat(typical, _CELL), len(source)).astype(np.float32)

        c = _cell_means(pair_costs(source, target), cells)
        c1 = np.mean(
            [_cell_means(pair_costs(np.roll(source, shift), target), cells) for shift in _SHIFTS], axis=0
        )
        c1 = np.maximum(np.convolve(np.pad(c1, 2, mode="edge"), np.full(5, 0.2), mode="valid"), 1e-3)
        c0 = self._usual_cost(c, c1)
        evidence = _CELL * (c1 - c0) * (c - (c1 + c0) / 2) / (0.75 * c1) ** 2
        if self._usual is None and np.median(c1) < _VARIED_COST:
            evidence[:] = 0.0  # sorted by length from the start: lengths prove nothing
        return _Cells(np.where(c1 > _INFORMATIVE * c0, evidence, 0.0) - _DRIFT, source, target, lines)

    def _usual_cost(self, c: NDArray[np.float64], c1: NDArray[np.float64]) -> float:
        c0 = min(float(np.median(c)), _HEALTHY_COST)
        varied = float(np.median(c1))
        if varied > _VARIED_COST:
            c0 = min(c0, _HEALTHY_RATIO * varied)
        if self._usual is not None:
            c0 = min(c0, 1.25 * self._usual)
        if float(np.median(c)) * _INFORMATIVE < varied:  # an uninformative chunk is not a reference
            self._usual = c0 if self._usual is None else 0.8 * self._usual + 0.2 * c0
        return max(c0, 1e-3)

    def _follow(self, cells: _Cells) -> None:
        """Page's CUSUM over the cells, continued from the last chunk."""
        opened = 0  # the cell of this chunk where the open stretch starts
        for cell, evidence in enumerate(cells.evidence.tolist()):
            if self._sum <= 0.0:
                if evidence <= 0.0:
                    continue
                self._begin, opened = int(cells.lines[cell * _CELL]), cell
            self._sum += evidence
            if self._sum > self._peak:
                self._peak = self._sum
                self._end = int(cells.lines[(cell + 1) * _CELL - 1])
            elif self._sum <= max(0.0, self._peak - _CLOSE):
                self._note_offset(cells, opened)
                self._close()
        if self._sum > 0.0:
            self._note_offset(cells, opened)

    def _note_offset(self, cells: _Cells, opened: int) -> None:
        """Find the offset of a convincing stretch while its lengths are in memory."""
        if self._peak < _EVIDENCE or self._offset is not None:
            return
        low = opened * _CELL
        high = int(np.searchsorted(cells.lines, self._end, side="right"))
        costs = {}
        for offset in range(-_MAX_OFFSET, _MAX_OFFSET + 1):
            begin, end = max(low, -offset, 0), min(high, len(cells.target) - offset)
            if end - begin >= _MIN_LENGTH // 2:
                costs[offset] = float(
                    pair_costs(cells.source[begin:end], cells.target[begin + offset : end + offset]).mean()
                )
        if 0 in costs:
            best = min(costs, key=lambda offset: costs[offset])
            self._offset = best if costs[best] < _OFFSET_GAIN * costs[0] else None

    def _close(self) -> None:
        if self._peak >= _EVIDENCE and self._end - self._begin + 1 >= _MIN_LENGTH:
            self._count += 1
            if len(self._stretches) < _MAX_STRETCHES:
                self._stretches.append(Stretch(self._begin, self._end, self._peak, self._offset))
        self._sum = self._peak = 0.0
        self._offset = None


def _cell_means(costs: Floats, cells: int) -> NDArray[np.float64]:
    means: NDArray[np.float64] = costs[: cells * _CELL].reshape(cells, _CELL).mean(axis=1, dtype=np.float64)
    return means


# ------------------------------------------------------------------------------------------------------------
# Where two files with different numbers of lines diverge, based on the lengths of their lines.


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
