r"""Lines out of bytes as they come. Only "\n" ends a line, and the "\r" of "\r\n" is not a part of it.

U+2028, NEL, VT, FF and a "\r" elsewhere are ordinary characters. A byte order mark at the very beginning is no text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path
from typing import cast

from nmt_cli.corpus.locate import cannot_read, check_readable
from nmt_cli.errors import CorpusError
from nmt_cli.files.compression import STANDARD_INPUT, read_pieces

MAX_LINE_BYTES = 1 << 25
_PIECE_BYTES = 1 << 16
_MARK = b"\xef\xbb\xbf"


class TextInput:
    """The lines of a file (decompressed if its name says so) or of standard input, each as soon as it is there."""

    def __init__(
        self, path: Path | None, *, strict: bool = False, undecodable: Callable[[int], None] | None = None
    ) -> None:
        """`undecodable` is told the number (from 1) of a line that is not UTF-8; with `strict` it is an error."""
        if path is not None and str(path) == "-":
            path = None
        if path is not None:
            check_readable(path)
        elif sys.stdin is None:  # so says Python of a closed one
            raise CorpusError("standard input is closed", hint="pipe text in, or name a file")
        self.name = STANDARD_INPUT if path is None else str(path)
        self._path = path
        self._strict = strict
        self._undecodable = undecodable or (lambda number: None)

    @property
    def is_terminal(self) -> bool:
        """Whether a person types the lines."""
        return self._path is None and sys.stdin.isatty()

    def __iter__(self) -> Iterator[str]:
        pieces = _standard_input() if self._path is None else read_pieces(self._path)
        for number, line in enumerate(split_lines(pieces, self.name), start=1):
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                if self._strict:
                    raise CorpusError(
                        f"{self.name}, line {number} is not UTF-8 (byte {error.start + 1})",
                        hint="convert it with iconv; without --strict U+FFFD stands for what cannot be read",
                    ) from error
                self._undecodable(number)
                yield line.decode(errors="replace")


def split_lines(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines of a stream, without their ends; a last one without an end is a line, too."""
    rest: list[bytes] = []  # of a line whose end has not come yet
    size = 0
    first = True
    for piece in pieces:
        *lines, last = piece.split(b"\n")
        if lines:
            lines[0] = b"".join([*rest, lines[0]])
            rest, size = [], 0
            if first:
                lines[0], first = lines[0].removeprefix(_MARK), False
            for line in lines:
                yield line.removesuffix(b"\r")
        if last:
            rest.append(last)
            size += len(last)
            if size > MAX_LINE_BYTES:
                raise CorpusError(
                    f"{name} has a line of more than {MAX_LINE_BYTES:,} bytes",
                    hint='this is not text with a sentence on each line; lines end in "\\n"',
                )
    if rest:
        line = b"".join(rest)
        if line := line.removeprefix(_MARK) if first else line:
            yield line.removesuffix(b"\r")


def _standard_input() -> Iterator[bytes]:
    try:
        read = cast(BufferedReader, sys.stdin.buffer).read1  # does not wait for more than there is
        while piece := read(_PIECE_BYTES):
            yield piece
    except OSError as error:
        raise cannot_read(STANDARD_INPUT, error) from error


# Two texts read side by side.


class Pairs:
    """Line n of one text with line n of the other; texts of different lengths are an error."""

    def __init__(self, source: TextInput, target: TextInput) -> None:
        self._sides = source, target

    def __iter__(self) -> Iterator[tuple[str, str]]:
        source, target = (iter(side) for side in self._sides)
        for count, (one, other) in enumerate(zip_longest(source, target)):
            if one is None or other is None:
                longer = count + 1 + _rest(target if one is None else source)
                counts = (count, longer) if one is None else (longer, count)
                raise CorpusError(
                    f"{self._sides[0].name} has {counts[0]:,} lines, {self._sides[1].name} has {counts[1]:,}",
                    hint="line n of one file must be the translation of line n of the other",
                )
            yield one, other


def _rest(lines: Iterable[str]) -> int:
    return sum(1 for _ in lines)
