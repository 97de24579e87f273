"""Which pairs form a batch, and the order of the batches: a pure function of (seed, epoch)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config.train import TrainConfig
from nmt_cli.vocabulary.token_ids import narrowest, offsets_of

# The source side is bounded too: it may have this many times the target's token budget.
SOURCE_FACTOR = 2
# Target padding costs time in the decoder and its attention, source padding in the encoder only.
_TARGET_COST, _SOURCE_COST = 2, 1
# The share of the token budget to fill; the rest is for padding.
_FILL = 0.97

# Random keys are sorted this many at a time, and drawn in blocks: memory for 50 million pairs stays below 1 GB.
_SORTED_BITS, _DRAWN = 24, 2**20

Rows = NDArray[Any]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class BatchPlan:
    """The batches of one epoch; batch i has the rows `rows[starts[i]:starts[i + 1]]`."""

    rows: Rows
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Rows:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.rows[self.starts[index] : self.starts[index + 1]]


def plan_epoch(
    source_lengths: NDArray[Any],
    target_lengths: NDArray[Any],
    config: TrainConfig,
    epoch: int,
    weights: Iterable[tuple[int, int, float]] = (),
) -> BatchPlan:
    """Group all pairs into batches of similar lengths, in random order. Lengths are without <eos>.

    Pairs are shuffled into pools of `config.pool_batches` batches. A pool is cut in two repeatedly, by target or
    by source length, whichever saves more padding, until each part is about one batch. Rows that exceed the budget
    are moved to the next pool. The budget is

    * rows × longest target ≤ `batch_tokens` and rows × longest source ≤ 2 × `batch_tokens`, <eos> included; a
      longer pair is a batch of its own; or
    * `batch_sentences` rows, if that is not 0 (the last pool may have smaller batches).

    `weights` are (start, stop, weight): each pair in these rows occurs floor(weight) times, and once more with the
    remaining probability.
    """
    # Only the raw bits of a bit generator are the same in every version of NumPy.
    random = np.random.Philox(np.random.SeedSequence([config.seed, epoch]))
    rows = _repeat(len(target_lengths), weights, random)
    order = _shuffled(len(target_lengths) if rows is None else len(rows), random)
    rows = order if rows is None else rows[order]
    budget = config.batch_sentences or config.batch_tokens
    batches: list[Rows] = []
    carried = rows[:0]
    size = _pool_size(rows, target_lengths, config)
    for start in range(0, len(rows), size):
        pool = np.concatenate([carried, rows[start : start + size]])
        carried = _pack(pool, source_lengths, target_lengths, budget, config, batches)
    while len(carried):
        carried = _pack(carried, source_lengths, target_lengths, budget, config, batches)
    if not batches:
        return BatchPlan(rows, offsets_of(rows))
    del rows, order  # as large as the plan
    batches = [batches[i] for i in _shuffled(len(batches), random)]
    return BatchPlan(
        np.concatenate(batches), offsets_of(np.fromiter(map(len, batches), np.int64, len(batches)))
    )


def cut_in_order(load: NDArray[np.int64], budget: int) -> list[slice]:
    """Cut sentences into the longest runs with rows × largest load ≤ budget; at least one row each."""
    cuts, start = [], 0
    while start < len(load):
        ahead = load[start : start + max(1, budget // max(1, int(load[start])))]
        stop = start + _fitting(np.maximum.accumulate(ahead), budget)
        cuts.append(slice(start, stop))
        start = stop
    return cuts


def load_of(source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """The share of the token budget, in tokens, of a pair with these lengths (<eos> included)."""
    return np.maximum(target, -(-source // SOURCE_FACTOR))


def _repeat(rows: int, weights: Iterable[tuple[int, int, float]], random: np.random.Philox) -> Rows | None:
    """Each row, repeated as often as it occurs in this epoch; None if each occurs once."""
    times = None
    for start, stop, weight in weights:
        if weight != 1:
            times = np.ones(rows, np.uint32) if times is None else times
            draws = (random.random_raw(stop - start) >> np.uint64(11)) * 2.0**-53
            times[start:stop] = int(weight) + (draws < weight - int(weight))
    return None if times is None else np.repeat(np.arange(rows, dtype=narrowest(rows)), times)


def _shuffled(count: int, random: np.random.Philox) -> Rows:
    """0 … count-1, sorted by random keys.

    Many keys are sorted group by group, by their highest bits: all are drawn again for each group, which is quick.
    """
    bits = max(0, count.bit_length() - _SORTED_BITS + 1)
    order = np.empty(count, narrowest(count))
    state, done = random.state, 0
    for group in range(1 << bits):
        random.state = state
        keys, places = _keys_of_group(count, random, bits, group)
        order[done : done + len(keys)] = places[_argsort(keys, bits)]
        done += len(keys)
    return order


def _keys_of_group(count: int, random: np.random.Philox, bits: int, group: int) -> tuple[NDArray[Any], Rows]:
    """Those of `count` random keys whose highest bits are `group`, and their places among all keys."""
    keys: list[NDArray[Any]] = [np.empty(0, np.uint64)]
    places: list[Rows] = [np.empty(0, narrowest(count))]
    for start in range(0, count, _DRAWN):
        drawn = random.random_raw(min(_DRAWN, count - start))
        found = np.flatnonzero(drawn >> np.uint64(64 - bits) == group) if bits else np.arange(len(drawn))
        keys.append(drawn[found])
        places.append((found + start).astype(narrowest(count)))
    return np.concatenate(keys), np.concatenate(places)


def _argsort(keys: NDArray[Any], bits: int) -> NDArray[Any]:
    """The stable order of fewer than 2²⁴ random keys that agree in their highest bits.

    NumPy sorts twice as fast as it argsorts, so the place of each key replaces its lowest bits. The few keys that
    agree in all others are ordered afterwards.
    """
    low = np.uint64(_SORTED_BITS)
    joined = keys << np.uint64(bits) >> low << low
    joined |= np.arange(len(keys), dtype=np.uint64)
    joined.sort()
    order = joined & np.uint64((1 << _SORTED_BITS) - 1)
    joined >>= low
    same = joined[1:] == joined[:-1]
    tied = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
    order[tied] = order[tied][np.lexsort((keys[order[tied]], joined[tied]))]
    return order


def _pool_size(rows: Rows, target_lengths: NDArray[Any], config: TrainConfig) -> int:
    if not len(rows):
        return 1
    step = config.batch_sentences or 1
    blocks = range(0, len(rows), _DRAWN)
    tokens = sum(int(target_lengths[rows[i : i + _DRAWN]].sum(dtype=np.int64)) for i in blocks)
    per_batch = config.batch_sentences or max(1.0, config.batch_tokens / (tokens / len(rows) + 1))
    batches = len(rows) / per_batch
    # At least two pools if there are enough pairs: with one, all epochs would have the same batches.
    pools = max(1, round(batches / config.pool_batches), min(2, int(batches) // 4))
    return -(-len(rows) // (pools * step)) * step


def _pack(
    pool: Rows,
    source_lengths: NDArray[Any],
    target_lengths: NDArray[Any],
    budget: int,
    config: TrainConfig,
    batches: list[Rows],
) -> Rows:
    """Append the batches of a pool and return the rows that did not fit."""
    order, cells = _cells(source_lengths[pool], target_lengths[pool], equal=bool(config.batch_sentences))
    pool = pool[order]
    fill = 1.0 if config.batch_sentences else _FILL
    # A pair over the budget counts as one batch, not several.
    load = int((np.minimum(cells.load, budget) * cells.pairs).sum())
    left = []
    for group in _groups(cells, int(np.ceil(load / (fill * budget)))):
        ascending = group.load.argsort(kind="stable")
        start, count = group.start[ascending], group.pairs[ascending]
        members = pool[np.arange(count.sum()) + (start - count.cumsum() + count).repeat(count)]
        fitting = _fitting(group.load[ascending].repeat(count), budget)
        batches.append(members[:fitting])
        left.append(members[fitting:])
    return np.concatenate(left)


def _fitting(ascending: Integers, budget: int) -> int:
    """How many of these loads fit one budget (rows × largest), at least one."""
    return max(1, int(np.count_nonzero(ascending * np.arange(1, len(ascending) + 1) <= budget)))


class _Cells(NamedTuple):
    """The pairs of a pool or a part of it, those of equal lengths together as one cell; ordered by (target, source).

    There are far fewer cells than pairs, so the pool is cut by cells. The pairs of a cell keep their random order.
    """

    source: Integers  # (C,) lengths, <eos> included
    target: Integers  # (C,)
    load: Integers  # (C,) of each pair
    start: Integers  # (C,) where the pairs of the cell start in the ordered pool
    pairs: Integers  # (C,) how many they are
    by_source: NDArray[np.intp]  # (C,) the cells in the order of (source, target)

    def part(self, chosen: NDArray[np.bool_]) -> _Cells:
        """These cells."""
        place = chosen.cumsum() - 1
        by_source = place[self.by_source[chosen[self.by_source]]]
        source, target, load, start, pairs = (column[chosen] for column in self[:5])
        return _Cells(source, target, load, start, pairs, by_source)

    def cut(self, along_source: bool, at: int) -> tuple[_Cells, _Cells]:
        """The first `at` pairs in one of the two orders, and the others; one cell may be divided."""
        order = self.by_source if along_source else np.arange(len(self.pairs))
        ends = self.pairs[order].cumsum()
        cell = int(ends.searchsorted(at, side="right"))  # that of the first pair on the right
        inside = at - int(ends[cell] - self.pairs[order[cell]])  # its pairs on the left
        chosen = np.zeros(len(order), np.bool_)
        chosen[order[:cell]] = True
        right = self.part(~chosen)
        if not inside:
            return self.part(chosen), right
        here = np.count_nonzero(~chosen[: order[cell]])
        right.start[here] += inside
        right.pairs[here] -= inside
        chosen[order[cell]] = True
        left = self.part(chosen)
        left.pairs[np.count_nonzero(chosen[: order[cell]])] = inside
        return left, right


def _cells(
    source_lengths: NDArray[Any], target_lengths: NDArray[Any], *, equal: bool
) -> tuple[NDArray[np.intp], _Cells]:
    """The order of the pairs, by lengths and stable, and their cells; `equal`: every pair is the same load."""
    source, target = (lengths.astype(np.int64) + 1 for lengths in (source_lengths, target_lengths))
    width = int(source.max()) + 1
    key = target * width + source
    # NumPy sorts numbers of 16 bits in linear time.
    order = np.argsort(key.astype(narrowest(int(key.max()) + 1)), kind="stable")
    key = key[order]
    start = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    target, source = np.divmod(key[start], width)
    load = np.ones_like(target) if equal else load_of(source, target)
    by_source = np.lexsort((target, source))
    return order, _Cells(source, target, load, start, np.diff(start, append=len(key)), by_source)


def _groups(cells: _Cells, parts: int) -> list[_Cells]:
    """Cut a pool into `parts` groups of equal load and little padding (a k-d tree over the two lengths)."""
    groups, nodes = [], [(cells, parts)]
    while nodes:
        cells, parts = nodes.pop()
        if parts <= 1 or (len(cells.pairs) == 1 and cells.pairs[0] == 1):
            groups.append(cells)
            continue
        target, source = cells.target * _TARGET_COST, cells.source * _SOURCE_COST
        by_source = cells.by_source
        by_target_cut = _best_cut(target, source, cells.load, cells.pairs, parts)
        by_source_cut = _best_cut(
            source[by_source], target[by_source], cells.load[by_source], cells.pairs[by_source], parts
        )
        along_source = by_source_cut[0] < by_target_cut[0]
        _, at, left_parts = by_source_cut if along_source else by_target_cut
        left, right = cells.cut(along_source, at)
        nodes.append((right, parts - left_parts))
        nodes.append((left, left_parts))
    return groups


def _best_cut(
    along: Integers, across: Integers, load: Integers, count: Integers, parts: int
) -> tuple[int, int, int]:
    """Cost, position and number of parts to the left of the best cut of cells ordered by `along`."""
    ends, loads = count.cumsum(), (load * count).cumsum()
    pairs = int(ends[-1])
    wanted = np.arange(1, parts) * loads[-1] // parts  # the load on the left
    cell = loads.searchsorted(wanted, side="right")
    at = ends[cell] - count[cell] + (wanted - loads[cell] + load[cell] * count[cell]) // load[cell]
    at = np.minimum(np.maximum(at, 1), pairs - 1)
    last, first = (
        np.searchsorted(ends, position, side="right") for position in (at - 1, at)
    )  # cells at the cut
    left = along[last] + np.maximum.accumulate(across)[last]
    right = along[-1] + np.maximum.accumulate(across[::-1])[len(across) - 1 - first]
    cost = at * left + (pairs - at) * right
    best = int(cost.argmin())
    return int(cost[best]), int(at[best]), best + 1
