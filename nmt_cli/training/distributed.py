"""Data-parallel training in several processes: `torchrun --nproc-per-node N -m nmt_cli train …`.

Every process has the whole model and a slice of each batch; DistributedDataParallel averages the gradients.
All processes read the data and run directories, which must be on a shared disk if there are several machines, but
only the main process writes. A run may be resumed with a different number of processes: the batches stay the same,
only the dropout masks differ. Control messages (stop requests, validation results) are sent over gloo, so they never
wait for a GPU.
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

_TIMEOUT = timedelta(hours=2)  # one process may take long to validate


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run. With a single process, every method is a cheap no-op."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    hosts: Any = None  # the gloo group

    @classmethod
    def join(cls, environment: Mapping[str, str] = os.environ) -> ProcessGroup:
        """Join the other processes if this one was started by torchrun."""
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
                f"process {rank} cannot connect to the others: {error}",
                hint="start all of them with torchrun",
            ) from error
        hosts = dist.new_group(backend="gloo", timeout=_TIMEOUT)
        return cls(rank, world, int(environment.get("LOCAL_RANK", rank)), hosts)

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model with gradients averaged over all processes in the backward pass."""
        if self.world == 1:
            return model
        return DistributedDataParallel(model, gradient_as_bucket_view=True)

    def max(self, number: int) -> int:
        """The maximum over all processes."""
        if self.world == 1:
            return number
        tensor = torch.tensor(number)
        with self.connection_errors():
            dist.all_reduce(tensor, dist.ReduceOp.MAX, group=self.hosts)
        return int(tensor)

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.world > 1:
            tensor = tensor.clone()
            with self.connection_errors():
                dist.all_reduce(tensor, group=None if tensor.is_cuda else self.hosts)
        return tensor

    def gather(self, value: Any) -> list[Any]:
        """The JSON values of all processes, in rank order."""
        if self.world == 1:
            return [value]
        # torch's all_gather_object uses pickle.
        own = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        size = self.max(len(own))
        padded = torch.full((size,), ord(" "), dtype=torch.uint8)
        padded[: len(own)] = own
        parts = [torch.empty_like(padded) for _ in range(self.world)]
        with self.connection_errors():
            dist.all_gather(parts, padded, group=self.hosts)
        return [json.loads(part.numpy().tobytes()) for part in parts]

    def barrier(self) -> None:
        """Wait until all processes have reached this point."""
        self.max(0)

    @contextmanager
    def connection_errors(self) -> Iterator[None]:
        """Turn the various errors of a broken connection into one readable error."""
        try:
            yield
        except RuntimeError as error:
            if self.world == 1 or not is_connection_error(error):
                raise
            raise TrainingError(
                f"process {self.rank} lost the connection: another process has ended",
                hint="its own message says why; the last checkpoint is intact, continue with --resume",
            ) from error

    def close(self) -> None:
        """Leave the process group."""
        if self.world > 1 and dist.is_initialized():
            dist.destroy_process_group()


def is_connection_error(error: RuntimeError) -> bool:
    """Whether the error means that another process is gone."""
    words = ("gloo", "nccl", "connection closed", "connection reset", "broken pipe", "timed out waiting")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)
