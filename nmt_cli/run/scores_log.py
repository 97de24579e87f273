"""scores.jsonl: one JSON object a line for every evaluation of the run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nmt_cli.output import cannot_write
from nmt_cli.run.durable import read_json_lines, synchronize_folder

NAME = "scores.jsonl"


class ScoresLog:
    """Appends lines that survive a power cut; `read` gives back all of them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME

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
