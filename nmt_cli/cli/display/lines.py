"""Progress while lines are processed, and warnings about single lines."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from nmt_cli.cli.display.console import say
from nmt_cli.cli.display.training import duration

if TYPE_CHECKING:
    from nmt_cli.files.line_writer import Write
    from nmt_cli.runtime.translate import LineWindow as ExportedWindow
    from nmt_cli.runtime.translation import Translation as ExportedTranslation
    from nmt_cli.translator import Translation
    from nmt_cli.translator.confidence import Calibration
    from nmt_cli.translator.streaming import LineWindow

_INTERVAL = 10.0  # seconds between two plain lines of progress
_SHOWN = 3  # warnings of one kind; the rest are counted, except where each line is answered at once


class LineProgress:
    """Lines, lines per second and time left: a live line in a terminal, else a plain line periodically."""

    def __init__(
        self, console: Console, *, out: Path | None, wanted: bool | None, quiet: bool, unit: str = "line"
    ) -> None:
        """`out` is where results go; `wanted` is None for the default, which depends on the terminal."""
        self._unit = unit
        self.total: int | None = None  # number of lines, if it is known
        self._before = self._unfinished = 0  # lines of an earlier process, and of the current window
        live = sys.stderr.isatty() and not is_terminal(out)  # results would run into a live line
        self.shown = (live and not quiet) if wanted is None else wanted
        self._console, self._lines = console, 0
        self._began = self._said = time.monotonic()
        self._bar: Progress | None = None
        if self.shown and live:
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
        if self.shown and kind is None:
            self._console.print(self._text())

    def skip(self, lines: int) -> None:
        """Count lines that were done before: they say nothing about the speed."""
        self._before = lines

    def advance(self, lines: int) -> None:
        """Count the lines of a window as done."""
        self._lines += lines
        self._unfinished = 0
        self._update()

    def advance_within(self, lines: int) -> None:
        """Count `lines` more of the window that is in progress."""
        self._unfinished += lines
        self._update()

    def _update(self) -> None:
        if self._bar:
            self._bar.update(self._task, description=self._text())
        elif self.shown and time.monotonic() - self._said >= _INTERVAL:
            self._said = time.monotonic()
            self._console.print(self._text())

    def _text(self) -> str:
        seconds = max(time.monotonic() - self._began, 1e-3)
        new = self._lines + self._unfinished
        done, speed = self._before + new, new / seconds
        if not self.total or done >= self.total:
            return f"{done:,} {self._unit}{'s'[: done != 1]}, {speed:,.0f} {self._unit}s/s"
        left = f", {duration((self.total - done) / speed)} left" if new else ""
        share = min(99, int(100 * done / self.total))
        return f"{share}%, {done:,} of {self.total:,} {self._unit}s, {speed:,.0f} {self._unit}s/s{left}"


class LineWarnings:
    """Warnings about single lines: the first few of each kind in full, the rest as a count.

    `--quiet` does not silence them: no text is changed or cut off without a warning.
    """

    def __init__(self, console: Console) -> None:
        """`console` is the one that shows progress, so that warnings appear above its live line."""
        self.console = console
        self.calibration: Calibration | None = None  # of the translator; samples are improbable on purpose
        self.counts_terms = True  # whether to say at the end how many terms were met
        self.shown = _SHOWN
        self._counts: dict[str, int] = {}
        self._terms = self._terms_met = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for problem, count in self._counts.items():
            if count > self.shown:
                say(self.console, "note", f"{count:,} lines {problem} in total")
        if self._terms and self.counts_terms:
            say(self.console, "note", f"{self._terms_met:,} of {self._terms:,} terms met")

    def undecodable(self, number: int, file: str = "") -> None:
        """A line that is not UTF-8. `file` is given if there are several."""
        where, of = (f"{file}, ", f"of {file} ") if file else ("", "")
        self._warn(
            f"{of}are not valid UTF-8",
            f"{where}line {number} is not valid UTF-8; undecodable bytes are replaced by U+FFFD",
        )

    def translated(self, window: "LineWindow | ExportedWindow") -> None:
        """Warn about the lines of a window."""
        translations: Sequence[Translation | ExportedTranslation] = window.translations
        for number, translation in enumerate(translations, start=window.first + 1):
            self.translated_line(number, translation)

    def translated_line(self, number: int, translation: "Translation | ExportedTranslation") -> None:
        """A line that was too long or too unfamiliar for the model, or whose translation reached the length limit."""
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
        self._count_terms(number, translation)
        self._check_confidence(number, translation)

    def _check_confidence(self, number: int, translation: "Translation | ExportedTranslation") -> None:
        value = _confidence(translation)
        if value is None or self.calibration is None:
            return
        threshold = self.calibration.threshold(len(translation.source_pieces))
        if value < threshold:
            self._warn(
                "have a translation with low confidence",
                f"low confidence in the translation of line {number}, which may be unlike the training data: "
                f"log-probability {value:.2f} per token; 99% of the validation set are above {threshold:.2f} "
                "at this length",
            )

    def _count_terms(self, number: int, translation: "Translation | ExportedTranslation") -> None:
        """Required terms, and those that a translation lacks."""
        for term in getattr(translation, "terms", ()):
            self._terms += 1
            self._terms_met += term.met
            if not term.met:
                source = f" for {term.source!r}" if term.source else ""
                self._warn(
                    "lack a required term",
                    f"the translation of line {number} lacks the required term {term.target!r}{source}",
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
        if self._counts[problem] <= self.shown:
            say(self.console, "warning", message)


def formatted(
    window: "LineWindow | ExportedWindow", as_line: Callable[[int, str, Any], str]
) -> Iterator[str]:
    """The output lines of a window."""
    pairs = enumerate(zip(window.sources, window.translations, strict=True), start=window.first + 1)
    return (as_line(number, *pair) for number, pair in pairs)


def write_windows(
    windows: "Iterable[LineWindow | ExportedWindow]",
    as_line: Callable[[int, str, Any], str],
    output: "AbstractContextManager[Write]",
    warnings: LineWarnings,
    *,
    then: "Callable[[LineWindow | ExportedWindow], None]",
    progress: LineProgress,
) -> None:
    """Write each line of each window as soon as it is there, and call `then` with the window."""
    with output as write, progress, warnings:
        for window in windows:
            write(formatted(window, as_line))
            then(window)
            progress.advance(len(window.sources))


def _confidence(translation: "Translation | ExportedTranslation") -> float | None:
    """Mean token log-probability; None for a blank line, or if no scores were requested."""
    if translation.log_probability is None or not translation.target_pieces:
        return None
    return translation.log_probability / len(translation.target_pieces)


def is_terminal(out: Path | None) -> bool:
    """Whether results appear in the terminal."""
    return str(out or "-") == "-" and sys.stdout is not None and sys.stdout.isatty()
