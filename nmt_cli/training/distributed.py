"""Several processes that train one model: `torchrun --nproc-per-node N -m nmt_cli train …`.

Every process has the whole model and a slice of each batch; DistributedDataParallel averages the gradients.
Only the leading process writes, all read: on several machines the data and the run directory are on a shared disk.
A run may be resumed with another number of processes: the batches stay the same, dropout draws others.
What the hosts tell each other (stop now, validation results) goes over gloo and never waits for a GPU.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt_cli.errors import TrainingError, UsageError

_TIMEOUT = timedelta(hours=2)  # a validation on one process may take long


@dataclass(frozen=True)
class Group:
    """The processes of a run; alone, everything here costs nothing."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    hosts: Any = None  # the gloo group

    @classmethod
    def join(cls, environment: Mapping[str, str] = os.environ) -> Group:
        """Join the other processes that torchrun started, if it did."""
        if "RANK" not in environment or "WORLD_SIZE" not in environment:
            return cls()
        rank, world = int(environment["RANK"]), int(environment["WORLD_SIZE"])
        if world == 1:
            return cls()
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        try:
            dist.init_process_group(backend, timeout=_TIMEOUT)
        except (RuntimeError, ValueError) as error:
            raise UsageError(
                f"process {rank} cannot join the others: {error}", hint="start all of them with torchrun"
            ) from error
        hosts = dist.new_group(backend="gloo", timeout=_TIMEOUT)
        return cls(rank, world, int(environment.get("LOCAL_RANK", rank)), hosts)

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model whose backward pass averages gradients over all processes."""
        if self.world == 1:
            return model
        return DistributedDataParallel(model, gradient_as_bucket_view=True)

    def largest(self, number: int) -> int:
        """The largest of the numbers of all processes."""
        if self.world == 1:
            return number
        tensor = torch.tensor(number)
        with self.talking():
            dist.all_reduce(tensor, dist.ReduceOp.MAX, group=self.hosts)
        return int(tensor)

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum of the tensors of all processes."""
        if self.world > 1:
            tensor = tensor.clone()
            with self.talking():
                dist.all_reduce(tensor, group=None if tensor.is_cuda else self.hosts)
        return tensor

    def gather(self, value: Any) -> list[Any]:
        """The JSON values of all processes, in the order of their ranks."""
        if self.world == 1:
            return [value]
        # torch's own gathering of objects is pickle.
        own = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        size = self.largest(len(own))
        padded = torch.full((size,), ord(" "), dtype=torch.uint8)
        padded[: len(own)] = own
        parts = [torch.empty_like(padded) for _ in range(self.world)]
        with self.talking():
            dist.all_gather(parts, padded, group=self.hosts)
        return [json.loads(part.numpy().tobytes()) for part in parts]

    def wait(self) -> None:
        """Go on when all have come here."""
        self.largest(0)

    @contextmanager
    def talking(self) -> Iterator[None]:
        """Turn the many errors of a connection that broke into one that a user understands."""
        try:
            yield
        except RuntimeError as error:
            if self.world == 1 or not is_connection_error(error):
                raise
            raise TrainingError(
                f"process {self.rank} lost the others: one of them ended",
                hint="its own message says why; the last checkpoint is intact, go on with --resume",
            ) from error

    def leave(self) -> None:
        """Say goodbye."""
        if self.world > 1 and dist.is_initialized():
            dist.destroy_process_group()


def is_connection_error(error: RuntimeError) -> bool:
    """Whether another process is gone."""
    words = ("gloo", "nccl", "connection closed", "connection reset", "broken pipe", "timed out waiting")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)
