r"""The one line reader: bytes to lines, in blocks for a corpus or one at a time for a stream.

Only "\n" ends a line, and the "\r" of "\r\n" is not part of it. U+2028, NEL, VT, FF and any other "\r" are
ordinary characters. A UTF-8 byte-order mark at the start is removed. Bytes that are not UTF-8 become U+FFFD, and
the line is reported. A line over the limit is an error, so that memory stays bounded whatever the input is.
"""

import codecs
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import STANDARD_INPUT, check_readable, read_chunks, standard_input

MAX_LINE_BYTES = 1 << 20
"""A longer line is not a sentence: the default limit."""
MAX_INPUT_LINE_BYTES = 1 << 25
"""The limit for text to translate or score, where a whole document on one line is legitimate."""

# Keys of `LineReader.pop_removed`.
BYTE_ORDER_MARK = "byte-order mark"
CARRIAGE_RETURN = "carriage return"

_UTF8_MARK = b"\xef\xbb\xbf"


class LineReader:
    """Reads lines with `take`, a block at a time, or by iteration, each as soon as its bytes have arrived.

    It holds little more than one chunk and what was asked for. With `check_text`, the start of the input is
    read ahead, and binary data or another encoding is an error.
    """

    def __init__(
        self, name: str, chunks: Iterable[bytes], *, limit: int = MAX_LINE_BYTES, check_text: bool = True
    ) -> None:
        """`name` is for messages; `limit` is the number of bytes a line may have."""
        self.name = name
        self.taken = 0  # lines handed out so far
        self.undecodable: dict[int, int] = {}  # line → its first byte that is not UTF-8, both from 1
        self._limit = limit
        self._check_text = check_text
        self._removed: dict[str, int] = {}
        self._batches = self._decode(iter(chunks))
        self._pending: list[str] = []
        self._position = 0

    def take(self, count: int) -> list[str]:
        """The next `count` lines, fewer only at the end of the input."""
        self._read_ahead(count)
        lines = self._pending[self._position : self._position + count]
        self._position += len(lines)
        self.taken += len(lines)
        return lines

    def __iter__(self) -> Iterator[str]:
        while self._read_ahead(1):
            line = self._pending[self._position]
            self._position += 1
            self.taken += 1
            yield line

    def _read_ahead(self, count: int) -> bool:
        """Read until `count` lines are pending or the input ends; whether any line is pending."""
        while len(self._pending) - self._position < count:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._pending = (
                self._pending[self._position :] + batch if self._position < len(self._pending) else batch
            )
            self._position = 0
        return self._position < len(self._pending)

    def pop_removed(self) -> dict[str, int]:
        """How many byte-order marks and carriage returns were removed since the last call."""
        removed, self._removed = self._removed, {}
        return removed

    def count_rest(self) -> int:
        """The number of remaining lines, without holding them."""
        before = self.taken
        while self.take(1 << 14):
            pass
        return self.taken - before

    def _decode(self, chunks: Iterator[bytes]) -> Iterator[list[str]]:
        """The complete lines of each chunk."""
        if self._check_text:
            chunks = chain([self._checked_start(chunks)], chunks)
        unfinished: list[bytes] = []  # the parts of a line whose end has not arrived
        size = 0
        read = 0  # lines so far
        for chunk in chunks:
            cut = chunk.rfind(b"\n")
            if cut >= 0:
                batch = self._lines(b"".join([*unfinished, memoryview(chunk)[:cut]]), read, terminated=True)
                read += len(batch)
                yield batch
                unfinished, size = [], 0
            if cut + 1 < len(chunk):
                unfinished.append(chunk[cut + 1 :])
                size += len(chunk) - cut - 1
                if size > self._limit:
                    raise self._too_long(read + 1)
        if unfinished and (lines := self._lines(b"".join(unfinished), read, terminated=False)) != [""]:
            yield lines

    def _checked_start(self, chunks: Iterator[bytes]) -> bytes:
        """Enough of the input to tell whether it is text."""
        data = b""
        while len(data) < SAMPLE_BYTES and (chunk := next(chunks, b"")):
            data += chunk
        refuse_binary(data, self.name)
        return data

    def _lines(self, data: bytes, read: int, *, terminated: bool) -> list[str]:
        """Split and decode many lines at once; one by one only if some byte is not UTF-8."""
        if len(data) > self._limit:
            for number, line in enumerate(data.split(b"\n"), start=read + 1):
                if len(line) > self._limit:
                    raise self._too_long(number)
        if not read and data.startswith(_UTF8_MARK):
            self._removed[BYTE_ORDER_MARK] = 1
            data = data[len(_UTF8_MARK) :]
        returns = data.count(b"\r\n") + (terminated and data.endswith(b"\r")) if b"\r" in data else 0
        if returns:
            self._removed[CARRIAGE_RETURN] = self._removed.get(CARRIAGE_RETURN, 0) + returns
            data = data.replace(b"\r\n", b"\n")
            if terminated and data.endswith(b"\r"):
                data = data[:-1]
        try:
            return data.decode().split("\n")
        except UnicodeDecodeError:
            return self._repaired_lines(data.split(b"\n"), read)

    def _repaired_lines(self, raw_lines: list[bytes], read: int) -> list[str]:
        lines = []
        bad = 0
        for number, raw in enumerate(raw_lines, start=read + 1):
            try:
                lines.append(raw.decode())
            except UnicodeDecodeError as error:
                lines.append(raw.decode(errors="replace"))
                self.undecodable[number] = error.start + 1
                bad += 1
        if self._check_text and not read:
            refuse_other_encoding(raw_lines, bad, self.name)
        return lines

    def _too_long(self, number: int) -> CorpusError:
        return CorpusError(
            f"{self.name}, line {number} is longer than {self._limit:,} bytes",
            hint="put one sentence on each line; only a line feed ends a line",
        )


class TextInput:
    """The lines of a file or of standard input, to translate or score, read once; any bytes are accepted."""

    def __init__(
        self, path: Path | None, *, strict: bool = False, undecodable: Callable[[int], None] | None = None
    ) -> None:
        """None and `-` are standard input.

        `undecodable` is called with the number (from 1) of each line that is not UTF-8; with `strict`, such a
        line is an error.
        """
        self._path = None if path is None or str(path) == "-" else path
        if self._path is None:
            self.name = STANDARD_INPUT
            self._chunks = standard_input("text", "cat FILE", terminal=True)
        else:
            check_readable(self._path)
            self.name = str(self._path)
            self._chunks = read_chunks(self._path)
        self._strict = strict
        self._undecodable = undecodable or (lambda number: None)

    @property
    def is_terminal(self) -> bool:
        """Whether the lines are typed at a terminal."""
        return self._path is None and sys.stdin.isatty()

    def __iter__(self) -> Iterator[str]:
        reader = LineReader(self.name, self._chunks, limit=MAX_INPUT_LINE_BYTES, check_text=False)
        for number, line in enumerate(reader, start=1):
            if (byte := reader.undecodable.pop(number, None)) is not None:
                if self._strict:
                    raise CorpusError(
                        f"{self.name}, line {number} is not UTF-8 (byte {byte})",
                        hint="convert it with iconv; without --strict, U+FFFD replaces what cannot be decoded",
                    )
                self._undecodable(number)
            yield line


class Pairs:
    """Line n of one text with line n of the other; texts of different lengths are an error."""

    def __init__(self, source: TextInput, target: TextInput) -> None:
        self._sides = source, target

    def __iter__(self) -> Iterator[tuple[str, str]]:
        source, target = (iter(side) for side in self._sides)
        for count, (one, other) in enumerate(zip_longest(source, target)):
            if one is None or other is None:
                longer = count + 1 + sum(1 for _ in (target if one is None else source))
                raise self.unequal(*((count, longer) if one is None else (longer, count)))
            yield one, other

    def unequal(self, source_lines: int, target_lines: int) -> CorpusError:
        """The error for texts with these numbers of lines."""
        return CorpusError(
            f"{self._sides[0].name} has {source_lines:,} lines, {self._sides[1].name} has {target_lines:,}",
            hint="line n of one file must be the translation of line n of the other",
        )


# ------------------------------------------------------------------------------------------------------------
# Whether the start of a file looks like UTF-8 text.


SAMPLE_BYTES = 1 << 16
# Text may contain a few stray bytes; binary data has many from the start.
_MIN_STRAYS = 8
_NUL_SHARE = 0.01
_CONTROL_SHARE = 0.05

_CONTROLS = bytes(set(range(32)) - set(b"\0\t\n\v\f\r\x1b") | {127})

_WIDE_MARKS = {
    b"\xff\xfe\0\0": "UTF-32LE",
    b"\0\0\xfe\xff": "UTF-32BE",
    b"\xff\xfe": "UTF-16LE",
    b"\xfe\xff": "UTF-16BE",
}

_MAGIC = {
    b"\x1f\x8b": ("gzip data", "rename it to end in .gz"),
    b"\xfd7zXZ\0": ("xz data", "rename it to end in .xz"),
    b"BZh": ("bzip2 data", "rename it to end in .bz2"),
    b"\x28\xb5\x2f\xfd": ("zstd data", "rename it to end in .zst"),
    b"PK\x03\x04": ("a zip archive (or an office document)", "unpack it, or save it as plain text"),
    b"PAR1": ("a Parquet file", "read it with hf:parquet@data_files=PATH"),
    b"%PDF-": ("a PDF document", "extract its text first"),
    b"\x89PNG": ("an image", "give a text file"),
    b"\x7fELF": ("a program", "give a text file"),
}


def refuse_binary(data: bytes, name: str) -> None:
    """Raise a CorpusError if a file that starts with these bytes cannot be UTF-8 text."""
    for mark, encoding in _WIDE_MARKS.items():
        if data.startswith(mark):
            raise CorpusError(f"{name} is {encoding}, not UTF-8", hint=_iconv(encoding, name))
    for magic, (what, remedy) in _MAGIC.items():
        # Text could start with "BZh", but not with the digit and block header that follow it.
        if data.startswith(magic) and (magic != b"BZh" or data[4:7] == b"1AY"):
            raise CorpusError(f"{name} is {what}, not text", hint=remedy)
    sample = data[:SAMPLE_BYTES]
    nuls = sample.count(0)
    if nuls >= _MIN_STRAYS and nuls > _NUL_SHARE * len(sample):
        if guess := _wide_without_mark(sample):
            raise CorpusError(f"{name} looks like {guess}, not UTF-8", hint=_iconv(guess, name))
        raise _binary(name)
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    # Valid UTF-8 with many control characters may be odd text; binary formats are hardly ever valid UTF-8.
    if controls >= _MIN_STRAYS and controls > _CONTROL_SHARE * len(sample) and not _decodable(sample):
        raise _binary(name)


def refuse_other_encoding(lines: Sequence[bytes], bad: int, name: str) -> None:
    """Raise a CorpusError if most of the first lines are not UTF-8 (`bad` of them are not)."""
    filled = sum(bool(line) for line in lines)
    if bad >= _MIN_STRAYS and bad > 0.5 * filled:
        raise CorpusError(
            f"{name} is not UTF-8: {bad} of its first {filled} lines cannot be decoded",
            hint=f"convert it from its encoding, for example: {_iconv('WINDOWS-1252', name)}",
        )


def _decodable(sample: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()  # accepts a last character that is cut off
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _wide_without_mark(sample: bytes) -> str | None:
    """UTF-16 of Latin text has a NUL in every other byte."""
    for encoding, half in (("UTF-16LE", sample[1::2]), ("UTF-16BE", sample[::2])):
        if half.count(0) > 0.5 * len(half) and half.count(0) > 0.9 * sample.count(0):
            return encoding
    return None


def _iconv(encoding: str, name: str) -> str:
    return f"iconv -f {encoding} -t UTF-8 {name} > NEW"


def _binary(name: str) -> CorpusError:
    return CorpusError(
        f"{name} is a binary file, not text", hint="give UTF-8 text with one sentence per line"
    )
