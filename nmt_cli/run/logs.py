"""The logs of a run, one JSON object per line: metrics.jsonl from training, scores.jsonl from evaluations.

A line that is damaged or was not written by nmt is skipped: a log never keeps a run from being used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nmt_cli.files.guarded import GuardedDirectory, parse_json

METRICS = "metrics.jsonl"
SCORES = "scores.jsonl"

_NUMBERS = ("loss", "perplexity", "score", "bleu", "chrf", "learning_rate", "seconds", "tokens_per_second")


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
        and record["update"] >= 0
        and all(_is_number(record[key]) or record[key] is None for key in needed)
        and all(record.get(key) is None or _is_number(record[key]) for key in _NUMBERS)
        and all(isinstance(record[f"{key}_signature"], str) for key in ("bleu", "chrf") if key in record)
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
