"""Results appear whole or not at all: written under a temporary name, then renamed."""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nmt_cli.errors import OutputError, UsageError

MANIFEST = "manifest.json"


def has_manifest(directory: Path) -> bool:
    """Whether nmt wrote this directory; nothing else is ever replaced."""
    return (directory / MANIFEST).exists()


@contextmanager
def new_directory(
    path: Path, *, overwrite: bool, ours: Callable[[Path], bool] = has_manifest
) -> Iterator[Path]:
    """Give a temporary directory beside `path` that takes its place when the block ends without an error.

    Whatever goes wrong, `path` is left as it was and nothing half-written stays behind. `ours` tells whether a
    directory may be replaced if `overwrite` asks for it.
    """
    path = path.resolve()  # a link stays, what it points to is written
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        _clear_up(path)
        _refuse_existing(path, overwrite=overwrite, ours=ours)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        yield temporary
        _synchronize(temporary)
        _refuse_existing(path, overwrite=overwrite, ours=ours)  # it may have appeared meanwhile
        _replace(path, temporary)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` that takes its place when the block ends without an error.

    A pipe or a device is given as it is: it cannot be replaced, only written to.
    """
    path = path.resolve()
    try:
        is_directory, is_special = path.is_dir(), path.exists() and not path.is_file()
    except OSError as error:  # a folder on the way may not be entered
        raise cannot_write(path, error) from error
    if is_directory:
        raise UsageError(f"{path} is a directory", hint="give the path of a file to write")
    if is_special:
        yield path
        return
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):  # a part of the path may be a file: the first error says so
            temporary.unlink(missing_ok=True)


def check_new_directory(path: Path, *, overwrite: bool) -> None:
    """Raise what `new_directory` would raise for this path, before any work is done."""
    _refuse_existing(path.resolve(), overwrite=overwrite, ours=has_manifest)


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


def _refuse_existing(path: Path, *, overwrite: bool, ours: Callable[[Path], bool]) -> None:
    if path in (Path.cwd(), *Path.cwd().parents):
        raise UsageError(
            f"{path} is the directory you are in", hint="choose another --out, such as a new name in it"
        )
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(f"{path} exists and is not a directory", hint="choose another --out")
    if not any(path.iterdir()):
        return
    if not ours(path):
        raise UsageError(
            f"{path} holds files that are not of this kind, so it is not overwritten",
            hint="choose another --out, or remove the directory yourself",
        )
    if not overwrite:
        raise UsageError(
            f"{path} exists already", hint="choose another --out, or replace it with --overwrite"
        )


def _clear_up(path: Path) -> None:
    """Remove what a killed process left beside `path`; what it was about to replace comes back."""
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
    except PermissionError:  # somebody else's
        return True
    return True


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
