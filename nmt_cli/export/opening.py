"""Exported folders where a run directory is expected: telling them apart, and their errors. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt_cli.errors import DirectoryError, NmtError
from nmt_cli.files.atomic import MANIFEST
from nmt_cli.files.guarded import GuardedDirectory, parse_json
from nmt_cli.files.languages import is_language
from nmt_cli.files.manifest import Manifest, creates

KIND = "export"


def is_export(path: Path) -> bool:
    """Whether `nmt export` wrote this folder."""
    try:
        return bool(GuardedDirectory(path).read_json(MANIFEST)["kind"] == KIND)
    except (OSError, ValueError, KeyError, TypeError, DirectoryError):
        return False


def check_export(path: Path) -> None:
    """Raise an error if an exported folder contains links or devices.

    The runtime, which also works alone, compares the hash of each file that it uses.
    """
    _files(path).directory.check()


def language_of_export(path: Path) -> str:
    """The target language of an exported model."""
    return languages_of_export(path)[1]


def languages_of_export(path: Path) -> tuple[str, str]:
    """The source and the target language of an exported model."""
    try:
        settings = parse_json(_files(path).read("settings.json"))
        source, target = settings["source_language"], settings["target_language"]
        if not is_language(source) or not is_language(target):
            raise ValueError("source_language, target_language")
    except (ValueError, KeyError, TypeError) as error:
        raise DirectoryError(
            f"{path / 'settings.json'} is damaged", hint="copy the whole folder again"
        ) from error
    return str(source), str(target)


def _files(path: Path) -> Manifest:
    return Manifest(GuardedDirectory(path), KIND, creates(KIND))


@contextmanager
def runtime_errors() -> Iterator[None]:
    """Turn errors of the runtime, which does not know this package, into errors of this package."""
    from nmt_cli.runtime.folder import RuntimeFailure

    try:
        yield
    except RuntimeFailure as error:
        raise NmtError(error.message, hint=error.hint) from error
