"""`train`: a whole training run in one call, for Python programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nmt_cli.config import Resolved, resolve
from nmt_cli.data.directory import preset_for
from nmt_cli.training.reports import EndReport, Report
from nmt_cli.training.setup import Machine, start


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What to train on, where to write, and with which settings."""

    data: Path  # a data directory
    out: Path  # the run directory to create
    settings: Resolved | None = None  # None: the defaults for this data
    init: Path | None = None  # a run whose weights to start from
    overwrite: bool = False
    machine: Machine = field(default_factory=Machine)


def train(request: TrainRequest, report: Callable[[Report], None] = lambda report: None) -> EndReport:
    """Train until a limit or early stopping ends it; `report` receives everything the trainer yields."""
    settings = request.settings or resolve(preset=preset_for(request.data))
    last: Report | None = None
    with start(
        request.data,
        request.out,
        settings,
        init=request.init,
        overwrite=request.overwrite,
        machine=request.machine,
    ) as trainer:
        for last in trainer.run():
            report(last)
    assert isinstance(last, EndReport)
    return last
