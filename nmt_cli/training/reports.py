"""What the trainer tells whoever runs it. Facts, no text for a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nmt_cli.metrics import Score


@dataclass(frozen=True)
class StartReport:
    """Training begins, or goes on after `update`."""

    run: Path
    update: int
    epoch: int
    parameters: int
    updates_per_epoch: int
    last_update: int | None  # the limit as far as it is known; an estimate where epochs limit
    device: str
    precision: str
    processes: int
    validates: bool
    changes: tuple[str, ...] = ()  # settings that differ from the run that is resumed


@dataclass(frozen=True)
class UpdateReport:
    """An update was handed to the device; costs no waiting for it."""

    update: int
    epoch: int


@dataclass(frozen=True)
class StepReport:
    """Figures since the last such report."""

    update: int
    epoch: int
    loss: float  # what is minimised, a token
    perplexity: float  # of the training targets, without label smoothing, with dropout
    learning_rate: float
    gradient_norm: float  # of the last update, before clipping
    skipped: int  # updates so far whose gradient was not finite
    tokens_per_second: float  # real target tokens
    seconds: float  # of training so far, interruptions left out


@dataclass(frozen=True)
class Sample:
    """A validation sentence, the same ones each time."""

    source: str
    reference: str
    translation: str
    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    attention: tuple[tuple[float, ...], ...] | None  # a row for each target piece


@dataclass(frozen=True)
class ValidationReport:
    """A validation. `score` is the metric that decides, higher is better."""

    update: int
    epoch: int
    loss: float  # true cross-entropy of a token
    perplexity: float
    bleu: Score | None  # a language model translates nothing
    chrf: Score | None
    score: float
    best: bool
    best_score: float
    samples: tuple[Sample, ...]
    seconds: float
    final: bool = False  # added at the end; resume will not count it
    averaged: tuple[int, ...] = ()  # the updates whose weights were averaged, if it was not one model


@dataclass(frozen=True)
class CheckpointReport:
    """A checkpoint is on disk; a crash from now on costs what comes after it."""

    update: int
    seconds: float


@dataclass(frozen=True)
class WarningReport:
    """Something usually goes wrong here."""

    message: str
    hint: str


@dataclass(frozen=True)
class EndReport:
    """Training ended."""

    update: int
    epoch: int
    reason: str
    interrupted: bool  # by `Trainer.stop`; the model is the best so far and `resume` goes on
    best_score: float | None  # of the validations of the run, higher is better
    seconds: float


Report = (
    StartReport | UpdateReport | StepReport | ValidationReport | CheckpointReport | WarningReport | EndReport
)
