"""The statistics of a block of lines for all systems and metrics: the work that can be shared among processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nmt_cli.metrics.corpus_metric import CorpusMetric, Statistics


class Lines(NamedTuple):
    """The same lines of all texts."""

    first: int  # number of the first, from 1
    sources: list[str] | None
    references: list[list[str | None]]  # one list for each file
    hypotheses: list[list[str]]  # one list for each system


@dataclass(frozen=True)
class Counter:
    """Counts blocks, here or in another process."""

    metrics: Sequence[str]
    tokenize: str
    lowercase: bool

    @cached_property
    def _metrics(self) -> list[CorpusMetric]:
        return [CorpusMetric(key, tokenize=self.tokenize, lowercase=self.lowercase) for key in self.metrics]

    def __call__(self, lines: Lines) -> list[dict[str, Statistics]]:
        """For each system the statistics of each metric; the references are prepared once for all systems."""
        found: list[dict[str, Statistics]] = [{} for _ in lines.hypotheses]
        for metric in self._metrics:
            metric.prepare(lines.references)
            for statistics, hypotheses in zip(found, lines.hypotheses, strict=True):
                statistics[metric.key] = metric.statistics(hypotheses)
        return found
