"""The logs of a run, one JSON object per line: metrics.jsonl from training, scores.jsonl from evaluations.

A line that is damaged or was not written by nmt is skipped: a log never keeps a run from being used.

The metrics can also be written as TensorBoard event files, in the folder `tensorboard`. metrics.jsonl remains the
record: the events are made from it whenever training starts or resumes, so they never contain an update twice, and a
run that began without them gets its whole history.
"""

from __future__ import annotations

import io
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import cannot_write
from nmt_cli.files.guarded import GuardedDirectory, parse_json, write_all

METRICS = "metrics.jsonl"
SCORES = "scores.jsonl"
TENSORBOARD = "tensorboard"

_MAX_UPDATE = 2**53
_PREFIX = "events.out.tfevents."  # TensorBoard looks for `tfevents` in the name
_STEP = ("loss", "perplexity", "learning_rate", "gradient_norm", "tokens_per_second")
_SCORES = ("bleu", "chrf", "wer", "cer")
_VALIDATION = ("loss", "perplexity", *_SCORES)
_NUMBERS = {*_STEP, *_VALIDATION, "score", "seconds"}


class MetricsLog:
    """metrics.jsonl: a line for every StepReport and ValidationReport."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / METRICS
        self._directory = GuardedDirectory(folder)

    def append(self, record: dict[str, Any]) -> None:
        """Append one line, visible to other processes at once. JSON has no NaN: it becomes null."""
        record = {key: None if _not_finite(value) else value for key, value in record.items()}
        self._directory.append(METRICS, _line(record))

    def synchronize(self) -> None:
        """Flush all lines to disk."""
        self._directory.synchronize(METRICS)

    def read(self) -> list[dict[str, Any]]:
        """All lines."""
        return _read_lines(self._directory, METRICS, _is_metric)

    def rewind(self, update: int) -> None:
        """Remove what came after the checkpoint of `update`, since it will be repeated.

        So will the final validations that were added when the run stopped.
        """
        kept = [record for record in self.read() if record["update"] <= update and not record.get("final")]
        if self._directory.exists(METRICS):
            self._directory.write(METRICS, b"".join(map(_line, kept)))


class ScoresLog:
    """scores.jsonl: a line for every evaluation, which survives a power failure."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SCORES
        self._directory = GuardedDirectory(folder)

    def append(self, record: dict[str, Any]) -> None:
        """Append one line in a single write, so that lines of concurrent processes do not mix."""
        self._directory.append(SCORES, _line(record), durable=True)

    def read(self) -> list[dict[str, Any]]:
        """All lines."""
        return _read_lines(self._directory, SCORES, lambda record: isinstance(record, dict))


def _line(record: Mapping[str, Any]) -> bytes:
    # A lone surrogate, as in a file name that is not UTF-8, is written as its escape.
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode(errors="backslashreplace") + b"\n"


def _read_lines(
    directory: GuardedDirectory, name: str, is_record: Callable[[Any], bool]
) -> list[dict[str, Any]]:
    """The records of a log, one per line; a line that a killed process left incomplete is skipped."""
    if not directory.exists(name):
        return []
    records = []
    for line in directory.read(name).split(b"\n"):
        try:
            record = parse_json(line)
            if is_record(record):
                records.append(record)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue
    return records


def _is_metric(record: Any) -> bool:
    """Whether a line has what curves, model card and resume need; false or an exception if not."""
    needed = ("loss", "perplexity", "score") if record["kind"] == "validation" else ("loss", "perplexity")
    averaged = record.get("averaged", [])
    return (
        record["kind"] in ("step", "validation")
        and type(record["update"]) is int
        and 0 <= record["update"] <= _MAX_UPDATE
        and all(_is_number(record[key]) or record[key] is None for key in needed)
        and all(record.get(key) is None or _is_number(record[key]) for key in _NUMBERS)
        and all(isinstance(record[f"{key}_signature"], str) for key in _SCORES if key in record)
        and all(type(update) is int for update in averaged)
        and type(record.get("epoch", 0)) is int
    )


def is_score(record: Mapping[str, Any]) -> bool:
    """Whether a line of scores.jsonl has what the model card needs."""
    try:
        return _has_scores(record)
    except (KeyError, TypeError, IndexError, AttributeError):
        return False


def _has_scores(record: Mapping[str, Any]) -> bool:
    texts = (record["test_set"], record["references"][0]["sha256"], record["date"])
    return (
        all(isinstance(text, str) for text in texts)
        and type(record["sentences"]) is int
        and isinstance(record["search"], dict)
        and all(
            isinstance(score["metric"], str)
            and isinstance(score["signature"], str)
            and _is_number(score["score"])
            and (score["interval"] is None or _is_number(score["interval"]))
            for score in record["scores"]
        )
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def has_tensorboard() -> bool:
    """Whether the package `tensorboard` can be imported."""
    return find_spec("tensorboard") is not None


def check_tensorboard() -> None:
    """Raise an error if the package `tensorboard` is missing."""
    if not has_tensorboard():
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
        try:
            with self._directory.open(self._name, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as descriptor:
                write_all(descriptor, content)
        except OSError as error:
            raise cannot_write(self._directory.path / self._name, error) from error


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
