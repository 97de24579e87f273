"""Progress while lines are processed, and warnings about single lines."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from nmt_cli.cli.display.console import say

if TYPE_CHECKING:
    from nmt_cli.translator import Translation
    from nmt_cli.translator.streaming import LineWindow

_INTERVAL = 10.0  # seconds between two plain lines of progress
_SHOWN = 3  # warnings of one kind; the rest are counted


class LineProgress:
    """The number of lines and lines per second: a live line in a terminal, else a plain line periodically."""

    def __init__(self, console: Console, *, out: Path | None, wanted: bool | None, quiet: bool) -> None:
        """`out` is where results go; `wanted` is None for the default, which depends on the terminal."""
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
        """Count `lines` more as done."""
        self._lines += lines
        if self._bar:
            self._bar.update(self._task, description=self._text())
        elif self._shown and time.monotonic() - self._said >= _INTERVAL:
            self._said = time.monotonic()
            self._console.print(self._text())

    def _text(self) -> str:
        seconds = max(time.monotonic() - self._began, 1e-3)
        return f"{self._lines:,} line{'s'[: self._lines != 1]}, {self._lines / seconds:,.0f} lines/s"


class LineWarnings:
    """Warnings about single lines: the first few of each kind in full, the rest as a count.

    `--quiet` does not silence them: no text is changed or cut off without a warning.
    """

    def __init__(self, console: Console) -> None:
        """`console` is the one that shows progress, so that warnings appear above its live line."""
        self.console = console
        self._counts: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for problem, count in self._counts.items():
            if count > _SHOWN:
                say(self.console, "note", f"{count:,} lines {problem} in total")

    def undecodable(self, number: int, file: str = "") -> None:
        """A line that is not UTF-8. `file` is given if there are several."""
        where, of = (f"{file}, ", f"of {file} ") if file else ("", "")
        self._warn(
            f"{of}are not valid UTF-8",
            f"{where}line {number} is not valid UTF-8; undecodable bytes are replaced by U+FFFD",
        )

    def translated(self, window: "LineWindow") -> None:
        """Lines that were too long for the model, and translations that reached the length limit."""
        for number, translation in enumerate(window.translations, start=window.first + 1):
            if translation.parts > 1:
                self._warn(
                    "were translated in parts",
                    f"line {number} is long and was translated in {translation.parts} parts",
                )
            if translation.reached_limit:
                self._warn(
                    "have truncated translations",
                    f"the translation of line {number} was truncated at the length limit "
                    "(search.max_length, search.max_length_ratio)",
                )

    def generated(self, number: int, texts: "Sequence[Translation]") -> None:
        """Texts that reached the length limit."""
        if any(text.reached_limit for text in texts):
            self._warn(
                "have truncated texts",
                f"a text for line {number} was truncated at the length limit (search.max_length)",
            )

    def _warn(self, problem: str, message: str) -> None:
        self._counts[problem] = self._counts.get(problem, 0) + 1
        if self._counts[problem] <= _SHOWN:
            say(self.console, "warning", message)


def write_windows(
    windows: "Iterable[LineWindow]",
    as_line: "Callable[[int, str, Translation], str]",
    out: Path | None,
    warnings: LineWarnings,
    *,
    then: "Callable[[LineWindow], None]",
    progress: bool | None = None,
    quiet: bool,
) -> None:
    """Write each line of each window as soon as it is there, and call `then` with the window."""
    from nmt_cli.files.line_writer import line_output

    bar = LineProgress(warnings.console, out=out, wanted=progress, quiet=quiet)
    with line_output(out) as write, bar, warnings:
        for window in windows:
            pairs = enumerate(zip(window.sources, window.translations, strict=True), start=window.first + 1)
            write(as_line(number, *pair) for number, pair in pairs)
            then(window)
            bar.advance(len(window.sources))


def _is_terminal(out: Path | None) -> bool:
    return str(out or "-") == "-" and sys.stdout is not None and sys.stdout.isatty()
