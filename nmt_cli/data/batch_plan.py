"""Which pairs form a batch, and the order of the batches: a pure function of (seed, epoch)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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

Rows = NDArray[Any]


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
    rows = rows[_shuffled(len(rows), random)]
    budget = config.batch_sentences or config.batch_tokens
    batches: list[Rows] = []
    carried = rows[:0]
    for pool in _pools(rows, target_lengths, config):
        carried = _pack(
            np.concatenate([carried, pool]), source_lengths, target_lengths, budget, config, batches
        )
    while len(carried):
        carried = _pack(carried, source_lengths, target_lengths, budget, config, batches)
    if not batches:
        return BatchPlan(rows, offsets_of(rows))
    order = [batches[i] for i in _shuffled(len(batches), random)]
    return BatchPlan(np.concatenate(order), offsets_of(np.fromiter(map(len, order), np.int64, len(order))))


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


def _repeat(rows: int, weights: Iterable[tuple[int, int, float]], random: np.random.Philox) -> Rows:
    """Each row, repeated as often as it occurs in this epoch."""
    all_rows = np.arange(rows, dtype=narrowest(rows))
    times = np.ones(rows, np.uint32)
    for start, stop, weight in weights:
        if weight != 1:
            draws = (random.random_raw(stop - start) >> np.uint64(11)) * 2.0**-53
            times[start:stop] = int(weight) + (draws < weight - int(weight))
    return np.repeat(all_rows, times)


def _shuffled(count: int, random: np.random.Philox) -> NDArray[np.int64]:
    return np.argsort(random.random_raw(count), kind="stable")


def _pools(rows: Rows, target_lengths: NDArray[Any], config: TrainConfig) -> Sequence[Rows]:
    if not len(rows):
        return []
    step = config.batch_sentences or 1
    per_batch = config.batch_sentences or max(1.0, config.batch_tokens / (target_lengths[rows].mean() + 1))
    batches = len(rows) / per_batch
    # At least two pools if there are enough pairs: with one, all epochs would have the same batches.
    pools = max(1, round(batches / config.pool_batches), min(2, int(batches) // 4))
    size = -(-len(rows) // (pools * step)) * step
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _pack(
    pool: Rows,
    source_lengths: NDArray[Any],
    target_lengths: NDArray[Any],
    budget: int,
    config: TrainConfig,
    batches: list[Rows],
) -> Rows:
    """Append the batches of a pool and return the rows that did not fit."""
    source = source_lengths[pool].astype(np.int64) + 1
    target = target_lengths[pool].astype(np.int64) + 1
    load = np.ones_like(target) if config.batch_sentences else load_of(source, target)
    fill = 1.0 if config.batch_sentences else _FILL
    # A pair over the budget counts as one batch, not several.
    parts = int(np.ceil(np.minimum(load, budget).sum() / (fill * budget)))
    left = []
    for members in _groups(source, target, load, parts):
        members = members[np.argsort(load[members], kind="stable")]
        fitting = _fitting(load[members], budget)
        batches.append(pool[members[:fitting]])
        left.append(pool[members[fitting:]])
    return np.concatenate(left)


def _fitting(ascending: NDArray[np.int64], budget: int) -> int:
    """How many of these loads fit one budget (rows × largest), at least one."""
    return max(1, int(np.count_nonzero(ascending * np.arange(1, len(ascending) + 1) <= budget)))


def _groups(
    source: NDArray[np.int64], target: NDArray[np.int64], load: NDArray[np.int64], parts: int
) -> list[NDArray[np.int64]]:
    """Cut a pool into `parts` groups of equal load and little padding (a k-d tree over the two lengths)."""
    costs = (target * _TARGET_COST, source * _SOURCE_COST)
    # Stable sort: pairs of equal lengths keep their random order.
    orders = (np.lexsort((source, target)), np.lexsort((target, source)))
    is_left = np.zeros(len(load), np.bool_)
    groups, nodes = [], [(orders, parts)]
    while nodes:
        orders, parts = nodes.pop()
        if parts <= 1 or len(orders[0]) == 1:
            groups.append(orders[0])
            continue
        options = [_best_cut(orders[k], costs[k], costs[1 - k], load, parts) for k in (0, 1)]
        side = int(options[1][0] < options[0][0])
        _, at, left_parts = options[side]
        is_left[orders[side][:at]] = True
        is_left[orders[side][at:]] = False
        left = [is_left[order] for order in orders]
        nodes.append(((orders[0][~left[0]], orders[1][~left[1]]), parts - left_parts))
        nodes.append(((orders[0][left[0]], orders[1][left[1]]), left_parts))
    return groups


def _best_cut(
    order: NDArray[np.int64],
    along: NDArray[np.int64],
    across: NDArray[np.int64],
    load: NDArray[np.int64],
    parts: int,
) -> tuple[int, int, int]:
    """Cost, position and number of parts to the left of the best cut of rows ordered by `along`."""
    rows = len(order)
    total = np.cumsum(load[order])
    at = np.searchsorted(total, np.arange(1, parts) * total[-1] // parts, side="right")
    at = np.minimum(np.maximum(at, 1), rows - 1)
    along, across = along[order], across[order]
    left = along[at - 1] + np.maximum.accumulate(across)[at - 1]
    right = along[-1] + np.maximum.accumulate(across[::-1])[rows - 1 - at]
    cost = at * left + (rows - at) * right
    best = int(cost.argmin())
    return int(cost[best]), int(at[best]), best + 1
