"""Where a run stands: everything that decides what comes next, apart from tensors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Self

Merit = tuple[float, float]
"""How good a model is, higher is better: the score that decides; for equal ones (BLEU 0) minus the loss."""


@dataclass
class Progress:
    """The position in the data and the history of validations. Goes into state/current.json as it is."""

    update: int = 0  # updates done
    epoch: int = 1  # of the next batch
    index: int = 0  # of the next batch in its epoch
    validated: int = 0  # the update of the last validation
    scores: list[Merit] = field(default_factory=list)  # of all validations
    best: list[tuple[int, Merit]] = field(
        default_factory=list
    )  # (update, score) of the kept ones, best first
    tokens_since_report: int = 0  # target tokens of the next StepReport so far
    seconds: float = 0.0  # of training, for people; decides nothing

    @property
    def epochs(self) -> int:
        """Whole epochs done."""
        return self.epoch - 1

    @property
    def between_epochs(self) -> bool:
        """Whether the last update was the last one of its epoch."""
        return self.update > 0 and self.index == 0

    @property
    def last_epoch(self) -> int:
        """The epoch of the last update."""
        return self.epoch - self.between_epochs

    @property
    def best_update(self) -> int | None:
        """The update with the best score so far."""
        return self.best[0][0] if self.best else None

    def record(self, score: Merit, keep: int) -> bool:
        """Take in the validation score of the current update; whether it is the best so far."""
        self.validated = self.update
        self.scores.append(score)
        # Stable: of equal scores the first one stays first.
        self.best = sorted([*self.best, (self.update, score)], key=lambda entry: entry[1], reverse=True)[
            :keep
        ]
        return self.best[0][0] == self.update

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read back what `to_json` gave."""
        progress = cls(**content)
        progress.scores = [_merit(score) for score in progress.scores]
        progress.best = [(int(update), _merit(score)) for update, score in progress.best]
        return progress


def _merit(content: Any) -> Merit:
    score, tie = content
    return float(score), float(tie)


# Time for people; it decides nothing but when a time limit is over.


class Clock:
    """Seconds of a run, and the speed of training without validations and checkpoints."""

    def __init__(self, before: float) -> None:
        """`before` are the seconds of earlier processes of the run."""
        self._before = before
        self._start = self._reported = time.monotonic()
        self._elsewhere = 0.0  # since the last report, outside of training

    def here(self) -> float:
        """Seconds of this process."""
        return time.monotonic() - self._start

    def total(self) -> float:
        """Seconds of the whole run."""
        return self._before + self.here()

    def speed(self, tokens: int) -> float:
        """Tokens a second of training since the last call."""
        now = time.monotonic()
        seconds = now - self._reported - self._elsewhere
        self._reported, self._elsewhere = now, 0.0
        return tokens / max(seconds, 1e-9)

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """A block that is not training."""
        start = time.monotonic()
        yield
        self._elsewhere += time.monotonic() - start
