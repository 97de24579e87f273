"""Files of a directory that may come from a stranger: nothing in it makes nmt read, write or delete elsewhere.

Every file is opened relative to a descriptor of its folder and without following symbolic links. Links, devices and
pipes are refused, and so are names that lead out of the directory. The directory itself may be reached through a
link (`runs/best -> runs/a`): only what is inside counts.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import PARTIAL_FILE, FileFacts, cannot_write, remove_leftovers

JSON_LIMIT = 64 << 20  # bytes
_CHUNK = 1 << 20
_TRUST = "nmt writes ordinary files only; get the directory from a source you trust, or remove that entry"


def parse_json(content: bytes) -> Any:
    """A JSON document; ValueError for anything that is not one, even NaN, numbers out of range and endless nesting."""
    try:
        return json.loads(
            content.decode(), parse_constant=_not_a_number, parse_float=_finite, parse_int=_integer
        )
    except RecursionError as error:
        raise ValueError("too deeply nested") from error


class GuardedDirectory:
    """Reads and writes files of one directory by their names, such as `config.json` or `state/current.json`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self) -> None:
        """Raise an error if the directory or one of its folders contains anything but files and folders."""
        for folder, descriptor in self._folders():
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    # A temporary file of another process may be gone by now.
                    with suppress(FileNotFoundError):
                        if not entry.is_dir(follow_symlinks=False):
                            self._check_kind(
                                f"{folder}{entry.name}", entry.stat(follow_symlinks=False).st_mode
                            )

    def names(self, folder: str = "") -> list[str]:
        """The names of the entries of a folder, sorted; none if it does not exist."""
        try:
            with self._parent(f"{folder}/x" if folder else "x") as (descriptor, _):
                return sorted(os.listdir(descriptor))  # noqa: PTH208 - of a descriptor
        except FileNotFoundError:
            return []

    def exists(self, name: str) -> bool:
        """Whether there is such a file; anything else of that name is refused."""
        try:
            with self._parent(name) as (folder, base):
                self._check_kind(name, os.stat(base, dir_fd=folder, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def open(self, name: str, flags: int = os.O_RDONLY) -> Iterator[int]:
        """A descriptor of an ordinary file; FileNotFoundError if there is none and `flags` do not create it."""
        with self._parent(name) as (folder, base):
            with suppress(FileNotFoundError):  # opening a device could have effects of its own
                self._check_kind(name, os.stat(base, dir_fd=folder, follow_symlinks=False).st_mode)
            guard = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            try:
                descriptor = os.open(base, flags | guard, 0o644, dir_fd=folder)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    self._refuse(name, "a symbolic link")
                raise
        try:
            self._check_kind(name, os.fstat(descriptor).st_mode)
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, name: str, *, limit: int | None = None) -> bytes:
        """The content of a file; one of more than `limit` bytes is an error."""
        try:
            with self.open(name) as descriptor:
                size = os.fstat(descriptor).st_size
                if limit is not None and size > limit:
                    raise DirectoryError(
                        f"{self.path / name} is too large: {size:,} bytes",
                        hint="it is not a file that nmt wrote",
                    )
                return read_all(descriptor)
        except FileNotFoundError as error:
            raise DirectoryError(
                f"{self.path / name} is missing", hint="copy the whole directory again"
            ) from error
        except OSError as error:
            raise DirectoryError(
                f"cannot read {self.path / name}: {error.strerror}", hint="check its permissions"
            ) from error

    def read_json(self, name: str) -> Any:
        """The JSON document in a file; a ValueError if it is none."""
        return parse_json(self.read(name, limit=JSON_LIMIT))

    def write(self, name: str, content: bytes) -> FileFacts:
        """Replace a file by `content` in one rename, after removing what killed processes left of it."""
        try:
            with self._parent(name) as (folder, base):
                with suppress(FileNotFoundError):
                    self._check_kind(name, os.stat(base, dir_fd=folder, follow_symlinks=False).st_mode)
                remove_leftovers(folder, base)
                temporary = f".{base}.partial-{os.getpid()}"
                try:
                    create(folder, temporary, content)
                    os.rename(temporary, base, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    with suppress(OSError):
                        os.unlink(temporary, dir_fd=folder)
                    raise
                os.fsync(folder)
        except OSError as error:
            raise cannot_write(self.path / name, error) from error
        return FileFacts(size=len(content), sha256=hashlib.sha256(content).hexdigest())

    def write_text(self, name: str, content: str) -> FileFacts:
        """Replace a file by text in one rename."""
        return self.write(name, content.encode())

    def write_json(self, name: str, content: Any) -> FileFacts:
        """Replace a file by a JSON document in one rename."""
        return self.write_text(
            name, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )

    def append(self, name: str, line: bytes, *, durable: bool = False) -> None:
        """Append a line in a single write, so that lines of concurrent processes do not mix.

        A file with several hard links may belong to someone else, so a copy replaces it.
        """
        try:
            with self.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
                status = os.fstat(descriptor)
                if status.st_size and os.pread(descriptor, 1, status.st_size - 1) != b"\n":
                    line = b"\n" + line  # the last writer was killed in the middle of a line
                if status.st_nlink == 1:
                    write_all(descriptor, line)
                    if durable:
                        os.fsync(descriptor)
                    shared = None
                else:
                    shared = read_all(descriptor)
            if shared is not None:
                self.write(name, shared + line)
            elif durable:
                self._synchronize(name)
        except OSError as error:
            raise cannot_write(self.path / name, error) from error

    def open_locked(self, name: str) -> FileIO:
        """A file to read and to append to, created if there is none, and locked until it is closed.

        It is not buffered: what a full disk did not take would be written again when it is closed. BlockingIOError:
        another process has it.
        """
        while True:
            with self.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
                if os.fstat(descriptor).st_nlink > 1:
                    self._refuse(name, "a hard link to another file")
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise
                except OSError:  # a file system without locks
                    pass
                # Its owner may have renamed or removed it just before it gave up the lock.
                if self._is_current(name, descriptor):
                    return FileIO(os.dup(descriptor), "a+b")

    def synchronize(self, name: str) -> None:
        """Flush a file to disk, if it exists."""
        with suppress(FileNotFoundError), self.open(name) as descriptor:
            os.fsync(descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists; of a link, only the link."""
        with suppress(FileNotFoundError), self._parent(name) as (folder, base):
            os.unlink(base, dir_fd=folder)

    def rename(self, old: str, new: str) -> None:
        """Give a file the name of another one in the same folder, which it replaces."""
        with self._parent(old) as (folder, base):
            os.rename(base, PurePosixPath(new).name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)

    def make_folder(self, name: str) -> None:
        """Create a folder unless it exists."""
        with suppress(FileExistsError), self._parent(name) as (folder, base):
            os.mkdir(base, dir_fd=folder)

    def remove_partial_files(self, folder: str = "") -> None:
        """Remove temporary files of killed processes. Call it only while holding the directory's lock."""
        for name in self.names(folder):
            if PARTIAL_FILE.fullmatch(name):
                self.remove(f"{folder}/{name}" if folder else name)

    def _synchronize(self, name: str) -> None:
        with self._parent(name) as (folder, _):
            os.fsync(folder)

    def _is_current(self, name: str, descriptor: int) -> bool:
        """Whether the name still is that of the open file."""
        with suppress(FileNotFoundError), self._parent(name) as (folder, base):
            return os.path.samestat(os.fstat(descriptor), os.stat(base, dir_fd=folder, follow_symlinks=False))
        return False

    @contextmanager
    def _parent(self, name: str) -> Iterator[tuple[int, str]]:
        """A descriptor of the folder of a file, reached without following links, and the last part of the name."""
        parts = PurePosixPath(name).parts
        if not parts or parts[0] == "/" or ".." in parts or "\0" in name:
            raise DirectoryError(f"{self.path} refers to a file outside it: {name!r}", hint=_TRUST)
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for index, part in enumerate(parts[:-1], start=1):
                inner = "/".join(parts[:index])
                mode = os.stat(part, dir_fd=descriptor, follow_symlinks=False).st_mode
                if not stat.S_ISDIR(mode):
                    self._refuse(inner, "a symbolic link" if stat.S_ISLNK(mode) else "not a folder")
                guard = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                outer, descriptor = descriptor, os.open(part, guard, dir_fd=descriptor)
                os.close(outer)
            yield descriptor, parts[-1]
        finally:
            os.close(descriptor)

    def _folders(self) -> Iterator[tuple[str, int]]:
        """All folders with their descriptors; the prefix of the names in a folder ends with a slash."""
        try:
            for folder, _, _, descriptor in os.fwalk(self.path, onerror=_raise):
                inner = os.path.relpath(folder, self.path)
                yield "" if inner == "." else f"{inner}/", descriptor
        except (OSError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "too deeply nested"
            raise DirectoryError(
                f"cannot read {self.path}: {reason}", hint="check its permissions"
            ) from error

    def _check_kind(self, name: str, mode: int) -> None:
        if stat.S_ISREG(mode):
            return
        kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe"}
        self._refuse(name, kinds.get(stat.S_IFMT(mode), "a device or a socket"))

    def _refuse(self, name: str, kind: str) -> NoReturn:
        raise DirectoryError(f"{self.path / name} is {kind}, so {self.path} is not used", hint=_TRUST)


def read_all(descriptor: int) -> bytes:
    """The whole content of an open file."""
    size = os.fstat(descriptor).st_size
    content = os.pread(descriptor, size + 1, 0)  # usually all of it, without copying
    if len(content) == size:
        return content
    parts, offset = [content], len(content)
    while part := os.pread(descriptor, _CHUNK, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def write_all(descriptor: int, content: bytes) -> None:
    """Write everything; a write to a disk that is almost full may be partial."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def create(folder: int, name: str, content: bytes) -> None:
    """Write a new file in the folder with this descriptor, and flush it to disk."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o666, dir_fd=folder)
    try:
        write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]}… is out of range")
    return number


def _integer(text: str) -> int:
    _finite(text)  # an integer that a float cannot hold would fail later, where it is printed or divided
    return int(text)


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # removed in the meantime
        raise error
