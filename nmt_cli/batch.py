"""A batch of sentence pairs as a plain value, apart from where the sentences came from."""

from typing import NamedTuple, Self

import torch
from torch import Tensor


class Batch(NamedTuple):
    """B sentence pairs, padded with 0 to the longest source S and the longest target T.

    Lengths stay on the CPU. `positions` is made on the host, so that no device has to look for the real tokens.
    """

    source: Tensor  # (B, S) x_1 … x_n <eos>
    source_lengths: Tensor  # (B,) on the CPU, <eos> included
    target_inputs: Tensor  # (B, T) <bos> y_1 … y_m
    target_lengths: Tensor  # (B,) on the CPU, m + 1
    positions: Tensor  # (N,) flat indices b·T + t of the N real target tokens
    labels: Tensor  # (N,) what the decoder has to say there: y_1 … y_m <eos>

    def to(self, device: torch.device | str) -> Self:
        """The same batch on `device`; the copies overlap with computation if the batch is pinned."""
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in _ON_DEVICE}
        return self._replace(**moved)

    def pin(self) -> Self:
        """The same batch in page-locked memory."""
        return self._replace(**{name: getattr(self, name).pin_memory() for name in _ON_DEVICE})


_ON_DEVICE = ("source", "target_inputs", "positions", "labels")
