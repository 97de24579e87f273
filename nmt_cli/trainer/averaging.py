"""The moving average of the weights over updates."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor

from nmt_cli.model import Seq2Seq


class MovingAverage:
    """θ̄ ← d θ̄ + (1 - d) θ after every update, with d = min(decay, (1 + u) / (10 + u)) after u updates.

    The first updates would otherwise stay in the average for long.
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.model = deepcopy(model).eval().requires_grad_(False)  # has the averaged weights
        self._decay = decay
        self._mean = _tensors(self.model)
        self._current = _tensors(model)

    @torch.no_grad()
    def update(self, updates: int) -> None:
        """Take in the weights after `updates` updates."""
        decay = min(self._decay, (1 + updates) / (10 + updates))
        torch._foreach_lerp_(self._mean, self._current, 1 - decay)


def _tensors(model: Seq2Seq) -> list[Tensor]:
    return list(model.parameters())
