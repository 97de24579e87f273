"""The one line writer: complete lines to a file or to standard output, never part of one."""

from __future__ import annotations

import gzip
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from nmt_cli.errors import OutputError
from nmt_cli.files.atomic import new_file

Write = Callable[[Iterable[str]], None]


@contextmanager
def line_output(path: Path | None) -> Iterator[Write]:
    """A function that writes lines to `path`, or to standard output.

    A file appears when the block ends without an error, compressed if its name ends in .gz. Lines for standard
    output have left this process when the function returns.
    """
    if path is None or str(path) == "-":
        yield _standard_output()
        return
    with new_file(path) as temporary, _open(temporary, compress=path.suffix == ".gz") as file:
        yield lambda lines: file.writelines(f"{line}\n".encode() for line in lines)


@contextmanager
def _open(path: Path, *, compress: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as raw:
        if not compress:
            yield raw
            return
        # Without name and time, so that the same text gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
            yield cast(IO[bytes], packed)


def _standard_output() -> Write:
    if sys.stdout is None:  # closed before Python started
        raise OutputError("standard output is closed", hint="write to a file with --output FILE")
    try:
        descriptor = sys.stdout.fileno()
    except OSError:  # replaced in a test
        return lambda lines: _write_buffer(sys.stdout.buffer, lines)
    sys.stdout.flush()
    return lambda lines: _write_packets(descriptor, lines)


def _write_buffer(buffer: IO[bytes], lines: Iterable[str]) -> None:
    buffer.writelines(f"{line}\n".encode() for line in lines)
    buffer.flush()


def _write_packets(descriptor: int, lines: Iterable[str]) -> None:
    """A pipe takes up to PIPE_BUF bytes atomically, so an interrupt falls between lines."""
    packet = b""
    for line in lines:
        data = f"{line}\n".encode()
        if packet and len(packet) + len(data) > select.PIPE_BUF:
            _write(descriptor, packet)
            packet = b""
        packet += data
    if packet:
        _write(descriptor, packet)


def _write(descriptor: int, data: bytes) -> None:
    if len(data) <= select.PIPE_BUF:
        data = data[os.write(descriptor, data) :]
    if not data:
        return
    # A long line takes several writes: signals wait until it is complete.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
