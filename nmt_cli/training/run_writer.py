"""Everything training writes to the run directory, and when.

    every log_every updates    a line of metrics.jsonl, and an event for TensorBoard if asked for
    every validation           the same, and samples.json, curves.svg
    every checkpoint           state/ and checkpoints/; model.safetensors and README.md if it is the best so far
    at the end                 model.safetensors (the best, or the average of the best), confidence.json,
                               curves.svg, README.md

Only the main process writes; in the others every method does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from nmt_cli.drawing.curves import draw_curves
from nmt_cli.files.guarded import GuardedDirectory
from nmt_cli.run.checkpoint import Checkpoint, Checkpoints
from nmt_cli.run.directory import RunDirectory
from nmt_cli.run.facts import MODEL
from nmt_cli.run.logs import EventLog, MetricsLog
from nmt_cli.run.model_card import model_card
from nmt_cli.training.learner import Learner
from nmt_cli.training.reports import RunState, StepReport, ValidationReport
from nmt_cli.translator import Translation
from nmt_cli.translator.confidence import write_confidence


class RunWriter:
    """Writes the files of one run."""

    def __init__(
        self, run: RunDirectory, *, parameters: int, writes: bool, tensorboard: bool = False
    ) -> None:
        self._run, self._parameters, self.writes = run, parameters, writes
        self.folder: Path = run.path
        self._directory = GuardedDirectory(run.path)
        self._checkpoints = Checkpoints(run.path)
        self._log = MetricsLog(run.path)
        self._events = EventLog(run.path, self._log.read()) if tensorboard and writes else None

    def step(self, report: StepReport) -> None:
        """Add a line of metrics."""
        if self.writes:
            self._record({"kind": "step", **asdict(report)})

    def validation(self, report: ValidationReport) -> None:
        """Add a line of metrics; replace the samples and curves."""
        if not self.writes:
            return
        self._record(_validation_record(report))
        if report.samples:
            samples = {"update": report.update, "samples": [asdict(sample) for sample in report.samples]}
            # Without indentation, which would put every attention weight on a line of its own.
            self._directory.write_text("samples.json", json.dumps(samples, ensure_ascii=False) + "\n")
        self._draw_curves()

    def _record(self, record: dict[str, Any]) -> None:
        self._log.append(record)
        if self._events is not None:
            self._events.append(record)

    def checkpoint(self, state: RunState, learner: Learner) -> None:
        """Write the checkpoint that resume continues from."""
        if not self.writes:
            return
        self._log.synchronize()
        best = {update for update, _ in state.best}
        self._checkpoints.commit(snapshot(state, learner), keep=best.__contains__)

    def weights(self, update: int) -> dict[str, Tensor]:
        """The inference weights of a kept checkpoint."""
        return self._checkpoints.load_weights(update)

    def publish(self, model: bytes) -> None:
        """Replace the model of the run, and update the model card."""
        if self.writes:
            self._run.publish(MODEL, model)
            self._write_card()

    def confidence(self, translations: Sequence[Translation]) -> None:
        """Store how confident the model of the run is in translations of the validation set."""
        if self.writes:
            write_confidence(self.folder, self._run.model_sha256, translations)

    def end(self) -> None:
        """Write the final curves and model card."""
        if self.writes:
            self._draw_curves()
            self._write_card()

    def _draw_curves(self) -> None:
        facts = self._run.facts
        languages = f"{facts.source_lang} → {facts.target_lang}" if facts.source_lang else facts.target_lang
        title = f"{self.folder.resolve().name}: {self._run.config.model.preset}, {languages}"
        self._directory.write_text("curves.svg", draw_curves(self._log.read(), title))

    def _write_card(self) -> None:
        records = [
            record
            for record in self._log.read()
            if record["kind"] == "validation" and None not in (record["score"], record["loss"])
        ]
        # Of equal records, `max` returns the first.
        best = max(records, key=lambda record: (record["score"], -record["loss"]), default=None)
        self._directory.write_text("README.md", model_card(self._run, parameters=self._parameters, best=best))


def snapshot(state: RunState, learner: Learner) -> Checkpoint:
    """The current state as a checkpoint."""
    return Checkpoint(state.update, state.to_json(), learner.state(), learner.weights())


def _validation_record(report: ValidationReport) -> dict[str, Any]:
    scores = {"bleu": report.bleu, "chrf": report.chrf, "wer": report.wer, "cer": report.cer}
    found = {name: score for name, score in scores.items() if score is not None}
    return {
        "kind": "validation",
        "update": report.update,
        "epoch": report.epoch,
        "loss": report.loss,
        "perplexity": report.perplexity,
        **{name: score.value for name, score in found.items()},
        "score": report.score,
        "best": report.best,
        **{f"{name}_signature": score.signature for name, score in found.items()},
        "samples": [sample.translation for sample in report.samples],
        "seconds": report.seconds,
        **({"final": True} if report.final else {}),
        **({"averaged": list(report.averaged)} if report.averaged else {}),
    }
