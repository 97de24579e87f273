"""Which directories `--overwrite` may replace: those of the same kind that only nmt wrote to, and not in use."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import MANIFEST, PARTIAL_FILE
from nmt_cli.files.guarded import GuardedDirectory
from nmt_cli.files.manifest import Manifest, a_directory

# What training and evaluation add to a run after its manifest was written.
_RUN_FILES = re.compile(
    r"README\.md|metrics\.jsonl|scores\.jsonl|samples\.json|confidence\.json|curves\.svg|lock|state/current\.json"
    r"|(state|checkpoints)/update-\d+\.safetensors|(model|config)-[0-9a-f]{8}\.(safetensors|json)"
    r"|tensorboard/events\.out\.tfevents\.\d+\.nmt"
)


def data_refusal(path: Path) -> str | None:
    """Why a directory must not be replaced by a data directory; None if it may be."""
    return _refusal(path, "data")


def run_refusal(path: Path) -> str | None:
    """Why a directory must not be replaced by a run directory; None if it may be, once it is locked."""
    return _refusal(path, "run")


def demo_refusal(path: Path) -> str | None:
    """Why a directory must not be replaced by a demo corpus; None if it may be."""
    return _refusal(path, "demo")


def export_refusal(path: Path) -> str | None:
    """Why a directory must not be replaced by an exported model; None if it may be."""
    return _refusal(path, "export")


def _refusal(path: Path, kind: str) -> str | None:
    directory = GuardedDirectory(path)
    if MANIFEST not in directory.names():
        return "contains other files"
    try:
        directory.check()
        manifest = Manifest(directory, kind, "")
    except DirectoryError as error:
        return f"is not {a_directory(kind)} that nmt wrote ({error.message})"
    for name in _files(path):
        ours = name == MANIFEST or name in manifest or PARTIAL_FILE.fullmatch(Path(name).name)
        if not ours and not (kind == "run" and _RUN_FILES.fullmatch(name)):
            return f"contains {name}, which nmt did not write"
    if any(_is_locked(directory, name) for name in manifest.files if name.endswith(".arrow")):
        return "is in use by another process"
    return None


def _files(path: Path) -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(folder, name), path)  # noqa: PTH118 - names may be any bytes
        for folder, _, files in os.walk(path)
        for name in files
    )


def _is_locked(directory: GuardedDirectory, name: str) -> bool:
    with suppress(FileNotFoundError), directory.open(name) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return False
    return False
