"""A journal of translated segments, so that an interrupted command can continue where it stopped.

While TARGET is being made, TARGET.partial holds a line with the facts of the job (model, settings), and a line for each
segment that is done: a hash of the segment, and its translation as texts and as numbers of the source's markup. Every
line begins with a hash of the rest. A file that does not begin like a journal is someone else's, and is not touched.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from nmt_cli.documents.document import Markup, Origin, Parts, Segment
from nmt_cli.documents.segment_translation import Result, Terms
from nmt_cli.errors import OutputError, UsageError
from nmt_cli.files.atomic import cannot_write
from nmt_cli.files.guarded import GuardedDirectory, parse_json, write_all

_MARK = b"nmt-journal "


class Journal:
    """Results by segment. Without a target it keeps nothing."""

    def __init__(self, target: Path | None, facts: Mapping[str, Any]) -> None:
        self._path = None
        if target is not None and (target.is_file() or not target.exists()):
            self._path = target.resolve().with_name(f"{target.name}.partial")
        self._head = _MARK + _line(facts)
        self._known: dict[str, list[Any]] = {}
        self._file: FileIO | None = None

    def __enter__(self) -> Self:
        if self._path is None:
            return self
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = GuardedDirectory(self._path.parent).open_locked(self._path.name)
            self._read()
        except BlockingIOError as error:
            raise UsageError(
                f"{self._path.with_suffix('')} is being written by another process",
                hint="choose another --output",
            ) from error
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
            parts, reason, origin, terms = value
            if origin not in get_args(Origin):
                return None
            restored = (
                None
                if parts is None
                else tuple(one if isinstance(one, str) else markup[one] for one in parts)
            )
            return Result(restored, str(reason), origin, Terms(*map(int, terms)))
        except (ValueError, IndexError, TypeError):
            return None

    def add(self, results: Mapping[Segment, Result]) -> None:
        """Note results; they survive whatever happens later."""
        if self._file is None or self._path is None or not results:
            return
        new = {
            _key(segment): [_numbered(segment, result.parts), *result[1:]]
            for segment, result in results.items()
        }
        try:
            write_all(self._file.fileno(), b"".join(_line([key, *value]) for key, value in new.items()))
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(
                f"cannot write {self._path}: {error.strerror}",
                hint="free some space, then run the same command again to continue",
            ) from error
        self._known |= new

    def remove(self) -> None:
        """The job is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _read(self) -> None:
        assert self._file is not None
        assert self._path is not None
        self._file.seek(0)
        mark = self._file.read(len(_MARK))
        if not _MARK.startswith(mark):
            raise UsageError(
                f"{self._path} was not written by nmt",
                hint="move it away, or choose another --output; it is not touched",
            )
        content = mark + self._file.readall()
        if not content.startswith(self._head):
            self._file.truncate(0)
            write_all(self._file.fileno(), self._head)
            return
        end = len(self._head)
        for line in content[end:].splitlines(keepends=True):
            entry = _entry(line)
            if entry is None:  # the last line of a process that was killed, or damage
                break
            key, *value = entry
            self._known[str(key)] = value
            end += len(line)
        self._file.truncate(end)


def _line(content: Any) -> bytes:
    """A line of the journal, with its hash."""
    data = json.dumps(content, sort_keys=True).encode()
    return f"{_hash(data)} ".encode() + data + b"\n"


def _entry(line: bytes) -> list[Any] | None:
    """What a line holds; None if it is not as it was written."""
    digest, _, data = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or digest != _hash(data).encode():
        return None
    try:
        content = parse_json(data)
    except ValueError:
        return None
    return content if isinstance(content, list) and content else None


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _key(segment: Segment) -> str:
    parts = [part if isinstance(part, str) else [part.raw, part.role, part.shown] for part in segment.parts]
    others = [getattr(segment, field.name) for field in fields(segment) if field.name != "parts"]
    content = json.dumps([parts, *others])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _numbered(segment: Segment, parts: Parts | None) -> list[str | int] | None:
    """Texts, and for markup its number in the segment; of equal ones the first."""
    if parts is None:
        return None
    markup = [part for part in segment.parts if isinstance(part, Markup)]
    return [part if isinstance(part, str) else markup.index(part) for part in parts]
