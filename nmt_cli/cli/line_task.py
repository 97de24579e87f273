"""Lines that a model processes window by window, written to a stream or a file by one process or several."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nmt_cli.cli.display.console import say
from nmt_cli.cli.display.lines import LineProgress, LineWarnings, formatted, write_windows
from nmt_cli.config.defaults import PROCESS_TIMEOUT
from nmt_cli.errors import OutputError

if TYPE_CHECKING:
    from nmt_cli.files.line_writer import Blocks, PartialOutput, Write
    from nmt_cli.training.distributed import ProcessGroup
    from nmt_cli.translator.streaming import LineWindow

_POLLING_INTERVAL = 0.05  # seconds between two looks for the blocks of other processes

Line = TypeVar("Line", str, tuple[str, str])


@dataclass(frozen=True)
class LineTask(Generic[Line]):
    """Lines, or pairs of them, what a model does with them, and how the results are written and shown."""

    lines: Iterable[Line]
    process: "Callable[[int, list[Line]], LineWindow]"  # the number of the first line, from 0, and a window
    as_line: Callable[[int, str, Any], str]
    window: int
    then: Callable[[Any], None]  # called with each window of this process
    warnings: LineWarnings
    progress: LineProgress
    # Applied to all windows of a single process; several processes have none.
    restored: "Callable[[Iterable[LineWindow]], Iterable[LineWindow]]" = iter

    def windows(self, first: int = 0) -> "Iterable[LineWindow]":
        """The processed windows from line `first` on."""
        return self.restored(self._processed(first))

    def _processed(self, first: int) -> "Iterator[LineWindow]":
        from nmt_cli.runtime.segments import windows

        for lines in windows(self._from(first), self.window):
            yield self.process(first, lines)
            first += len(lines)

    def write(
        self, windows: "Iterable[LineWindow]", output: "AbstractContextManager[Write]", total: int | None
    ) -> None:
        """Write to a stream, or to a file if all lines are there; `total` is the number of lines, if it is known."""
        self.progress.total = total
        write_windows(windows, self.as_line, output, self.warnings, then=self.then, progress=self.progress)

    def write_file(self, out: Path, job: dict[str, Any], total: int, group: "ProcessGroup | None") -> None:
        """Write a file, starting after the lines that an interrupted command has finished.

        job     what the results depend on
        total   number of lines
        group   several processes that share the work; this one is the first
        """
        from nmt_cli.files.line_writer import PartialOutput

        with PartialOutput(out, job) as output:
            self._announce(output)
            try:
                if group is not None:
                    self.progress.total = total
                    with self.progress, self.warnings:
                        self._write_together(group, output)
                else:
                    self.write(self.windows(output.lines), nullcontext(output.write), total)
            except BaseException:
                if output.lines:
                    note = f"{output.lines:,} lines are done; to continue, run the same command again"
                    self.warnings.console.print(note)
                elif total > 1:
                    note = f"lines are saved {self.window:,} at a time (--window), so none are done yet"
                    self.warnings.console.print(note)
                raise

    def write_share(self, out: Path, group: "ProcessGroup") -> None:
        """Process a share of the windows, which the first process writes to `out`."""
        from nmt_cli.files.line_writer import Blocks

        with self.warnings:
            self._process_share(group, Blocks(out.resolve()), first=group.max(0))

    def _announce(self, output: "PartialOutput") -> None:
        console = self.warnings.console
        if output.lines:
            console.print(f"continuing after line {output.lines:,} with {output.path}")
        elif output.discarded:
            reason = "is from another model, text or settings, or was changed"
            say(console, "note", f"{output.path} {reason}; starting from the first line")
        self.progress.skip(output.lines)

    def _from(self, first: int) -> Iterator[Line]:
        """The lines from number `first` on."""
        rest = iter(self.lines)
        deque(islice(rest, first), maxlen=0)
        return rest

    def _write_together(self, group: "ProcessGroup", output: "PartialOutput") -> None:
        """Process a share of the windows, and write those of all processes in order."""
        output.share()
        first = group.max(output.lines)
        end = self._process_share(
            group, output.blocks, first=first, then=lambda: self.progress.advance(output.append_blocks())
        )
        waiting_since = time.monotonic()
        while output.lines < end:
            if lines := output.append_blocks():
                waiting_since = time.monotonic()
                self.progress.advance(lines)
            elif time.monotonic() - waiting_since > PROCESS_TIMEOUT:
                raise OutputError(
                    f"no other process has finished line {output.lines + 1} and the next ones for "
                    f"{PROCESS_TIMEOUT / 60:.0f} minutes",
                    hint="run the same command again: it continues with what is missing",
                )
            time.sleep(_POLLING_INTERVAL)

    def _process_share(
        self, group: "ProcessGroup", blocks: "Blocks", *, first: int, then: Callable[[], None] = lambda: None
    ) -> int:
        """Process windows until none is left; returns the number of lines of the text."""
        from nmt_cli.translator.streaming import WindowShare

        share = WindowShare(self._from(first), group.claim, window=self.window, first=first)
        for number, lines in share:
            if not blocks.is_done(number):
                window = self.process(number, lines)
                blocks.write(number, formatted(window, self.as_line))
                self.then(window)
            then()
        return share.end
