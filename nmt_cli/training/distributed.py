"""Data-parallel training in several processes: `torchrun --nproc-per-node N -m nmt_cli train …`.

Every process has the whole model and a slice of each batch; DistributedDataParallel averages the gradients.
All processes read the data and run directories, which must be on a shared disk if there are several machines, but
only the main process writes. A run may be resumed with a different number of processes: the batches stay the same,
only the dropout masks differ. Control messages (stop requests, validation results) are sent over gloo, so they never
wait for a GPU.

torchrun restarts all processes when one fails (`--max-restarts`) or when a machine joins or leaves (`--nnodes 1:4`).
Its key-value store outlives them, and the addresses that dead processes left there would lead the new ones astray.
So the processes of each attempt first agree on a prefix of their own: see `_agree_on_attempt`.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from nmt_cli.config import TrainConfig
from nmt_cli.config.defaults import PROCESS_TIMEOUT
from nmt_cli.errors import TrainingError, UsageError
from nmt_cli.vocabulary.token_ids import Ragged

JOIN_TIMEOUT = 300.0  # seconds until all processes must have started
ROLL_CALL = 5.0  # seconds that a process has to answer after a connection was lost
POLLING_INTERVAL = 0.05
_ANY_TIME = timedelta(days=100)  # torchrun ends those who wait if the process that they wait for fails


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run. With a single process, every method is a cheap no-op."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    attempt: int = 1  # how often torchrun has started the processes
    hosts: Any = None  # the gloo group
    store: Any = None  # key-value store of this attempt

    @classmethod
    def join(
        cls,
        *,
        timeout: float = PROCESS_TIMEOUT,
        join_timeout: float = JOIN_TIMEOUT,
        environment: Mapping[str, str] = os.environ,
    ) -> ProcessGroup:
        """Join the other processes if this one was started by torchrun.

        `timeout`: seconds that the others may take for their part of an exchange before they count as lost.
        """
        if "RANK" not in environment or "WORLD_SIZE" not in environment:
            return cls()
        rank, world = int(environment["RANK"]), int(environment["WORLD_SIZE"])
        restarts = int(environment.get("TORCHELASTIC_RESTART_COUNT", "0"))
        if world == 1:
            return cls(attempt=1 + restarts)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        limit = timedelta(seconds=timeout)
        try:
            shared, _, _ = next(rendezvous("env://", rank, world, timeout=timedelta(seconds=join_timeout)))
            attempt = _agree_on_attempt(shared, rank, world, join_timeout)
            store = PrefixStore(f"nmt/attempt-{attempt}", shared)
            store.set(f"host/{rank}", socket.gethostname())
            dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=limit)
            hosts = dist.new_group(backend="gloo", timeout=limit)
        except (RuntimeError, ValueError) as error:
            raise UsageError(
                f"process {rank} cannot connect to the others: {str(error).partition(chr(10))[0]}",
                hint="start all of them with torchrun, and check that the machines can reach each other",
            ) from error
        local_rank = int(environment.get("LOCAL_RANK", rank))
        return cls(rank, world, local_rank, max(attempt, 1 + restarts), hosts, store)

    @classmethod
    @contextmanager
    def joined(cls, *, timeout: float = PROCESS_TIMEOUT) -> Iterator[ProcessGroup]:
        """Join the other processes, and leave them at the end: exiting with open connections can abort a process."""
        group = cls.join(timeout=timeout)
        try:
            yield group
        finally:
            group.close()

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0

    def wrap(self, model: nn.Module, config: TrainConfig) -> nn.Module:
        """The model with gradients averaged over all processes in the backward pass."""
        if self.world == 1:
            return model
        wrapped = DistributedDataParallel(
            model, gradient_as_bucket_view=True, bucket_cap_mb=config.bucket_megabytes
        )
        if config.gradient_exchange != "fp32":
            dtype = torch.bfloat16 if config.gradient_exchange == "bf16" else torch.float16
            wrapped.register_comm_hook(None, _compressed_exchange(dtype, self.world))
        return wrapped

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

    def share(self, name: str, compute: Callable[[], Ragged]) -> Ragged:
        """What `compute` returns in the main process, which alone calls it; the others wait, however long it takes.

        `name` is another one in every call.
        """
        if self.world == 1:
            return compute()
        parts: list[NDArray[Any]] = []
        if self.is_main:
            found = compute()
            parts = [found.values, found.offsets]
            self.store.set(name, json.dumps([(part.dtype.str, len(part)) for part in parts]))
        with self.connection_errors():
            self.store.wait([name], _ANY_TIME)
            if not self.is_main:
                parts = [np.empty(size, dtype) for dtype, size in json.loads(self.store.get(name))]
            for part in parts:
                dist.broadcast(torch.from_numpy(part.view(np.uint8)), 0, group=self.hosts)
        return Ragged(*parts)

    def claim(self) -> int:
        """0, 1, 2 … in the order of the calls, whichever processes make them: for dividing work."""
        with self.connection_errors():
            return int(self.store.add("claimed", 1)) - 1

    def barrier(self) -> None:
        """Wait until all processes have reached this point."""
        self.max(0)

    @contextmanager
    def connection_errors(self) -> Iterator[None]:
        """Turn the various errors of a broken connection into one readable error that names the lost processes."""
        try:
            yield
        except RuntimeError as error:
            if self.world == 1 or not is_connection_error(error):
                raise
            lost = self._roll_call()
            if "timed out" in str(error).lower():
                problem = f"{lost or 'another process'} did not respond in time"
                hint = "if it was only slow, allow more with --process-timeout"
            else:
                problem = f"{lost or 'another process'} has ended"
                hint = "its own message says why"
            raise TrainingError(
                f"process {self.rank} lost the connection: {problem}",
                hint=f"{hint}; the last checkpoint is intact, continue with --resume",
            ) from error

    def _roll_call(self) -> str:
        """The processes that do not answer, such as "process 2 on node7"; empty if that cannot be told.

        All processes that are alive notice a lost connection at about the same time.
        """
        missing = {rank for rank in range(self.world) if rank != self.rank}
        try:
            self.store.set(f"alive/{self.rank}", "")
            deadline = time.monotonic() + ROLL_CALL
            while missing and time.monotonic() < deadline:
                missing -= {rank for rank in missing if self.store.check([f"alive/{rank}"])}
                time.sleep(POLLING_INTERVAL)
            names = [
                f"process {rank} on {self.store.get(f'host/{rank}').decode()}" for rank in sorted(missing)
            ]
        except RuntimeError:  # the store went down with its machine
            return ""
        return " and ".join(names)

    def close(self) -> None:
        """Leave the process group."""
        if self.world > 1 and dist.is_initialized():
            dist.destroy_process_group()


def _compressed_exchange(dtype: torch.dtype, world: int) -> Callable[[Any, Any], Any]:
    """Averages a bucket of gradients in half precision. torch has such hooks, but only for NCCL."""

    def exchange(_, bucket):  # type: ignore[no-untyped-def]  # torch compares annotations, not types
        gradients = bucket.buffer()
        compressed = gradients.to(dtype).div_(world)  # before the sum, which could overflow
        exchanged = dist.all_reduce(compressed, async_op=True).get_future()
        return exchanged.then(lambda future: gradients.copy_(future.value()[0]))

    return exchange


def _agree_on_attempt(store: Store, rank: int, world: int, timeout: float) -> int:
    """A number that the processes of this attempt share, and none before.

    TORCHELASTIC_RESTART_COUNT is not enough: it differs between machines after one of them has joined or left.
    torchrun starts new processes only when all old ones are gone, so the counter is safe with process 0. Any other
    process says hello with a fresh name and waits until process 0 answers to that name; answers to names that
    processes of earlier attempts have left behind are never read.
    """
    prefixed, deadline = PrefixStore("nmt/join", store), time.monotonic() + timeout
    if rank > 0:
        name = uuid.uuid4().hex
        prefixed.set(f"hello/{rank}", name)
        prefixed.wait([f"welcome/{name}"], timedelta(seconds=timeout))
        attempt = int(prefixed.get(f"welcome/{name}"))
        prefixed.set(f"joined/{attempt}/{rank}", "")
        return attempt
    attempt = prefixed.add("attempts", 1)
    missing, welcomed = set(range(1, world)), set[str]()
    while missing:
        for other in sorted(missing):
            if prefixed.check([f"hello/{other}"]):
                name = prefixed.get(f"hello/{other}").decode()
                if name not in welcomed:
                    prefixed.set(f"welcome/{name}", str(attempt))
                    welcomed.add(name)
                if prefixed.check([f"joined/{attempt}/{other}"]):
                    missing.remove(other)
        if missing and time.monotonic() > deadline:
            absent = " and ".join(map(str, sorted(missing)))
            raise RuntimeError(f"no sign of process {absent} after {timeout:.0f} s")
        time.sleep(POLLING_INTERVAL if missing else 0)
    return attempt


def is_connection_error(error: RuntimeError) -> bool:
    """Whether the error means that another process is gone."""
    words = ("gloo", "nccl", "connection closed", "connection reset", "broken pipe", "timed out waiting")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)
