"""One system in a process of its own; it does a training step whenever it is asked to.

    python -m peers.worker SYSTEM BATCHES.npz THREADS OPTIONS

SYSTEM is a module of this folder with `build(vocabulary, embedding, hidden, …)`, OPTIONS is JSON. A line on
stdin is an order: `memory`, or the number of a batch; its answer is a line of JSON on stdout. All else that a
toolkit prints goes to stderr.
"""

import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch

from peers import batches, gemm

_MEGABYTE = 1e6


def main() -> None:
    """Build the system, then obey."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    system, path, threads, options = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    worker: Worker | Gemm = Gemm() if system == "gemm" else Worker(system, Path(path), json.loads(options))
    print(json.dumps(worker.facts()), file=answers, flush=True)
    for line in sys.stdin:
        order = line.strip()
        answer = worker.memory() if order == "memory" else worker.run(int(order))
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """A model, its optimizer and the batches."""

    def __init__(self, system: str, path: Path, options: dict[str, Any]) -> None:
        self.module = importlib.import_module(f"peers.{system}")
        self.model, self.loss = self.module.build(**options)
        self.model.train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        self.batches = batches.load(path)

    def facts(self) -> dict[str, Any]:
        """Parameters, and operations of a round where the module can count them."""
        count = getattr(self.module, "operations", None)
        return {
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "operations": count and count(self.model, batches.Shape.of(self.batches)),
        }

    def step(self, batch: batches.Pairs) -> float:
        """One whole step, the same for all systems; → the loss per token."""
        self.optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return float(loss.detach())

    def run(self, index: int) -> dict[str, float]:
        """A timed step on one batch."""
        wall, cpu = time.perf_counter(), time.process_time()
        loss = self.step(self.batches[index])
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "loss": loss}

    def memory(self) -> dict[str, float]:
        """Megabytes a step needs beyond model, gradients and moments, which a step on two pairs makes."""
        self.step(self.batches[0].first(2))
        before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        for batch in self.batches:
            self.step(batch)
        return {"megabytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / _MEGABYTE}


class Gemm:
    """The limit, measured in the same rounds as the systems."""

    def facts(self) -> dict[str, Any]:
        """Nothing to tell."""
        return {}

    def memory(self) -> dict[str, float]:
        """A warm-up."""
        gemm.measure(0.3)
        return {}

    def run(self, index: int) -> dict[str, float]:
        """Seconds for as many operations as `gemm.OPERATIONS` says."""
        wall, cpu = gemm.measure(0.3)
        return {"wall": gemm.OPERATIONS / wall, "cpu": gemm.OPERATIONS / cpu}


if __name__ == "__main__":
    main()
