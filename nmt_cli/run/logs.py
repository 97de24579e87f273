"""The logs of a run, one JSON object per line: metrics.jsonl from training, scores.jsonl from evaluations."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from nmt_cli.files.atomic import cannot_write, synchronize, write_text

METRICS = "metrics.jsonl"
SCORES = "scores.jsonl"


class MetricsLog:
    """metrics.jsonl: a line for every StepReport and ValidationReport."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / METRICS

    def append(self, record: dict[str, Any]) -> None:
        """Append one line, visible to other processes at once. JSON has no NaN: it becomes null."""
        record = {key: None if _not_finite(value) else value for key, value in record.items()}
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def synchronize(self) -> None:
        """Flush all lines to disk."""
        if self.path.exists():
            with self.path.open("rb") as file:
                os.fsync(file.fileno())

    def read(self) -> list[dict[str, Any]]:
        """All lines."""
        return _read_json_lines(self.path)

    def rewind(self, update: int) -> None:
        """Remove what came after the checkpoint of `update`, since it will be repeated.

        So will the final validations that were added when the run stopped.
        """
        records = self.read()
        kept = [record for record in records if record["update"] <= update and not record.get("final")]
        if kept != records or self.path.exists():
            write_text(self.path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in kept))


class ScoresLog:
    """scores.jsonl: a line for every evaluation, which survives a power failure."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SCORES

    def append(self, record: dict[str, Any]) -> None:
        """Append one line in a single write, so that lines of concurrent processes do not mix."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    line = b"\n" + line  # the last writer was killed in the middle of a line
                os.write(descriptor, line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            synchronize(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def read(self) -> list[dict[str, Any]]:
        """All lines."""
        return _read_json_lines(self.path)


def _read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a log, one per line; a line that a killed process left incomplete is skipped."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def _not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
