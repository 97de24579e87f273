"""Results appear whole or not at all: written under a temporary name, then renamed."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt_cli.errors import NmtError, OutputError, UsageError

MANIFEST = "manifest.json"
"""The file that marks a directory as one of ours; nothing else is ever replaced."""


@contextmanager
def new_directory(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary directory beside `path` that takes its place when the block ends without an error.

    Whatever goes wrong, `path` is left as it was and nothing half-written stays behind.
    """
    path = path.absolute()
    _refuse_existing(path, overwrite=overwrite)
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        temporary.mkdir()
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield temporary
        _synchronize(temporary)
        _replace(path, temporary)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, NmtError):
            raise cannot_write(path, error) from error
        raise


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` that takes its place when the block ends without an error."""
    path = path.absolute()
    if path.is_dir():
        raise UsageError(f"{path} is a directory", hint="give the path of a file to write")
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> OutputError:
    """The OutputError for a failed write, with a hint that fits its cause."""
    hints = {
        errno.ENOSPC: "free some space, or write to another disk; nothing half-written was left behind",
        errno.EDQUOT: "your disk quota is used up; nothing half-written was left behind",
        errno.EACCES: "choose a directory that you may write to",
        errno.EPERM: "choose a directory that you may write to",
        errno.EROFS: "the disk is read-only; choose another",
        errno.ENOTDIR: "a part of that path is a file",
        errno.EEXIST: "a part of that path is a file",
        errno.ENAMETOOLONG: "choose a shorter name",
    }
    reason = error.strerror or str(error)
    return OutputError(
        f"cannot write {path}: {reason}", hint=hints.get(error.errno or 0, "choose another place")
    )


def _refuse_existing(path: Path, *, overwrite: bool) -> None:
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        raise UsageError(f"{path} exists and is not a directory", hint="choose another --out")
    if not any(path.iterdir()):
        return
    if not overwrite:
        raise UsageError(
            f"{path} exists already", hint="choose another --out, or replace it with --overwrite"
        )
    if not (path / MANIFEST).exists():
        raise UsageError(
            f"{path} was not written by nmt (it has no {MANIFEST}), so it is not overwritten",
            hint="choose another --out, or remove the directory yourself",
        )


def _remove_abandoned(path: Path) -> None:
    """Remove what a killed process left beside `path`."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.(?:partial|old)-(\d+)")
    for sibling in path.parent.iterdir():
        match = pattern.fullmatch(sibling.name)
        if match and not Path("/proc", match[1]).exists():
            shutil.rmtree(sibling, ignore_errors=True)


def _synchronize(directory: Path) -> None:
    for folder, _, files in os.walk(directory):
        for name in [*files, "."]:
            descriptor = os.open(Path(folder, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _replace(path: Path, temporary: Path) -> None:
    if path.exists():
        old = path.with_name(f".{path.name}.old-{os.getpid()}")
        path.rename(old)
        temporary.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    else:
        temporary.rename(path)
