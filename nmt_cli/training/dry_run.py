"""`nmt train --dry-run`: size, memory and speed of a run, from a few updates that write nothing to disk."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nmt_cli.config import Config, Resolved
from nmt_cli.data.batches import RankBatch, TrainingBatches
from nmt_cli.data.directory import DataDirectory
from nmt_cli.model.seq2seq import blank_model
from nmt_cli.run import RunDirectory
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.learner import Learner
from nmt_cli.training.settings import initial_settings
from nmt_cli.training.setup import Machine, make_batches, make_learner, warm_start

TIMED_UPDATES = 6  # after one that is not timed
TIME_LIMIT = 20.0  # seconds; no further updates after this
COUNTED_BATCHES = 3


@dataclass(frozen=True)
class Workload:
    """What an update consists of, on average: the same on any hardware."""

    operations: float  # floating-point operations of matrix products, forward and backward
    kernels: float  # operations that are not mere views
    tokens: float  # target tokens


@dataclass(frozen=True)
class RunEstimate:
    """Size, memory and speed of a run."""

    resolved: Resolved
    device: str
    precision: str
    parameters: int
    pairs: int
    updates_per_epoch: int
    weights_bytes: int  # weights, gradients, optimizer and moving average
    activations_bytes: int  # saved by the forward pass of the largest batch for the backward pass
    seconds_per_update: float
    workload: Workload | None  # if it was asked for

    @property
    def updates(self) -> int | None:
        """Of the whole run, unless it stops early; None without a limit."""
        train = self.resolved.config.train
        limits = [train.max_updates, train.max_epochs * self.updates_per_epoch]
        return min((limit for limit in limits if limit), default=None)


def estimate_run(
    data: Path, settings: Resolved, *, init: Path | None = None, machine: Machine, count: bool = False
) -> RunEstimate:
    """Check settings and data as `start` does, and measure a few updates; `count` their operations too."""
    opened = DataDirectory.open(data)
    other = RunDirectory.open(init) if init is not None else None
    resolved = initial_settings(settings, opened, other.resolved if other else None)
    group = ProcessGroup()
    learner = make_learner(opened, resolved.config, group, machine)
    if other is not None:
        warm_start(learner, other, opened)
    batches = make_batches(opened, resolved.config, group, learner.device)
    plan = batches.plan(1)
    accumulate = resolved.config.train.accumulate
    activations = _saved_bytes(learner, _largest(batches, opened))
    seconds = _seconds_per_update(learner, batches, accumulate)
    workload = _count(learner, batches, opened, resolved.config) if count else None
    parameters = sum(parameter.numel() for parameter in learner.model.parameters())
    state = sum(tensor.nbytes for tensor in [*learner.state().values(), *learner.weights().values()])
    return RunEstimate(
        resolved=resolved,
        device=str(learner.device),
        precision=learner.precision.name,
        parameters=parameters,
        pairs=len(opened.train),
        updates_per_epoch=math.ceil(len(plan) / accumulate),
        weights_bytes=state + 4 * parameters,
        activations_bytes=activations,
        seconds_per_update=seconds,
        workload=workload,
    )


def _largest(batches: TrainingBatches, data: DataDirectory) -> RankBatch:
    """The batch with the most target positions."""
    plan = batches.plan(1)
    lengths = data.train.target_lengths
    sizes = [len(plan[i]) * (int(lengths[plan[i]].max()) + 1) for i in range(len(plan))]
    return next(batches.epoch(1, max(range(len(plan)), key=sizes.__getitem__)))


def _saved_bytes(learner: Learner, rank_batch: RankBatch) -> int:
    storages: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    assert rank_batch.batch is not None
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), learner.precision.autocast():
        learner.model.loss(rank_batch.batch.to(learner.device))
    own = {parameter.untyped_storage().data_ptr() for parameter in learner.model.parameters()}
    return sum(size for address, size in storages.items() if address not in own)


def _seconds_per_update(learner: Learner, batches: TrainingBatches, accumulate: int) -> float:
    stream = batches.stream(1)
    times: list[float] = []
    began = time.monotonic()
    for update in range(1, TIMED_UPDATES + 2):
        start = time.monotonic()
        learner.update(update, list(islice(stream, accumulate)), 1e-6)
        float(learner.optimization.norm)  # waits for the device
        times.append(time.monotonic() - start)
        if len(times) > 1 and time.monotonic() - began > TIME_LIMIT:
            break
    return median(times[1:])


class _Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations that compute or copy something."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        aliases = [result.alias_info for result in func._schema.returns]
        self.count += not any(alias is not None and not alias.is_write for alias in aliases)
        return func(*args, **(kwargs or {}))


def _count(learner: Learner, batches: TrainingBatches, data: DataDirectory, config: Config) -> Workload:
    """Kernels of one update on this device, and operations of a few batches on `meta`, where nothing is computed."""
    from torch.utils.flop_counter import FlopCounterMode

    accumulate, meta = config.train.accumulate, torch.device("meta")
    with _Kernels() as kernels:
        learner.update(1, list(islice(batches.stream(1), accumulate)), 1e-6)
    sizes = len(data.vocabularies.source), len(data.vocabularies.target)
    with meta:
        model = blank_model(config.model, *sizes, shared=data.vocabularies.joint).train()
    counted = list(islice(batches.stream(1), COUNTED_BATCHES))
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: _addmm_operations}) as counter:
        for rank_batch in counted:
            assert rank_batch.batch is not None
            model.loss(rank_batch.batch.to(meta)).total.backward()  # type: ignore[no-untyped-call]
    share = accumulate / len(counted)
    tokens = sum(rank_batch.tokens for rank_batch in counted)
    return Workload(counter.get_total_flops() * share, kernels.count, tokens * share)


def _addmm_operations(total: torch.Size, a: torch.Size, b: torch.Size, **_: object) -> int:
    """Of total += a b, given shapes; torch does not count it."""
    return 2 * a[0] * a[1] * b[1]
