"""CPU time of an update in one or several gloo processes, and of exchanging the gradient: docs/scaling.md.

python benchmarks/processes.py DATA_DIR
torchrun --standalone --nproc-per-node 2 benchmarks/processes.py DATA_DIR

One thread each. CPU time, because with fewer idle cores than processes the clock measures the other work. It leaves
out waiting, so it shows the work that an exchange costs, not the latency of a network.
"""

import sys
import time
from collections.abc import Callable
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


def main() -> None:
    """Print one line in the first process."""
    group = ProcessGroup.join(timeout=600)
    data = DataDirectory.open(Path(sys.argv[1]))
    config = with_data_settings(resolve(), data).config
    learner = make_learner(data, config, group, Machine(device="cpu", threads=1))
    stream = make_batches(data, config, group, learner.device).stream(1)
    rank_batches = list(islice(stream, UPDATES))
    update = measure([partial(learner.update, n + 1, [rank_batches[n]], 1e-3) for n in range(UPDATES)])
    parameters = sum(parameter.numel() for parameter in learner.model.parameters())
    gradient = torch.zeros(parameters)
    exchange = measure([partial(group.sum, gradient)] * UPDATES) if group.world > 1 else 0.0
    if group.is_main:
        print(
            f"{group.world} processes: {update * 1e3:.0f} CPU ms per update and process, "
            f"of which exchange of {parameters * 4 / 1e6:.0f} MB {exchange * 1e3:.0f} ms"
        )
    group.close()


def measure(calls: list[Callable[[], object]]) -> float:
    """The median CPU time of the calls after the first two."""
    times = []
    for call in calls:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return median(times[2:])


if __name__ == "__main__":
    main()
