"""How fast batches are assembled, against a loop over rows and against rows of `datasets`, in turns.

python benchmarks/batches.py [DATA_DIR]      (without a directory: a million synthetic pairs)
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.config import TrainConfig
from nmt_cli.data.batch_plan import BatchPlan
from nmt_cli.data.batches import Batch, TrainingBatches
from nmt_cli.data.directory import Split, SplitWriter
from nmt_cli.vocabulary.token_ids import BOS, EOS, Ragged, offsets_of

ROUNDS = 5
VOCABULARY = 8000


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as directory:
        if len(sys.argv) > 1:
            path = Path(sys.argv[1]) / "train.arrow"
        else:
            path = Path(directory) / "train.arrow"
            write_synthetic(path, 1_000_000)
        measure(path)


def measure(path: Path) -> None:
    """Print speed and padding of the training batches of one file."""
    split = Split.open(path)
    batches = TrainingBatches(split, TrainConfig())
    start = time.perf_counter()
    plan = batches.plan(1)
    print(f"plan      {len(split)} pairs, {len(plan)} batches in {time.perf_counter() - start:.2f} s")
    show_padding(split, plan)

    dataset = Dataset.from_file(str(path))
    rank_batches = batches.stream(1)
    every = np.arange(len(split))
    in_memory = split.gather(every, "source"), split.gather(every, "target")
    ways: dict[str, tuple[Callable[[NDArray[Any]], object], int]] = {
        "nmt": (lambda rows: next(rank_batches), 200),
        "row loop": (
            lambda rows: pad_by_loop(*[[ids[row].tolist() for row in rows] for ids in in_memory]),
            40,
        ),
        "datasets": (lambda rows: from_dataset(dataset, rows), 20),
    }
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    position = 0
    for _ in range(ROUNDS):
        for name, (way, count) in ways.items():
            count = min(count, len(plan))
            chosen = [plan[(position + i) % len(plan)] for i in range(count)]
            if name == "nmt":
                position += count  # the stream continues where it was: nobody is given warm pages
            begin = time.perf_counter()
            for rows in chosen:
                way(rows)
            speeds[name].append(sum(map(len, chosen)) / (time.perf_counter() - begin))
    for name, measured in speeds.items():
        ratio = median(speeds["nmt"]) / median(measured)
        print(f"{name:9} {median(measured):9.0f} pairs/s   nmt is {ratio:.1f} times as fast")


def show_padding(split: Split, plan: BatchPlan) -> None:
    """Print the share of padding on both sides."""
    for side, lengths in (("source", split.source_lengths), ("target", split.target_lengths)):
        padded = sum(len(plan[i]) * (int(lengths[plan[i]].max()) + 1) for i in range(len(plan)))
        real = int(lengths[plan.rows].sum(dtype=np.int64)) + len(plan.rows)
        print(f"padding   {side} {1 - real / padded:.1%}")


def from_dataset(dataset: Dataset, rows: NDArray[Any]) -> Batch:
    """Rows as `datasets` gives them."""
    found = dataset[rows.tolist()]
    return pad_by_loop(found["source"], found["target"])


def pad_by_loop(source: list[list[int]], target: list[list[int]]) -> Batch:
    """Collate with one assignment a row."""
    xs = pad([[*row, EOS] for row in source])
    ys = pad([[BOS, *row] for row in target])
    lengths = torch.tensor([len(row) + 1 for row in target])
    labels = torch.cat([torch.tensor([*row, EOS]) for row in target])
    positions = torch.cat([b * ys.shape[1] + torch.arange(int(n)) for b, n in enumerate(lengths)])
    return Batch(xs, torch.tensor([len(row) + 1 for row in source]), ys, lengths, positions, labels)


def pad(rows: list[list[int]]) -> Tensor:
    """A matrix with zeros after each row."""
    padded = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = torch.tensor(row)
    return padded


def write_synthetic(path: Path, pairs: int) -> None:
    """Random ids with lengths like those of Multi30k."""
    random = np.random.default_rng(1)
    with SplitWriter(path, VOCABULARY, VOCABULARY) as writer:
        for start in range(0, pairs, 100_000):
            rows = min(100_000, pairs - start)
            target = np.maximum(random.normal(15, 4, rows), 2).astype(np.int64)
            source = np.maximum(target + random.normal(0, 3, rows), 2).astype(np.int64)
            sides = [
                Ragged(random.integers(4, VOCABULARY, lengths.sum()), offsets_of(lengths))
                for lengths in (source, target)
            ]
            writer.write(["a"] * rows, ["b"] * rows, *sides)


if __name__ == "__main__":
    main()
