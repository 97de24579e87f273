"""Time and memory of planning an epoch and of starting in the middle of it: the tables in docs/scaling.md.

    python benchmarks/epoch_plan.py 50000000     # the plan for so many pairs with synthetic lengths
    python benchmarks/epoch_plan.py DATA_DIR     # opening a data directory, the plan, and the batch in the middle

A run that is resumed in the middle of an epoch does what the second command does. Times are CPU seconds.
"""

import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config import TrainConfig
from nmt_cli.data.batch_plan import BatchPlan, plan_epoch

BLOCK = 1_000_000
CONFIG = TrainConfig(batch_tokens=32768)


def main() -> None:
    """Print a line for each step."""
    argument = sys.argv[1]
    if not argument.isdecimal():
        seek(Path(argument))
        return
    source, target = synthetic_lengths(int(argument))
    start = time.process_time()
    show(plan_epoch(source, target, CONFIG, 1), time.process_time() - start)


def seek(path: Path) -> None:
    """Open a data directory and get the batch in the middle of the first epoch."""
    from nmt_cli.data.batches import TrainingBatches  # imports torch
    from nmt_cli.data.directory import DataDirectory

    start = time.process_time()
    data = DataDirectory.open(path)
    batches = TrainingBatches(data.train, CONFIG, corpora=data.corpora)
    opened = time.process_time()
    print(f"opening: {opened - start:.2f} CPU s")
    plan = batches.plan(1)
    planned = time.process_time()
    show(plan, planned - opened)
    middle = next(batches.epoch(1, len(plan) // 2))
    print(
        f"batch {middle.index:,}: {middle.pairs:,} pairs in {1000 * (time.process_time() - planned):.0f} CPU ms"
    )


def show(plan: BatchPlan, seconds: float) -> None:
    """Print the size of a plan and what it took."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    size = (plan.rows.nbytes + plan.starts.nbytes) >> 20
    print(
        f"{len(plan.rows):,} pairs: {len(plan):,} batches, {seconds:.1f} CPU s, plan {size:,} MB, "
        f"peak of process {peak:,} MB"
    )


def synthetic_lengths(pairs: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lengths of sources and targets: log-normal, and about equal."""
    random = np.random.default_rng(1)
    target, source = np.empty(pairs, np.uint16), np.empty(pairs, np.uint16)
    for i in range(0, pairs, BLOCK):  # so that the peak of memory is that of planning
        block = target[i : i + BLOCK]
        block[:] = np.clip(random.lognormal(3.1, 0.6, len(block)), 1, 250)
        source[i : i + BLOCK] = np.clip(block * random.normal(1, 0.15, len(block)), 1, 250)
    return source, target


if __name__ == "__main__":
    main()
