"""Time for people; it decides nothing but when a time limit is over."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


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
