"""What the trainer costs over the bare training step, in turns in one process.

python benchmarks/trainer_overhead.py [DATA_DIR] [--set …]      (without a directory: the demo corpus)

The bare step is forward, backward, clipping and a fused optimizer on batches that are ready. The trainer adds
making batches, seeding, sums for the log, the moving average, reports and metrics.jsonl; validation and checkpoints
have their own times and are switched off. CPU time counts the thread that makes batches ahead, wall time does not.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median

import torch
from demo_corpus import demo_corpus

from nmt_cli.config import Resolved, resolve
from nmt_cli.data.batches import Batch
from nmt_cli.data.directory import DataDirectory
from nmt_cli.training import Machine, Trainer, UpdateReport, start
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.settings import with_data_settings
from nmt_cli.training.setup import make_batches, make_learner

BLOCK = 8  # updates in turn
ON_CPU = Machine(device="cpu", threads=1)
NO_END = ("train.validate_every=1000000", "train.save_every=0", "train.max_epochs=0", "train.patience=0")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--rounds", type=int, default=6)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        data = arguments.data or demo_corpus(Path(folder), pairs=6000, vocabulary=2000)
        resolved = with_data_settings(resolve(None, [*arguments.settings, *NO_END]), DataDirectory.open(data))
        with start(data, Path(folder) / "run", resolved, machine=ON_CPU) as trainer:
            compare(blocks_of(trainer), bare_blocks(data, resolved), arguments.rounds)


def blocks_of(trainer: Trainer) -> Iterator[None]:
    """Each step of this iterator is a block of updates of the trainer."""
    reports = trainer.run()
    while True:
        done = 0
        for report in reports:
            done += isinstance(report, UpdateReport)
            if done == BLOCK:
                break
        yield


def bare_blocks(data: Path, resolved: Resolved) -> Iterator[None]:
    """The same updates on the same batches, without a trainer."""
    opened, config = DataDirectory.open(data), resolved.config
    model = make_learner(opened, config, ProcessGroup(), ON_CPU).model
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-4, fused=True)
    stream = make_batches(opened, config, ProcessGroup(), torch.device("cpu")).stream()

    def run(batches: list[Batch]) -> None:
        for batch in batches:
            loss = model.loss(batch, label_smoothing=config.train.label_smoothing)
            (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parameters, config.train.clip_norm)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    while True:
        batches = [rank_batch.batch for rank_batch in islice(stream, BLOCK) if rank_batch.batch is not None]
        yield  # the batches are ready: the time of making them is not that of a step
        run(batches)
        yield


def compare(trainer: Iterator[None], bare: Iterator[None], rounds: int) -> None:
    """Time blocks in turns."""
    times: dict[str, list[tuple[float, float]]] = {"bare": [], "trainer": []}
    for number in range(rounds + 1):
        next(bare)
        order: list[tuple[str, Callable[[], object]]] = [
            ("bare", lambda: next(bare)),
            ("trainer", lambda: next(trainer)),
        ]
        for name, block in order if number % 2 else reversed(order):
            wall, cpu = time.perf_counter(), time.process_time()
            block()
            if number:  # the first round warms up
                times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    for name, pairs in times.items():
        wall, cpu = (sum(column) / len(pairs) / BLOCK * 1000 for column in zip(*pairs, strict=True))
        print(f"{name:8} {wall:8.1f} ms wall  {cpu:8.1f} ms CPU  an update")
    for index, kind in enumerate(("wall", "CPU")):
        ratios = [
            with_[index] / without[index]
            for with_, without in zip(times["trainer"], times["bare"], strict=True)
        ]
        print(f"overhead {kind:4} {median(ratios) - 1:+.1%} (median of {len(ratios)} rounds)")


if __name__ == "__main__":
    main()
