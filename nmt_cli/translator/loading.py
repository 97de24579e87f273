"""From run directories to models that belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from nmt_cli.config import SearchConfig
from nmt_cli.errors import UsageError
from nmt_cli.model import Seq2Seq
from nmt_cli.run import RunDirectory


class Loaded(NamedTuple):
    """Models with one vocabulary, and the run that speaks for them."""

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
) -> Loaded:
    """Open the runs, check that they fit together, and load their weights, whose hashes are checked.

    `search`: settings instead of those of the first run, or some of them by name. `language_model`: which kind of
    model is wanted; the other kind is refused.
    """
    if not paths:
        raise UsageError("there is no run directory", hint="name one that `nmt train` wrote, or several")
    runs = [RunDirectory.open(path) for path in paths]
    for run in runs:
        run.check_kind(language_model=language_model)
    first = runs[0]
    for other in runs[1:]:
        if other.vocabularies != first.vocabularies:
            raise UsageError(
                f"{other.path} and {first.path} have different vocabularies",
                hint="an ensemble is of runs on the same data",
            )
        if other.normalization != first.normalization:
            raise UsageError(
                f"{other.path} and {first.path} normalize text differently",
                hint="an ensemble is of runs with the same data.lowercase and data.normalization",
            )
    if not isinstance(search, SearchConfig):
        search = first.config.search.changed(search or {})
    attends = any(run.config.model.attention != "none" for run in runs)
    return Loaded(first, [run.load_model(device) for run in runs], search, attends)
