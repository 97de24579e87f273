"""Translated files that wait to be fetched: in memory, for a while, under names that cannot be guessed."""

from __future__ import annotations

import secrets
import time
from typing import NamedTuple

_SECONDS = 600.0
_MAX_BYTES = 64 << 20  # of all files


class Download(NamedTuple):
    """A translated file."""

    name: str
    content: bytes
    expires: float


class Downloads:
    """Files by name; the oldest are dropped when there are too many."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._files: dict[str, Download] = {}
        self._max_bytes = max_bytes

    def add(self, name: str, content: bytes, now: float | None = None) -> str:
        """Keep a file; the result is what to ask for."""
        now = time.monotonic() if now is None else now
        self._drop_expired(now)
        while self._files and len(content) + self._bytes() > self._max_bytes:
            del self._files[next(iter(self._files))]
        token = f"{secrets.token_urlsafe(24)}.txt"
        self._files[token] = Download(name, content, now + _SECONDS)
        return token

    def get(self, token: str, now: float | None = None) -> Download | None:
        """A file that is still there."""
        self._drop_expired(time.monotonic() if now is None else now)
        return self._files.get(token)

    def _drop_expired(self, now: float) -> None:
        self._files = {token: file for token, file in self._files.items() if file.expires > now}

    def _bytes(self) -> int:
        return sum(len(file.content) for file in self._files.values())
