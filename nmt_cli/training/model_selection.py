"""When the model is validated, what the score changes, and which model is the one to use in the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import deepcopy

from nmt_cli.config import TrainConfig
from nmt_cli.files.durable import tensor_bytes
from nmt_cli.model import Seq2Seq
from nmt_cli.run.weights import load_weights, mean_weights
from nmt_cli.training.progress import Progress
from nmt_cli.training.reports import ValidationReport
from nmt_cli.training.run_writer import Records
from nmt_cli.training.validation import Stopped, Validation, Validator


class Judge:
    """Validates, and remembers the scores in the progress of the run."""

    def __init__(
        self, validator: Validator, config: TrainConfig, progress: Progress, records: Records
    ) -> None:
        self._validator, self._config, self._progress, self._records = validator, config, progress, records
        self.seconds = 0.0  # spent here by this process
        self.last_seconds = 0.0  # of the last validation

    def due(self) -> bool:
        """Whether the current update is to be validated and was not yet: a function of the position only."""
        progress, every = self._progress, self._config.validate_every
        if progress.update in (0, progress.validated):
            return False
        return progress.update % every == 0 if every else progress.between_epochs

    def validate(self, model: Seq2Seq) -> ValidationReport | None:
        """Validate the current model to use and remember the score; None if it was given up to stop."""
        try:
            validation = self._measure(model)
        except Stopped:
            return None
        best = self._progress.record(validation.merit(self._config.metric), self._config.average_best)
        return self._report(validation, best=best)

    def choose(self, model: Seq2Seq) -> Iterator[ValidationReport]:
        """Publish the best model or the mean of the best, whichever scores better.

        Nothing of this is remembered: a run that is resumed must not know that it was stopped.
        """
        progress, records = self._progress, self._records
        candidates = list(progress.best)
        if progress.validated != progress.update:
            report = self._report(self._measure(model, to_the_end=True), final=True)
            yield report
            candidates.append((progress.update, (report.score, -report.loss)))
        candidates = sorted(candidates, key=lambda entry: entry[1], reverse=True)[: self._config.average_best]
        best, best_score = candidates[0]
        weights = records.weights(best)
        if len(candidates) > 1:
            updates = tuple(sorted(update for update, _ in candidates))
            mean = mean_weights(map(records.weights, updates))
            averaged = deepcopy(model)
            load_weights(averaged, mean, records.folder)
            report = self._report(self._measure(averaged, to_the_end=True), final=True, averaged=updates)
            yield report
            if (report.score, -report.loss) > best_score:
                weights = mean
        records.publish(tensor_bytes(weights))

    def _measure(self, model: Seq2Seq, *, to_the_end: bool = False) -> Validation:
        start = time.monotonic()
        validation = self._validator.validate(model, to_the_end=to_the_end)
        self.last_seconds = time.monotonic() - start
        self.seconds += self.last_seconds
        return validation

    def _report(
        self,
        validation: Validation,
        *,
        best: bool = False,
        final: bool = False,
        averaged: tuple[int, ...] = (),
    ) -> ValidationReport:
        progress, merit = self._progress, validation.merit(self._config.metric)
        before = progress.best[0][1] if progress.best else merit
        report = ValidationReport(
            update=progress.update,
            epoch=progress.last_epoch,
            loss=validation.loss,
            perplexity=validation.perplexity,
            bleu=validation.bleu,
            chrf=validation.chrf,
            score=merit[0],
            best=best or (final and merit > before),
            best_score=max(merit, before)[0],
            samples=validation.samples,
            seconds=self.last_seconds,
            final=final,
            averaged=averaged,
        )
        self._records.validation(report)
        return report
