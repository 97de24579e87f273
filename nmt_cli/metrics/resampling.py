"""Confidence intervals and paired significance tests: bootstrap and approximate randomization.

Draws and intervals are those of sacreBLEU with the same seed, without its array of samples × sentences × statistics:
the statistics of a resample are the sum over its sentences, so a block of resamples is one matrix product. p-values
are sacreBLEU's, too, unless a resample gives exactly the observed difference: see `_p_value`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt_cli.metrics.corpus_metric import CorpusMetric, Statistics

_BLOCK_CELLS = 1 << 22  # resamples × sentences in one block
# NumPy draws booleans 32 at a time and discards the rest; blocks of 32 rows draw the same as one call
_ROUND = 32

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """95 % of the resampled scores lie between `low` and `high`."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """The number after ±."""
        return 0.5 * (self.high - self.low)


def interval(scores: Scores) -> Interval:
    """The 95 % interval of resampled scores: 2.5 % are cut off at each end."""
    ordered = np.sort(scores)
    cut = len(ordered) // 40
    return Interval(float(ordered.mean()), float(ordered[cut]), float(ordered[len(ordered) - cut - 1]))


def bootstrap(
    metric: CorpusMetric, systems: Mapping[str, Statistics], *, samples: int, seed: int
) -> dict[str, Scores]:
    """Scores of every system on the same `samples` resamples of the sentences (Koehn 2004)."""
    sentences = len(next(iter(systems.values())))
    totals: dict[str, list[NDArray[np.float64]]] = {name: [] for name in systems}
    for chosen in _resamples(sentences, samples, seed):
        for name, statistics in systems.items():
            totals[name].append(chosen @ statistics)
    # sacreBLEU computes these scores in float32, which is exact for counts below 2²⁴.
    return {name: metric.scores(np.concatenate(rows).astype(np.float32)) for name, rows in totals.items()}


def bootstrap_p_value(baseline: Scores, system: Scores, difference: float) -> float:
    """The probability of a difference this large under the null hypothesis, from paired bootstrap scores.

    Resampling as in Koehn 2004; the differences are shifted by their mean, so that they follow the null hypothesis
    (Riezler and Maxwell 2005, figure 2).
    """
    differences = np.abs(system - baseline)
    return _p_value(differences - differences.mean(), difference)


def randomization_p_value(
    metric: CorpusMetric, baseline: Statistics, system: Statistics, *, trials: int, seed: int
) -> float:
    """The probability of a difference this large if outputs are swapped at random.

    (Riezler and Maxwell 2005, figure 1)
    """
    everything = baseline.sum(axis=0) + system.sum(axis=0)
    difference = abs(metric.score(baseline.sum(axis=0)) - metric.score(system.sum(axis=0)))
    found = []
    for chosen in _choices(len(baseline), trials, seed):
        one = chosen @ baseline + (1.0 - chosen) @ system
        found.append(np.abs(metric.scores(one) - metric.scores(everything - one)))
    return _p_value(np.concatenate(found), difference)


def _p_value(null: Scores, difference: float) -> float:
    """p = (c + 1) / (n + 1), where c of n pseudo-statistics are at least as large as the observed difference

    (Riezler and Maxwell 2005). sacreBLEU counts only larger ones, which makes two identical systems significantly
    different: p = 1 / (n + 1) instead of 1.
    """
    return float((np.sum(null >= difference) + 1) / (len(null) + 1))


def _resamples(sentences: int, samples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each sentence occurs in each resample, (block, sentences)."""
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK_CELLS // max(sentences, 1))
    for start in range(0, samples, block):
        rows = min(block, samples - start)
        drawn = generator.choice(sentences, size=(rows, sentences), replace=True)
        yield np.stack([np.bincount(row, minlength=sentences) for row in drawn]).astype(np.float64)


def _choices(sentences: int, trials: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """1 for a sentence from the baseline, 0 for one from the system, (block, sentences)."""
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK_CELLS // max(sentences, 1) // _ROUND) * _ROUND
    for start in range(0, trials, block):
        rows = min(block, trials - start)
        yield generator.integers(2, size=(rows, sentences), dtype=bool).astype(np.float64)
