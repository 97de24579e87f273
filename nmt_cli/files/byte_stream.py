"""The bytes of a file or of standard input in chunks, decompressed according to the file name; how far a job is."""

import bz2
import errno
import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, cast

from nmt_cli.errors import CorpusError, UsageError, closest


@dataclass(frozen=True)
class Progress:
    """`done` of `total` pairs, lines or bytes have passed a stage."""

    stage: str
    done: int
    total: int | None = None  # None: unknown, as while a stream is read


COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
STANDARD_INPUT = "standard input"

_CHUNK_BYTES = 1 << 18
# A zstd block of a few bytes can expand to 128 KiB: small reads bound the size of one decompressed chunk.
_ZSTD_READ_BYTES = 1 << 12


def read_chunks(path: Path) -> Iterator[bytes]:
    """The content of a file, decompressed if its suffix says so; a damaged archive is a CorpusError."""
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as raw:
            if suffix == ".zst":
                yield from _zstd_chunks(raw, path)
            elif suffix in COMPRESSIONS:
                yield from _decompressed_chunks(raw, suffix, path)
            else:
                while chunk := raw.read(_CHUNK_BYTES):
                    yield chunk
    except OSError as error:
        raise cannot_read(path, error) from error


def standard_input(expected: str, example: str, *, terminal: bool = False) -> Iterator[bytes]:
    """The content of standard input, each chunk as soon as it arrives.

    A closed standard input is an error, and so is a terminal unless `terminal` allows one. `expected` (such as
    `TSV`) and `example` (a command to pipe from) are for that error.
    """
    problem = ""
    if sys.stdin is None:  # closed before Python started
        problem = "is closed"
    elif sys.stdin.isatty() and not terminal:
        problem = "is a terminal"
    if problem:
        raise UsageError(
            f"expected {expected} on standard input, which {problem}", hint=f"pipe it in: {example} | nmt …"
        )
    return _standard_input_chunks()


def uncompressed_name(name: str) -> str:
    """The name of a file without the suffix of its compression."""
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name


def check_readable(path: Path, hint_after: str = "") -> None:
    """Raise a CorpusError if `path` is missing or a directory, before any work is done."""
    if path.is_dir():
        raise CorpusError(f"{path} is a directory", hint="give a file in it")
    if not path.exists():
        raise CorpusError(f"{path} does not exist", hint=similar_files(path) + hint_after)


def similar_files(path: Path) -> str:
    """A hint for a missing file: similar names in its directory, or what else is there."""
    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir():
            folder = folder.parent
        return f"the directory {path.parent} does not exist either ({folder} does)"
    try:
        names = sorted(child.name for child in folder.iterdir())
    except OSError as error:
        return f"{folder} cannot be listed: {error.strerror}"
    if similar := closest(path.name, names, most=3, cutoff=0.5):
        return f"similar names in {folder}: {', '.join(similar)}"
    if not names:
        return f"{folder} is empty"
    return f"{folder} contains {', '.join(names[:5])}{', …' if len(names) > 5 else ''}"


def cannot_read(path: Path | str, error: OSError) -> CorpusError:
    """The CorpusError for a failed read or directory lookup, with a hint for its cause."""
    hints = {
        errno.EACCES: "you need read permission for it and for the directories above it",
        errno.EPERM: "you need read permission for it and for the directories above it",
        errno.ENAMETOOLONG: "no file can have a name this long; did you pass text instead of a path?",
        errno.ENOENT: "it has disappeared; check whether another process moves or deletes it",
        errno.EIO: "the disk or the network failed; try again or copy the file elsewhere",
    }
    reason = error.strerror or str(error)
    return CorpusError(
        f"cannot read {path}: {reason}", hint=hints.get(error.errno or 0, "check the file and its disk")
    )


def _standard_input_chunks() -> Iterator[bytes]:
    try:
        read = cast(BufferedReader, sys.stdin.buffer).read1  # returns what is available instead of waiting
        while chunk := read(_CHUNK_BYTES):
            yield chunk
    except OSError as error:
        raise cannot_read(STANDARD_INPUT, error) from error


def _decompressed_chunks(raw: IO[bytes], suffix: str, path: Path) -> Iterator[bytes]:
    opener: Any = {".gz": gzip.GzipFile, ".xz": lzma.LZMAFile, ".bz2": bz2.BZ2File}[suffix]
    stream = cast(IO[bytes], opener(raw) if suffix != ".gz" else gzip.GzipFile(fileobj=raw))
    while True:
        try:
            chunk = stream.read(_CHUNK_BYTES)
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            raise _damaged(path, error) from error
        if not chunk:
            return
        yield chunk


def _zstd_chunks(raw: IO[bytes], path: Path) -> Iterator[bytes]:
    # The library's stream reader does not notice that a file is truncated; a decompressobj does.
    import zstandard

    decompressor = zstandard.ZstdDecompressor().decompressobj()
    complete = True  # an empty file has no frame to complete
    while data := raw.read(_ZSTD_READ_BYTES):
        while data:
            try:
                chunk = decompressor.decompress(data)
            except zstandard.ZstdError as error:
                raise _damaged(path, error) from error
            complete = decompressor.eof
            data = decompressor.unused_data if complete else b""
            if complete:
                decompressor = zstandard.ZstdDecompressor().decompressobj()
            if chunk:
                yield chunk
    if not complete:
        raise _damaged(path, EOFError("the last frame is incomplete"))


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(
        f"{path} is damaged or not a {path.suffix} file: {error}",
        hint="download or compress it again; the suffix of the name decides how a file is decompressed",
    )
