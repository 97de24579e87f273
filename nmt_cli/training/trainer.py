"""The training loop: updates, validations, checkpoints, the end. Yields reports and never prints."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from nmt_cli.config import TrainConfig
from nmt_cli.data.batches import RankBatch, TrainingBatches, prefetch
from nmt_cli.errors import OutputError, TrainingError
from nmt_cli.files.atomic import cannot_write
from nmt_cli.model.device import return_free_memory
from nmt_cli.run.directory import Lock
from nmt_cli.run.weights import tensor_bytes
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.learner import Learner
from nmt_cli.training.reports import (
    CheckpointReport,
    Clock,
    EndReport,
    Report,
    RunState,
    StartReport,
    StepReport,
    UpdateReport,
    WarningReport,
)
from nmt_cli.training.run_writer import RunWriter
from nmt_cli.training.schedule import learning_rate, reason_to_stop
from nmt_cli.training.validation import ModelSelection, diverged

PREFETCHED_BATCHES = 8
SKIPPED_LIMIT = 50  # consecutive updates without a finite gradient; fp16 needs up to 16 to find its scale
DIVERGED = 2.0  # times the cross-entropy of the uniform distribution, on training text
_RUNNING, _TIME_IS_UP, _INTERRUPTED = range(3)


@dataclass
class StopRequest:
    """Set by `Trainer.stop`; checked by the training loop and by validation."""

    made: bool = False


class Trainer:
    """Trains one run from its current state to the end. Made by `setup.start` and `setup.resume`."""

    def __init__(
        self,
        config: TrainConfig,
        *,
        batches: TrainingBatches,
        learner: Learner,
        state: RunState,
        writer: RunWriter,
        selection: ModelSelection | None,
        clock: Clock,
        stop_request: StopRequest,
        group: ProcessGroup,
        lock: Lock | None,
        time_limit: float | None = None,
        changes: tuple[str, ...] = (),
        warnings: tuple[WarningReport, ...] = (),
    ) -> None:
        """`selection` is None without a validation set; `time_limit` is in seconds."""
        self._config = config
        self._batches, self._learner, self._state = batches, learner, state
        self._writer, self._selection = writer, selection
        self._group, self._lock = group, lock
        self._changes, self._warnings = changes, warnings
        self._uniform = math.log(learner.model.vocabulary_size())
        self._stop_request = stop_request
        self._agreed = _RUNNING  # what all processes have agreed on
        self._saved = state.update
        self._warned = False
        self._clock = clock
        self._time_limit = time_limit
        self._horizon: int | None = None

    def stop(self) -> None:
        """Ask to stop after the current update; may be called from a signal handler."""
        self._stop_request.made = True

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop_request.made

    @property
    def metric(self) -> str:
        """The setting train.metric."""
        return self._config.metric

    def close(self) -> None:
        """Release the run directory."""
        if self._lock:
            self._lock.release()
        self._group.close()

    def run(self) -> Iterator[Report]:
        """Train to the end, yielding reports; the caller may stop iterating at any time."""
        state = self._state
        yield self._start_report()
        yield from self._warnings
        stream = prefetch(self._batches.stream(state.epoch, state.index), PREFETCHED_BATCHES)
        assert isinstance(stream, Generator)
        try:
            yield from self._loop(stream)
        except (OutputError, OSError) as error:
            raise self._cannot_write(error) from error
        finally:
            stream.close()

    def _loop(self, stream: Iterator[RankBatch]) -> Iterator[Report]:
        state = self._state
        following = next(stream)
        yield from self._validate_and_save()  # if it was interrupted in the middle of one
        while not (reason := self._reason_to_stop()):
            rank_batches = [following]
            following = next(stream)
            while len(rank_batches) < self._config.accumulate and following.epoch == rank_batches[0].epoch:
                rank_batches.append(following)
                following = next(stream)
            rate = self._update(rank_batches)
            state.epoch, state.index = following.epoch, following.index
            yield UpdateReport(state.update, rank_batches[0].epoch)
            if state.update % self._config.log_every == 0:
                report, cross_entropy = self._step_report(rank_batches[0].epoch, rate)
                yield report
                self._check_gradients()
                self._check_loss(cross_entropy)
            yield from self._validate_and_save()
        yield from self._end(reason)

    def _update(self, rank_batches: list[RankBatch]) -> float:
        state = self._state
        update, epoch = state.update + 1, rank_batches[0].epoch
        rate = learning_rate(
            self._config, update=update, epoch=epoch, scores=state.scores, horizon=self._horizon
        )
        self._learner.update(update, rank_batches, rate)
        state.update = update
        state.tokens_since_report += sum(rank_batch.tokens for rank_batch in rank_batches)
        return rate

    def _step_report(self, epoch: int, rate: float) -> tuple[StepReport, float]:
        """The report, and the cross-entropy per token. The only place in the loop that waits for the device."""
        state, optimization = self._state, self._learner.optimization
        tokens = state.tokens_since_report
        loss, cross_entropy = (self._learner.gather_sums() / tokens).tolist()
        report = StepReport(
            update=state.update,
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
        state.tokens_since_report = 0
        self._writer.step(report)
        return report, cross_entropy

    def _check_gradients(self) -> None:
        skipped = int(self._learner.optimization.skipped_in_a_row)
        if skipped >= SKIPPED_LIMIT:
            raise TrainingError(
                f"the gradients of {skipped} consecutive updates were not finite",
                hint="try a smaller train.learning_rate, more train.warmup_updates or train.precision = fp32; "
                f"the checkpoint of update {self._saved} is intact",
            )

    def _check_loss(self, cross_entropy: float) -> None:
        """Stop if the training loss (without label smoothing) is far worse than that of a uniform distribution.

        A model that has seen the text is never that bad, not even while it warms up or if it overfits.
        """
        if cross_entropy > DIVERGED * self._uniform:
            raise diverged(
                f"the cross-entropy of the training text is {cross_entropy:,.1f} per token",
                self._uniform,
                f"the checkpoint of update {self._saved} is intact",
            )

    def _cannot_write(self, error: OutputError | OSError) -> OutputError:
        folder = self._writer.folder
        message = (error if isinstance(error, OutputError) else cannot_write(folder, error)).message
        return OutputError(
            f"{message}; the checkpoint of update {self._saved} is intact",
            hint=f"fix the cause (disk full?), then continue with `nmt train --resume {folder}`",
        )

    def _reason_to_stop(self) -> str | None:
        state, own = self._state, _RUNNING
        if self._stop_request.made:
            own = _INTERRUPTED
        elif self._time_limit is not None:
            # Leave time for two more validations: of the last weights and of the average of the best.
            reserve = 2 * self._selection.last_seconds if self._selection else 0.0
            own = _TIME_IS_UP if self._clock.elapsed() + reserve >= self._time_limit else _RUNNING
        self._agreed = self._group.max(own)  # if one process stops, all do
        if self._agreed == _INTERRUPTED:
            return "interrupted"
        reason = reason_to_stop(self._config, update=state.update, epochs=state.epochs, scores=state.scores)
        return reason or ("time limit" if self._agreed == _TIME_IS_UP else None)

    def _validate_and_save(self) -> Iterator[Report]:
        """Validate and save a checkpoint, if due at this position."""
        state, every = self._state, self._config.save_every
        save = every > 0 and state.update % every == 0
        new_score = False
        if self._selection is None:
            save = save or state.between_epochs
        elif self._selection.due():
            if self._group.world > 1 and state.update != self._saved:
                yield self._save()  # several processes cannot stop a validation, and SIGKILL may follow SIGTERM soon
            with self._clock.paused(), self._learner.readable_errors():
                report = self._selection.validate(self._learner.inference_model)
            return_free_memory()
            if report is not None:
                yield report
                yield from self._warn_of_slow_validation()
                new_score = True
            save = True
        if save and (new_score or state.update != self._saved):
            yield self._save()

    def _warn_of_slow_validation(self) -> Iterator[Report]:
        assert self._selection is not None
        share = self._selection.seconds / max(self._clock.elapsed(), 60.0)
        if share > 0.2 and not self._warned:
            self._warned = True
            yield WarningReport(
                f"validation takes {share:.0%} of the training time",
                hint="set a larger train.validate_every or a smaller train.validate_sentences",
            )

    def _save(self) -> CheckpointReport:
        """Write a checkpoint, and publish the model if it is the best so far."""
        state, start = self._state, self._clock.now()
        state.seconds = self._clock.total()
        with self._clock.paused():
            _, cross_entropy = self._learner.gather_sums().tolist()
            self._check_loss(cross_entropy / max(1, state.tokens_since_report))
            self._writer.checkpoint(state, self._learner)
            self._saved = state.update
            if self._selection is None or state.best_update == state.update:
                self._writer.publish(tensor_bytes(self._learner.weights()))
            self._group.barrier()  # the other processes read these files at the end
        return CheckpointReport(state.update, self._clock.now() - start)

    def _end(self, reason: str) -> Iterator[Report]:
        state, interrupted = self._state, self._agreed == _INTERRUPTED
        if state.update != self._saved:
            yield self._save()
        if self._selection is not None and not interrupted and state.update:
            with self._learner.readable_errors():
                yield from self._selection.choose(self._learner.inference_model)
        self._writer.end()
        best = self._selection.best_score if self._selection is not None else None
        score = best[0] if best is not None else None
        yield EndReport(state.update, state.last_epoch, reason, interrupted, score, self._clock.total())

    def _start_report(self) -> StartReport:
        config, state = self._config, self._state
        per_epoch = math.ceil(len(self._batches.plan(state.epoch)) / config.accumulate)
        first_epoch = per_epoch
        if config.schedule == "cosine" and config.max_epochs and state.epoch > 1:
            first_epoch = math.ceil(len(self._batches.plan(1)) / config.accumulate)
        # Computed from the first epoch only, so that it does not depend on where a run is resumed.
        limits = [config.max_updates, config.max_epochs * first_epoch]
        self._horizon = min((limit for limit in limits if limit), default=None)
        return StartReport(
            run=self._writer.folder,
            update=state.update,
            epoch=state.epoch,
            parameters=sum(parameter.numel() for parameter in self._learner.model.parameters()),
            updates_per_epoch=per_epoch,
            last_update=self._horizon,
            device=str(self._learner.device),
            precision=self._learner.precision.name,
            processes=self._group.world,
            attempt=self._group.attempt,
            validates=self._selection is not None,
            changes=self._changes,
            alignments=self._batches.alignments,
        )
