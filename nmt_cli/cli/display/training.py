"""Reports of training in a terminal: two live lines in a terminal, plain lines in a pipe or a log file."""

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from nmt_cli.cli.display.console import Verbosity, messages, say

if TYPE_CHECKING:
    from nmt_cli.training import EndReport, Report, StartReport, StepReport, ValidationReport

INTERVAL = 10.0  # seconds between two plain lines


class TrainingDisplay:
    """Shows the reports of a trainer as they arrive."""

    def __init__(self, level: Verbosity, *, metric: str, time_limit: float | None) -> None:
        """`metric` is the setting train.metric."""
        self._level, self._metric, self._time_limit = level, metric, time_limit
        self._console = messages()
        self._began = self._said = time.monotonic()
        self._first = self._last_update = 0
        self._best: float | None = None
        self._step: StepReport | None = None
        self._live: Live | None = None
        self._task: TaskID | None = None
        self._bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]},"),
            TextColumn("{task.fields[left]}", style="cyan"),
            console=self._console,
            expand=True,
        )
        self._figures = Text("", overflow="ellipsis", no_wrap=True)

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and self._level > Verbosity.QUIET:
            # redirect_stdout would send results to standard error.
            self._live = Live(
                Group(self._bar, self._figures),
                console=self._console,
                refresh_per_second=4,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def show(self, report: "Report") -> None:
        """Show one report."""
        from nmt_cli.training import (
            EndReport,
            StartReport,
            StepReport,
            UpdateReport,
            ValidationReport,
            WarningReport,
        )

        if isinstance(report, UpdateReport):
            self._show_update(report.update, report.epoch)
        elif isinstance(report, WarningReport):
            self._warn(report.message, report.hint)
        elif self._level == Verbosity.QUIET:
            return
        elif isinstance(report, StartReport):
            self._show_start(report)
        elif isinstance(report, StepReport):
            self._show_step(report)
        elif isinstance(report, ValidationReport):
            self._show_validation(report)
        elif isinstance(report, EndReport):
            self._show_end(report)
        elif self._level == Verbosity.VERBOSE:
            self._console.print(f"saved a checkpoint at update {report.update:,} in {report.seconds:.1f} s")

    def note(self, message: str) -> None:
        """Print a message between reports."""
        if self._level > Verbosity.QUIET:
            self._console.print(message)

    def _warn(self, message: str, hint: str) -> None:
        # On the console of the live lines; another one would break them up.
        say(self._console, "warning", message, hint)

    def _show_start(self, report: "StartReport") -> None:
        processes = f", {report.processes} processes" if report.processes > 1 else ""
        self._console.print(
            f"{report.run}: {report.parameters:,} parameters, {report.updates_per_epoch:,} updates per epoch, "
            f"{report.device}, {report.precision}{processes}"
        )
        if report.attempt > 1:
            self._console.print(f"torchrun has restarted this run (attempt {report.attempt})")
        if report.update:
            self._console.print(f"resuming after update {report.update:,} in epoch {report.epoch}")
        if report.alignments:
            origin = "of the data directory" if report.alignments == "given" else "of the EM aligner"
            self._console.print(f"attention is guided by the word alignments {origin}")
        for change in report.changes:
            self._console.print(f"changed: {change}")
        if not report.validates:
            self._warn(
                "there is no validation set, so the last model is kept instead of the best",
                "preprocess the data with --valid",
            )
        self._began = self._said = time.monotonic()
        self._first, self._last_update = report.update, report.last_update or 0
        if self._live:
            total = 1.0 if self._time_limit else report.last_update
            self._task = self._bar.add_task("", total=total, epoch=report.epoch, count="", left="")
            self._show_update(report.update, report.epoch)

    def _show_update(self, update: int, epoch: int) -> None:
        if self._task is None:
            return
        completed, count = float(update), f"{update:,}"
        if self._time_limit:
            # Whichever limit is closer: the time, or the number of updates.
            elapsed = time.monotonic() - self._began
            done = update / self._last_update if self._last_update else 0.0
            completed = min(1.0, max(done, elapsed / self._time_limit))
            count = f"{update:,} updates, {duration(elapsed)} of {duration(self._time_limit)}"
        elif self._last_update:
            count += f"/{self._last_update:,}"
        self._bar.update(self._task, completed=completed, epoch=epoch, count=count, left=self._left(update))

    def _left(self, update: int) -> str:
        """Estimated time to the end, or the elapsed time if the end is unknown."""
        elapsed = time.monotonic() - self._began
        done = update - self._first
        guesses = [elapsed / done * (self._last_update - update)] if self._last_update and done else []
        guesses += [self._time_limit - elapsed] if self._time_limit is not None else []
        return f"{duration(max(0.0, min(guesses)))} left" if guesses else duration(elapsed)

    def _show_step(self, report: "StepReport") -> None:
        self._step = report
        figures = self._figures_of(report)
        if self._live:
            self._figures.plain = figures
        elif time.monotonic() - self._said >= INTERVAL:
            self._said = time.monotonic()
            left = self._left(report.update)
            self._console.print(f"update {report.update:,}  epoch {report.epoch}  {figures}  {left}")

    def _figures_of(self, report: "StepReport") -> str:
        skipped = f"  {report.skipped} skipped" if report.skipped else ""
        best = f"  best {self._name()} {abs(self._best):.2f}" if self._best is not None else ""
        return (
            f"loss {report.loss:.3f}  ppl {report.perplexity:.4g}  {report.tokens_per_second:,.0f} tok/s  "
            f"lr {report.learning_rate:.1e}  norm {report.gradient_norm:.2f}{best}{skipped}"
        )

    def _show_validation(self, report: "ValidationReport") -> None:
        self._best = report.best_score
        if self._live and self._step is not None:
            self._figures.plain = self._figures_of(self._step)  # with the new best score
        what = (
            f"average of the best {len(report.averaged)}" if report.averaged else f"update {report.update:,}"
        )
        line = Text.assemble(
            (f"{what} epoch {report.epoch}: ", "bold"), f"loss {report.loss:.3f} ppl {report.perplexity:.4g} "
        )
        if report.wer is not None and report.cer is not None:
            line.append(f"WER {report.wer.value:.2f} ", "bold" if self._metric == "wer" else "")
            line.append(f"CER {report.cer.value:.2f} ")
        elif report.bleu is not None and report.chrf is not None:
            line.append(f"BLEU {report.bleu.value:.2f} ", "bold" if self._metric == "bleu" else "")
            line.append(f"chrF {report.chrf.value:.1f} ")
        line.append(f"({report.seconds:.1f} s)")
        if report.best:
            line.append(" best", "bold green")
        self._console.print(line)
        # A log in a file has one line per validation; on a screen, a sample says more than the score.
        shown = None if self._level == Verbosity.VERBOSE else 1 if self._live else 0
        for sample in report.samples[:shown]:
            self._console.print(Text(f"  source       {sample.source}"))
            self._console.print(Text(f"  reference    {sample.reference}"))
            self._console.print(Text(f"  translation  {sample.translation}"))

    def _show_end(self, report: "EndReport") -> None:
        if not report.interrupted:
            self._console.print(
                f"finished after update {report.update:,}, epoch {report.epoch}, {duration(report.seconds)}: "
                f"{report.reason}"
            )

    def _name(self) -> str:
        return {"bleu": "BLEU", "chrf": "chrF", "wer": "WER", "perplexity": "ppl"}[self._metric]


def duration(seconds: float) -> str:
    """A duration for people: 42 s, 3 min, 1 h 05 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def next_step(run: Path) -> str:
    """How to use a new model."""
    from nmt_cli.run import RunDirectory

    model = RunDirectory.open(run).config.model
    if model.reads_frames:
        return f"transcribe recordings with: nmt transcribe {run} FILE"
    if model.reads_images:
        return f"describe images with: nmt caption {run} IMAGE"
    if model.is_language_model:
        return f'generate text with: nmt generate {run} "The"'
    return f"translate with: nmt translate {run}"
