"""How many lines are done: one live line on a terminal, else a plain line now and then."""

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

_EVERY = 10.0  # seconds between two plain lines


class LineProgress:
    """Lines and lines a second, on standard error."""

    def __init__(self, console: Console, *, out: Path | None, wanted: bool | None, quiet: bool) -> None:
        """`out`: where results go; `wanted`: None for what suits the terminal."""
        live = sys.stderr.isatty() and not _is_terminal(out)  # results would run into a live line
        self._shown = (live and not quiet) if wanted is None else wanted
        self._console, self._lines = console, 0
        self._began = self._said = time.monotonic()
        self._bar: Progress | None = None
        if self._shown and live:
            # redirect_stdout would send results to standard error.
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                console=console,
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
            self._console.print(self._text())

    def advance(self, lines: int) -> None:
        """So many more are done."""
        self._lines += lines
        if self._bar:
            self._bar.update(self._task, description=self._text())
        elif self._shown and time.monotonic() - self._said >= _EVERY:
            self._said = time.monotonic()
            self._console.print(self._text())

    def _text(self) -> str:
        seconds = max(time.monotonic() - self._began, 1e-3)
        return f"{self._lines:,} line{'s'[: self._lines != 1]}, {self._lines / seconds:,.0f} lines/s"


def _is_terminal(out: Path | None) -> bool:
    return str(out or "-") == "-" and sys.stdout is not None and sys.stdout.isatty()
