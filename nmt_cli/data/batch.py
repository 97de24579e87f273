"""A batch of padded sentence pairs, as a value."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.vocabulary.token_ids import BOS, EOS, PAD, Ragged


class Batch(NamedTuple):
    """B sentence pairs, padded with 0 to the longest source S and the longest target T.

    Lengths stay on the CPU. `positions` is computed on the host, so that the device need not search for real tokens.
    """

    source: Tensor  # (B, S) x_1 … x_n <eos>
    source_lengths: Tensor  # (B,) on the CPU, <eos> included
    target_inputs: Tensor  # (B, T) <bos> y_1 … y_m
    target_lengths: Tensor  # (B,) on the CPU, m + 1
    positions: Tensor  # (N,) flat indices b·T + t of the N real target tokens
    labels: Tensor  # (N,) the tokens to predict there: y_1 … y_m <eos>

    def to(self, device: torch.device | str) -> Self:
        """The same batch on `device`; if it is pinned, copying overlaps with computation."""
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in _ON_DEVICE}
        return self._replace(**moved)

    def pin(self) -> Self:
        """The same batch in page-locked memory."""
        return self._replace(**{name: getattr(self, name).pin_memory() for name in _ON_DEVICE})


_ON_DEVICE = ("source", "target_inputs", "positions", "labels")

Rows = Ragged | Sequence[Sequence[int]]


def collate(source: Rows, target: Rows) -> Batch:
    """Pad rows of token ids to a batch. This is the only place where <bos> and <eos> are added."""
    xs, source_lengths = _with_eos(source)
    labels, target_lengths = _with_eos(target)
    assert len(source_lengths) == len(target_lengths) > 0
    inputs = np.empty_like(labels)
    inputs[1:] = labels[:-1]
    inputs[np.cumsum(target_lengths) - target_lengths] = BOS  # replaces the <eos> of the previous row
    real = _real(target_lengths)
    return Batch(
        source=torch.from_numpy(_pad(xs, _real(source_lengths))),
        source_lengths=torch.from_numpy(source_lengths),
        target_inputs=torch.from_numpy(_pad(inputs, real)),
        target_lengths=torch.from_numpy(target_lengths),
        positions=torch.from_numpy(np.flatnonzero(real)),
        labels=torch.from_numpy(labels),
    )


def pad_source(source: Rows) -> tuple[Tensor, Tensor]:
    """Padded sources and their lengths, for translation, where there is no target yet."""
    xs, lengths = _with_eos(source)
    return torch.from_numpy(_pad(xs, _real(lengths))), torch.from_numpy(lengths)


def _with_eos(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All ids in one flat array with <eos> after each row, and the lengths of the rows."""
    ragged = rows if isinstance(rows, Ragged) else Ragged.from_rows(rows)
    lengths = ragged.lengths + 1
    ends = np.cumsum(lengths) - 1
    flat = np.empty(len(ragged.values) + len(ragged), np.int64)
    within = np.ones(len(flat), np.bool_)
    within[ends] = False
    flat[within] = ragged.values
    flat[ends] = EOS
    return flat, lengths


def _real(lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(B, longest), True where a row has a token."""
    real: NDArray[np.bool_] = np.arange(lengths.max()) < lengths[:, None]
    return real


def _pad(flat: NDArray[np.int64], real: NDArray[np.bool_]) -> NDArray[np.int64]:
    padded = np.full(real.shape, PAD, np.int64)
    padded[real] = flat
    return padded
