"""Messages on standard error, results on standard output, and progress through named stages."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from types import TracebackType
from typing import IO, Any, Self, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.text import Text

from nmt_cli.errors import OutputError


class Verbosity(IntEnum):
    """How much is written to standard error."""

    QUIET = 0  # warnings and errors
    NORMAL = 1
    VERBOSE = 2


_HARMLESS = "\u00a0\u00ad\u200b\u200c\u200d\u2009\u202f\u3000"  # spaces and joiners of ordinary text
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold yellow", "hint": "bold"}


_SIMILAR_SHOWN = 3  # warnings that differ in names and numbers only


def printable(text: str) -> str:
    """Text that cannot control a terminal: control characters, such as those of a file name, become escapes."""
    return _escaped(text, lambda character: character.encode("unicode_escape").decode())


def printable_json(document: str) -> str:
    """The same JSON document, in which control characters within strings are escapes."""
    return _escaped(document, lambda character: json.dumps(character)[1:-1])


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in "\n\t" or character in _HARMLESS
        else escape(character)
        for character in text
    )


class LiteralConsole(Console):
    """A console that prints text literally (a path may look like markup) and raises if a pipe is closed."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """All text passes here, whatever it is part of; rich adds its own escape sequences later."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the boundary; rich would exit with code 1."""
        raise BrokenPipeError


def results(stream: IO[str] | None = None) -> Console:
    """Standard output, or `stream`. Outside a terminal it is plain text, and lines are not wrapped."""
    stream = stream or sys.stdout
    if stream is None:  # closed before Python started
        raise OutputError("standard output is closed", hint="redirect it to a file, or to /dev/null")
    plain = not stream.isatty()
    return LiteralConsole(file=stream, width=240 if plain else None, color_system=None if plain else "auto")


class OptionalStream:
    """Standard error for messages: if it cannot be written (disk full, reader gone), they are lost, not the work."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or give up on all further messages."""
        try:
            return self._stream.write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flush, or give up on all further messages."""
        try:
            self._stream.flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        # Text that is still in the buffer goes there, too; otherwise Python would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def messages() -> Console:
    """Standard error. Colors only in a terminal, even with FORCE_COLOR."""
    plain = not sys.stderr.isatty()
    return LiteralConsole(
        file=cast(IO[str], OptionalStream(sys.stderr)),
        soft_wrap=True,
        color_system=None if plain else "auto",
        force_terminal=not plain,
    )


def complain(message: str, *, hint: str | None = None) -> None:
    """Print an error: one line that says what is wrong, and a hint that says what to do."""
    say(messages(), "error", message, hint)


def warn(message: str, *, hint: str) -> None:
    """Print a warning and a hint."""
    say(messages(), "warning", message, hint)


def say(console: Console, label: str, message: str, hint: str | None = None) -> None:
    """Print a labeled message and its hint, each on one line."""
    for name, text in ((label, message), ("hint", hint)):
        if text:
            console.print(Text.assemble((f"{name}: ", _STYLES[name]), " ".join(text.split("\n"))))


class StageProgress:
    """Progress through named stages: a bar in a terminal, else a plain line periodically."""

    INTERVAL = 10.0  # seconds between two plain lines of a stage

    def __init__(self, verbosity: Verbosity) -> None:
        self._console = messages()
        self._quiet = verbosity is Verbosity.QUIET
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._stage = ""
        self._done = 0
        self._started = self._said = time.monotonic()
        if sys.stderr.isatty() and not self._quiet:
            # redirect_stdout would send results to standard error.
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[amount]}"),
                TimeElapsedColumn(),
                console=self._console,
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish_stage()
        if self._bar:
            self._bar.stop()

    def update(self, stage: str, done: int, total: int | None) -> None:
        """`done` items of `total` have passed this stage."""
        if stage != self._stage:
            self._finish_stage()
            self._stage, self._started = stage, time.monotonic()
            self._said = self._started
            if self._bar:
                self._task = self._bar.add_task(stage, total=total, amount="")
        self._done = done
        amount = f"{done:,} of {total:,}" if total else f"{done:,}" if done else ""
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, amount=amount)
        elif not self._quiet and time.monotonic() - self._said >= self.INTERVAL:
            self._said = time.monotonic()
            self._console.print(f"{stage}: {amount}")

    def warn(self, messages: Sequence[str], *, hint: str) -> None:
        """Print similar warnings above the bar, with the hint they share; many of them are counted."""
        shown, more = messages[:_SIMILAR_SHOWN], len(messages) - _SIMILAR_SHOWN
        for message in shown:
            say(self._console, "warning", message)
        if more > 0:
            say(
                self._console,
                "note",
                f"{more} more warning{'s'[: more > 1]} of this kind; the data card has all of them",
            )
        say(self._console, "hint", hint)

    def _finish_stage(self) -> None:
        if not self._stage:
            return
        if self._bar and self._task is not None:
            self._bar.update(self._task, total=max(self._done, 1), completed=max(self._done, 1))
        elif not self._quiet:
            amount = f"{self._done:,} in " if self._done else ""
            self._console.print(f"{self._stage}: {amount}{time.monotonic() - self._started:.1f} s")
        self._stage, self._task = "", None
