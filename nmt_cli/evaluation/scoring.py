"""From lines to scores: sacreBLEU statistics for each block, sums for each system, intervals and p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.checks.characters import TokenizedCheck
from nmt_cli.evaluation.breakdowns import Baseline, ExampleSelector, LabelCounts, LengthStatistics, WordRecall
from nmt_cli.evaluation.request import EvaluateRequest
from nmt_cli.evaluation.result import Comparison, Distribution, MetricScore, ScoreInterval
from nmt_cli.evaluation.texts import Lines, observe_sample
from nmt_cli.evaluation.warnings import OutputErrorCounter
from nmt_cli.metrics.character_ngrams import f_scores
from nmt_cli.metrics.corpus_metric import CorpusMetric, Statistics, Totals
from nmt_cli.metrics.resampling import Scores, bootstrap, bootstrap_p_value, interval, randomization_p_value

SIGNIFICANCE_LEVEL = 0.05
_BINS = 20  # of the distribution of sentence scores


@dataclass(frozen=True)
class StatisticsExtractor:
    """Extracts the statistics of blocks, in this process or in another."""

    metrics: Sequence[str]
    tokenize: str
    lowercase: bool

    @cached_property
    def _metrics(self) -> list[CorpusMetric]:
        return [CorpusMetric(key, tokenize=self.tokenize, lowercase=self.lowercase) for key in self.metrics]

    def __call__(self, lines: Lines) -> list[dict[str, Statistics]]:
        """The statistics of each metric for each system; the references are prepared once for all systems."""
        found: list[dict[str, Statistics]] = [{} for _ in lines.hypotheses]
        for metric in self._metrics:
            metric.prepare(lines.references)
            for statistics, hypotheses in zip(found, lines.hypotheses, strict=True):
                statistics[metric.key] = metric.statistics(hypotheses)
        return found


class SystemStatistics:
    """Everything that is counted for one system; memory grows with the text only if resampling needs it."""

    def __init__(
        self, *, keep: bool, examples: bool, recall: WordRecall | None, lowercase: bool = False
    ) -> None:
        """`keep`: keep the statistics of every sentence, for resampling."""
        self._keep = keep
        self._totals: dict[str, Totals] = {}
        self._kept: dict[str, list[Statistics]] = {}
        self.lengths = LengthStatistics()
        self.labels = LabelCounts(lowercase=lowercase)
        self.errors = OutputErrorCounter()
        self.tokenized = TokenizedCheck()
        self.examples = ExampleSelector() if examples else None
        self.recall = recall
        self._bins = np.zeros(_BINS, np.int64)
        self._chrf = 0.0

    def observe(
        self,
        lines: Lines,
        hypotheses: Sequence[str],
        statistics: Mapping[str, Statistics],
        lengths: NDArray[np.int64],
        baseline: Baseline | None,
    ) -> None:
        """Add the next sentences, with their statistics for each metric."""
        for key, rows in statistics.items():
            total = rows.sum(axis=0)
            self._totals[key] = self._totals[key] + total if key in self._totals else total
            if self._keep:
                self._kept.setdefault(key, []).append(rows)
        if "bleu" in statistics:
            self.lengths.observe(lengths, statistics["bleu"])
        if "chrf" in statistics:
            scores = f_scores(statistics["chrf"])
            bins = np.minimum(scores * _BINS / 100, _BINS - 1).astype(int)
            self._bins += np.bincount(bins, minlength=_BINS)
            self._chrf += float(scores.sum())
            if self.examples is not None:
                self.examples.observe(lines, hypotheses, scores, baseline)
        if "accuracy" in statistics:
            self.labels.observe(hypotheses, lines.references)
        self.errors.observe(lines, hypotheses)
        observe_sample(self.tokenized, lines.first, hypotheses)
        if self.recall is not None:
            self.recall.observe(hypotheses, lines.references[0])

    def totals(self, key: str) -> Totals:
        """The statistics of a metric, summed over all sentences."""
        return self._totals[key]

    def per_sentence(self, key: str) -> Statistics:
        """The statistics of a metric for every sentence."""
        kept = self._kept[key]
        if len(kept) > 1:
            self._kept[key] = kept = [np.concatenate(kept)]
        return kept[0]

    def distribution(self) -> Distribution | None:
        """The distribution of sentence-level chrF, if chrF was computed."""
        count = int(self._bins.sum())
        if not count:
            return None
        return Distribution(mean=round(self._chrf / count, 6), counts=self._bins.tolist())


class SystemScorer:
    """Scores of all systems on all metrics, with intervals, and p-values against the baseline."""

    def __init__(
        self,
        request: EvaluateRequest,
        metrics: Sequence[CorpusMetric],
        systems: Mapping[str, SystemStatistics],
        baseline: str,
    ) -> None:
        self._request, self._metrics, self._systems, self._baseline = request, metrics, systems, baseline
        self._compares = len(systems) > 1 and request.samples > 0
        self._resampled: dict[str, dict[str, Scores]] = {}
        if request.samples:
            for metric in metrics:
                statistics = {name: system.per_sentence(metric.key) for name, system in systems.items()}
                self._resampled[metric.key] = bootstrap(
                    metric, statistics, samples=request.samples, seed=request.seed
                )

    def comparison(self) -> Comparison | None:
        """How systems are compared; None if they are not."""
        if not self._compares:
            return None
        request = self._request
        samples = request.samples if request.test == "bootstrap" else request.trials
        return Comparison(baseline=self._baseline, test=request.test, samples=samples, seed=request.seed)

    def scores(self, system: str) -> list[MetricScore]:
        """The scores of one system on every metric."""
        return [self._score(metric, system) for metric in self._metrics]

    def _score(self, metric: CorpusMetric, system: str) -> MetricScore:
        request = self._request
        score = metric.score(self._systems[system].totals(metric.key))
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
            significant=p_value < SIGNIFICANCE_LEVEL if p_value is not None else None,
        )

    def _interval(self, metric: CorpusMetric, system: str) -> ScoreInterval | None:
        if metric.key not in self._resampled:
            return None
        found = interval(self._resampled[metric.key][system])
        return ScoreInterval(mean=found.mean, low=found.low, high=found.high, half_width=found.half_width)

    def _p_value(self, metric: CorpusMetric, system: str, score: float) -> float | None:
        if not self._compares or system == self._baseline:
            return None
        baseline = self._systems[self._baseline]
        if self._request.test == "randomization":
            return randomization_p_value(
                metric,
                baseline.per_sentence(metric.key),
                self._systems[system].per_sentence(metric.key),
                trials=self._request.trials,
                seed=self._request.seed,
            )
        resampled = self._resampled[metric.key]
        difference = abs(score - metric.score(baseline.totals(metric.key)))
        return bootstrap_p_value(resampled[self._baseline], resampled[system], difference)
