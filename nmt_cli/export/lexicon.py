"""A translation lexicon on token ids: which target tokens are likely for each source token.

IBM Model 1 (Brown et al. 1993): a few iterations of EM on the training data; the source's <eos> is the empty word.

    t(f | e) ← Σ_pairs c(f | e) / Σ_f' Σ_pairs c(f' | e)      c(f | e) = t(f | e) / Σ_{e' in the source} t(f | e')
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.vocabulary.token_ids import EOS, Ragged

ITERATIONS = 5
_MAX_LINKS = 20_000_000  # source × target tokens that are looked at; of a larger corpus a sample
_LEAST = 1e-4  # less probable tokens are left out


class Lexicon(NamedTuple):
    """Pairs of tokens, sorted by source token and then by falling probability."""

    source: NDArray[np.int64]  # (P,)
    target: NDArray[np.int64]  # (P,)
    probability: NDArray[np.float64]  # (P,)
    frequent: NDArray[np.int64]  # target tokens, most frequent first

    def table(self, source_size: int, target_size: int, n: int) -> NDArray[Any]:
        """(source_size, n) the n likeliest target tokens of each source token; the most frequent one fills up rows."""
        table = np.full((source_size, n), self.frequent[0], np.min_scalar_type(target_size))
        first = np.searchsorted(self.source, np.arange(source_size))
        rank = np.arange(len(self.source)) - first[self.source]
        kept = (rank < n) & (self.probability >= _LEAST)
        table[self.source[kept], rank[kept]] = self.target[kept]
        return table


def cooccurrence(source: Ragged, target: Ragged, source_size: int, target_size: int) -> Lexicon:
    """Model 1 without EM: the share of each target token among those that occur with a source token."""
    return model_1(source, target, source_size, target_size, iterations=1)


def model_1(
    source: Ragged, target: Ragged, source_size: int, target_size: int, *, iterations: int = ITERATIONS
) -> Lexicon:
    """The lexicon of these pairs of sentences."""
    frequency = np.bincount(target.values.astype(np.int64), minlength=target_size)
    frequent = np.argsort(-frequency, kind="stable")[: max(1, np.count_nonzero(frequency))]
    source, target = _sample(source, target)
    e, occurrence, f = _links(source, target)
    keys, link = np.unique(e * target_size + f, return_inverse=True)
    of_source = keys // target_size  # (P,)
    t = np.ones(len(keys))
    for _ in range(iterations):
        weights = t[link]
        weights /= np.bincount(occurrence, weights)[occurrence]
        counts = np.bincount(link, weights, len(keys))
        t = counts / np.maximum(np.bincount(of_source, counts, source_size)[of_source], 1e-12)
    order = np.lexsort((-t, of_source))
    return Lexicon(of_source[order], keys[order] % target_size, t[order], frequent)


def _sample(source: Ragged, target: Ragged) -> tuple[Ragged, Ragged]:
    links = int(((source.lengths + 1) * target.lengths).sum())
    if links <= _MAX_LINKS:
        return source, target
    rows = np.arange(0, len(source), -(-links // _MAX_LINKS))
    return source.take(rows), target.take(rows)


def _links(source: Ragged, target: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Source token, index of the target token in the corpus, and target token of every pair within a sentence."""
    S, T = source.lengths + 1, target.lengths  # with <eos>
    occurrence = np.repeat(np.arange(len(target.values)), np.repeat(S, T))  # each target token S times
    f = target.values.astype(np.int64)[occurrence]
    with_end = np.insert(source.values.astype(np.int64), source.offsets[1:], EOS)
    starts = source.offsets[:-1] + np.arange(len(S))
    first = np.repeat(np.repeat(starts, T), np.repeat(S, T))
    ends = np.cumsum(np.repeat(S, T))
    within = np.arange(len(occurrence)) - np.repeat(ends - np.repeat(S, T), np.repeat(S, T))
    return with_end[first + within], occurrence, f
