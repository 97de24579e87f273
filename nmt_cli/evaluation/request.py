"""What is asked of an evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nmt_cli.config.defaults import (
    BOOTSTRAP_SAMPLES,
    METRICS,
    RANDOMIZATION_TRIALS,
    RESAMPLING_SEED,
    SIGNIFICANCE_TEST,
)


@dataclass(frozen=True)
class Request:
    """Systems to score, and how."""

    systems: Sequence[Path]
    references: Sequence[Path] = ()  # none: the test set of the run
    source: Path | None = None
    baseline: str | None = None  # a system by path or name; None: the first
    metrics: Sequence[str] = METRICS
    tokenize: str | None = None  # None: by the target language
    target_language: str | None = None  # None: of the run, or by the names of the files
    lowercase: bool = False
    samples: int = BOOTSTRAP_SAMPLES  # of the bootstrap; 0: no intervals and no tests
    test: Literal["bootstrap", "randomization"] = SIGNIFICANCE_TEST
    trials: int = RANDOMIZATION_TRIALS
    seed: int = RESAMPLING_SEED
    train: Sequence[Path] = ()  # target side of the training data; none: of the run, where it still is
    examples: bool = False  # keep the best and worst lines
    search: Mapping[str, Any] = field(default_factory=dict)  # settings in place of the run's
    device: str = "auto"
    workers: int = 1  # processes; the result is the same
