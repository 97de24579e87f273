"""Kinds of dropout: per element, with one mask for all steps (variational), of whole words."""

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
        if x.device.type != "cpu" and not self.variational:
            return dropout(x, self.p, self.training)  # one kernel
        mask = self.mask(x)
        return x if mask is None else x * mask

    def mask(self, x: Tensor) -> Tensor | None:
        """The factors 0 or 1/(1-p) for x (B, T, …): (B, T or 1, …); None if nothing is dropped."""
        if not self.training or self.p == 0:
            return None
        return draw_mask(x[:, :1] if self.variational else x, self.p)


class WordDropout(nn.Module):
    """Zero whole word vectors with probability p (Sennrich et al. 2016, Edinburgh systems for WMT 16)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, T, E)"""
        if not self.training or self.p == 0:
            return x
        return x * draw_mask(x[..., :1], self.p)  # (B, T, 1)


def draw_mask(like: Tensor, p: float) -> Tensor:
    """0 with probability p, else 1/(1-p), in the shape of `like`.

    On a CPU one draw of 64 bits serves four elements, which rounds p to 16 bits; torch draws once per element and
    takes 2.5 to 3 times as long.
    """
    if like.device.type != "cpu":
        return dropout(torch.ones_like(like), p)
    draws = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[: like.numel()].view(like.shape)  # uniform over -32768 … 32767
    return (bits >= round(p * 2**16) - 2**15).to(like.dtype).mul_(1 / (1 - p))
