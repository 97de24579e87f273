"""Vocabulary projection and cross-entropy in one operation, a chunk of tokens at a time.

For small models this is most of the work, and N·V logits would be most of the memory. Each chunk of tokens is
projected, its loss and gradient are computed in the same buffer, and the logits are gone before the next one.
"""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from nmt_cli.model.protocol import Loss


def chunked_cross_entropy(
    features: Tensor,
    weight: Tensor,
    bias: Tensor,
    labels: Tensor,
    *,
    label_smoothing: float,
    chunk_tokens: int,
    losses: Tensor | None = None,
) -> Loss:
    """Features (N, F), weight (V, F), bias (V,), labels (N,) → the summed loss; each one is written into `losses` (N,).

    log p = log softmax(W f + b);  loss = -Σ_n ((1-ε) log p_y + ε Σ_v log p_v / V),  as torch smooths
    """
    needs_gradient = torch.is_grad_enabled() and any(x.requires_grad for x in (features, weight, bias))
    total, cross_entropy = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        features, weight, bias, labels, label_smoothing, chunk_tokens, needs_gradient, losses
    )
    return Loss(total, cross_entropy, len(labels))


class _ChunkedCrossEntropy(torch.autograd.Function):
    """The gradient is computed in the forward pass, where the logits are; backward only scales it."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        labels: Tensor,
        smoothing: float,
        chunk_tokens: int,
        needs_gradient: bool,
        losses: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        device = features.device.type
        half = _autocast_dtype(device)
        cast = (x if half is None else x.to(half) for x in (features, weight, bias))  # once for all chunks
        f_all, W, b = cast
        exact = torch.promote_types(features.dtype, torch.float32)  # for the softmax and all sums
        totals = torch.zeros(2, dtype=exact, device=features.device)  # Σ loss, Σ cross-entropy
        if needs_gradient:
            d_features = torch.empty_like(f_all)  # (N, F)
            d_weight = torch.zeros_like(weight, dtype=exact)  # (V, F)
            d_bias = torch.zeros_like(bias, dtype=exact)  # (V,)
        n = min(chunk_tokens, len(labels))
        logits = f_all.new_empty(n, len(weight))  # (n, V) one buffer for all chunks
        with nullcontext() if half is None else torch.autocast(device, enabled=False):
            for start in range(0, len(labels), chunk_tokens):
                chunk = slice(start, start + chunk_tokens)
                f, y = f_all[chunk], labels[chunk, None]  # (n, F), (n, 1)
                z = torch.addmm(b, f, W.t(), out=logits[: len(f)]).to(exact)  # (n, V)
                log_p = torch.log_softmax(z, dim=1, out=z)  # (n, V) in place of z
                totals += _losses(log_p, y, smoothing)
                if losses is not None:
                    losses[chunk] = _each_loss(log_p, y, smoothing)
                if needs_gradient:
                    d_z = _gradient(log_p, y, smoothing).to(f.dtype)  # (n, V) in place of log_p
                    torch.mm(d_z, W, out=d_features[chunk])  # (n, F)
                    _accumulate(d_weight, d_z.t(), f)  # (V, F)
                    d_bias += d_z.sum(dim=0, dtype=exact)  # (V,)
                    del d_z
                del z, log_p  # in half precision a copy: free it before the next one is made
        if needs_gradient:
            d_features, d_weight = d_features.to(features.dtype), d_weight.to(weight.dtype)
            ctx.save_for_backward(d_features, d_weight, d_bias.to(bias.dtype))
        total, cross_entropy = (part.clone() for part in totals)  # no views: callers may scale them in place
        ctx.mark_non_differentiable(cross_entropy)
        return total, cross_entropy

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_total: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        d_features, d_weight, d_bias = ctx.saved_tensors
        return d_features * d_total, d_weight * d_total, d_bias * d_total, None, None, None, None, None


def _losses(log_p: Tensor, y: Tensor, smoothing: float) -> Tensor:
    """(2,) the smoothed loss and the cross-entropy of log p (n, V) for the labels y (n, 1), summed."""
    cross_entropy = -log_p.gather(1, y).sum()
    if smoothing == 0:
        return torch.stack([cross_entropy, cross_entropy])
    uniform = -log_p.sum() / log_p.shape[1]
    return torch.stack([(1 - smoothing) * cross_entropy + smoothing * uniform, cross_entropy])


def _each_loss(log_p: Tensor, y: Tensor, smoothing: float) -> Tensor:
    """(n,) the smoothed loss of each token."""
    cross_entropy = -log_p.gather(1, y)[:, 0]
    return (1 - smoothing) * cross_entropy - smoothing * log_p.mean(dim=1)


def _gradient(log_p: Tensor, y: Tensor, smoothing: float) -> Tensor:
    """∂loss/∂z = p - (1-ε) 1_y - ε/V, (n, V), written over log p."""
    d_z = log_p.exp_()
    if smoothing:
        d_z -= smoothing / d_z.shape[1]
    return d_z.scatter_add_(1, y, torch.full_like(y, smoothing - 1, dtype=d_z.dtype))


def _accumulate(total: Tensor, a: Tensor, b: Tensor) -> None:
    """Add a b to `total`; half-precision products are summed in the precision of `total`."""
    if a.dtype == total.dtype:
        total.addmm_(a, b)
    else:
        total += a @ b


def _autocast_dtype(device: str) -> torch.dtype | None:
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return None
