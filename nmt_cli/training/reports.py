"""The reports that the trainer yields, and the state of a run apart from tensors.

The state (position in the data, validation history) decides what training does next, so it is part of every
checkpoint. A report is data only: the caller decides how to display it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from nmt_cli.metrics import Score

SelectionScore = tuple[float, float]
"""What models are ranked by, higher is better: the validation metric, then (BLEU may be 0) minus the loss."""


@dataclass
class RunState:
    """Position in the data and validation history, as stored in state/current.json."""

    update: int = 0  # updates done
    epoch: int = 1  # of the next batch
    index: int = 0  # of the next batch in its epoch
    validated: int = 0  # update of the last validation
    scores: list[SelectionScore] = field(default_factory=list)  # of all validations so far
    # (update, score) of the best checkpoints, best first
    best: list[tuple[int, SelectionScore]] = field(default_factory=list)
    tokens_since_report: int = 0  # target tokens since the last StepReport
    seconds: float = 0.0  # of training so far; for display only
    threads: int | None = None  # CPU threads: sums in another order differ in the last bits
    processes: int | None = None  # of the process group, for the same reason

    @property
    def epochs(self) -> int:
        """Epochs completed."""
        return self.epoch - 1

    @property
    def between_epochs(self) -> bool:
        """Whether the last update was the last of its epoch."""
        return self.update > 0 and self.index == 0

    @property
    def last_epoch(self) -> int:
        """The epoch of the last update."""
        return self.epoch - self.between_epochs

    @property
    def best_update(self) -> int | None:
        """The update with the best score so far."""
        return self.best[0][0] if self.best else None

    def record(self, score: SelectionScore, keep: int) -> bool:
        """Add the validation score of the current update; returns whether it is the best so far."""
        self.validated = self.update
        self.scores.append(score)
        # The sort is stable: of equal scores, the earliest stays first.
        ranked = sorted([*self.best, (self.update, score)], key=lambda entry: entry[1], reverse=True)
        self.best = ranked[:keep]
        return self.best[0][0] == self.update

    def to_json(self) -> dict[str, Any]:
        """The state as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; a ValueError or TypeError if the content is not from there."""
        state = cls(**content)
        counts = ("update", "epoch", "index", "validated", "tokens_since_report")
        for name in counts:
            if type(getattr(state, name)) is not int or getattr(state, name) < (name == "epoch"):
                raise ValueError(f"{name} = {getattr(state, name)!r}")
        for name in ("threads", "processes"):
            number = getattr(state, name)
            if number is not None and (type(number) is not int or number < 1):
                raise ValueError(f"{name} = {number!r}")
        state.seconds = float(state.seconds)
        state.scores = [_selection_score(score) for score in state.scores]
        state.best = [(int(update), _selection_score(score)) for update, score in state.best]
        return state


def _selection_score(content: Any) -> SelectionScore:
    score, tie = content
    return float(score), float(tie)


class Clock:
    """Elapsed time and training speed. Only a time limit depends on it; nothing else does."""

    def __init__(self, before: float, now: Callable[[], float] = time.monotonic) -> None:
        """`before`: seconds that the run took before it was resumed."""
        self._before, self.now = before, now
        self._start = self._reported = now()
        self._paused = 0.0  # seconds outside of training since the last report

    def elapsed(self) -> float:
        """Seconds in this process."""
        return self.now() - self._start

    def total(self) -> float:
        """Seconds in all processes of this run."""
        return self._before + self.elapsed()

    def speed(self, tokens: int) -> float:
        """Tokens per second since the last call, without validation and checkpoints."""
        now = self.now()
        seconds = now - self._reported - self._paused
        self._reported, self._paused = now, 0.0
        return tokens / max(seconds, 1e-9)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A block that does not count as training time."""
        start = self.now()
        yield
        self._paused += self.now() - start


# ------------------------------------------------------------------------------------------------------------
# Reports: one dataclass per event.


@dataclass(frozen=True)
class StartReport:
    """Training starts, or is resumed after `update`."""

    run: Path
    update: int
    epoch: int
    parameters: int
    updates_per_epoch: int
    last_update: int | None  # if known; an estimate if the number of epochs is the limit
    device: str
    precision: str
    processes: int
    validates: bool
    changes: tuple[str, ...] = ()  # settings changed on resume
    attempt: int = 1  # how often torchrun has started the processes
    alignments: Literal["given", "computed"] | None = None  # where those of guided attention come from


@dataclass(frozen=True)
class UpdateReport:
    """An update was submitted to the device. Does not wait for the device."""

    update: int
    epoch: int


@dataclass(frozen=True)
class StepReport:
    """Averages since the last such report."""

    update: int
    epoch: int
    loss: float  # training objective per token
    perplexity: float  # on training data: without label smoothing, with dropout
    learning_rate: float
    gradient_norm: float  # of the last update, before clipping
    skipped: int  # updates so far that were skipped because the gradient was not finite
    tokens_per_second: float  # target tokens, without padding
    seconds: float  # of training so far, without interruptions


@dataclass(frozen=True)
class Sample:
    """The translation of a validation sentence; the same sentences every time."""

    source: str
    reference: str
    translation: str
    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    attention: tuple[tuple[float, ...], ...] | None  # one row per target piece


@dataclass(frozen=True)
class ValidationReport:
    """A validation. `score` is the metric that selects the best model; higher is better."""

    update: int
    epoch: int
    loss: float  # cross-entropy per token, without label smoothing
    perplexity: float
    bleu: Score | None  # None for a language model
    chrf: Score | None
    score: float
    best: bool
    best_score: float
    samples: tuple[Sample, ...]
    seconds: float
    wer: Score | None = None  # of recordings
    cer: Score | None = None
    final: bool = False  # an extra validation at the end, which is forgotten on resume
    averaged: tuple[int, ...] = ()  # updates whose weights were averaged, if several


@dataclass(frozen=True)
class CheckpointReport:
    """A checkpoint is on disk: a crash loses only what comes after it."""

    update: int
    seconds: float


@dataclass(frozen=True)
class WarningReport:
    """Something looks wrong, but training continues."""

    message: str
    hint: str


@dataclass(frozen=True)
class EndReport:
    """Training stopped."""

    update: int
    epoch: int
    reason: str
    interrupted: bool  # by `Trainer.stop`; the model is the best so far, and `resume` continues
    best_score: float | None  # of all validations, higher is better
    seconds: float


Report = (
    StartReport | UpdateReport | StepReport | ValidationReport | CheckpointReport | WarningReport | EndReport
)
