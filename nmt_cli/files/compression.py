"""Bytes of a file or of standard input, in pieces, decompressed by suffix."""

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from nmt_cli.corpus.locate import cannot_read
from nmt_cli.errors import CorpusError

PIECE_BYTES = 1 << 18
# A zstd block of a few bytes can stand for 128 KiB: small bites bound what one of them unpacks to.
_ZSTD_BITE_BYTES = 1 << 12

STANDARD_INPUT = "standard input"


def read_pieces(path: Path) -> Iterator[bytes]:
    """The content of a file, decompressed if its name says so; a damaged archive is a CorpusError."""
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as raw:
            if suffix == ".zst":
                yield from _zstd_pieces(raw, path)
            elif suffix in (".gz", ".xz", ".bz2"):
                yield from _unpacked_pieces(raw, suffix, path)
            else:
                while piece := raw.read(PIECE_BYTES):
                    yield piece
    except OSError as error:
        raise cannot_read(path, error) from error


def standard_input_pieces(form: str = "TSV", example: str = "paste a.de a.en") -> Iterator[bytes]:
    """The content of standard input; `form` and `example` are for messages."""
    # A closed one is None, says Python.
    fault = "is closed" if sys.stdin is None else "is a terminal" if sys.stdin.isatty() else ""
    if fault:
        raise CorpusError(
            f"- reads {form} from standard input, which {fault}", hint=f"pipe text in: {example} | nmt …"
        )
    try:
        while piece := sys.stdin.buffer.read(PIECE_BYTES):
            yield piece
    except OSError as error:
        raise cannot_read(STANDARD_INPUT, error) from error


def _unpacked_pieces(raw: IO[bytes], suffix: str, path: Path) -> Iterator[bytes]:
    opener: Any = {".gz": gzip.GzipFile, ".xz": lzma.LZMAFile, ".bz2": bz2.BZ2File}[suffix]
    unpacked = cast(IO[bytes], opener(raw) if suffix != ".gz" else gzip.GzipFile(fileobj=raw))
    while True:
        try:
            piece = unpacked.read(PIECE_BYTES)
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            raise _damaged(path, error) from error
        if not piece:
            return
        yield piece


def _zstd_pieces(raw: IO[bytes], path: Path) -> Iterator[bytes]:
    # The library's stream reader takes a truncated file for a complete one; a decompressobj knows better.
    import zstandard

    unpacker = zstandard.ZstdDecompressor().decompressobj()
    complete = True  # an empty file has no frame to complete
    while bite := raw.read(_ZSTD_BITE_BYTES):
        while bite:
            try:
                piece = unpacker.decompress(bite)
            except zstandard.ZstdError as error:
                raise _damaged(path, error) from error
            complete = unpacker.eof
            bite = unpacker.unused_data if complete else b""
            if complete:
                unpacker = zstandard.ZstdDecompressor().decompressobj()
            if piece:
                yield piece
    if not complete:
        raise _damaged(path, EOFError("the last frame is incomplete"))


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(
        f"{path} is damaged or no {path.suffix} archive: {error}",
        hint="download or compress it again; the suffix of the name decides how it is read",
    )
