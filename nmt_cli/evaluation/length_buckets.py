"""BLEU by the length of the sentence: where attention earns its keep (Bahdanau et al. 2015, figure 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_cli.evaluation.result import LengthBucket
from nmt_cli.metrics.corpus_metric import CorpusMetric

_LONGEST = 2000  # longer sentences count as this long
_WIDTHS = (2, 5, 10, 20, 50, 100, 200, 500)
_MOST_BUCKETS = 7
_FEW = 10
_TAIL = 0.02  # of the sentences, the longest, that share the last bucket
_CHARACTERS_A_WORD = 15  # above which the text has no spaces between words


def counts_characters(lines: Sequence[str]) -> bool:
    """Whether the length of such text is counted in characters."""
    return sum(map(len, lines)) > _CHARACTERS_A_WORD * max(1, sum(len(line.split()) for line in lines))


def lengths_of(lines: Sequence[str], *, characters: bool) -> NDArray[np.int64]:
    """The length of each line."""
    counted = (
        (len("".join(line.split())) for line in lines)
        if characters
        else (len(line.split()) for line in lines)
    )
    return np.minimum(np.fromiter(counted, np.int64, len(lines)), _LONGEST)


class LengthTally:
    """Sums of BLEU's statistics for each length."""

    def __init__(self) -> None:
        self._sentences = np.zeros(_LONGEST + 1, np.int64)
        self._totals: NDArray[np.float64] | None = None

    def observe(self, lengths: NDArray[np.int64], statistics: NDArray[np.float64]) -> None:
        """Take the statistics of the next sentences."""
        if self._totals is None:
            self._totals = np.zeros((_LONGEST + 1, statistics.shape[1]))
        np.add.at(self._totals, lengths, statistics)
        self._sentences += np.bincount(lengths, minlength=_LONGEST + 1)

    def buckets(self, metric: CorpusMetric) -> list[LengthBucket]:
        """BLEU in up to seven ranges of equal width; the last one is open."""
        if self._totals is None:
            return []
        width = self._width()
        found = []
        low = 0
        for index in range(_MOST_BUCKETS):
            high = (index + 1) * width
            rest = int(self._sentences[high + 1 :].sum())
            last = index == _MOST_BUCKETS - 1 or rest < _FEW  # a handful at the end says nothing by itself
            rows = slice(low, None if last else high + 1)
            if sentences := int(self._sentences[rows].sum()):
                bleu = metric.score(self._totals[rows].sum(axis=0))
                longest = None if last and rest else high
                found.append(
                    LengthBucket(shortest=max(low, 1), longest=longest, sentences=sentences, bleu=bleu)
                )
            if last:
                break
            low = high + 1
        return found

    def _width(self) -> int:
        """The smallest one by which the last bucket holds few sentences."""
        total = self._sentences.sum()
        for width in _WIDTHS:
            beyond = self._sentences[width * (_MOST_BUCKETS - 1) + 1 :].sum()
            if beyond <= _TAIL * total:
                return width
        return _WIDTHS[-1]
