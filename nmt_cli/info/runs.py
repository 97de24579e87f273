"""A run directory at a glance. Every file is checked like anywhere else, but nothing needs torch."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.config import Config
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.files.atomic import MANIFEST, FileFacts
from nmt_cli.files.guarded import GuardedDirectory, parse_json
from nmt_cli.files.languages import text_names
from nmt_cli.files.manifest import Manifest
from nmt_cli.files.verified import is_verified
from nmt_cli.info.machine import disk_use
from nmt_cli.run.facts import KIND, MODEL, RunFacts, parse_settings, read_header
from nmt_cli.run.logs import MetricsLog, ScoresLog, is_score

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
    backbone: str | None  # the network that computes the features of images, if any
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
    """The run directories among `paths`, and those inside of directories that are not runs.

    Next to runs, as in `nmt info runs/*`, files and other directories are skipped.
    """
    found: list[Path] = []
    skipped: list[Path] = []
    for path in paths:
        # Not `exists`, which is false for a link to nowhere.
        if os.path.lexists(path / MANIFEST):
            (found if _kind(path) in (KIND, None) else skipped).append(path)
        elif inside := list(_runs_inside(path)):
            found += inside
        else:
            (skipped if path.exists() else found).append(path)
    for path in skipped if not found else ():
        if path.is_file():
            raise UsageError(
                f"{path} is a file, not a run directory", hint="name directories: nmt info DIR..."
            )
    return found or skipped


def run_info(path: Path) -> RunInfo:
    """Information about one run."""
    files = Manifest.open(path, KIND)
    facts, resolved = parse_settings(files)
    config, records = resolved.config, MetricsLog(path).read()
    best: dict[str, Any] = next(
        (r for r in reversed(records) if r["kind"] == "validation" and r.get("best")), {}
    )
    return RunInfo(
        path=str(path),
        source_lang=facts.source_lang,
        target_lang=facts.target_lang,
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
                "shared" if "shared.model" in files else "separate",
            ]
        ),
        backbone=config.data.backbone if config.model.source == "features" else None,
        parameters=_parameters(files),
        data=facts.data,
        data_sha256=facts.data_sha256,
        training_pairs=_training_pairs(facts),
        validation_pairs=_lines(files, "valid", facts),
        test_pairs=_lines(files, "test", facts),
        update=best.get("update"),
        epoch=best.get("epoch"),
        hours=max((r["seconds"] for r in records if r.get("seconds") is not None), default=0.0) / 3600
        or None,
        validation={
            key: best[key]
            for key in ("bleu", "chrf", "wer", "cer", "perplexity")
            if best.get(key) is not None
        },
        test=list(_test_scores(files)),
        bytes=disk_use(path),
        training_bytes=disk_use(path / "checkpoints") + disk_use(path / "state"),
    )


def _runs_inside(path: Path) -> Iterator[Path]:
    """Runs one or two levels below, as `nmt recipe` and most people arrange them."""
    for pattern in (f"*/{MANIFEST}", f"*/*/{MANIFEST}"):
        for manifest in sorted(path.glob(pattern)):
            if _kind(manifest.parent) == KIND and not manifest.parent.name.startswith("."):
                yield manifest.parent


def _kind(path: Path) -> str | None:
    """What a directory says that it is; None if that cannot be read."""
    try:
        return str(GuardedDirectory(path).read_json(MANIFEST)["kind"])
    except (OSError, ValueError, KeyError, TypeError, DirectoryError):
        return None


def _value(config: Config, name: str) -> Any:
    section, _, key = name.partition(".")
    return config.model_dump(mode="json")[section][key]


def _parameters(files: Manifest) -> int | None:
    """The number of weights, from the header of the model; None if there is no model yet."""
    path = files.directory.path / MODEL

    def count(descriptor: int, facts: FileFacts) -> int:
        # The file may be large, so it is hashed only when it has changed.
        if not is_verified(path, descriptor, facts["sha256"], purpose="weights", check=lambda: None):
            raise files.changed(MODEL)
        header = read_header(descriptor, path, hint="copy the whole directory again")
        return sum(math.prod(tensor.shape) for tensor in header.values())

    return files.use(MODEL, count) if MODEL in files else None


def _training_pairs(facts: RunFacts) -> int | None:
    """From the data directory, if the one that the run was trained on is still there."""
    try:
        files = Manifest(GuardedDirectory(Path(facts.data)), "data", "")
        if files.sha256 != facts.data_sha256:
            return None
        corpora: list[dict[str, int]] = parse_json(files.read("corpora.json"))["corpora"]
        return int(sum(corpus["stop"] - corpus["start"] for corpus in corpora))
    except (OSError, ValueError, KeyError, TypeError, DirectoryError):
        return None


def _lines(files: Manifest, split: str, facts: RunFacts) -> int:
    """The number of lines of the validation or test set."""
    name = text_names(split, facts.source_lang, facts.target_lang)[-1]
    return files.read(name).count(b"\n") if name in files else 0


def _test_scores(files: Manifest) -> Iterator[TestScore]:
    """The latest score for each test set, metric and signature, of this model only."""
    found: dict[tuple[str, str, str], TestScore] = {}
    model = files.files[MODEL]["sha256"] if MODEL in files else None
    for record in ScoresLog(files.directory.path).read():
        if is_score(record) and record.get("model_sha256") == model:
            for score in record["scores"]:
                row = TestScore(record["test_set"], *(score[key] for key in _SCORE))
                found[row.test_set, row.metric, row.signature] = row
    yield from found.values()
