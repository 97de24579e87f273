"""How many lines are done: one live line on a terminal, else a plain line now and then."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.progress import Progress, SpinnerColumn, TextColumn

from nmt_cli.cli.console import messages

_EVERY = 10.0  # seconds between two plain lines


class LineProgress:
    """Lines and lines a second, on standard error."""

    def __init__(self, *, shown: bool) -> None:
        self._shown, self._lines = shown, 0
        self._began = self._said = time.monotonic()
        self._bar: Progress | None = None
        if shown and sys.stderr.isatty():
            # redirect_stdout would send results to standard error.
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                console=messages(),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task("reading …", total=None)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()
        if self._shown and kind is None:
            messages().print(self._text())

    def advance(self, lines: int) -> None:
        """So many more are done."""
        self._lines += lines
        if self._bar:
            self._bar.update(self._task, description=self._text())
        elif self._shown and time.monotonic() - self._said >= _EVERY:
            self._said = time.monotonic()
            messages().print(self._text())

    def _text(self) -> str:
        seconds = max(time.monotonic() - self._began, 1e-3)
        return f"{self._lines:,} lines, {self._lines / seconds:,.0f} lines/s"
