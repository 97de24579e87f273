"""What `--dry-run` finds out: size, memory and speed of a run, by a few updates that change nothing on disk."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from nmt_cli.config import Resolved
from nmt_cli.data.batches import Portion, TrainingBatches
from nmt_cli.data.directory import DataDirectory
from nmt_cli.run import RunDirectory
from nmt_cli.training.distributed import Group
from nmt_cli.training.learner import Learner
from nmt_cli.training.settings import with_data_settings, with_model_settings
from nmt_cli.training.setup import Machine, make_batches, make_learner, warm_start

UPDATES = 6  # that are timed, after one that is not
SECONDS = 20.0  # and no more of them after this time


@dataclass(frozen=True)
class Rehearsal:
    """What a run would be."""

    resolved: Resolved
    device: str
    precision: str
    parameters: int
    pairs: int
    updates_per_epoch: int
    weights_bytes: int  # weights, gradients, optimizer and moving average
    activations_bytes: int  # what the forward pass of the largest batch keeps for the backward pass
    seconds_per_update: float

    @property
    def seconds_per_epoch(self) -> float:
        """Without validation."""
        return self.seconds_per_update * self.updates_per_epoch


def rehearse(data: Path, settings: Resolved, *, init: Path | None = None, machine: Machine) -> Rehearsal:
    """Check everything that `start` checks about settings and data, and measure."""
    opened = DataDirectory.open(data)
    other = RunDirectory.open(init) if init is not None else None
    if other is not None:
        settings = with_model_settings(settings, other.resolved)
    resolved = with_data_settings(settings, opened)
    group = Group()
    learner = make_learner(opened, resolved.config, group, machine)
    if other is not None:
        warm_start(learner, other, opened)
    batches = make_batches(opened, resolved.config, group, learner.device)
    plan = batches.plan(1)
    accumulate = resolved.config.train.accumulate
    activations = _saved_bytes(learner, _largest(batches, opened))
    seconds = _seconds_per_update(learner, batches, accumulate)
    parameters = sum(parameter.numel() for parameter in learner.model.parameters())
    state = sum(tensor.nbytes for tensor in [*learner.state().values(), *learner.weights().values()])
    return Rehearsal(
        resolved=resolved,
        device=str(learner.device),
        precision=learner.precision.name,
        parameters=parameters,
        pairs=len(opened.train),
        updates_per_epoch=math.ceil(len(plan) / accumulate),
        weights_bytes=state + 4 * parameters,
        activations_bytes=activations,
        seconds_per_update=seconds,
    )


def _largest(batches: TrainingBatches, data: DataDirectory) -> Portion:
    """The batch with the most target positions."""
    plan = batches.plan(1)
    lengths = data.train.target_lengths
    sizes = [len(plan[i]) * (int(lengths[plan[i]].max()) + 1) for i in range(len(plan))]
    return next(batches.epoch(1, max(range(len(plan)), key=sizes.__getitem__)))


def _saved_bytes(learner: Learner, portion: Portion) -> int:
    storages: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    assert portion.batch is not None
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), learner.precision.autocast():
        learner.model.loss(portion.batch.to(learner.device))
    own = {parameter.untyped_storage().data_ptr() for parameter in learner.model.parameters()}
    return sum(size for place, size in storages.items() if place not in own)


def _seconds_per_update(learner: Learner, batches: TrainingBatches, accumulate: int) -> float:
    stream = batches.stream(1)
    times: list[float] = []
    began = time.monotonic()
    for update in range(1, UPDATES + 2):
        start = time.monotonic()
        learner.update(update, list(islice(stream, accumulate)), 1e-6)
        float(learner.optimization.norm)  # waits for the device
        times.append(time.monotonic() - start)
        if len(times) > 1 and time.monotonic() - began > SECONDS:
            break
    return median(times[1:])
