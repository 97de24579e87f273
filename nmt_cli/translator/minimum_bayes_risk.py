"""Minimum Bayes risk decoding: not the most probable candidate, but the one that agrees best with all of them.

    ŷ = argmax_h Σ_y P(y | x) u(h, y)   over candidates h and y      (Kumar and Byrne 2004; Eikema and Aziz 2020)

u is sentence-level chrF or BLEU. Samples represent P by how often they occur; in a beam each candidate has its own P,
normalized over the beam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config import SearchConfig
from nmt_cli.metrics.corpus_metric import CorpusMetric
from nmt_cli.metrics.pairwise import pairwise_bleu, pairwise_chrf
from nmt_cli.translator.translation import Translation

Numbers = NDArray[np.float64]


def choose_minimum_risk(found: Translation, config: SearchConfig, tokenizer: str) -> Translation:
    """The candidate in `found.n_best` with the highest expected utility, which becomes its score.

    The `search.n_best` best ones, best first, are its own `n_best`; equal texts are one candidate, and candidates with
    equal utility keep the order of search. `tokenizer` is BLEU's.
    """
    candidates = found.n_best or (found,)
    distinct: dict[str, Translation] = {}
    total: dict[str, float] = {}
    for candidate, weight in zip(candidates, _weights(candidates, config).tolist(), strict=True):
        distinct.setdefault(candidate.text, candidate)
        total[candidate.text] = total.get(candidate.text, 0.0) + weight
    utility = utilities(list(distinct), config.mbr, tokenizer)  # (M, M)
    expected = utility @ np.array(list(total.values()))  # (M,)
    order = np.argsort(-expected, kind="stable")[: config.n_best]
    ordered = list(distinct.values())
    ranked = tuple(replace(ordered[int(i)], score=float(expected[i])) for i in order)
    return replace(ranked[0], n_best=ranked if config.n_best > 1 else None, tree=found.tree)


def utilities(texts: Sequence[str], metric: str, tokenizer: str) -> Numbers:
    """u (M, M): the utility of each text if another one is the correct translation."""
    return pairwise_chrf(texts) if metric == "chrf" else pairwise_bleu(texts, _bleu(tokenizer).tokens)


def _weights(candidates: Sequence[Translation], config: SearchConfig) -> Numbers:
    """(M,) the probability of each candidate, normalized over the candidates."""
    if config.sampling:
        return np.full(len(candidates), 1 / len(candidates))
    log_p = np.array([candidate.log_probability or 0.0 for candidate in candidates])
    p: Numbers = np.exp(log_p - log_p.max())
    p /= p.sum()
    return p


@cache
def _bleu(tokenizer: str) -> CorpusMetric:
    return CorpusMetric("bleu", tokenize=tokenizer)
