"""Local attention: only a window of 2 D + 1 source positions around p_t is looked at.

(Luong et al. 2015, section 3.2; positions and steps are counted from 0, n is the length of the source)
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn


class Window(nn.Module):
    """|s - p_t| ≤ D. Subclasses say where p_t is."""

    def __init__(self, hidden_size: int, reach: int) -> None:
        super().__init__()
        self.D = reach

    def forward(self, query: Tensor, mask: Tensor, steps: Tensor) -> tuple[Tensor, Tensor | None]:
        """Query (B, Q, H), mask (B, S), steps (B or 1, Q) → what is seen (B, Q, S), weights (B, Q, S) or None."""
        last = (mask.sum(dim=1, keepdim=True) - 1).clamp(min=0)  # (B, 1) n - 1
        p = self.centers(query, steps, last)[..., None]  # (B, Q, 1)
        s = torch.arange(mask.shape[1], device=mask.device)  # (S,)
        distance = s - p  # (B, Q, S)
        return mask[:, None] & (distance.abs() <= self.D), self.weights(distance)

    def centers(self, query: Tensor, steps: Tensor, last: Tensor) -> Tensor:
        """p_t (B, Q), between 0 and n - 1."""
        raise NotImplementedError

    def weights(self, distance: Tensor) -> Tensor | None:
        """What α is multiplied by at s - p_t (B, Q, S); None: by nothing."""
        return None


class Monotonic(Window):
    """p_t = t, and the last position once t is past it   (local-m)"""

    def centers(self, query: Tensor, steps: Tensor, last: Tensor) -> Tensor:
        """min(t, n - 1)"""
        return torch.minimum(steps, last)  # (B, Q)


class Predictive(Window):
    """p_t = (n - 1) σ(v · tanh(W s_t));  α_s = softmax(e)_s exp(-(s - p_t)² / 2σ²), σ = D/2   (local-p)

    α then sums to less than 1, as in the paper; through it p_t is learned.
    """

    def __init__(self, hidden_size: int, reach: int) -> None:
        super().__init__(hidden_size, reach)
        self.W = nn.Linear(hidden_size, hidden_size, bias=False)
        self.v = nn.Linear(hidden_size, 1, bias=False)

    def centers(self, query: Tensor, steps: Tensor, last: Tensor) -> Tensor:
        """(n - 1) σ(v · tanh(W q)), at least in float32: the weights fall steeply"""
        p = torch.sigmoid(self.v(torch.tanh(self.W(query)))[..., 0])  # (B, Q)
        return last * p.to(torch.promote_types(p.dtype, torch.float32))

    def weights(self, distance: Tensor) -> Tensor:
        """exp(-(s - p_t)² / 2σ²)"""
        return torch.exp(-2 * (distance / self.D).square())  # (B, Q, S)


WINDOWS: dict[str, Callable[[int, int], Window]] = {"local-m": Monotonic, "local-p": Predictive}
