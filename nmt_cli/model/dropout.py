"""Dropout in its kinds: per element, one mask for all steps (variational), whole words."""

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout


class Dropout(nn.Module):
    """Zero elements with probability p; variational: the same ones at all steps (Gal & Ghahramani 2016)."""

    def __init__(self, p: float, *, variational: bool) -> None:
        super().__init__()
        self.p = p
        self.variational = variational

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, T, …)"""
        if not self.variational:
            return dropout(x, self.p, self.training)
        mask = self.mask(x)
        return x if mask is None else x * mask

    def mask(self, x: Tensor) -> Tensor | None:
        """What x (B, T, …) is multiplied by: 0 or 1/(1-p), (B, T or 1, …); None if nothing is dropped."""
        if not self.training or self.p == 0:
            return None
        return dropout(torch.ones_like(x[:, :1] if self.variational else x), self.p)


class WordDropout(nn.Module):
    """Zero whole word vectors with probability p (Sennrich et al. 2016, Edinburgh systems for WMT 16)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, T, E)"""
        if not self.training or self.p == 0:
            return x
        return x * dropout(torch.ones_like(x[..., :1]), self.p)  # (B, T, 1)
