"""What `--compile` gains on a CPU: the table in docs/gpu.md.

    python benchmarks/compilation.py [PRESET …] [--data DATA_DIR] [--hidden 256]     (without data: the demo corpus)

A plain and a compiled learner, one thread, take turns with the same batches, one update each, so that other work on
the machine disturbs both alike. The first updates compile and count as such, with the compiler's processes. Shown are
medians of CPU milliseconds per update after that, and the median of the ratios.
"""

import argparse
import logging
import os
import statistics
import tempfile
import time
import warnings
from itertools import islice
from pathlib import Path

from demo_corpus import demo_corpus

from nmt_cli.config import resolve
from nmt_cli.data.directory import DataDirectory
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.learner import Learner
from nmt_cli.training.setup import Machine, make_batches, make_learner

os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # no pool of compilers, whose CPU time would be unknown
WARM_UP = 8  # updates; batches of other shapes may compile again


def main() -> None:
    """Parse the arguments, run, and print the table."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("presets", nargs="*", default=["luong2015", "vaswani2017"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--updates", type=int, default=20)
    arguments = parser.parse_args()
    print(
        "| preset | compilation | plain | compiled | plain / compiled |\n| --- | ---: | ---: | ---: | ---: |"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.data or demo_corpus(Path(folder), pairs=5000, vocabulary=4000)
        for preset in arguments.presets:
            print(measure(preset, DataDirectory.open(path), arguments.hidden, arguments.updates), flush=True)


def measure(preset: str, data: DataDirectory, hidden: int, updates: int) -> str:
    """One row of the table."""
    settings = [
        f"model.hidden_size={hidden}",
        f"model.embedding_size={hidden // 2}",
        "train.batch_tokens=1024",
    ]
    if preset == "vaswani2017":
        settings[1] = f"model.embedding_size={hidden}"
    config, group = resolve(None, [f"model.preset={preset}", *settings]).config, ProcessGroup()
    plain, compiled = (
        make_learner(data, config, group, Machine(device="cpu", threads=1, compiled=compiled))
        for compiled in (False, True)
    )
    stream = make_batches(data, config, group, plain.device).stream()
    times: list[tuple[float, float]] = []
    for update, batch in enumerate(islice(stream, WARM_UP + updates), start=1):
        times.append((seconds(plain, update, batch), seconds(compiled, update, batch)))
    compilation = sum(own for _, own in times[:WARM_UP]) - sum(other for other, _ in times[:WARM_UP])
    rest = times[WARM_UP:]
    ratio = statistics.median(other / own for other, own in rest)
    medians = [1000 * statistics.median(side) for side in zip(*rest, strict=True)]
    return f"| `{preset}` | {compilation:.0f} s | {medians[0]:.0f} ms | {medians[1]:.0f} ms | {ratio:.2f} |"


def seconds(learner: Learner, update: int, batch: object) -> float:
    """CPU time of one update, child processes included."""
    start = cpu_seconds()
    learner.update(update, [batch], 1e-4)  # type: ignore[list-item]
    return cpu_seconds() - start


def cpu_seconds() -> float:
    """CPU time of this process, exactly, and of its children that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


if __name__ == "__main__":
    main()
