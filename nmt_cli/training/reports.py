"""What the trainer yields: one dataclass per event. Data only; the caller decides how to display it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nmt_cli.metrics import Score


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
