"""Atomic, durable writes: a temporary name, fsync, rename. A file or directory is complete or does not exist.

A process that is killed leaves at most a temporary file or directory behind, which the next writer removes.
"""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TextIO, TypedDict

from nmt_cli.errors import OutputError, UsageError

MANIFEST = "manifest.json"

PARTIAL_FILE = re.compile(r"\.(.+)\.partial-(\d+)")
Refusal = Callable[[Path], str | None]
"""Why an existing directory must not be replaced; None if it may be."""


class FileFacts(TypedDict):
    """Size and checksum of a file, as a manifest or a checkpoint records them."""

    size: int
    sha256: str


@contextmanager
def new_directory(path: Path, *, overwrite: bool, refusal: Refusal) -> Iterator[Path]:
    """Yield a temporary directory next to `path`, renamed to `path` when the block ends without an error.

    If anything fails, `path` is left untouched and the temporary directory is removed. With `overwrite`, an
    existing directory is replaced unless there is a `refusal`.
    """
    path = path.resolve()  # a symbolic link is kept; its target is written
    _refuse_places(path)
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        _remove_old_directories(path)
        _refuse_existing(path, overwrite=overwrite, refusal=refusal)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        yield temporary
        _synchronize_tree(temporary)
        _refuse_existing(path, overwrite=overwrite, refusal=refusal)  # it may have appeared in the meantime
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
        try:
            yield path
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cannot_write(path, error) from error
        return
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        if path.parent.is_dir():
            remove_leftovers(path.parent, path.name)
        temporary.unlink(
            missing_ok=True
        )  # of an earlier process with our id, or a link that someone put there
        yield temporary
        synchronize(temporary)
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):  # a parent may be a file, which the first error has reported
            temporary.unlink(missing_ok=True)


def check_new_directory(path: Path, *, overwrite: bool, refusal: Refusal) -> None:
    """Raise what `new_directory` would raise for this path, before any work is done."""
    _refuse_existing(path.resolve(), overwrite=overwrite, refusal=refusal)


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


def remove_leftovers(folder: int | Path, base: str) -> None:
    """Remove the temporary files that killed processes left of the file `base` in a folder."""
    for name in os.listdir(folder):  # noqa: PTH208 - of a descriptor
        match = PARTIAL_FILE.fullmatch(name)
        if match and match[1] == base and not is_alive(int(match[2])):
            with suppress(OSError):
                if isinstance(folder, int):
                    os.unlink(name, dir_fd=folder)
                else:
                    (folder / name).unlink()


def _refuse_existing(path: Path, *, overwrite: bool, refusal: Refusal) -> None:
    _refuse_places(path)
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(f"{path} exists and is not a directory", hint="choose another --out")
    if not any(path.iterdir()):
        return
    if reason := refusal(path):
        raise UsageError(
            f"{path} {reason}, so it is not overwritten",
            hint="choose another --out, or delete the directory yourself",
        )
    if not overwrite:
        raise UsageError(
            f"{path} already exists", hint="choose another --out, or replace it with --overwrite"
        )


def _refuse_places(path: Path) -> None:
    """The current directory, the home directory and everything above them are never written to as a whole."""
    places = {"the root directory": lambda: Path("/"), "the current directory": Path.cwd}
    for name, find in {**places, "your home directory": Path.home}.items():
        with suppress(OSError, RuntimeError):  # no home; a current directory that was deleted
            place = find().resolve()
            if path in (place, *place.parents):
                above = "" if path == place else " or one of its parents"
                raise UsageError(f"{path} is {name}{above}", hint="choose another --out")


def _remove_old_directories(path: Path) -> None:
    """Remove temporary directories of killed processes next to `path`; restore one that was being replaced."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.(partial|old)-(\d+)")
    siblings = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    for sibling in siblings:
        match = pattern.fullmatch(sibling.name)
        # A container may give every process the same id: what has our own id is a leftover, too.
        if match and (int(match[2]) == os.getpid() or not is_alive(int(match[2]))):
            if match[1] == "old" and not path.exists():
                sibling.rename(path)
            else:
                shutil.rmtree(sibling, ignore_errors=True)


def is_alive(process: int) -> bool:
    """Whether a process with this id exists."""
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


@contextmanager
def new_text_files(files: Mapping[str, Path]) -> Iterator[dict[str, TextIO]]:
    """Several new text files, opened before the work, so that a file that cannot be written is reported first."""
    with ExitStack() as stack:
        opened: dict[str, TextIO] = {}
        for name, path in files.items():
            temporary = stack.enter_context(new_file(path))
            opened[name] = stack.enter_context(temporary.open("w", encoding="utf-8", newline="\n"))
        yield opened
