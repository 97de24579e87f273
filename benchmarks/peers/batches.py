"""The batches that every system is fed, as plain tensors that no toolkit is needed for."""

from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

PAD, BOS, EOS = 0, 2, 3


class Pairs(NamedTuple):
    """B sentence pairs, longest source first (packing wants that), padded with 0."""

    source: Tensor  # (B, S) x_1 … x_n <eos>
    source_lengths: Tensor  # (B,)
    target: Tensor  # (B, T + 1) <bos> y_1 … y_m <eos>
    target_lengths: Tensor  # (B,) m + 1: what has to be predicted

    @property
    def tokens(self) -> int:
        """Real target tokens, <eos> included."""
        return int(self.target_lengths.sum())

    def first(self, rows: int) -> Self:
        """The first few pairs only."""
        return self._replace(**{name: getattr(self, name)[:rows] for name in self._fields})


def save(path: Path, batches: list[Pairs]) -> None:
    """Write batches for the workers."""
    arrays = {
        f"{i}.{name}": getattr(batch, name).numpy()
        for i, batch in enumerate(batches)
        for name in batch._fields
    }
    np.savez(path, **arrays)


def load(path: Path) -> list[Pairs]:
    """Read what `save` wrote."""
    with np.load(path) as arrays:
        count = len(arrays.files) // len(Pairs._fields)
        return [
            Pairs(*(torch.from_numpy(arrays[f"{i}.{name}"]) for name in Pairs._fields)) for i in range(count)
        ]


class Shape(NamedTuple):
    """What the number of operations depends on: real tokens only."""

    sentences: int
    source: int  # Σ n
    target: int  # Σ m
    pairs: int  # Σ n·m, what attention looks at

    @classmethod
    def of(cls, batches: list[Pairs]) -> Self:
        """The shape of all batches together."""
        n = torch.cat([batch.source_lengths for batch in batches])
        m = torch.cat([batch.target_lengths for batch in batches])
        return cls(len(n), int(n.sum()), int(m.sum()), int((n * m).sum()))
