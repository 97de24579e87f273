"""The loop: updates, validations, checkpoints, the end. An iterator of reports; it knows no terminal."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator

from nmt_cli.config import TrainConfig
from nmt_cli.data.batches import Portion, TrainingBatches
from nmt_cli.data.prefetch import prefetch
from nmt_cli.errors import OutputError, TrainingError
from nmt_cli.files.atomic import cannot_write
from nmt_cli.files.durable import tensor_bytes
from nmt_cli.run.lock import Lock
from nmt_cli.training.distributed import Group
from nmt_cli.training.learner import Learner
from nmt_cli.training.model_selection import Judge
from nmt_cli.training.progress import Clock, Progress
from nmt_cli.training.reports import (
    CheckpointReport,
    EndReport,
    Report,
    StartReport,
    StepReport,
    UpdateReport,
    WarningReport,
)
from nmt_cli.training.run_writer import Records
from nmt_cli.training.schedule import learning_rate, reason_to_end

AHEAD = 8  # batches that are made in advance
SKIPPED_LIMIT = 50  # updates in a row without a finite gradient; fp16 needs up to 16 to find its scale
_RUNNING, _TIME_IS_UP, _INTERRUPTED = range(3)


class Trainer:
    """One run, from where it stands to its end. `setup.start` and `setup.resume` make it."""

    def __init__(
        self,
        config: TrainConfig,
        *,
        batches: TrainingBatches,
        learner: Learner,
        progress: Progress,
        records: Records,
        judge: Judge | None,
        group: Group,
        lock: Lock | None,
        time_limit: float | None = None,
        changes: tuple[str, ...] = (),
    ) -> None:
        """`judge` is None without a validation set; `time_limit` is in seconds."""
        self._config = config
        self._batches, self._learner, self._progress = batches, learner, progress
        self._records, self._judge = records, judge
        self._group, self._lock = group, lock
        self._changes = changes
        self._asked = False
        self._stop = _RUNNING  # what all processes have agreed on
        self._saved = progress.update
        self._warned = False
        self._clock = Clock(progress.seconds)
        self._time_limit = time_limit
        self._horizon: int | None = None

    def stop(self) -> None:
        """Ask for an end after the current update; may be called from a signal handler."""
        self._asked = True

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._asked

    @property
    def metric(self) -> str:
        """The setting train.metric."""
        return self._config.metric

    def close(self) -> None:
        """Give the run directory back."""
        if self._lock:
            self._lock.release()
        self._group.leave()

    def run(self) -> Iterator[Report]:
        """Train to the end, one report after the other; the caller may leave at any time."""
        progress = self._progress
        yield self._start_report()
        stream = prefetch(self._batches.stream(progress.epoch, progress.index), AHEAD)
        assert isinstance(stream, Generator)
        try:
            yield from self._loop(stream)
        except (OutputError, OSError) as error:
            raise self._cannot_write(error) from error
        finally:
            stream.close()

    def _loop(self, stream: Iterator[Portion]) -> Iterator[Report]:
        progress = self._progress
        following = next(stream)
        yield from self._validate_and_save()  # if it was interrupted in the middle of that
        while not (reason := self._reason_to_end()):
            portions = [following]
            following = next(stream)
            while len(portions) < self._config.accumulate and following.epoch == portions[0].epoch:
                portions.append(following)
                following = next(stream)
            rate = self._update(portions)
            progress.epoch, progress.index = following.epoch, following.index
            yield UpdateReport(progress.update, portions[0].epoch)
            if progress.update % self._config.log_every == 0:
                yield self._step_report(portions[0].epoch, rate)
                self._check_gradients()
            yield from self._validate_and_save()
        yield from self._end(reason)

    def _update(self, portions: list[Portion]) -> float:
        progress = self._progress
        update, epoch = progress.update + 1, portions[0].epoch
        rate = learning_rate(
            self._config, update=update, epoch=epoch, scores=progress.scores, horizon=self._horizon
        )
        self._learner.update(update, portions, rate)
        progress.update = update
        progress.tokens_since_report += sum(portion.tokens for portion in portions)
        return rate

    def _step_report(self, epoch: int, rate: float) -> StepReport:
        """The only place of the loop that waits for the device."""
        progress, optimization = self._progress, self._learner.optimization
        tokens = progress.tokens_since_report
        loss, cross_entropy = (self._learner.gather_sums() / tokens).tolist()
        report = StepReport(
            update=progress.update,
            epoch=epoch,
            loss=loss,
            perplexity=math.exp(min(cross_entropy, 700.0)),
            learning_rate=rate,
            gradient_norm=float(optimization.norm),
            skipped=int(optimization.skipped),
            tokens_per_second=self._clock.speed(tokens),
            seconds=self._clock.total(),
        )
        self._learner.sums.zero_()
        progress.tokens_since_report = 0
        self._records.step(report)
        return report

    def _check_gradients(self) -> None:
        skipped = int(self._learner.optimization.skipped_in_a_row)
        if skipped >= SKIPPED_LIMIT:
            raise TrainingError(
                f"{skipped} updates in a row had gradients that are not finite",
                hint="set a smaller train.learning_rate, more train.warmup_updates or train.precision = fp32; "
                f"the checkpoint of update {self._saved} is intact",
            )

    def _cannot_write(self, error: OutputError | OSError) -> OutputError:
        folder = self._records.folder
        message = (error if isinstance(error, OutputError) else cannot_write(folder, error)).message
        return OutputError(
            f"{message}; the checkpoint of update {self._saved} is intact",
            hint=f"mend the cause (free some space?), then `nmt train --resume {folder}`",
        )

    def _reason_to_end(self) -> str | None:
        progress, own = self._progress, _RUNNING
        if self._asked:
            own = _INTERRUPTED
        elif self._time_limit is not None:
            # Two more validations may follow: of the last weights and of the mean of the best.
            ahead = 2 * self._judge.last_seconds if self._judge else 0.0
            own = _TIME_IS_UP if self._clock.here() + ahead >= self._time_limit else _RUNNING
        self._stop = self._group.largest(own)  # what one process was told, all do
        if self._stop == _INTERRUPTED:
            return "interrupted"
        reason = reason_to_end(
            self._config, update=progress.update, epochs=progress.epochs, scores=progress.scores
        )
        return reason or ("time limit" if self._stop == _TIME_IS_UP else None)

    def _validate_and_save(self) -> Iterator[Report]:
        """Whatever of the two is due at this position."""
        progress, every = self._progress, self._config.save_every
        save = every > 0 and progress.update % every == 0
        new_score = False
        if self._judge is None:
            save = save or progress.between_epochs
        elif self._judge.due():
            with self._clock.elsewhere(), self._learner.explained():
                report = self._judge.validate(self._learner.model_to_use)
            if report is not None:
                yield report
                yield from self._warn_of_slow_validation()
                new_score = True
            save = True
        if save and (new_score or progress.update != self._saved):
            yield self._save()

    def _warn_of_slow_validation(self) -> Iterator[Report]:
        assert self._judge is not None
        share = self._judge.seconds / max(self._clock.here(), 60.0)
        if share > 0.2 and not self._warned:
            self._warned = True
            yield WarningReport(
                f"validation takes {share:.0%} of the time",
                hint="set a larger train.validate_every or fewer train.validate_sentences",
            )

    def _save(self) -> CheckpointReport:
        """Write a checkpoint, then the model to use, if it is a new one."""
        progress, start = self._progress, time.monotonic()
        progress.seconds = self._clock.total()
        with self._clock.elsewhere():
            self._learner.gather_sums()
            self._records.checkpoint(progress, self._learner)
            self._saved = progress.update
            if self._judge is None or progress.best_update == progress.update:
                self._records.publish(tensor_bytes(self._learner.weights()))
            self._group.wait()  # the others read these files at the end
        return CheckpointReport(progress.update, time.monotonic() - start)

    def _end(self, reason: str) -> Iterator[Report]:
        progress, interrupted = self._progress, self._stop == _INTERRUPTED
        if progress.update != self._saved:
            yield self._save()
        if self._judge is not None and not interrupted and progress.update:
            with self._learner.explained():
                yield from self._judge.choose(self._learner.model_to_use)
        self._records.end()
        best = progress.best[0][1][0] if progress.best else None
        yield EndReport(progress.update, progress.last_epoch, reason, interrupted, best, self._clock.total())

    def _start_report(self) -> StartReport:
        config, progress = self._config, self._progress
        per_epoch = math.ceil(len(self._batches.plan(progress.epoch)) / config.accumulate)
        first = per_epoch
        if config.schedule == "cosine" and config.max_epochs and progress.epoch > 1:
            first = math.ceil(len(self._batches.plan(1)) / config.accumulate)
        # The first epoch alone decides, so that the horizon is the same whenever a run is resumed.
        limits = [config.max_updates, config.max_epochs * first]
        self._horizon = min((limit for limit in limits if limit), default=None)
        return StartReport(
            run=self._records.folder,
            update=progress.update,
            epoch=progress.epoch,
            parameters=sum(parameter.numel() for parameter in self._learner.model.parameters()),
            updates_per_epoch=per_epoch,
            last_update=self._horizon,
            device=str(self._learner.device),
            precision=self._learner.precision.name,
            processes=self._group.world,
            validates=self._judge is not None,
            changes=self._changes,
        )
