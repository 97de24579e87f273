"""Exported folders where a run directory is expected: telling them apart, and their errors. Imports nothing heavy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt_cli.errors import NmtError

KIND = "export"


def is_export(path: Path) -> bool:
    """Whether `nmt export` wrote this folder."""
    try:
        return bool(json.loads((path / "manifest.json").read_text("utf-8"))["kind"] == KIND)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def language_of_export(path: Path) -> str | None:
    """The target language of an exported model."""
    try:
        return str(json.loads((path / "settings.json").read_text("utf-8"))["target_language"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def runtime_errors() -> Iterator[None]:
    """Turn errors of the runtime, which does not know this package, into errors of this package."""
    from nmt_cli.runtime.search import RuntimeFailure

    try:
        yield
    except RuntimeFailure as error:
        raise NmtError(error.message, hint=error.hint) from error
