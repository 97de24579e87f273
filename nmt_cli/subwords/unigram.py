"""Subword regularization (Kudo 2018)."""

import math
from bisect import bisect
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple

from nmt_cli.subwords.draws import uniform
from nmt_cli.subwords.pieces import LONG_WORD, Pieces

_CACHED_WORDS = 1 << 14  # of some kilobytes each
_UNKNOWN_PENALTY = 10.0  # what sentencepiece takes off the worst score for a character that is no piece


class _End(NamedTuple):
    """The pieces that can end at a position of a word."""

    starts: list[int]
    ids: list[list[int]]
    cumulative: list[float]  # of their probabilities, times any constant


class UnigramSampling:
    """A split is drawn with its probability to the power of α, by forward filtering and backward sampling:

    w_e = Σ_s w_s · P(s…e)^α;  the last piece begins at s with probability w_s · P(s…e)^α / w_e, and so on
    from s. No piece goes across words, so that they are drawn on their own.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._longest = max(map(len, pieces.ids), default=1)
        self._unknown = min(pieces.scores.values(), default=0.0) - _UNKNOWN_PENALTY
        self._kept = lru_cache(_CACHED_WORDS)(self._lattice)

    def sample(self, texts: list[list[str]], alpha: float, seed: int) -> list[list[int]]:
        """Ids of a random split of each text, which comes in the words of `Pieces.words`; α > 0."""
        draws = uniform(seed)
        rows = []
        for words in texts:
            ids: list[int] = []
            for word in words:
                lattice = self._kept(word, alpha) if len(word) <= LONG_WORD else self._lattice(word, alpha)
                ids += _drawn(lattice, draws)
            rows.append(self._pieces.finish(ids))
        return rows

    def _lattice(self, word: str, alpha: float) -> list[_End]:
        """For each position of a word from 1 on, what can end there."""
        if self._pieces.is_symbol(word):
            return [_End([0], [self._pieces.spell(word)], [1.0])] * len(word)
        log_weights = [0.0]  # log w
        ends = []
        for end in range(1, len(word) + 1):
            starts, ids, logs = [], [], []
            for start in range(max(0, end - self._longest), end):
                text = word[start:end]
                score = self._pieces.scores.get(text, self._unknown if len(text) == 1 else None)
                if score is not None:
                    starts.append(start)
                    ids.append(self._pieces.spell(text))
                    logs.append(log_weights[start] + alpha * score)
            peak = max(logs)
            cumulative = list(accumulate(math.exp(log - peak) for log in logs))
            log_weights.append(peak + math.log(cumulative[-1]))
            ends.append(_End(starts, ids, cumulative))
        return ends


def _drawn(lattice: list[_End], draws: Iterator[float]) -> list[int]:
    pieces = []
    position = len(lattice)
    while position:
        starts, ids, cumulative = lattice[position - 1]
        chosen = 0
        if len(starts) > 1:
            # A product that is rounded up to the last number must not point behind it.
            chosen = bisect(cumulative, next(draws) * cumulative[-1], hi=len(starts) - 1)
        pieces.append(ids[chosen])
        position = starts[chosen]
    return list(chain.from_iterable(reversed(pieces)))
