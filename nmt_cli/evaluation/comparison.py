"""The statistics of a block of lines for all systems and metrics: the work that can be shared among processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nmt_cli.evaluation.request import Request
from nmt_cli.evaluation.result import Comparison, MetricScore, ScoreInterval
from nmt_cli.evaluation.systems import System
from nmt_cli.evaluation.tally import SystemTally
from nmt_cli.metrics.corpus_metric import CorpusMetric, Statistics
from nmt_cli.metrics.resampling import Scores, bootstrap, bootstrap_p_value, interval, randomization_p_value


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


# Scores with their uncertainty, and which differences are more than chance.


SIGNIFICANT = 0.05


class Comparer:
    """Scores all systems on all metrics."""

    def __init__(
        self,
        request: Request,
        metrics: Sequence[CorpusMetric],
        systems: Sequence[System],
        baseline: System,
        tallies: Sequence[SystemTally],
    ) -> None:
        self._request, self._metrics, self._baseline = request, metrics, baseline
        self._tallies = {system.name: tally for system, tally in zip(systems, tallies, strict=True)}
        self._resampled: dict[str, dict[str, Scores]] = {}
        if request.samples:
            for metric in metrics:
                statistics = {name: tally.statistics(metric.key) for name, tally in self._tallies.items()}
                self._resampled[metric.key] = bootstrap(
                    metric, statistics, samples=request.samples, seed=request.seed
                )

    def comparison(self) -> Comparison | None:
        """How systems are compared; None if they are not."""
        if not self._compares:
            return None
        request = self._request
        samples = request.samples if request.test == "bootstrap" else request.trials
        return Comparison(baseline=self._baseline.name, test=request.test, samples=samples, seed=request.seed)

    def scores(self, system: System) -> list[MetricScore]:
        """The scores of one system."""
        return [self._score(metric, system) for metric in self._metrics]

    @property
    def _compares(self) -> bool:
        return len(self._tallies) > 1 and self._request.samples > 0

    def _score(self, metric: CorpusMetric, system: System) -> MetricScore:
        request = self._request
        score = metric.score(self._tallies[system.name].totals(metric.key))
        p_value = self._p_value(metric, system, score)
        randomizes = self._compares and request.test == "randomization"
        return MetricScore(
            metric=metric.name,
            score=score,
            signature=metric.signature(
                bootstrap=request.samples,
                randomization=request.trials if randomizes else 0,
                seed=request.seed,
            ),
            higher_is_better=metric.higher_is_better,
            interval=self._interval(metric, system),
            p_value=p_value,
            significant=p_value < SIGNIFICANT if p_value is not None else None,
        )

    def _interval(self, metric: CorpusMetric, system: System) -> ScoreInterval | None:
        if metric.key not in self._resampled:
            return None
        found = interval(self._resampled[metric.key][system.name])
        return ScoreInterval(mean=found.mean, low=found.low, high=found.high, half_width=found.half_width)

    def _p_value(self, metric: CorpusMetric, system: System, score: float) -> float | None:
        if not self._compares or system is self._baseline:
            return None
        base = self._tallies[self._baseline.name]
        if self._request.test == "randomization":
            return randomization_p_value(
                metric,
                base.statistics(metric.key),
                self._tallies[system.name].statistics(metric.key),
                trials=self._request.trials,
                seed=self._request.seed,
            )
        resampled = self._resampled[metric.key]
        difference = abs(score - metric.score(base.totals(metric.key)))
        return bootstrap_p_value(resampled[self._baseline.name], resampled[system.name], difference)
