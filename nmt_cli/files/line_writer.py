"""The one line writer: complete lines to a file or to standard output, never part of one.

`PartialOutput` writes a file that can be continued after an interruption. While FILE is being written, FILE.partial
holds the complete lines so far and FILE.partial.json what they belong to:

    job      models, settings and source text; lines of another job are discarded
    lines    number of source lines that are done
    bytes    size of FILE.partial; what a killed process wrote after that is cut off
    sha256   of these bytes; lines that were changed are discarded

FILE.partial.json is written first: without it, FILE.partial is someone else's, and is not touched. Both are replaced
by FILE when it is complete. Lines are committed window by window and a continued job starts with the same window as one
that was never interrupted, so the result is the same, byte for byte.

Several processes work on different windows at the same time. Each finished window is a file in FILE.partial.blocks,
named after the number of its first line, until the first process appends it to FILE.partial when its turn comes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import select
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self, cast

from nmt_cli.errors import DirectoryError, OutputError, UsageError
from nmt_cli.files.atomic import cannot_write, new_file
from nmt_cli.files.byte_stream import read_chunks
from nmt_cli.files.guarded import GuardedDirectory, write_all

_COMPRESSIONS = (".gz", ".zst")
_CHUNK = 1 << 20
_JOB = "job.json"
_BLOCK = re.compile(r"(\d{12})\.txt")

Write = Callable[[Iterable[str]], None]


@contextmanager
def line_output(path: Path | None) -> Iterator[Write]:
    """A function that writes lines to `path`, or to standard output.

    A file appears when the block ends without an error, compressed if its name ends in .gz or .zst. Lines for
    standard output have left this process when the function returns.
    """
    if path is None or str(path) == "-":
        yield _standard_output()
        return
    with new_file(path) as temporary, _open_compressed(temporary, path.suffix) as file:
        yield lambda lines: _write_all(file, lines)


def _write_all(file: IO[bytes], lines: Iterable[str]) -> None:
    file.write(b"".join(f"{line}\n".encode() for line in lines))


@contextmanager
def _open_compressed(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    """Write a file, compressed if `suffix` says so. The same text gives the same bytes."""
    with path.open("wb") as raw:
        if suffix == ".gz":
            # Without name and time.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        elif suffix == ".zst":
            import zstandard

            with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as packed:
                yield cast(IO[bytes], packed)
        else:
            yield raw


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
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class TextSize(NamedTuple):
    """Number of lines of a text, and the hash of its bytes."""

    lines: int
    sha256: str


def measure_text(path: Path) -> TextSize:
    """Read a file once, decompressed, without holding it."""
    lines, last, digest = 0, b"\n", hashlib.sha256()
    for chunk in read_chunks(path):
        lines += chunk.count(b"\n")
        last = chunk[-1:] or last
        digest.update(chunk)
    return TextSize(lines + (last != b"\n"), digest.hexdigest())


class PartialOutput:
    """Writes `path` window by window; `lines` are done already when it is entered."""

    def __init__(self, path: Path, job: Mapping[str, Any]) -> None:
        """`job` identifies the result: JSON values."""
        self._target = path.resolve()
        self.path = self._target.with_name(f"{self._target.name}.partial")
        self._facts = self._target.with_name(f"{self._target.name}.partial.json")
        self._job = json.loads(json.dumps(job))
        self.blocks = Blocks(self._target)
        self._directory = GuardedDirectory(self._target.parent)
        self._digest = hashlib.sha256()
        self.lines = 0
        self.discarded = False  # there were lines of another job

    def __enter__(self) -> Self:
        try:
            self._file = self._directory.open_locked(self.path.name)
        except BlockingIOError as error:
            raise UsageError(
                f"{self._target} is being written by another process", hint="choose another --output"
            ) from error
        except OSError as error:
            raise cannot_write(self._target, error) from error
        try:
            self._file.truncate(self._committed())
            self._commit(self.lines)
        except BaseException as error:
            if not os.fstat(self._file.fileno()).st_size:
                self.path.unlink(missing_ok=True)
            self._file.close()
            if isinstance(error, OSError):
                raise cannot_write(self._target, error) from error
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._publish()
        if kind is None:
            self.blocks.remove()
        if kind is None or not self.lines:
            self._facts.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
        self._file.close()  # releases the lock

    def write(self, lines: Iterable[str]) -> None:
        """Append the lines of one window; they survive whatever happens later."""
        try:
            data = [f"{line}\n".encode() for line in lines]
            content = b"".join(data)
            write_all(self._file.fileno(), content)
            os.fsync(self._file.fileno())
            self._digest.update(content)
            self._commit(self.lines + len(data))
        except (OSError, OutputError) as error:
            cause = error.__cause__ if isinstance(error, OutputError) else error
            raise OutputError(
                f"cannot write {self.path}: {getattr(cause, 'strerror', None) or cause}",
                hint="free some space, then run the same command again to continue",
            ) from error

    def share(self) -> None:
        """Let other processes write blocks."""
        self.blocks.start(self._job)

    def append_blocks(self) -> int:
        """Append the finished blocks whose turn it is; returns their number of lines."""
        before = self.lines
        while self.blocks.is_done(first := self.lines):
            self.write(self.blocks.read(first))
            self.blocks.forget(first)
        return self.lines - before

    def _commit(self, lines: int) -> None:
        size = os.fstat(self._file.fileno()).st_size
        facts = {"job": self._job, "lines": lines, "bytes": size, "sha256": self._digest.hexdigest()}
        self._directory.write_json(self._facts.name, facts)
        self.lines = lines

    def _committed(self) -> int:
        """The size of what is done, which sets `lines`; an error if the files are not ours."""
        size = os.fstat(self._file.fileno()).st_size
        if not self._directory.exists(self._facts.name):
            if size:
                raise _not_ours(self.path)
            return 0
        try:
            facts = self._directory.read_json(self._facts.name)
            lines, done, sha256 = facts["lines"], facts["bytes"], facts["sha256"]
            if type(lines) is not int or type(done) is not int or min(lines, done) < 0:
                raise ValueError("lines or bytes")
            if facts["job"] == self._job and size >= done and self._read(done) == (sha256, lines):
                self.lines = lines
                return done
        except (ValueError, KeyError, TypeError, DirectoryError) as error:
            raise _not_ours(self._facts) from error
        self._digest = hashlib.sha256()
        self.discarded = size > 0
        return 0

    def _read(self, size: int) -> tuple[str, int]:
        """Hash and number of lines of the first bytes of the file."""
        lines, left = 0, size
        self._file.seek(0)
        while left and (chunk := self._file.read(min(left, _CHUNK))):
            self._digest.update(chunk)
            lines, left = lines + chunk.count(b"\n"), left - len(chunk)
        return self._digest.hexdigest(), lines

    def _publish(self) -> None:
        if self._target.suffix not in _COMPRESSIONS:
            self.path.replace(self._target)
            return
        with (
            new_file(self._target) as temporary,
            self.path.open("rb") as plain,
            _open_compressed(temporary, self._target.suffix) as packed,
        ):
            shutil.copyfileobj(plain, packed)


class Blocks:
    """Finished windows beyond the lines of a partial output, written by any process.

    The first line of each file is the SHA-256 of the others.
    """

    def __init__(self, target: Path) -> None:
        self._folder = target.with_name(f"{target.name}.partial.blocks")
        self._directory = GuardedDirectory(self._folder)

    def start(self, job: Mapping[str, Any]) -> None:
        """Create the folder, or discard blocks of another job and damaged ones. For the first process only."""
        try:
            if not self._folder.exists():
                self._folder.mkdir()
            elif not self._directory.exists(_JOB):
                if any(self._folder.iterdir()):
                    raise _not_ours(self._folder)
            elif self._directory.read_json(_JOB) == job:
                self._remove_damaged()
                return
            else:
                self._remove_blocks()
        except (OSError, ValueError, DirectoryError) as error:
            raise _not_ours(self._folder) from error
        self._directory.write_json(_JOB, job)

    def is_done(self, first: int) -> bool:
        """Whether the block that starts with this line is finished."""
        return self._path(first).exists()

    def write(self, first: int, lines: Iterable[str]) -> None:
        """A finished block; it survives whatever happens later."""
        content = b"".join(f"{line}\n".encode() for line in lines)
        sha256 = hashlib.sha256(content).hexdigest()
        self._directory.write(self._path(first).name, f"{sha256}\n".encode() + content)

    def read(self, first: int) -> list[str]:
        """The lines of a finished block."""
        _, _, content = self._path(first).read_bytes().partition(b"\n")
        return content.decode().removesuffix("\n").split("\n")

    def forget(self, first: int) -> None:
        """Remove a block that was appended."""
        self._path(first).unlink()

    def remove(self) -> None:
        """Remove the folder, unless someone has put something else there."""
        if self._folder.is_dir() and (self._folder / _JOB).exists():
            self._remove_blocks()
            (self._folder / _JOB).unlink()
            with suppress(OSError):  # not empty
                self._folder.rmdir()

    def _remove_blocks(self) -> None:
        for path in self._folder.iterdir():
            if _BLOCK.fullmatch(path.name):
                path.unlink()

    def _remove_damaged(self) -> None:
        for path in self._folder.iterdir():
            if _BLOCK.fullmatch(path.name):
                sha256, _, content = path.read_bytes().partition(b"\n")
                if sha256 != hashlib.sha256(content).hexdigest().encode():
                    path.unlink()

    def _path(self, first: int) -> Path:
        return self._folder / f"{first:012d}.txt"


def _not_ours(path: Path) -> UsageError:
    return UsageError(
        f"{path} was not written by nmt", hint="move it away, or choose another --output; it is not touched"
    )
