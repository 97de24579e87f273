"""Making a trainer: `start`, `resume`, or `start_or_resume` for either; `train`, a whole run in one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from nmt_cli.config import Config, Resolved, resolve
from nmt_cli.config.defaults import DEVICE, PROCESS_TIMEOUT
from nmt_cli.data.aligner import Aligner
from nmt_cli.data.batches import TrainingBatches
from nmt_cli.data.directory import DataDirectory, preset_for
from nmt_cli.data.split import StoredLinks
from nmt_cli.errors import ConfigError, DirectoryError, UsageError
from nmt_cli.files.guarded import GuardedDirectory
from nmt_cli.model import build_model
from nmt_cli.model.device import prepare_device, products_restored
from nmt_cli.run.checkpoint import CURRENT, WEIGHTS, Checkpoint, Checkpoints, has_state
from nmt_cli.run.directory import Lock, RunDirectory
from nmt_cli.run.facts import CONFIG, FACTS, MODEL
from nmt_cli.run.logs import MetricsLog, check_tensorboard, has_events, has_tensorboard
from nmt_cli.run.weights import tensor_bytes, weights_of
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.learner import Learner
from nmt_cli.training.minimum_risk import MinimumRisk
from nmt_cli.training.optimization import choose_precision
from nmt_cli.training.reports import Clock, EndReport, Report, RunState, WarningReport
from nmt_cli.training.run_writer import RunWriter, snapshot
from nmt_cli.training.settings import changed_settings, initial_settings
from nmt_cli.training.trainer import StopRequest, Trainer
from nmt_cli.training.validation import ModelSelection, Validator
from nmt_cli.vocabulary.token_ids import Ragged


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where and for how long to train. Not part of the run: it may differ on resume.

    `threads` is recorded in the checkpoints, and a resumed run uses as many unless it is given another number.
    """

    device: str = DEVICE
    threads: int | None = None
    compiled: bool = False
    time_limit: float | None = None  # seconds
    tensorboard: bool = False  # write event files; a resumed run that has some continues them anyway
    process_timeout: float = PROCESS_TIMEOUT  # seconds that another process may take to respond
    now: Callable[[], float] = time.monotonic  # the clock that the time limit is measured with


@contextmanager
def start(
    data: Path,
    out: Path,
    settings: Resolved,
    *,
    init: Path | None = None,
    overwrite: bool = False,
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> Iterator[Trainer]:
    """A trainer for a new run in `out`; `init` is a run to initialize the weights from."""
    with (
        _joined(machine) as group,
        closing(_start(group, data, out, settings, init, overwrite, machine)) as trainer,
    ):
        yield trainer


@contextmanager
def resume(
    path: Path,
    settings: Resolved | None = None,
    *,
    data: Path | None = None,
    machine: Machine = Machine(),  # noqa: B008
) -> Iterator[Trainer]:
    """A trainer that continues the run in `path` where it stopped, with the given changes of settings.

    `data` is needed only if the data directory has moved.
    """
    with _joined(machine) as group, closing(_resume(group, path, settings, data, machine)) as trainer:
        yield trainer


@contextmanager
def start_or_resume(
    data: Path,
    out: Path,
    settings: Resolved,
    *,
    init: Path | None = None,
    machine: Machine = Machine(),  # noqa: B008
) -> Iterator[Trainer]:
    """A trainer that continues the run in `out`, or starts it if there is none yet.

    The same call is right the first time, after a crash, and whenever a scheduler or torchrun starts it again.
    """
    with _joined(machine) as group:
        # Process 0 decides: another one may see the directory that process 0 is just creating.
        exists = group.max(int(group.is_main and has_state(out)))
        trainer = (
            _resume(group, out, settings, data, machine)
            if exists
            else _start(group, data, out, settings, init, False, machine)
        )
        with closing(trainer):
            yield trainer


@contextmanager
def _joined(machine: Machine) -> Iterator[ProcessGroup]:
    if machine.tensorboard:
        check_tensorboard()
    with ProcessGroup.joined(timeout=machine.process_timeout) as group, products_restored():
        yield group


def _start(
    group: ProcessGroup,
    data: Path,
    out: Path,
    settings: Resolved,
    init: Path | None,
    overwrite: bool,
    machine: Machine,
) -> Trainer:
    opened = DataDirectory.open(data)
    other = RunDirectory.open(init) if init is not None else None
    resolved = initial_settings(settings, opened, other.resolved if other else None)
    learner = make_learner(opened, resolved.config, group, machine)
    if other is not None:
        warm_start(learner, other, opened)
    state = RunState(threads=torch.get_num_threads(), processes=group.world)
    batches = make_batches(opened, resolved.config, group, learner.device)
    batches.plan(1)  # rejects an empty training set before anything is written
    lock: Lock | None = None
    if group.is_main:
        run, lock = RunDirectory.create(
            out,
            data=opened,
            resolved=resolved,
            overwrite=overwrite,
            first_checkpoint=lambda folder: Checkpoints(folder).commit(
                snapshot(state, learner), keep=lambda _: False
            ),
        )
    group.barrier()
    if not group.is_main:
        run = RunDirectory.open(out)
    return _trainer(run, opened, learner, batches, state, group, lock, machine)


def _resume(
    group: ProcessGroup, path: Path, settings: Resolved | None, data: Path | None, machine: Machine
) -> Trainer:
    run = RunDirectory.open(path)
    lock = run.lock() if group.is_main else None
    try:
        opened = _same_data(run, data)
        changes = changed_settings(run.resolved, settings)
        facts = replace(run.facts, data=str(opened.path.resolve()))  # where the next resume will look
        run = RunDirectory(path, facts, changes.resolved)
        checkpoints = Checkpoints(path)
        run.check_sizes(checkpoints.header(), path / WEIGHTS)
        checkpoint = checkpoints.load()
        state = _state(checkpoint, path)
        before, machine = replace(state), replace(machine, threads=machine.threads or state.threads)
        learner = make_learner(opened, run.config, group, machine)
        learner.load(checkpoint.weights, checkpoint.state, path)
        state.threads, state.processes = torch.get_num_threads(), group.world
        if changes.other_batches:
            state.index = 0
        group.barrier()  # all processes have read the directory before it changes
        if group.is_main:
            _repair(run, state)
        batches = make_batches(opened, run.config, group, learner.device)
        warnings = tuple(_differences(before, state, learner.device))
        return _trainer(run, opened, learner, batches, state, group, lock, machine, changes.listed, warnings)
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def make_learner(data: DataDirectory, config: Config, group: ProcessGroup, machine: Machine) -> Learner:
    """A newly initialized model with its optimizer, on the requested device."""
    # Small products, and those over a growing number of states, lose time (docs/benchmarks.md).
    fast = config.model.hidden_size >= 256 and config.model.intra_attention == "none"
    device = prepare_device(machine.device, machine.threads, local_rank=group.local_rank, fast_products=fast)
    precision = choose_precision(config.train, device)
    if config.train.schedule == "plateau" and data.valid is None:
        raise ConfigError(
            f"train.schedule = plateau needs a validation set, but {data.path} has none",
            hint="choose another train.schedule, or make the data with --valid",
        )
    model = build_model(
        config.model,
        len(data.vocabularies.source),
        len(data.vocabularies.target),
        shared=data.vocabularies.joint,
        generator=torch.Generator().manual_seed(config.train.seed),
    )
    return Learner(
        model,
        config.train,
        device=device,
        precision=precision,
        group=group,
        compiled=machine.compiled,
        risk=MinimumRisk(data, config) if config.train.objective == "mrt" else None,
    )


def make_batches(
    data: DataDirectory, config: Config, group: ProcessGroup, device: torch.device
) -> TrainingBatches:
    """The training batches of this process.

    Word alignments for guided attention are part of the data if they were given to `nmt preprocess`. Otherwise they are
    a function of the data, so the main process computes them again on resume.
    """
    links: Ragged | StoredLinks | None = None
    if config.train.guided_alignment:
        links = data.train.links or group.share("links", lambda: _align(data))
    return TrainingBatches(
        data.train,
        config.train,
        corpora=data.corpora,
        vocabularies=data.vocabularies,
        links=links,
        reverse_target=config.model.reverse_target,
        rank=group.rank,
        world=group.world,
        pin=device.type == "cuda",
    )


def _align(data: DataDirectory) -> Ragged:
    """The word alignments of all training pairs."""
    rows = np.arange(len(data.train))
    source, target = data.train.gather(rows, "source"), data.train.gather(rows, "target")
    sizes = len(data.vocabularies.source), len(data.vocabularies.target)
    return Aligner.train(source, target, sizes).align(source, target)


def _trainer(
    run: RunDirectory,
    data: DataDirectory,
    learner: Learner,
    batches: TrainingBatches,
    state: RunState,
    group: ProcessGroup,
    lock: Lock | None,
    machine: Machine,
    changes: tuple[str, ...] = (),
    warnings: tuple[WarningReport, ...] = (),
) -> Trainer:
    parameters = sum(parameter.numel() for parameter in learner.model.parameters())
    tensorboard = machine.tensorboard or (has_events(run.path) and has_tensorboard())
    writer = RunWriter(run, parameters=parameters, writes=group.is_main, tensorboard=tensorboard)
    clock = Clock(state.seconds, machine.now)
    selection, stop_request = None, StopRequest()
    if data.valid is not None and len(data.valid):
        validator = Validator(
            run,
            data.valid,
            config=run.config,
            device=learner.device,
            precision=learner.precision,
            group=group,
            stopping=lambda: stop_request.made,
        )
        selection = ModelSelection(validator, run.config.train, state=state, writer=writer, clock=clock)
    return Trainer(
        run.config.train,
        batches=batches,
        learner=learner,
        state=state,
        writer=writer,
        selection=selection,
        clock=clock,
        stop_request=stop_request,
        group=group,
        lock=lock,
        time_limit=machine.time_limit,
        changes=changes,
        warnings=warnings,
    )


def _differences(before: RunState, now: RunState, device: torch.device) -> Iterator[WarningReport]:
    """Warnings if a run continues with another number of threads or processes than before."""
    result = "the result will not be bit-identical to that of an uninterrupted run"
    if device.type == "cpu" and before.threads not in (None, now.threads):
        yield WarningReport(
            f"this run has used {before.threads} CPU threads so far and continues with {now.threads}: {result}",
            hint=f"leave out --threads to continue with {before.threads}",
        )
    if before.processes not in (None, now.processes):
        yield WarningReport(
            f"this run has used {before.processes} processes so far and continues with {now.processes}: {result}",
            hint="the batches stay the same, so the learning rate needs no change; dropout masks differ",
        )


def warm_start(learner: Learner, other: RunDirectory, data: DataDirectory) -> None:
    """Initialize the weights from another run, which must have the same vocabularies.

    Buffers are not weights: hard attention has a baseline that soft attention lacks. One that only the new model has
    keeps its first value; one that only the other model has is left out.
    """
    init = other.path
    for side in ("source", "target"):
        if getattr(other.vocabularies, side) != getattr(data.vocabularies, side):
            raise UsageError(
                f"{init} and {data.path} have different {side} vocabularies",
                hint=f"make the data with `nmt preprocess --vocabulary {init}`",
            )
    model, buffers = other.load_model(), dict(learner.model.named_buffers())
    left_out = dict(model.named_buffers()).keys() - buffers.keys()
    weights = {name: tensor for name, tensor in weights_of(model).items() if name not in left_out}
    try:
        learner.load({**buffers, **weights}, None, init / MODEL)
    except DirectoryError as error:
        raise ConfigError(
            f"the model settings do not fit the weights of --init: {error.message}",
            hint="--init fixes the model: leave out settings that change its weights, such as sizes and layers",
        ) from error


def _same_data(run: RunDirectory, data: Path | None) -> DataDirectory:
    path = data or Path(run.facts.data)
    if data is None and not path.is_dir():
        raise DirectoryError(
            f"the data directory of this run is no longer at {path}",
            hint=f"give its new location: nmt train DATA_DIR --resume {run.path}",
        )
    opened = DataDirectory.open(path)
    if opened.fingerprint != run.facts.data_sha256:
        raise DirectoryError(
            f"{path} is not the data that {run.path} was trained on, or has changed since",
            hint=f"use the same data, or start a new run from this model with --init {run.path}",
        )
    return opened


def _state(checkpoint: Checkpoint, path: Path) -> RunState:
    try:
        state = RunState.from_json(checkpoint.progress)
    except (ValueError, TypeError) as error:
        raise DirectoryError(
            f"{path / CURRENT} is damaged: {error}", hint=f"copy {path} again, or train a new model"
        ) from error
    return state


def _repair(run: RunDirectory, state: RunState) -> None:
    """Make the rest of the directory consistent with the checkpoint, however the last process ended."""
    GuardedDirectory(run.path).remove_partial_files()
    Checkpoints(run.path).remove_unused()
    MetricsLog(run.path).rewind(state.update)
    run.publish(FACTS, run.facts.to_json().encode())
    run.publish(CONFIG, run.resolved.to_json().encode())
    if state.best_update is not None:
        run.publish(MODEL, tensor_bytes(Checkpoints(run.path).load_weights(state.best_update)))


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
