"""`nmt train`: from a data directory to a run directory."""

import os
import re
import signal
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from nmt_cli.cli.boundary import Terminated
from nmt_cli.cli.display.console import Verbosity, messages, results
from nmt_cli.cli.display.training import TrainingDisplay, duration
from nmt_cli.cli.options.shared import (
    OUTPUT,
    DeviceOption,
    OverwriteOption,
    PresetOption,
    QuietOption,
    SetOption,
    ThreadsOption,
    VerboseOption,
    assignments,
    use_of,
    verbosity,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.config import Resolved
    from nmt_cli.training import Machine, Trainer

RUN = "Run"


def train(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA_DIR", help="What `nmt preprocess` wrote.", show_default=False),
    ] = None,
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="TOML file of settings.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="RUN_DIR", help="Run directory to write.", rich_help_panel=OUTPUT
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", metavar="RUN_DIR", help="Go on with this run, bit for bit.", rich_help_panel=RUN
        ),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            "--init", metavar="RUN_DIR", help="Begin with the weights of this run.", rich_help_panel=RUN
        ),
    ] = None,
    preset: PresetOption = None,
    settings: SetOption = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            "--time-limit",
            metavar="TIME",
            help="End with the best model after 45m, 1h30m or 90s.",
            rich_help_panel=RUN,
        ),
    ] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    compiled: Annotated[
        bool,
        typer.Option(
            "--compile", help="Use torch.compile: minutes to begin with; meant for GPUs.", rich_help_panel=RUN
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show settings, size, memory and speed; train nothing.", rich_help_panel=RUN
        ),
    ] = False,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Train a model: [cyan]nmt train DATA_DIR --out RUN_DIR[/], or [cyan]nmt train --resume RUN_DIR[/].

    Ctrl-C saves and ends; --resume goes on as if nothing had happened. Several processes or machines:
    [cyan]torchrun --nproc-per-node N -m nmt_cli train …[/]
    """
    limit = parse_duration(time_limit) if time_limit is not None else None
    level = verbosity(quiet=quiet, verbose=verbose)
    if os.environ.get("RANK", "0") != "0":
        level = Verbosity.QUIET  # one process speaks for all

    from nmt_cli.config import resolve
    from nmt_cli.data.directory import preset_for
    from nmt_cli.training import Machine, start
    from nmt_cli.training import resume as go_on

    if resume is not None and config is None and data is not None and data.suffix == ".toml":
        data, config = None, data  # a resumed run knows its data
    is_new = data is not None and resume is None and init is None  # other runs bring their preset
    resolved = resolve(
        config, assignments(settings, preset), preset=preset_for(data) if data and is_new else None
    )
    machine = Machine(device=device, threads=threads, compiled=compiled, time_limit=limit)
    if resume is not None:
        _refuse(resume_with={"--out": out, "--init": init, "--overwrite": overwrite, "--dry-run": dry_run})
        _run(go_on(resume, resolved, data=data, machine=machine), resume, level, limit)
    elif data is None:
        raise UsageError(
            "there is no data", hint="nmt train DATA_DIR --out RUN_DIR, or nmt train --resume RUN_DIR"
        )
    elif dry_run:
        _show_estimate(data, resolved, init, machine)
    elif out is None:
        raise UsageError("there is no run directory", hint="say where to write: --out RUN_DIR")
    else:
        begun = start(data, out, resolved, init=init, overwrite=overwrite, machine=machine)
        _run(begun, out, level, limit)


def parse_duration(text: str) -> float:
    """Seconds of 45m, 1h30m, 90s, 1.5h or 3600."""
    match = re.fullmatch(
        r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?", text.strip().lower()
    )
    if not match or not any(match.groups()):
        raise typer.BadParameter(f"{text!r} is no time; write 45m, 1h30m or 90s", param_hint="--time-limit")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def _refuse(resume_with: dict[str, Any]) -> None:
    given = [name for name, value in resume_with.items() if value]
    if given:
        raise UsageError(
            f"--resume contradicts {' and '.join(given)}",
            hint="a resumed run goes on where it is, with its settings",
        )


def _run(made: "AbstractContextManager[Trainer]", path: Path, level: Verbosity, limit: float | None) -> None:
    from nmt_cli.training import EndReport

    with made as trainer:
        display = TrainingDisplay(level, metric=trainer.metric, time_limit=limit)
        with Signals(trainer, display) as signals, display:
            try:
                for report in trainer.run():
                    display.show(report)
            except (KeyboardInterrupt, Terminated):
                display.notice(f"the last checkpoint is intact; go on with: nmt train --resume {path}")
                raise
        assert isinstance(report, EndReport)
    if report.interrupted:
        if level > Verbosity.QUIET:
            messages().print(f"stopped after update {report.update:,}; go on with: nmt train --resume {path}")
        raise typer.Exit(128 + signals.received)
    if level == Verbosity.QUIET:
        return
    if not report.update:
        messages().print(f"there is no model yet; go on with: nmt train --resume {path}")
    else:
        messages().print(f"wrote {path}; {use_of(path)}")


class Signals:
    """The first Ctrl-C or SIGTERM asks for an orderly end, the second one ends at once."""

    def __init__(self, trainer: "Trainer", display: TrainingDisplay) -> None:
        self._trainer, self._display = trainer, display
        self._first = 0.0
        # torchrun passes on a Ctrl-C that the terminal has sent to us already.
        self._grace = 1.0 if "RANK" in os.environ else 0.0
        self.received = int(signal.SIGINT)
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if not self._first:
            self._first, self.received = time.monotonic(), number
            self._trainer.stop()
            self._display.notice("finishing the update and saving; again to stop at once")
        elif time.monotonic() - self._first > self._grace:
            raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _show_estimate(data: Path, resolved: "Resolved", init: Path | None, machine: "Machine") -> None:
    from nmt_cli.config.reference import to_toml
    from nmt_cli.training.dry_run import estimate_run

    found = estimate_run(data, resolved, init=init, machine=machine)
    typer.echo(to_toml(found.resolved), nl=False)
    megabytes = 1e-6
    rows = [
        ("parameters", f"{found.parameters:,}"),
        ("training pairs", f"{found.pairs:,}"),
        ("updates an epoch", f"{found.updates_per_epoch:,}"),
        ("device", f"{found.device}, {found.precision}"),
        ("memory of weights and optimizer", f"{found.weights_bytes * megabytes:,.0f} MB"),
        ("memory of the largest batch", f"{found.activations_bytes * megabytes:,.0f} MB"),
        ("time of an update", f"{found.seconds_per_update:.3f} s"),
        ("time of an epoch", f"{duration(found.seconds_per_epoch)}, validation left out"),
    ]
    for name, value in rows:
        results().print(f"# {name:32} {value}")
