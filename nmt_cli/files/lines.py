r"""Bytes to lines. Only "\n" ends a line ("\r\n" too); U+2028, NEL, VT and FF are ordinary characters."""

from collections.abc import Iterable, Iterator
from itertools import chain

from nmt_cli.corpus.rows import BYTE_ORDER_MARK, CARRIAGE_RETURN
from nmt_cli.errors import CorpusError
from nmt_cli.files.text_check import SAMPLE_BYTES, refuse_binary, refuse_other_encoding

MAX_LINE_BYTES = 1 << 20
# How far the end of an overlong line is looked for, to tell its size.
_SIZE_SEARCH_BYTES = 1 << 26

_UTF8_MARK = b"\xef\xbb\xbf"


class LineReader:
    """Hands out the lines of one file, a few at a time; holds little more than what was asked for.

    `undecodable` has the numbers (from 1) of lines with bytes that are not UTF-8, which become U+FFFD.
    """

    def __init__(self, name: str, pieces: Iterable[bytes]) -> None:
        self.name = name
        self.taken = 0
        self.undecodable: set[int] = set()
        self._removed: dict[str, int] = {}
        self._batches = self._decode(iter(pieces))
        self._pending: list[str] = []
        self._position = 0

    def take(self, count: int) -> list[str]:
        """The next `count` lines, fewer only at the end of the file."""
        while len(self._pending) - self._position < count:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._pending = (
                self._pending[self._position :] + batch if self._position < len(self._pending) else batch
            )
            self._position = 0
        lines = self._pending[self._position : self._position + count]
        self._position += len(lines)
        self.taken += len(lines)
        return lines

    def pop_removed(self) -> dict[str, int]:
        """What was removed since the last call, by kind."""
        removed, self._removed = self._removed, {}
        return removed

    def count_rest(self) -> int:
        """The number of lines still to come, without holding them."""
        before = self.taken
        while self.take(1 << 14):
            pass
        return self.taken - before

    def _decode(self, pieces: Iterator[bytes]) -> Iterator[list[str]]:
        rest = self._begin(pieces)
        read = 0  # lines of earlier batches
        for piece in chain((b"",), pieces):
            data = rest + piece
            first_end = data.find(b"\n")
            if first_end > MAX_LINE_BYTES or (first_end < 0 and len(data) > MAX_LINE_BYTES):
                raise self._overlong(read + 1, data, first_end, pieces)
            if first_end < 0:
                rest = data
                continue
            cut = data.rfind(b"\n")
            batch = self._lines(data[:cut], read, ends=True)
            rest = data[cut + 1 :]
            read += len(batch)
            yield batch
        if rest:
            yield self._lines(rest, read, ends=False)

    def _begin(self, pieces: Iterator[bytes]) -> bytes:
        """Enough of the file to tell whether it is text, without its mark."""
        data = b""
        while len(data) < SAMPLE_BYTES and (piece := next(pieces, b"")):
            data += piece
        refuse_binary(data, self.name)
        if data.startswith(_UTF8_MARK):
            self._removed[BYTE_ORDER_MARK] = 1
            return data[len(_UTF8_MARK) :]
        return data

    def _lines(self, data: bytes, read: int, *, ends: bool) -> list[str]:
        """Split and decode whole lines at once; line by line only if something in them is not UTF-8."""
        returns = data.count(b"\r\n") + (ends and data.endswith(b"\r")) if b"\r" in data else 0
        if returns:
            self._removed[CARRIAGE_RETURN] = self._removed.get(CARRIAGE_RETURN, 0) + returns
            data = data.replace(b"\r\n", b"\n")
            if ends and data.endswith(b"\r"):
                data = data[:-1]
        try:
            return data.decode().split("\n")
        except UnicodeDecodeError:
            return self._repaired_lines(data, read)

    def _repaired_lines(self, data: bytes, read: int) -> list[str]:
        lines = []
        raw_lines = data.split(b"\n")
        bad = 0
        for number, raw in enumerate(raw_lines, start=read + 1):
            try:
                lines.append(raw.decode())
            except UnicodeDecodeError:
                lines.append(raw.decode(errors="replace"))
                self.undecodable.add(number)
                bad += 1
        if read == 0:
            refuse_other_encoding(raw_lines, bad, self.name)
        return lines

    def _overlong(self, number: int, data: bytes, end: int, pieces: Iterator[bytes]) -> CorpusError:
        size = end if end >= 0 else len(data)
        suffix = ""
        while end < 0:
            piece = next(pieces, None)
            if piece is None:
                break
            end = piece.find(b"\n")
            size += len(piece) if end < 0 else end
            if size > _SIZE_SEARCH_BYTES:
                suffix = " or more"
                break
        return CorpusError(
            f"{self.name}, line {number} has {size} bytes{suffix}; a line may have {MAX_LINE_BYTES}",
            hint="this is not line-aligned text: put one sentence on a line, in both files alike",
        )
