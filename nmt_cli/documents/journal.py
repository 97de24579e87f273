"""A journal of translated segments, so that an interrupted command can continue where it stopped.

While TARGET is being made, TARGET.partial holds a line with the facts of the job (model, settings), and a line for each
segment that is done: a hash of the segment, and its translation as texts and as numbers of the source's markup.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from nmt_cli.documents.document import Markup, Parts, Segment
from nmt_cli.documents.segment_translation import Result
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import cannot_write


class Journal:
    """Results by segment. Without a target it keeps nothing."""

    def __init__(self, target: Path | None, facts: Mapping[str, Any]) -> None:
        self._path = None
        if target is not None and (target.is_file() or not target.exists()):
            self._path = target.resolve().with_name(f"{target.name}.partial")
        self._facts = json.dumps(facts, sort_keys=True)
        self._known: dict[str, list[Any]] = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if self._path is None:
            return self
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+b")
            self._lock()
            self._read()
        except OSError as error:
            raise cannot_write(self._path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            if not self._known:
                self.remove()
            self._file.close()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, segment: Segment) -> Result | None:
        """The result for a segment, if it is known."""
        value = self._known.get(_key(segment))
        if value is None:
            return None
        markup = [part for part in segment.parts if isinstance(part, Markup)]
        try:
            parts, reason = value
            restored = (
                None
                if parts is None
                else tuple(one if isinstance(one, str) else markup[one] for one in parts)
            )
            return Result(restored, str(reason))
        except (ValueError, IndexError, TypeError):
            return None

    def add(self, results: Mapping[Segment, Result]) -> None:
        """Note results; they survive whatever happens later."""
        if self._file is None or self._path is None or not results:
            return
        try:
            for segment, result in results.items():
                key, value = _key(segment), [_numbered(segment, result.parts), result.reason]
                self._known[key] = value
                self._file.write(json.dumps([key, *value], ensure_ascii=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise cannot_write(self._path, error) from error

    def remove(self) -> None:
        """The job is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _lock(self) -> None:
        assert self._file is not None
        assert self._path is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise UsageError(
                f"{self._path.with_suffix('')} is being written by another process",
                hint="choose another --output",
            ) from error

    def _read(self) -> None:
        assert self._file is not None
        self._file.seek(0)
        head = self._file.readline()
        if head.decode(errors="replace").rstrip("\n") != self._facts:
            self._file.truncate(0)
            self._file.write(self._facts.encode() + b"\n")
            self._file.flush()
            return
        end = self._file.tell()
        for line in self._file:
            try:
                key, *value = json.loads(line)
            except ValueError:  # the last line of a process that was killed
                break
            if not line.endswith(b"\n"):
                break
            self._known[str(key)] = value
            end += len(line)
        self._file.truncate(end)


def _key(segment: Segment) -> str:
    parts = [part if isinstance(part, str) else [part.raw, part.role, part.shown] for part in segment.parts]
    content = json.dumps([parts, segment.syntax, segment.accelerators, segment.hard_breaks])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _numbered(segment: Segment, parts: Parts | None) -> list[str | int] | None:
    """Texts, and for markup its number in the segment; of equal ones the first."""
    if parts is None:
        return None
    markup = [part for part in segment.parts if isinstance(part, Markup)]
    return [part if isinstance(part, str) else markup.index(part) for part in parts]
