"""A run directory at a glance, read from its small files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.config import Config, load_resolved
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.files.atomic import MANIFEST
from nmt_cli.files.guarded import JSON_LIMIT, GuardedDirectory
from nmt_cli.files.manifest import check_manifest
from nmt_cli.info.machine import disk_use
from nmt_cli.run.logs import MetricsLog, ScoresLog

_MODEL = "model.safetensors"
_SCORE = ("metric", "score", "interval", "signature")


@dataclass(frozen=True)
class RunInfo:
    """Facts about a run; None is unknown."""

    path: str
    source_lang: str  # "" for a language model
    target_lang: str
    preset: str
    settings: dict[str, Any]  # those that were set by file or `--set`
    vocabulary: str
    parameters: int | None  # None: there is no model yet
    data: str
    data_sha256: str
    training_pairs: int | None  # None: the data directory is not there any more
    validation_pairs: int
    test_pairs: int
    update: int | None  # of the model
    epoch: int | None
    hours: float | None
    validation: dict[str, float]  # scores of the model on the validation set
    test: list[TestScore]
    bytes: int
    training_bytes: int  # checkpoints and state: needed to resume, not to translate


@dataclass(frozen=True)
class TestScore:
    """A score from `nmt evaluate`."""

    test_set: str
    metric: str
    score: float
    interval: float | None
    signature: str


def find_runs(paths: Iterable[Path]) -> list[Path]:
    """The run directories among `paths`, and those inside of directories that are not runs."""
    found: list[Path] = []
    for path in paths:
        if path.is_file():
            raise UsageError(
                f"{path} is a file, not a run directory", hint="name directories: nmt info DIR..."
            )
        inside = [] if (path / MANIFEST).exists() else list(_runs_inside(path))
        if not inside:
            check_manifest(path, "run")
        found += inside or [path]
    return found


def run_info(path: Path) -> RunInfo:
    """Information about one run."""
    check_manifest(path, "run")
    try:
        directory = GuardedDirectory(path)
        facts = directory.read_json("run.json")
        resolved = load_resolved(directory.read("config.json", limit=JSON_LIMIT))
        model_sha256 = directory.read_json(MANIFEST)["files"].get(_MODEL, {}).get("sha256")
        languages = facts["source_lang"], facts["target_lang"]
        data, data_sha256 = facts["data"], facts["data_sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DirectoryError(
            f"the settings in {path} cannot be read: {error}", hint="copy the whole directory again"
        ) from error
    config, records = resolved.config, MetricsLog(path).read()
    best: dict[str, Any] = next(
        (r for r in reversed(records) if r.get("kind") == "validation" and r.get("best")), {}
    )
    return RunInfo(
        path=str(path),
        source_lang=languages[0],
        target_lang=languages[1],
        preset=config.model.preset,
        settings={
            name: _value(config, name)
            for name, origin in resolved.provenance.items()
            if not origin.startswith(("default", "preset", "data")) and name != "model.preset"
        },
        vocabulary=" ".join(
            [
                *([f"{config.vocabulary.size:,}"] if config.vocabulary.size is not None else []),
                config.vocabulary.kind,
                "shared" if (path / "shared.model").exists() else "separate",
            ]
        ),
        parameters=_parameters(path / _MODEL),
        data=data,
        data_sha256=data_sha256,
        training_pairs=_training_pairs(Path(data)),
        validation_pairs=_lines(path, "valid", languages[1]),
        test_pairs=_lines(path, "test", languages[1]),
        update=best.get("update"),
        epoch=best.get("epoch"),
        hours=max((r["seconds"] for r in records if r.get("kind") == "step"), default=0.0) / 3600 or None,
        validation={key: best[key] for key in ("bleu", "chrf", "perplexity") if best.get(key) is not None},
        test=list(_test_scores(path, model_sha256)),
        bytes=disk_use(path),
        training_bytes=disk_use(path / "checkpoints") + disk_use(path / "state"),
    )


def _runs_inside(path: Path) -> Iterator[Path]:
    """Runs one or two levels below, as `nmt recipe` and most people arrange them."""
    for pattern in (f"*/{MANIFEST}", f"*/*/{MANIFEST}"):
        for manifest in sorted(path.glob(pattern)):
            try:
                kind = json.loads(manifest.read_text("utf-8"))["kind"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if kind == "run" and not manifest.parent.name.startswith("."):
                yield manifest.parent


def _value(config: Config, name: str) -> Any:
    section, _, key = name.partition(".")
    return config.model_dump(mode="json")[section][key]


def _parameters(path: Path) -> int | None:
    """The number of weights, from the header of a safetensors file."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        shapes: list[list[int]] = [
            tensor["shape"] for name, tensor in header.items() if name != "__metadata__"
        ]
        return sum(map(math.prod, shapes))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, MemoryError) as error:
        raise DirectoryError(
            f"{path} is not a safetensors file", hint="copy the whole directory again"
        ) from error


def _training_pairs(data: Path) -> int | None:
    try:
        corpora: list[dict[str, int]] = json.loads((data / "corpora.json").read_text("utf-8"))["corpora"]
        return sum(corpus["stop"] - corpus["start"] for corpus in corpora)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _lines(path: Path, split: str, language: str) -> int:
    for name in (f"{split}.{language}", f"{split}.target.{language}"):
        if (path / name).exists():
            return (path / name).read_bytes().count(b"\n")
    return 0


def _test_scores(path: Path, model_sha256: str | None) -> Iterator[TestScore]:
    """The latest score for each test set and signature, of this model only."""
    found: dict[tuple[str, str], TestScore] = {}
    for record in ScoresLog(path).read():
        if record.get("model_sha256") == model_sha256:
            for score in record.get("scores", ()):
                if score.get("score") is not None:
                    row = TestScore(record["test_set"], *(score[key] for key in _SCORE))
                    found[row.test_set, row.signature] = row
    yield from found.values()
