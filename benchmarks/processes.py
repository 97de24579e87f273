"""CPU time of an update in one or several gloo processes, and of exchanging the gradient: docs/scaling.md.

python benchmarks/processes.py DATA_DIR
torchrun --standalone --nproc-per-node 2 benchmarks/processes.py DATA_DIR

One thread each. CPU time, because with fewer idle cores than processes the clock measures the other work. It leaves
out waiting, so it shows the work that an exchange costs, not the latency of a network. With several processes, the
settings of the exchange take turns, update by update, and elapsed time is printed as well.
"""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

import torch

from nmt_cli.config import resolve
from nmt_cli.data.directory import DataDirectory
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.settings import with_data_settings
from nmt_cli.training.setup import Machine, make_batches, make_learner

UPDATES = 20
EXCHANGES: tuple[tuple[str, ...], ...] = (
    (),
    ("train.gradient_exchange=bf16",),
    ("train.gradient_exchange=fp16",),
    ("train.bucket_megabytes=1",),
    ("train.bucket_megabytes=1000",),
)


def main() -> None:
    """Print one line per setting in the first process."""
    group = ProcessGroup.join(timeout=600)
    data = DataDirectory.open(Path(sys.argv[1]))
    variants = EXCHANGES if group.world > 1 else EXCHANGES[:1]
    configs = [with_data_settings(resolve(assignments=settings), data).config for settings in variants]
    learners = [make_learner(data, config, group, Machine(device="cpu", threads=1)) for config in configs]
    stream = make_batches(data, configs[0], group, learners[0].device).stream(1)
    rounds = [
        [partial(learner.update, number, [rank_batch], 1e-3) for learner in learners]
        for number, rank_batch in enumerate(islice(stream, UPDATES), start=1)
    ]
    parameters = sum(parameter.numel() for parameter in learners[0].model.parameters())
    exchange = 0.0
    if group.world > 1:
        ((exchange, _),) = measure([[partial(group.sum, torch.zeros(parameters))]] * UPDATES)
    if group.is_main:
        print(
            f"{group.world} processes; exchange of {parameters * 4 / 1e6:.0f} MB: {exchange * 1e3:.0f} CPU ms"
        )
    for settings, (cpu, elapsed) in zip(variants, measure(rounds), strict=True):
        if group.is_main:
            name = " ".join(settings) or "defaults"
            print(f"{name}: {cpu * 1e3:.0f} CPU ms per update and process, {elapsed * 1e3:.0f} ms elapsed")
    group.close()


def measure(rounds: Sequence[Sequence[Callable[[], object]]]) -> list[tuple[float, float]]:
    """For each call of a round, the medians of CPU time and elapsed time over all rounds after the first two."""
    times: list[list[tuple[float, float]]] = []
    for calls in rounds:
        times.append([])
        for call in calls:
            start = time.process_time(), time.perf_counter()
            call()
            times[-1].append((time.process_time() - start[0], time.perf_counter() - start[1]))
    return [
        (median(cpu for cpu, _ in column), median(elapsed for _, elapsed in column))
        for column in zip(*times[2:], strict=True)
    ]


if __name__ == "__main__":
    main()
