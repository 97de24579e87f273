"""metrics.jsonl: one JSON object a line for every figure of training."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from nmt_cli.files.atomic import cannot_write
from nmt_cli.files.durable import read_json_lines, synchronize_folder, write_text

METRICS = "metrics.jsonl"


class MetricsLog:
    """Appends lines; `read` gives back all of them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / METRICS

    def append(self, record: dict[str, Any]) -> None:
        """Add one line; another process sees it at once. JSON has no nan: such a figure is null."""
        record = {key: None if _no_number(value) else value for key, value in record.items()}
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def synchronize(self) -> None:
        """Make all lines durable."""
        if self.path.exists():
            with self.path.open("rb") as file:
                os.fsync(file.fileno())

    def read(self) -> list[dict[str, Any]]:
        """All lines."""
        return read_json_lines(self.path)

    def rewind(self, update: int) -> None:
        """Forget what came after the checkpoint of `update`, which is about to happen again.

        So will the validation that a time limit or an interruption adds at the very end.
        """
        records = self.read()
        kept = [record for record in records if record["update"] <= update and not record.get("final")]
        if kept != records or self.path.exists():
            write_text(self.path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in kept))


def _no_number(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


# scores.jsonl: one JSON object a line for every evaluation of the run.


SCORES = "scores.jsonl"


class ScoresLog:
    """Appends lines that survive a power cut; `read` gives back all of them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SCORES

    def append(self, record: dict[str, Any]) -> None:
        """Add one line in a single write, so that two processes do not mix theirs."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    line = b"\n" + line  # the last writer was killed
                os.write(descriptor, line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            synchronize_folder(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def read(self) -> list[dict[str, Any]]:
        """All lines."""
        return read_json_lines(self.path)
