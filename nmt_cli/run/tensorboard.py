"""The metrics of a run as TensorBoard event files, in the folder `tensorboard` of the run directory.

metrics.jsonl remains the record. The events are made from it whenever training starts or resumes, so they never
contain an update twice, and a run that began without them gets its whole history.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nmt_cli.errors import UsageError
from nmt_cli.files.guarded import GuardedDirectory, write_all

TENSORBOARD = "tensorboard"

_PREFIX = "events.out.tfevents."  # TensorBoard looks for `tfevents` in the name
_STEP = ("loss", "perplexity", "learning_rate", "gradient_norm", "tokens_per_second")
_VALIDATION = ("loss", "perplexity", "bleu", "chrf")


def is_installed() -> bool:
    """Whether the package `tensorboard` can be imported."""
    return find_spec("tensorboard") is not None


def check_installed() -> None:
    """Raise an error if the package `tensorboard` is missing."""
    if not is_installed():
        raise UsageError("--tensorboard: tensorboard is not installed", hint="pip install tensorboard")


def has_events(folder: Path) -> bool:
    """Whether a run has event files, which resume then continues."""
    return any(name.startswith(_PREFIX) for name in GuardedDirectory(folder).names(TENSORBOARD))


class EventLog:
    """Writes scalars for TensorBoard. Needs the package `tensorboard`, which takes a second to import."""

    def __init__(self, folder: Path, records: Sequence[Mapping[str, Any]] = ()) -> None:
        """Replace the events of the run in `folder` by those of `records`, the lines of metrics.jsonl."""
        self._directory = GuardedDirectory(folder)
        self._directory.make_folder(TENSORBOARD)
        earlier = [name for name in self._directory.names(TENSORBOARD) if name.startswith(_PREFIX)]
        # TensorBoard reads files in the order of their names, so a new one has to come last.
        now = time.time()
        number = max([int(now), *(_number(name) + 1 for name in earlier)])
        self._name = f"{TENSORBOARD}/{_PREFIX}{number:010d}.nmt"
        trained = max((record.get("seconds") or 0.0 for record in records), default=0.0)
        events = _start(now - trained)
        for record in records:
            events += _events(record, now - trained + (record.get("seconds") or 0.0))
        self._directory.write(self._name, _framed(events))
        for name in earlier:
            self._directory.remove(f"{TENSORBOARD}/{name}")

    def append(self, record: Mapping[str, Any]) -> None:
        """Add the scalars of one line of metrics.jsonl."""
        content = _framed(_events(record, time.time()))
        with self._directory.open(self._name, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as descriptor:
            write_all(descriptor, content)


def scalars(record: Mapping[str, Any]) -> dict[str, float]:
    """The values of a line of metrics.jsonl by TensorBoard tag; values that were not finite are left out."""
    names, group = (_STEP, "train") if record["kind"] == "step" else (_VALIDATION, "valid")
    if record.get("averaged"):  # another model than the one of this update
        group = "averaged"
    return {f"{group}/{name}": record[name] for name in names if record.get(name) is not None}


def _number(name: str) -> int:
    digits = name.removeprefix(_PREFIX).partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else 0


def _start(seconds: float) -> list[Any]:
    """The first events; a TensorBoard that is running then drops what it has read from earlier files."""
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog

    return [
        Event(wall_time=seconds, file_version="brain.Event:2"),
        Event(wall_time=seconds, step=0, session_log=SessionLog(status=SessionLog.START)),
    ]


def _events(record: Mapping[str, Any], seconds: float) -> list[Any]:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars(record).items()]
    return [Event(wall_time=seconds, step=record["update"], summary=Summary(value=values))]


def _framed(events: Iterable[Any]) -> bytes:
    """Events as the records of a file, each with its length and checksums."""
    from tensorboard.summary.writer.record_writer import RecordWriter

    content = io.BytesIO()
    writer = RecordWriter(content)
    for event in events:
        writer.write(event.SerializeToString())
    return content.getvalue()
