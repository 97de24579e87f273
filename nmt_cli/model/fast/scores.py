"""Attention scores for loops without an autograd graph: the energies of one query per sentence, and their derivative.

The gradient of the keys is complete only after the last step, so a score is an object that lives as long as one
loop and accumulates it.
"""

import math
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from nmt_cli.model.scores import Additive, AttentionScore, Concat, Dot, General, ProjectedDot, ScaledDot


class ScoreParts(NamedTuple):
    """A score function as e_s = q · K_s, or v · tanh(q + K_s), with the query q = W_q s + b_q."""

    keys: Tensor  # (B, S, A) K
    W_q: Tensor | None = None  # (A, H); None: q = s
    b_q: Tensor | None = None  # (A,)
    v: Tensor | None = None  # (A,)


def is_known(score: AttentionScore) -> bool:
    """Whether the loops support this score function."""
    return type(score) in (Additive, Concat, Dot, General, ProjectedDot, ScaledDot)


def parts_of(score: AttentionScore, keys: Tensor) -> ScoreParts:
    """The parts of a supported score function."""
    if isinstance(score, Additive):
        return ScoreParts(keys, W_q=score.W.weight, v=score.v.weight[0])
    if isinstance(score, ProjectedDot):
        return ScoreParts(keys, W_q=score.f.weight, b_q=score.f.bias)
    if isinstance(score, ScaledDot):
        return ScoreParts(keys / math.sqrt(keys.shape[-1]))
    return ScoreParts(keys)


class ScoreLoop(Protocol):
    """e = score(q, K) at every step; then, in any order of steps, dq from de."""

    def energy(self, q: Tensor, e: Tensor) -> None:
        """Query q (B, A) → e (B, S), written into `e`."""
        ...

    def backward(self, q: Tensor, de: Tensor, dq: Tensor) -> None:
        """de (B, S), whose rows sum to zero as those of a softmax do, → dq (B, A), written into `dq`."""
        ...

    def collected(self, q: Tensor, de: Tensor) -> tuple[Tensor, Tensor | None]:
        """Of all steps, q (T, B, A) and de (T, B, S): dK (B, S, A), and dv (A,) if there is a v."""
        ...


class DotLoop:
    """e_s = q · K_s"""

    def __init__(self, keys: Tensor) -> None:
        self.keys = keys  # (B, S, A)

    def energy(self, q: Tensor, e: Tensor) -> None:
        """e = K q"""
        torch.bmm(self.keys, q[..., None], out=e[..., None])

    def backward(self, q: Tensor, de: Tensor, dq: Tensor) -> None:
        """dq = Σ_s de_s K_s"""
        torch.bmm(de[:, None], self.keys, out=dq[:, None])

    def collected(self, q: Tensor, de: Tensor) -> tuple[Tensor, None]:
        """dK_s = Σ_t de_ts q_t"""
        return torch.bmm(de.permute(1, 2, 0), q.transpose(0, 1)), None  # (B, S, T) (B, T, A)


class AdditiveLoop:
    """e_s = v · tanh(q + K_s)

    The B·S·A values h = tanh(q + K) are recomputed in the backward pass: one buffer serves all steps.
    """

    def __init__(self, keys: Tensor, v: Tensor) -> None:
        self.keys = keys  # (B, S, A)
        self.v = v  # (A,)
        self.h = torch.empty_like(keys)  # (B, S, A)
        self.dv: Tensor | None = None  # (A,)
        self.weighted_squares: Tensor | None = None  # (B, S, A) Σ_t de_ts h_ts²

    def energy(self, q: Tensor, e: Tensor) -> None:
        """h_s = tanh(q + K_s);  e_s = v · h_s"""
        torch.add(self.keys, q[:, None], out=self.h).tanh_()
        torch.mv(self.h.flatten(0, 1), self.v, out=e.view(-1))

    def backward(self, q: Tensor, de: Tensor, dq: Tensor) -> None:
        """dv += Σ_s de_s h_s;  dq = v ∘ Σ_s de_s (1 - h_s²) = -v ∘ Σ_s de_s h_s², for Σ_s de_s = 0"""
        if self.dv is None or self.weighted_squares is None:
            self.dv, self.weighted_squares = torch.zeros_like(self.v), torch.zeros_like(self.keys)
        torch.add(self.keys, q[:, None], out=self.h).tanh_()
        self.dv.addmv_(self.h.flatten(0, 1).t(), de.flatten())
        self.h.square_()
        torch.bmm(de[:, None], self.h, out=dq[:, None])
        dq.mul_(-self.v)
        self.weighted_squares.addcmul_(de[..., None], self.h)

    def collected(self, q: Tensor, de: Tensor) -> tuple[Tensor, Tensor]:
        """dK_s = v ∘ Σ_t de_ts (1 - h_ts²)"""
        assert self.dv is not None
        assert self.weighted_squares is not None
        return self.weighted_squares.neg_().add_(de.sum(dim=0)[..., None]).mul_(self.v), self.dv
