"""How documents are read and written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DocumentOptions:
    """What a format may need to know."""

    redo: bool = False  # also entries that were translated by nmt, and not changed since
    fuzzy: bool = True  # mark translations as unreviewed, where a format can
    target_language: str | None = None
    line_length: int = 42  # of subtitles
