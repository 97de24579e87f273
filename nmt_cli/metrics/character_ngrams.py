"""The statistics of chrF for a block of sentences at once, several times faster than sacreBLEU.

Every character n-gram becomes one integer with the index of its sentence in the highest bits, so that one sort counts
the n-grams of all sentences. The counts are exactly those of sacreBLEU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ORDER = 6
_BETA = 2
_BITS = 63

Numbers = NDArray[np.int64]
Statistics = NDArray[np.float64]


class Grams(NamedTuple):
    """The distinct n-grams of one order in all sentences, sorted, with their counts."""

    keys: Numbers
    counts: Numbers
    per_sentence: Numbers  # number of n-grams in each sentence


def chrf_statistics(hypotheses: Sequence[str], references: Sequence[Sequence[str | None]]) -> Statistics:
    """[n-grams in the hypothesis, in the reference, in both] for each order and sentence, with the best reference."""
    ours, *theirs = _count([hypotheses, *([text or "" for text in texts] for texts in references)])
    best = np.zeros((len(hypotheses), 3 * ORDER))
    best_scores = np.full(len(hypotheses), -1.0)
    for texts, grams in zip(references, theirs, strict=True):
        rows = _matches(ours, grams)
        scores = f_scores(rows)
        scores[[text is None for text in texts]] = -2.0
        better = scores > best_scores  # the first of equally good ones, like sacreBLEU
        best[better] = rows[better]
        best_scores = np.where(better, scores, best_scores)
    return best


def f_scores(statistics: Statistics) -> NDArray[np.float64]:
    """chrF2 of each row of statistics.

    F = (1 + β²) P R / (β² P + R), where P and R are means over the orders that both sides have   (Popović 2015)
    """
    P, R = np.zeros(len(statistics)), np.zeros(len(statistics))
    orders = np.zeros(len(statistics))
    for start in range(0, statistics.shape[1], 3):  # one at a time, to round like sacreBLEU
        hypothesis, reference, both = statistics[:, start : start + 3].T
        used = (hypothesis > 0) & (reference > 0)
        P += np.divide(both, hypothesis, out=np.zeros(len(both)), where=used)
        R += np.divide(both, reference, out=np.zeros(len(both)), where=used)
        orders += used
    P, R = P / np.maximum(orders, 1), R / np.maximum(orders, 1)
    below = _BETA**2 * P + R
    F = np.divide((1 + _BETA**2) * P * R, below, out=np.zeros(len(P)), where=below > 0)
    scores: NDArray[np.float64] = 100 * F
    return scores


def _count(sides: Sequence[Sequence[str]]) -> list[list[Grams]]:
    """The n-grams of each side for all orders, with the same numbering."""
    squeezed = [["".join(text.split()) for text in texts] for texts in sides]
    points = [
        np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32) for texts in squeezed
    ]
    alphabet = np.unique(np.concatenate(points))
    bits = len(alphabet).bit_length()
    characters = [np.searchsorted(alphabet, side) for side in points]
    lengths = [np.array([len(text) for text in texts], np.int64) for texts in squeezed]
    keys = [np.repeat(np.arange(len(side)), side) for side in lengths]  # of 0-grams: only the sentence
    # The number of characters from each one to the end of its sentence.
    left = [ends - np.arange(len(ends)) for ends in map(_ends, lengths)]
    used = len(sides[0]).bit_length()
    found: list[list[Grams]] = [[] for _ in sides]
    for n in range(1, ORDER + 1):
        if used + bits > _BITS:
            keys, used = _renumbered(keys)
        used += bits
        for side, grams in enumerate(found):
            following = characters[side][n - 1 :]
            keys[side] = keys[side][: len(following)] << bits | following
            inside = keys[side][left[side][: len(following)] >= n]
            unique, counts = np.unique(inside, return_counts=True)
            grams.append(Grams(unique, counts, np.maximum(lengths[side] - n + 1, 0)))
    return found


def _ends(lengths: Numbers) -> Numbers:
    """For each character, where its sentence ends."""
    return np.repeat(np.cumsum(lengths), lengths)


def _renumbered(keys: Sequence[Numbers]) -> tuple[list[Numbers], int]:
    """Keys that have become too large, renumbered in the same order, and the bits they now need."""
    unique, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    parts = np.split(inverse, np.cumsum([len(side) for side in keys])[:-1])
    return list(parts), len(unique).bit_length()


def _matches(hypotheses: Sequence[Grams], references: Sequence[Grams]) -> Statistics:
    """[hypothesis, reference, both] for every order and sentence."""
    sentences = len(hypotheses[0].per_sentence)
    rows = np.zeros((sentences, 3 * ORDER))
    for n, (ours, theirs) in enumerate(zip(hypotheses, references, strict=True), start=1):
        _, mine, other = np.intersect1d(ours.keys, theirs.keys, assume_unique=True, return_indices=True)
        both = np.minimum(ours.counts[mine], theirs.counts[other])
        where = _sentences(ours, mine)
        rows[:, 3 * n - 3] = np.where(theirs.per_sentence > 0, ours.per_sentence, 0)
        rows[:, 3 * n - 2] = theirs.per_sentence
        rows[:, 3 * n - 1] = np.bincount(where, weights=both, minlength=sentences)
    return rows


def _sentences(grams: Grams, chosen: Numbers) -> Numbers:
    """The sentence of each chosen n-gram, found by counting, because keys are sorted by sentence."""
    ends = np.cumsum(grams.per_sentence)
    before = np.cumsum(grams.counts) - grams.counts
    return np.searchsorted(ends, before[chosen], side="right")
