"""Lines to a stream or a file, by one process or several."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import say
from nmt_cli.cli.display.lines import LineProgress, LineWarnings, formatted, write_windows
from nmt_cli.cli.loading import ThroughMemory
from nmt_cli.cli.processes import join
from nmt_cli.config.defaults import PROCESS_TIMEOUT
from nmt_cli.errors import OutputError

if TYPE_CHECKING:
    from nmt_cli.files.line_writer import Blocks, PartialOutput, Write
    from nmt_cli.training.distributed import ProcessGroup
    from nmt_cli.translator import Details, Translation, Translator

_POLLING_INTERVAL = 0.05  # seconds between two looks for the blocks of other processes


@dataclass(frozen=True)
class LineTranslation:
    """Lines to translate, and how to write and show them."""

    translator: "Translator"
    through: ThroughMemory
    as_line: "Callable[[int, str, Translation], str]"
    details: "Details"
    prefix: str
    json_input: bool
    window: int
    warnings: LineWarnings
    progress: LineProgress

    def write(self, source: Path | None, out: Path | None) -> None:
        """Write to a stream, or to a file if all lines are there."""
        from nmt_cli.files.line_writer import line_output, measure_text

        if source is not None and source.is_file() and self.progress.shown:
            self.progress.total = measure_text(source).lines
        self._write(self.through.lines, line_output(out))

    def write_file(
        self, source: Path, out: Path, runs: Sequence[Path], *, several: bool, **options: Any
    ) -> None:
        """Write a file, starting after the lines that an interrupted command has translated."""
        from nmt_cli.files.line_writer import Blocks, PartialOutput, measure_text

        group = join() if several else None
        if group is not None and not group.is_main:
            with self.warnings:
                self._translate_share(group, Blocks(out.resolve()), first=group.max(0))
            return
        size = measure_text(source)
        self.progress.total = size.lines
        with PartialOutput(out, self._job(size.sha256, runs, options)) as output:
            self._announce(output)
            try:
                if group is not None:
                    with self.progress, self.warnings:
                        self._write_together(group, output)
                else:
                    self._write(self._from(output.lines), nullcontext(output.write), first=output.lines)
            except BaseException:
                if output.lines:
                    note = f"{output.lines:,} lines are done; to continue, run the same command again"
                    self.warnings.console.print(note)
                elif size.lines > 1:
                    note = f"lines are saved {self.window:,} at a time (--window), so none are done yet"
                    self.warnings.console.print(note)
                raise

    def _job(self, source_sha256: str, runs: Sequence[Path], options: dict[str, Any]) -> dict[str, Any]:
        """What the translations depend on."""
        from nmt_cli.run import RunDirectory

        return {
            "source_sha256": source_sha256,
            "models": [RunDirectory.open(run).model_sha256 for run in runs],
            "search": self.translator.config.model_dump(mode="json"),
            "details": [asdict(self.details), self.prefix, self.json_input],
            "terminology": self.translator.terminology.fingerprint(),
            "batches": [self.window, self.translator.batch_tokens, self.translator.max_tokens],
            "device": self.translator.device.type,
            **self.through.facts(),
            **options,
        }

    def _announce(self, output: "PartialOutput") -> None:
        console = self.warnings.console
        if output.lines:
            console.print(f"continuing after line {output.lines:,} with {output.path}")
        elif output.discarded:
            reason = "is from another model, text or settings, or was changed"
            say(console, "note", f"{output.path} {reason}; starting from the first line")
        self.progress.skip(output.lines)

    def _from(self, first: int) -> Iterator[str]:
        """The lines from number `first` on."""
        rest = iter(self.through.lines)
        deque(islice(rest, first), maxlen=0)
        return rest

    def _write_together(self, group: "ProcessGroup", output: "PartialOutput") -> None:
        """Translate a share of the windows, and write those of all processes in order."""
        output.share()
        first = group.max(output.lines)
        end = self._translate_share(
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
        group.close()

    def _translate_share(
        self, group: "ProcessGroup", blocks: "Blocks", *, first: int, then: Callable[[], None] = lambda: None
    ) -> int:
        """Translate windows until none is left; returns the number of lines of the text."""
        from nmt_cli.translator.streaming import WindowShare, translate_stream

        share = WindowShare(self._from(first), group.claim, window=self.window, first=first)
        for number, lines in share:
            if not blocks.is_done(number):
                for window in translate_stream(
                    self.translator,
                    lines,
                    window=self.window,
                    details=self.details,
                    prefix=self.prefix,
                    requests=self.json_input,
                    first=number,
                ):
                    blocks.write(number, formatted(window, self.as_line))
                    self.warnings.translated(window)
            then()
        return share.end

    def _write(self, lines: Iterable[str], output: "AbstractContextManager[Write]", first: int = 0) -> None:
        from nmt_cli.translator.streaming import translate_stream

        found = translate_stream(
            self.translator,
            lines,
            window=self.window,
            details=self.details,
            prefix=self.prefix,
            requests=self.json_input,
            first=first,
            progress=self.progress.advance_within,
        )
        write_windows(
            self.through.windows(found),
            self.as_line,
            output,
            self.warnings,
            then=self.warnings.translated,
            progress=self.progress,
        )
