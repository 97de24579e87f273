"""Files in, lines out: what `nmt caption` and `nmt transcribe` share."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineWarnings
from nmt_cli.errors import CorpusError, UsageError

if TYPE_CHECKING:
    from nmt_cli.translator import MediaTranslator, Translation

_WINDOW = 256  # files that are read ahead


class MediaTask(NamedTuple):
    """What the files are, and what is written for each of them."""

    command: str  # such as nmt caption RUN_DIR a.jpg
    noun: str  # image, as messages and JSON call it
    text: str  # caption, as JSON calls it
    json: bool
    attention: bool
    prefix: str = ""

    def check(self, n_best: int | None) -> None:
        """Raise an error if an option has no effect."""
        if (self.attention or (n_best or 1) > 1) and not self.json:
            raise UsageError("--attention and --n-best need --json", hint="add --json")

    def run(self, model: "MediaTranslator", run: Path, files: Iterable[Path], out: Path | None) -> None:
        """Write one line for each file, in order; an error at the end if some of them could not be read."""
        from nmt_cli.files.line_writer import line_output

        if self.attention and not model.has_attention:
            raise UsageError(f"{run} has no attention", hint="omit --attention")
        failed = total = 0
        with line_output(out) as write:
            for window in _windows(files):
                for name, found in self._texts(model, window):
                    total += 1
                    if isinstance(found, CorpusError):
                        failed += 1
                        messages().print(f"error: {found.message}", markup=False, highlight=False)
                    write([self._line(name, found)])
        if failed:
            raise CorpusError(
                f"{failed} of {total} {self.noun}s could not be read",
                hint="the messages above name them and say why",
            )

    def paths(self, given: Sequence[Path] | None) -> Iterable[Path]:
        """The files that were given, or those on standard input."""
        if given:
            return given
        from nmt_cli.files.line_reader import TextInput

        if sys.stdin is not None and sys.stdin.isatty():
            raise UsageError(
                f"no {self.noun} given", hint=f"{self.command}, or pipe in paths of {self.noun}s"
            )
        lines = TextInput(None, undecodable=LineWarnings(messages()).undecodable)
        return (Path(line) for line in lines if line.strip())

    def _texts(
        self, model: "MediaTranslator", paths: Iterable[Path]
    ) -> "Iterator[tuple[str, Translation | CorpusError]]":
        """For each file in order its name and text, or what is wrong with it."""
        from nmt_cli.translator import Details

        read: list[tuple[str, Any]] = []
        for path in paths:
            try:
                read += model.read(path)
            except CorpusError as error:
                read.append((str(path), error))
        good = [(name, content) for name, content in read if not isinstance(content, CorpusError)]
        texts: Iterator[Translation] = iter(())
        if good:
            details = Details(scores=self.json, attention=self.attention)
            names = [name for name, _ in good]
            sources = model.rows_of([content for _, content in good])
            prefixes = [self.prefix] * len(good)
            texts = iter(model.describe(sources, names, details=details, prefixes=prefixes))
        for name, content in read:
            yield name, content if isinstance(content, CorpusError) else next(texts)

    def _line(self, name: str, found: "Translation | CorpusError") -> str:
        if isinstance(found, CorpusError):
            return dumps({self.noun: name, "error": found.message}, ensure_ascii=False) if self.json else ""
        if not self.json:
            return found.text
        content: dict[str, Any] = {
            self.noun: name,
            self.text: found.text,
            "log_probability": round(found.log_probability or 0.0, 6),
            "tokens": list(found.target_pieces),
        }
        if found.n_best is not None:
            content["n_best"] = [
                {self.text: each.text, "log_probability": round(each.log_probability or 0.0, 6)}
                for each in found.n_best
            ]
        if found.attention is not None:
            content["positions"] = list(found.source_pieces)
            content["attention"] = [[round(weight, 4) for weight in row] for row in found.attention.tolist()]
        return dumps(content, ensure_ascii=False)


def _windows(paths: Iterable[Path]) -> Iterator[list[Path]]:
    window: list[Path] = []
    for path in paths:
        window.append(path)
        if len(window) == _WINDOW:
            yield window
            window = []
    if window:
        yield window
