"""`nmt train`: from a data directory to a run directory."""

import errno
import os
import re
import shlex
import signal
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from nmt_cli.cli.boundary import Terminated, ending_signals, leave_terminal
from nmt_cli.cli.display.console import Verbosity, messages, results
from nmt_cli.cli.display.training import TrainingDisplay, duration, next_step
from nmt_cli.cli.options import shared, training
from nmt_cli.cli.options.checks import check_data, check_runs
from nmt_cli.config.defaults import DEVICE, PROCESS_TIMEOUT
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import check_new_directory
from nmt_cli.files.manifest import run_refusal
from nmt_cli.info.hardware import Hardware, parse_hardware, update_time
from nmt_cli.run.logs import check_tensorboard

if TYPE_CHECKING:
    from nmt_cli.config import Resolved
    from nmt_cli.training import Machine, Report, Trainer
    from nmt_cli.training.dry_run import RunEstimate

USAGE = "nmt train DATA_DIR --out RUN_DIR, or nmt train --resume RUN_DIR"


def train(
    data: training.Data = None,
    config_argument: training.ConfigArgument = None,
    out: training.Out = None,
    resume: training.Resume = None,
    auto_resume: training.AutoResume = False,
    init: training.Init = None,
    preset: shared.Preset = None,
    config: shared.Config = None,
    settings: shared.Set = None,
    time_limit: training.TimeLimit = None,
    process_timeout: training.ProcessTimeout = None,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    compiled: training.Compile = False,
    tensorboard: training.TensorBoard = False,
    dry_run: training.DryRun = False,
    on: training.On = None,
    overwrite: shared.Overwrite = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Train a model, or resume training.

    [cyan]nmt train DATA_DIR --out RUN_DIR[/]
    [cyan]nmt train --resume RUN_DIR[/]

    Ctrl-C saves a checkpoint and stops; --resume continues from there.
    Several processes or machines, restarted after failures:
    [cyan]torchrun --nproc-per-node N --max-restarts 3 -m nmt_cli train … --auto-resume[/]
    """
    limit = parse_duration(time_limit, "--time-limit") if time_limit is not None else None
    patience = parse_duration(process_timeout, "--process-timeout") if process_timeout else PROCESS_TIMEOUT
    level = shared.verbosity(quiet=quiet, verbose=verbose)
    if os.environ.get("RANK", "0") != "0":
        level = Verbosity.QUIET  # only the first process prints
    if config is not None and config_argument is not None:
        raise UsageError("CONFIG and --config contradict each other", hint="give one TOML file")
    config = config or config_argument
    if resume is not None and config is None and data is not None and data.suffix == ".toml":
        data, config = None, data  # a resumed run knows its data
    if on is not None and not dry_run:
        raise UsageError(
            "--on needs --dry-run", hint="it estimates what a run would take; nothing is trained there"
        )
    hardware = None if on is None else parse_hardware(on)
    _check_resume(resume, auto=auto_resume, out=out, init=init, overwrite=overwrite, dry_run=dry_run)
    _check(data, out, resume, init, dry_run=dry_run)
    if (
        out is not None and not (auto_resume and out.exists()) and os.environ.get("RANK", "0") == "0"
    ):  # the first process creates it
        check_new_directory(out, overwrite=overwrite, refusal=run_refusal)
    if tensorboard:
        check_tensorboard()
    resolved = _resolve(data if resume is None and init is None else None, config, settings, preset)

    from nmt_cli.training import Machine, start, start_or_resume
    from nmt_cli.training import resume as resume_run

    machine = Machine(
        device=device,
        threads=threads,
        compiled=compiled,
        time_limit=limit,
        tensorboard=tensorboard,
        process_timeout=patience,
    )
    if resume is not None:
        _run(resume_run(resume, resolved, data=data, machine=machine), resume, level, machine)
    elif dry_run and data is not None:
        _show_estimate(data, resolved, init, machine, level, hardware)
    elif auto_resume and data is not None and out is not None:
        _run(start_or_resume(data, out, resolved, init=init, machine=machine), out, level, machine)
    elif data is not None and out is not None:
        started = start(data, out, resolved, init=init, overwrite=overwrite, machine=machine)
        _run(started, out, level, machine)


def _check(
    data: Path | None, out: Path | None, resume: Path | None, init: Path | None, *, dry_run: bool
) -> None:
    if resume is None and data is None:
        raise UsageError("no data directory given", hint=USAGE)
    if resume is None and out is None and not dry_run:
        raise UsageError("no run directory given", hint="choose where to write the model: --out RUN_DIR")
    if data is not None:
        check_data(data)
    check_runs([run for run in (resume, init) if run is not None], text_hint=USAGE)


def _resolve(
    new_data: Path | None, config: Path | None, settings: list[str] | None, preset: str | None
) -> "Resolved":
    """All layers of settings. A new run takes its default preset from the data; other runs have one already."""
    from nmt_cli.config import resolve
    from nmt_cli.data.directory import preset_for

    return resolve(
        config, shared.assignments(settings, preset), preset=preset_for(new_data) if new_data else None
    )


def parse_duration(text: str, option: str) -> float:
    """The seconds in 45m, 1h30m, 90s, 1.5h or 3600."""
    match = re.fullmatch(
        r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?", text.strip().lower()
    )
    if not match or not any(match.groups()):
        raise UsageError(f"{option} {text}: not a duration", hint="write 45m, 1h30m or 90s")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def _check_resume(
    resume: Path | None, *, auto: bool, out: Path | None, init: Path | None, overwrite: bool, dry_run: bool
) -> None:
    contradictory: dict[str, object] = {"--overwrite": overwrite, "--dry-run": dry_run}
    if resume is not None:
        option, contradictory = (
            "--resume",
            {"--out": out, "--auto-resume": auto, "--init": init, **contradictory},
        )
    elif auto:
        option = "--auto-resume"
    else:
        return
    given = [name for name, value in contradictory.items() if value]
    if given:
        raise UsageError(
            f"{option} cannot be used together with {' and '.join(given)}",
            hint="a resumed run continues in its own directory, with its own settings",
        )


def _resume_command(path: Path, machine: "Machine") -> str:
    """How to resume a run on the same machine; the number of threads is stored in the run."""
    device = ["--device", machine.device] if machine.device != DEVICE else []
    return shlex.join(["nmt", "train", "--resume", str(path), *device, *["--compile"] * machine.compiled])


def _run(made: "AbstractContextManager[Trainer]", path: Path, level: Verbosity, machine: "Machine") -> None:
    from nmt_cli.training import EndReport

    command = _resume_command(path, machine)
    with made as trainer:
        display = TrainingDisplay(level, metric=trainer.metric, time_limit=machine.time_limit)
        with Signals(trainer, display) as signals, display:
            try:
                for report in trainer.run():
                    signals.show(report)
            except (KeyboardInterrupt, Terminated):
                display.note(f"the last checkpoint is intact; resume with: {command}")
                raise
        assert isinstance(report, EndReport)
    if report.interrupted:
        if level > Verbosity.QUIET:
            messages().print(f"stopped after update {report.update:,}; resume with: {command}")
        raise typer.Exit(128 + signals.received)
    if level == Verbosity.QUIET:
        return
    if not report.update:
        messages().print(f"there is no model yet; resume with: {command}")
    else:
        messages().print(f"wrote {path}; {next_step(path)}")


class Signals:
    """The first Ctrl-C, SIGTERM or SIGHUP stops training after the current update, the second one at once."""

    def __init__(self, trainer: "Trainer", display: TrainingDisplay) -> None:
        self._trainer, self._display = trainer, display
        self._first = 0.0
        # torchrun forwards a Ctrl-C that the terminal has already sent to this process.
        self._grace = 1.0 if "RANK" in os.environ else 0.0
        self.received = int(signal.SIGINT)
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, *ending_signals()):
            self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def show(self, report: "Report") -> None:
        """Display a report. A write to a lost terminal may fail before its signal arrives."""
        try:
            self._display.show(report)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self._receive(signal.SIGHUP, None)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            leave_terminal()
            if self._first:  # the kernel and the shell both send one
                return
        if not self._first:
            self._first, self.received = time.monotonic(), number
            self._trainer.stop()
            self._display.note("finishing this update and saving; press Ctrl-C again to stop at once")
        elif time.monotonic() - self._first > self._grace:
            raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _show_estimate(
    data: Path,
    resolved: "Resolved",
    init: Path | None,
    machine: "Machine",
    level: Verbosity,
    hardware: Hardware | None,
) -> None:
    """Settings that differ from the defaults (with --verbose: all of them), and the cost of training."""
    from nmt_cli.config.layers import to_toml
    from nmt_cli.training.dry_run import estimate_run

    found = estimate_run(data, resolved, init=init, machine=machine, count=hardware is not None)
    typer.echo(to_toml(found.resolved, changed=level < Verbosity.VERBOSE), nl=False)
    megabytes = 1e-6
    rows = [
        ("parameters", f"{found.parameters:,}"),
        ("training pairs", f"{found.pairs:,}"),
        ("updates per epoch", f"{found.updates_per_epoch:,}"),
        ("device", f"{found.device}, {found.precision}"),
        ("memory for weights and optimizer", f"{found.weights_bytes * megabytes:,.0f} MB"),
        ("memory for the largest batch", f"{found.activations_bytes * megabytes:,.0f} MB"),
        *_times(found, found.seconds_per_update),
    ]
    if hardware is not None:
        rows += [("", ""), *_times_on(hardware, found)]
    for name, value in rows:
        results().print(f"# {name:32} {value}".rstrip())


def _times(found: "RunEstimate", seconds: float, limit: str = "") -> list[tuple[str, str]]:
    """Rows for an update, an epoch and the whole run, given the seconds of an update."""
    rows = [
        ("time per update", f"{seconds:.4g} s{limit}"),
        ("time per epoch", f"{duration(seconds * found.updates_per_epoch)}, without validation"),
    ]
    if found.updates is not None:
        whole = f"{duration(seconds * found.updates)} for {found.updates:,} updates, unless it stops early"
        rows.append(("time for the whole run", whole))
    return rows


def _times_on(hardware: Hardware, found: "RunEstimate") -> list[tuple[str, str]]:
    config, workload = found.resolved.config.train, found.workload
    assert workload is not None
    half = config.precision != "fp32"
    estimate = update_time(
        hardware,
        operations=workload.operations,
        kernels=workload.kernels,
        parameters=found.parameters,
        half=half,
        gradient_bytes=4 if config.gradient_exchange == "fp32" else 2,
    )
    gigabytes = 1e-9 * (found.weights_bytes + found.activations_bytes / hardware.cards)
    full = "" if gigabytes < hardware.card.memory else ": too much; try a smaller train.batch_tokens"
    return [
        (f"estimate for {hardware}", "half precision" if half else "fp32"),
        ("operations per update", f"{workload.operations:.3g}, {workload.kernels:,.0f} kernels"),
        *_times(found, estimate.total, limit=f", limited by {estimate.limit}"),
        ("target tokens per second", f"{workload.tokens / estimate.total:,.0f}"),
        ("memory per card", f"{gigabytes:.1f} of {hardware.card.memory:g} GB{full}"),
    ]
