"""Sentence-level BLEU and chrF of every text against every other: the utilities of minimum Bayes risk decoding.

The k-th occurrence of an n-gram in a text is a feature of its own. Two texts then share as many features as they have
n-grams in common, Σ_g min(count_i(g), count_j(g)), so the matches of all pairs are one matrix product. The scores are
those of sacreBLEU's `sentence_score`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.metrics.character_ngrams import ORDER as CHARACTER_ORDER
from nmt_cli.metrics.character_ngrams import f_scores

Scores = NDArray[np.float64]
Integers = NDArray[np.int64]
Tokenize = Callable[[str], Sequence[str]]

_WORD_ORDER = 4


class Overlap(NamedTuple):
    """The n-grams of M texts, order by order."""

    counts: Integers  # (orders, M) number of n-grams in each text
    matches: Integers  # (orders, M, M) number of n-grams that two texts have in common


def pairwise_chrf(texts: Sequence[str], *, references: int | None = None) -> Scores:
    """(M, N) sentence-level chrF2 of M texts against the last N of them; None: against all."""
    squeezed = ["".join(text.split()) for text in texts]
    units = [np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32) for text in squeezed]
    counts, matches = overlap(units, CHARACTER_ORDER)
    first = _first_reference(texts, references)
    shape = len(texts), len(texts) - first
    columns = [
        np.broadcast_to(column, shape).ravel()
        for n in range(CHARACTER_ORDER)
        for column in (counts[n][:, None], counts[n][first:], matches[n][:, first:])
    ]
    return f_scores(np.stack(columns, axis=1).astype(np.float64)).reshape(shape)


def pairwise_bleu(texts: Sequence[str], tokenize: Tokenize, *, references: int | None = None) -> Scores:
    """(M, N) sentence-level BLEU of M texts against the last N of them; None: against all.

    Orders that a text is too short for do not count, and the k-th precision without a match is 1 / (2^k · n-grams)
    (Chen and Cherry 2014, smoothing 3).
    """
    numbers: dict[str, int] = {}
    units = [
        np.array([numbers.setdefault(word, len(numbers)) for word in tokenize(text)], np.int64)
        for text in texts
    ]
    counts, matches = overlap(units, _WORD_ORDER)
    first = _first_reference(texts, references)
    lengths = counts[0].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        penalty = np.exp(np.minimum(0.0, 1 - lengths[first:] / lengths[:, None]))  # (M, N)
    sum_of_logs = np.zeros_like(penalty)
    divisor = np.ones_like(penalty)
    for n in range(_WORD_ORDER):
        common, total = matches[n][:, first:], counts[n][:, None]
        divisor = np.where((common == 0) & (total > 0), 2 * divisor, divisor)
        precision = np.where(common > 0, common, 1 / divisor) / np.maximum(total, 1)
        sum_of_logs += np.where(total > 0, np.log(precision), 0.0)
    orders = np.maximum((counts > 0).sum(axis=0), 1)[:, None]  # (M, 1) that the text is long enough for
    scores = 100 * penalty * np.exp(sum_of_logs / orders)
    return np.where(matches[0][:, first:] > 0, scores, 0.0)


def overlap(texts: Sequence[NDArray[np.generic]], orders: int) -> Overlap:
    """How many n-grams each text has, and each pair of texts has in common; texts are sequences of numbers."""
    M = len(texts)
    lengths = np.array([len(text) for text in texts], np.int64)
    counts = np.maximum(lengths - np.arange(orders)[:, None], 0)  # (orders, M)
    matches = np.zeros((orders, M, M), np.int64)
    owner = np.repeat(np.arange(M), lengths)
    # Units from here to the end of the text.
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(owner))
    _, units = np.unique(np.concatenate([*texts, np.empty(0, np.int64)]), return_inverse=True)
    size = int(units.max(initial=0)) + 1
    grams = np.zeros_like(units)  # of order 0: all equal
    for n in range(orders):
        starts = np.flatnonzero(left > n)  # of the n-grams of order n + 1
        if not len(starts):
            break
        _, grams_here = np.unique(grams[starts] * size + units[starts + n], return_inverse=True)
        occurrence = _occurrences(owner[starts], grams_here)
        _, features = np.unique(grams_here * (occurrence.max() + 1) + occurrence, return_inverse=True)
        has = np.zeros((M, int(features.max()) + 1), np.float32)
        has[owner[starts], features] = 1.0
        matches[n] = has @ has.T  # exact: whole numbers below 2^24
        grams[starts] = grams_here
    return Overlap(counts, matches)


def _occurrences(owner: Integers, grams: Integers) -> Integers:
    """For each n-gram, how often the same text has had it before."""
    keys = owner * (int(grams.max()) + 1) + grams
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    position = np.arange(len(keys))
    rank = position - np.maximum.accumulate(np.where(is_first, position, 0))
    result = np.empty_like(rank)
    result[order] = rank
    return result


def _first_reference(texts: Sequence[str], references: int | None) -> int:
    return 0 if references is None else len(texts) - references
