"""Arguments checked before torch is imported: a mistake on the command line is reported at once.

The library checks everything again. What is checked here costs a few file lookups.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from nmt_cli.errors import OutputError, UsageError
from nmt_cli.files.atomic import MANIFEST
from nmt_cli.files.manifest import check_manifest

STANDARD_STREAM = Path("-")


def check_device(name: str) -> str:
    """Reject what cannot be the name of a device; whether the device exists is for torch to say."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", name):
        raise UsageError(f"no such device: {name}", hint="use auto, cpu, cuda, cuda:N or mps")
    return name


def check_runs(runs: Iterable[Path], *, text_hint: str) -> None:
    """Each must be a run directory. A file is probably the text, which `text_hint` says how to pass."""
    for path in runs:
        if path.is_file():
            hint = _hint_for_file_in_directory(path, "run") or text_hint.format(path=path)
            raise UsageError(f"{path} is a file, not a run directory", hint=hint)
        check_manifest(path, "run")


def check_data(path: Path) -> None:
    """It must be a data directory."""
    if path.is_file():
        raise UsageError(
            f"{path} is a file, not a data directory",
            hint=_hint_for_file_in_directory(path, "data")
            or "`nmt preprocess` turns text into a data directory",
        )
    check_manifest(path, "data")


def _hint_for_file_in_directory(path: Path, kind: str) -> str:
    """The hint if a file in a directory written by nmt is given instead of the directory, else ""."""
    folder = path.absolute().parent
    return f"give the {kind} directory itself: {folder}" if (folder / MANIFEST).is_file() else ""


def check_texts(paths: Iterable[Path | None]) -> None:
    """Each must be a file that can be read, or standard input."""
    from nmt_cli.files.byte_stream import check_readable

    for path in paths:
        if path is not None and path != STANDARD_STREAM:
            check_readable(path)


def check_systems(paths: Iterable[Path]) -> None:
    """Each must be a run directory, a file that can be read, or standard input."""
    for path in paths:
        if path.is_dir():
            check_manifest(path, "run")
        else:
            check_texts([path])


def check_writable(paths: Iterable[Path | None]) -> None:
    """Find out before the work, not after it, that a file cannot be written."""
    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise OutputError(
                f"cannot write {path}: {path.parent} is not a directory",
                hint="create it first, or choose another location",
            )


def choose_one(names: Sequence[str], chosen: Sequence[bool], default: str) -> str:
    """The output format whose flag is given; two contradict each other."""
    given = [name for name, is_given in zip(names, chosen, strict=True) if is_given]
    if len(given) > 1:
        raise UsageError(
            f"--{given[0]} and --{given[1]} contradict each other", hint="choose one output format"
        )
    return given[0] if given else default
