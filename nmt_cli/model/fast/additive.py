"""The additive score e_s = v · tanh(q + K_s) of many queries, without ever holding B·Q·S·A values.

h = tanh(q + K) is computed in blocks, and recomputed in the backward pass. A block is a few sentences with all
their queries, or a few queries of one long sentence; on a CPU it fits into the cache. The plain formula is
`Additive.compare` in `nmt_cli.model.scores`.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

_ON_CPU, _ELSEWHERE = 2**20, 2**24  # elements in a block


def fits_in_one_block(q: Tensor, K: Tensor) -> bool:
    """Whether q (B, Q, A) and K (B, S, A) are too small to benefit from blocking."""
    return q.numel() * K.shape[1] <= _block(q)


def blockwise_additive_score(q: Tensor, K: Tensor, v: Tensor) -> Tensor:
    """Queries q (B, Q, A), keys K (B, S, A), v (A,) → e (B, Q, S)."""
    e: Tensor = _AdditiveScore.apply(q, K, v)  # type: ignore[no-untyped-call]
    return e


class _AdditiveScore(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, K: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(q, K, v)
        e = q.new_empty(*q.shape[:2], K.shape[1])  # (B, Q, S)
        for rows, queries, h in _blocks(q, K):  # h (b, n, S, A)
            _hidden(q[rows, queries], K[rows], h)
            e[rows, queries] = h @ v
        return e

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, de: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """dv = Σ_qs de_qs h_qs;  g_qs = de_qs (1 - h_qs²);  dq = v ∘ Σ_s g_qs;  dK_s = v ∘ Σ_q g_qs"""
        q, K, v = ctx.saved_tensors
        exact = torch.promote_types(q.dtype, torch.float32)  # for sums over blocks
        dq, dK, dv = torch.empty_like(q), torch.zeros_like(K, dtype=exact), torch.zeros_like(v, dtype=exact)
        for rows, queries, h in _blocks(q, K):  # h (b, n, S, A)
            _hidden(q[rows, queries], K[rows], h)
            d = de[rows, queries]  # (b, n, S)
            dv += d.reshape(-1) @ h.flatten(0, 2)
            g = torch.addcmul(d[..., None], d[..., None], h.square_(), value=-1, out=h)
            dq[rows, queries] = g.sum(dim=2)
            dK[rows] += g.sum(dim=1)
        return dq.mul_(v), dK.mul_(v).to(K.dtype), dv.to(v.dtype)


def _hidden(q: Tensor, K: Tensor, h: Tensor) -> None:
    torch.add(q[:, :, None], K[:, None], out=h).tanh_()


def _blocks(q: Tensor, K: Tensor) -> Iterator[tuple[slice, slice, Tensor]]:
    """Sentences, queries and a buffer (b, n, S, A) for each block."""
    (B, Q, A), S = q.shape, K.shape[1]
    b = max(1, min(B, _block(q) // (Q * S * A)))
    n = max(1, min(Q, _block(q) // (S * A)))
    buffer = q.new_empty(b * n * S * A)
    for i in range(0, B, b):
        for j in range(0, Q, n):
            shape = (min(b, B - i), min(n, Q - j), S, A)
            size = shape[0] * shape[1] * S * A
            yield slice(i, i + b), slice(j, j + n), buffer[:size].view(shape)


def _block(q: Tensor) -> int:
    return _ON_CPU if q.device.type == "cpu" else _ELSEWHERE
