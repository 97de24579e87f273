"""`nmt average`: the average of several models as a new run directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from torch import Tensor

from nmt_cli.config.model import TRAINING_ONLY
from nmt_cli.errors import UsageError
from nmt_cli.files.manifest import write_manifest
from nmt_cli.run.checkpoint import Checkpoints
from nmt_cli.run.directory import RunDirectory, listed, new_run
from nmt_cli.run.facts import KIND, MODEL
from nmt_cli.run.model_card import purpose
from nmt_cli.run.weights import mean_weights, tensor_bytes, weights_of


def average(
    runs: Sequence[Path], out: Path, *, last: int | None = None, overwrite: bool = False
) -> list[str]:
    """Write the average of several runs, or of the checkpoints of one run, to `out`.

    `last`: only the last N checkpoints. Returns the paths of the averaged weights.
    """
    opened = [RunDirectory.open(path) for path in runs]
    first = opened[0]
    for other in opened[1:]:
        if other.vocabularies != first.vocabularies:
            raise UsageError(
                f"{other.path} and {first.path} have different vocabularies",
                hint="average runs on the same data",
            )
        if different := _different_settings(first, other):
            raise UsageError(
                f"{other.path} and {first.path} are different models: {', '.join(different)}",
                hint="average runs of the same model, ideally initialized from the same weights",
            )
    names, many = _checkpoints(first, last) if len(opened) == 1 else _models(opened)
    content = tensor_bytes(mean_weights(many))
    title, use = purpose(first)
    with new_run(out, overwrite=overwrite) as folder:
        for name in first.files.files:
            if name != MODEL:
                (folder / name).write_bytes(first.files.read(name))
        (folder / MODEL).write_bytes(content)
        (folder / "README.md").write_text(
            f"{title}\n\n{use}.\n\nThe average of these weights:\n\n"
            + "".join(f"- {name}\n" for name in names),
            "utf-8",
        )
        write_manifest(folder, KIND, listed(folder))
    return names


def _different_settings(first: RunDirectory, other: RunDirectory) -> list[str]:
    """The settings in which two models differ, apart from those that only matter in training."""
    model, settings = other.config.model, first.config.model
    names = [name for name in type(model).model_fields if name not in TRAINING_ONLY]
    return [
        f"model.{name} = {getattr(model, name)} instead of {getattr(settings, name)}"
        for name in names
        if getattr(model, name) != getattr(settings, name)
    ]


def _checkpoints(run: RunDirectory, last: int | None) -> tuple[list[str], Iterator[dict[str, Tensor]]]:
    checkpoints = Checkpoints(run.path)
    updates = checkpoints.updates()[-(last or 0) :]
    if len(updates) < 2:
        raise UsageError(
            f"{run.path} has fewer than two checkpoints to average",
            hint="train with a larger train.average_best, or give several runs",
        )
    names = [str(checkpoints.weights_path(update)) for update in updates]
    return names, (checkpoints.load_weights(update) for update in updates)


def _models(runs: Sequence[RunDirectory]) -> tuple[list[str], Iterator[dict[str, Tensor]]]:
    return [str(run.path / MODEL) for run in runs], (weights_of(run.load_model()) for run in runs)
