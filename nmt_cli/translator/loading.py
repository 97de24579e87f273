"""From run directories to the models of a translator: one, or an ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from nmt_cli.config import SearchConfig
from nmt_cli.errors import UsageError
from nmt_cli.model import Seq2Seq
from nmt_cli.run import RunDirectory
from nmt_cli.run.directory import Reads


class LoadedModels(NamedTuple):
    """Models that share their vocabularies, and the run whose settings apply."""

    run: RunDirectory  # the first
    models: list[Seq2Seq]
    search: SearchConfig
    has_attention: bool


def load_models(
    paths: Sequence[Path],
    *,
    device: torch.device,
    search: SearchConfig | Mapping[str, Any] | None,
    language_model: bool = False,
    reads: Reads = "text",
) -> LoadedModels:
    """Open the runs, check that they are compatible, and load their weights, verifying their hashes.

    search           settings to use instead of those of the first run, or some of them by name
    language_model   whether the runs must be language models or translation models
    reads            what their sources must be
    """
    if not paths:
        raise UsageError("no run directory given", hint="name one or more directories that `nmt train` wrote")
    runs = [RunDirectory.open(path) for path in paths]
    for run in runs:
        run.check_kind(language_model=language_model, reads=reads)
    first = runs[0]
    for other in runs[1:]:
        if other.vocabularies != first.vocabularies:
            raise UsageError(
                f"{other.path} and {first.path} have different vocabularies",
                hint="the runs of an ensemble must be trained on the same data directory",
            )
        if other.normalization != first.normalization:
            raise UsageError(
                f"{other.path} and {first.path} normalize text differently",
                hint="the runs of an ensemble need the same data.lowercase, data.normalization and data.placeholders",
            )
        if other.config.model.reverse_target != first.config.model.reverse_target:
            raise UsageError(
                f"only one of {other.path} and {first.path} writes from right to left (model.reverse_target)",
                hint="combine the two with `nmt rerank`, not as an ensemble",
            )
    if not isinstance(search, SearchConfig):
        search = first.config.search.changed(search or {})
    has_attention = any(run.config.model.attention != "none" for run in runs)
    return LoadedModels(first, [run.load_model(device) for run in runs], search, has_attention)
