"""What is counted of one system while its lines go by; memory does not grow unless statistics are to be kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.checks.tokenization import TokenizedCheck
from nmt_cli.evaluation.examples import Block, ExampleKeeper
from nmt_cli.evaluation.length_buckets import LengthTally
from nmt_cli.evaluation.output_errors import Faults
from nmt_cli.evaluation.result import Distribution
from nmt_cli.evaluation.training_text import RecallTally
from nmt_cli.metrics.character_ngrams import f_scores
from nmt_cli.metrics.corpus_metric import Statistics, Totals

_BINS = 20
_SAMPLE = 8  # every eighth line is looked at for traces of tokenization
_SAMPLE_CHARACTERS = 300


def observe_sample(check: TokenizedCheck, first: int, lines: Sequence[str]) -> None:
    """Look at some lines, the same ones however the text is cut into blocks."""
    check.observe([line[:_SAMPLE_CHARACTERS] for line in lines[-first % _SAMPLE :: _SAMPLE]])


class SystemTally:
    """All counts of one system."""

    def __init__(self, *, keep: bool, examples: bool, recall: RecallTally | None) -> None:
        """`keep`: the statistics of every line, for resampling."""
        self._keep = keep
        self._totals: dict[str, Totals] = {}
        self._kept: dict[str, list[Statistics]] = {}
        self.lengths = LengthTally()
        self.faults = Faults()
        self.tokenized = TokenizedCheck()
        self.keeper = ExampleKeeper() if examples else None
        self.recall = recall
        self._bins = np.zeros(_BINS, np.int64)
        self._chrf = 0.0

    def observe(
        self,
        block: Block,
        hypotheses: Sequence[str],
        statistics: dict[str, Statistics],
        lengths: NDArray[np.int64],
    ) -> None:
        """Take the next lines and their statistics for each metric."""
        for key, rows in statistics.items():
            total = rows.sum(axis=0)
            self._totals[key] = self._totals[key] + total if key in self._totals else total
            if self._keep:
                self._kept.setdefault(key, []).append(rows)
        if "bleu" in statistics:
            self.lengths.observe(lengths, statistics["bleu"])
        if "chrf" in statistics:
            scores = f_scores(statistics["chrf"])
            self._bins += np.bincount(
                np.minimum(scores * _BINS / 100, _BINS - 1).astype(int), minlength=_BINS
            )
            self._chrf += float(scores.sum())
            if self.keeper is not None:
                self.keeper.observe(block, hypotheses, scores)
        self.faults.observe(block.first, hypotheses, block.references, block.sources)
        observe_sample(self.tokenized, block.first, hypotheses)
        if self.recall is not None:
            self.recall.observe(hypotheses, block.references[0])

    def totals(self, key: str) -> Totals:
        """Summed statistics of a metric."""
        return self._totals[key]

    def statistics(self, key: str) -> Statistics:
        """The statistics of every line."""
        kept = self._kept[key]
        if len(kept) > 1:
            self._kept[key] = kept = [np.concatenate(kept)]
        return kept[0]

    def distribution(self) -> Distribution | None:
        """How the chrF of sentences is spread, if chrF was computed."""
        count = int(self._bins.sum())
        if not count:
            return None
        return Distribution(mean=round(self._chrf / count, 6), counts=self._bins.tolist())
