"""The lines of hypotheses, references and sources, block by block, with what is noticed on the way."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nmt_cli.corpus.compression import PIECE_BYTES, read_pieces
from nmt_cli.corpus.lines import LineReader
from nmt_cli.corpus.locate import COMPRESSIONS, check_readable, refuse_foreign_format
from nmt_cli.errors import CorpusError, UsageError

STANDARD_INPUT = Path("-")
SHOWN_LINES = 5


class Text:
    """A text that is read once, a block at a time; `lines`, `sha256` and `blank` are known at its end."""

    def __init__(self, name: str, path: Path | None, pieces: Iterable[bytes]) -> None:
        self.name, self.path = name, path
        self._hash = hashlib.sha256()
        self._reader = LineReader(name, self._hashed(pieces))
        self.blank: list[int] = []  # numbers from 1

    @classmethod
    def open(cls, path: Path) -> Text:
        """A file, also a compressed one, or standard input for `-`."""
        if path == STANDARD_INPUT:
            return cls("standard input", None, _standard_input())
        check_readable(path)
        refuse_foreign_format(path)
        return cls(str(path), path, read_pieces(path))

    @classmethod
    def of_lines(cls, name: str, lines: Sequence[str], path: Path | None = None) -> Text:
        """Lines that are in memory already."""
        return cls(name, path, (f"{line}\n".encode(errors="replace") for line in lines))

    def take(self, count: int) -> list[str]:
        """The next lines, fewer only at the end."""
        first = self._reader.taken + 1
        lines = self._reader.take(count)
        self.blank += [first + row for row, line in enumerate(lines) if not line or line.isspace()]
        return lines

    def count_rest(self) -> None:
        """Read to the end, to know how many lines there are."""
        self._reader.count_rest()

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return self._reader.taken

    @property
    def sha256(self) -> str:
        """Of the text that was read, whatever it was compressed with."""
        return self._hash.hexdigest()

    @property
    def undecodable(self) -> list[int]:
        """Lines that are not UTF-8."""
        return sorted(self._reader.undecodable)

    def _hashed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._hash.update(piece)
            yield piece


def refuse_empty(texts: Iterable[Text]) -> None:
    """A text without a line has no score."""
    for text in texts:
        if not text.lines:
            raise CorpusError(f"{text.name} is empty", hint="give a file with one sentence on each line")


def refuse_two_readers(paths: Iterable[Path]) -> None:
    """Standard input can be read once."""
    if sum(path == STANDARD_INPUT for path in paths) > 1:
        raise UsageError("standard input is named twice (-)", hint="give all texts but one as files")


def read_lines(path: Path) -> list[str]:
    """All lines of a file."""
    text = Text.open(path)
    lines: list[str] = []
    while block := text.take(1 << 14):
        lines += block
    refuse_empty([text])
    return lines


def language_of(path: Path) -> str | None:
    """The language that the name of a file ends with, such as `de` in ref.de.gz."""
    name = path.name
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    code = name.rpartition(".")[2] if "." in name else ""
    base = code.partition("-")[0].partition("_")[0]
    return (
        code if base.isalpha() and base.islower() and 2 <= len(base) <= 3 and base not in _NO_CODES else None
    )


_NO_CODES = ("txt", "tok", "bpe", "out", "hyp", "ref", "src", "tgt", "trg", "raw", "tsv", "sgm", "xml")


def some_lines(numbers: Sequence[int]) -> str:
    """`line 3`, or `lines 3, 8, 9, … (12 in all)`."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    shown = ", ".join(map(str, numbers[:SHOWN_LINES]))
    return f"lines {shown}" + (f", … ({len(numbers):,} in all)" if len(numbers) > SHOWN_LINES else "")


def _standard_input() -> Iterator[bytes]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "- reads hypotheses from standard input, which is closed or a terminal",
            hint="pipe text in: … | nmt evaluate - --reference FILE",
        )
    while piece := sys.stdin.buffer.read(PIECE_BYTES):
        yield piece
