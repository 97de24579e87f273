"""Atomic, durable writes: a temporary name, fsync, rename. A file or directory is complete or does not exist.

A process that is killed leaves at most a temporary file or directory behind, which the next writer removes.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypedDict

from nmt_cli.errors import OutputError, UsageError

MANIFEST = "manifest.json"

_PARTIAL_FILE = re.compile(r"\..+\.partial-\d+")


class FileFacts(TypedDict):
    """Size and checksum of a file, as a manifest or a checkpoint records them."""

    size: int
    sha256: str


def write_bytes(path: Path, content: bytes) -> FileFacts:
    """Replace `path` by `content` in one rename."""
    with new_file(path) as temporary:
        temporary.write_bytes(content)
    synchronize(path.parent)
    return FileFacts(size=len(content), sha256=hashlib.sha256(content).hexdigest())


def write_text(path: Path, content: str) -> FileFacts:
    """Replace `path` by text in one rename."""
    return write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> FileFacts:
    """Replace `path` by a JSON document in one rename."""
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def has_manifest(directory: Path) -> bool:
    """Whether nmt wrote this directory: no other directory is ever replaced."""
    return (directory / MANIFEST).exists()


@contextmanager
def new_directory(
    path: Path, *, overwrite: bool, ours: Callable[[Path], bool] = has_manifest
) -> Iterator[Path]:
    """Yield a temporary directory next to `path`, renamed to `path` when the block ends without an error.

    If anything fails, `path` is left untouched and the temporary directory is removed. With `overwrite`, an
    existing directory is replaced, but only if `ours` accepts it.
    """
    path = path.resolve()  # a symbolic link is kept; its target is written
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        _remove_leftovers(path)
        _refuse_existing(path, overwrite=overwrite, ours=ours)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        yield temporary
        _synchronize_tree(temporary)
        _refuse_existing(path, overwrite=overwrite, ours=ours)  # it may have appeared in the meantime
        _replace(path, temporary)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, renamed to `path` when the block ends without an error.

    A pipe or a device cannot be replaced, only written to, so its own path is yielded.
    """
    path = path.resolve()
    try:
        is_directory, is_special = path.is_dir(), path.exists() and not path.is_file()
    except OSError as error:  # a parent directory may not be accessible
        raise cannot_write(path, error) from error
    if is_directory:
        raise UsageError(f"{path} is a directory", hint="give the path of a file to write")
    if is_special:
        yield path
        return
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        yield temporary
        synchronize(temporary)
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):  # a parent may be a file, which the first error has reported
            temporary.unlink(missing_ok=True)


def check_new_directory(path: Path, *, overwrite: bool) -> None:
    """Raise what `new_directory` would raise for this path, before any work is done."""
    _refuse_existing(path.resolve(), overwrite=overwrite, ours=has_manifest)


def cannot_write(path: Path, error: OSError) -> OutputError:
    """The OutputError for a failed write, with a hint for its cause."""
    hints = {
        errno.ENOSPC: "free some space or write to another disk; no partial output was left behind",
        errno.EDQUOT: "your disk quota is exhausted; no partial output was left behind",
        errno.EACCES: "choose a directory you have permission to write to",
        errno.EPERM: "choose a directory you have permission to write to",
        errno.EROFS: "the file system is read-only; choose another one",
        errno.ENOTDIR: "one of the parent directories is a file",
        errno.EEXIST: "one of the parent directories is a file",
        errno.ENAMETOOLONG: "choose a shorter name",
    }
    reason = error.strerror or str(error)
    return OutputError(
        f"cannot write {path}: {reason}", hint=hints.get(error.errno or 0, "choose another location")
    )


def synchronize(path: Path) -> None:
    """Flush a file, or the names in a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial_files(directory: Path) -> None:
    """Remove temporary files of killed processes. Call it only while holding the directory's lock."""
    for path in directory.iterdir():
        if path.is_file() and _PARTIAL_FILE.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _refuse_existing(path: Path, *, overwrite: bool, ours: Callable[[Path], bool]) -> None:
    if path in (Path.cwd(), *Path.cwd().parents):
        raise UsageError(
            f"{path} is the current directory or one of its parents", hint="choose another --out"
        )
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(f"{path} exists and is not a directory", hint="choose another --out")
    if not any(path.iterdir()):
        return
    if not ours(path):
        raise UsageError(
            f"{path} contains other files, so it is not overwritten",
            hint="choose another --out, or delete the directory yourself",
        )
    if not overwrite:
        raise UsageError(
            f"{path} already exists", hint="choose another --out, or replace it with --overwrite"
        )


def _remove_leftovers(path: Path) -> None:
    """Remove temporary directories of killed processes next to `path`; restore one that was being replaced."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.(partial|old)-(\d+)")
    siblings = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    for sibling in siblings:
        match = pattern.fullmatch(sibling.name)
        if match and not _is_alive(int(match[2])):
            if match[1] == "old" and not path.exists():
                sibling.rename(path)
            else:
                shutil.rmtree(sibling, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's process
        return True
    return True


def _synchronize_tree(directory: Path) -> None:
    for folder, _, files in os.walk(directory):
        for name in [*files, "."]:
            synchronize(Path(folder, name))


def _replace(path: Path, temporary: Path) -> None:
    if path.exists():
        old = path.with_name(f".{path.name}.old-{os.getpid()}")
        path.rename(old)
        temporary.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    else:
        temporary.rename(path)
