"""Vocabulary projection and cross-entropy in one operation, a chunk of tokens at a time.

For small models this is most of the work, and N·V logits would be most of the memory. Each chunk of tokens is
projected, its loss and gradient are computed in the same buffer, and the logits are gone before the next one.
"""

from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from nmt_cli.model.device import autocast_dtype, no_autocast
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
    token_weights: Tensor | None = None,
) -> Loss:
    """Features (N, F), weight (V, F), bias (V,), labels (N,) → the summed loss; each one is written into `losses` (N,).

    log p = log softmax(W f + b);  loss = -Σ_n w_n ((1-ε) log p_y + ε Σ_v log p_v / V),  as torch smooths
    token_weights: w (N,), or None for 1
    """
    needs_gradient = torch.is_grad_enabled() and any(x.requires_grad for x in (features, weight, bias))
    total, cross_entropy = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        features, weight, bias, labels, label_smoothing, chunk_tokens, needs_gradient, losses, token_weights
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
        token_weights: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        device = features.device.type
        half = autocast_dtype(device)
        f_all, W = (x if half is None else x.to(half) for x in (features, weight))  # once for all chunks
        exact = torch.promote_types(features.dtype, torch.float32)  # for the softmax and all sums
        totals = torch.zeros(2, dtype=exact, device=features.device)  # Σ loss, Σ cross-entropy
        if needs_gradient:
            d_features = torch.empty_like(f_all)  # (N, F)
            d_weight = torch.zeros_like(weight, dtype=exact)  # (V, F)
            d_bias = torch.zeros_like(bias, dtype=exact)  # (V,)
        buffers = _Buffers.allocate(min(chunk_tokens, len(labels)), len(weight), f_all, exact)
        with no_autocast(device):
            for start in range(0, len(labels), chunk_tokens):
                chunk = slice(start, start + chunk_tokens)
                f, y = f_all[chunk], labels[chunk, None]  # (n, F), (n, 1)
                w = None if token_weights is None else token_weights[chunk].to(exact)  # (n,)
                z = buffers.project(f, W, bias)  # (n, V)
                cross_entropy, uniform = _cross_entropies(z, y)  # (n,) each; from here on, z is p
                loss = torch.lerp(cross_entropy, uniform, smoothing)  # (n,)
                totals += torch.stack([_weighted_sum(loss, w), _weighted_sum(cross_entropy, w)])
                if losses is not None:
                    losses[chunk] = loss
                if needs_gradient:
                    _differentiate(z, y, smoothing, w)
                    d_bias += z.sum(dim=0)  # (V,)
                    d_z = buffers.factor(z)  # (n, V)
                    torch.mm(d_z, W, out=d_features[chunk])  # (n, F)
                    _accumulate(d_weight, d_z.t(), f)  # (V, F)
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
        return d_features * d_total, d_weight * d_total, d_bias * d_total, *([None] * 6)


class _Buffers(NamedTuple):
    """Memory for the logits of a chunk, which becomes that of their probabilities, and then of their gradients."""

    exact: Tensor  # (n, V)
    half: Tensor | None  # (n, V) for matrix products in half precision

    @classmethod
    def allocate(cls, tokens: int, words: int, like: Tensor, exact: torch.dtype) -> Self:
        """`like`: with the device and the precision of the matrix products."""
        half = None if like.dtype == exact else like.new_empty(tokens, words)
        return cls(like.new_empty(tokens, words, dtype=exact), half)

    def project(self, f: Tensor, W: Tensor, b: Tensor) -> Tensor:
        """z = W f + b, (n, V); the bias is added in full precision."""
        z = self.exact[: len(f)]
        if self.half is None:
            return torch.addmm(b, f, W.t(), out=z)
        return z.copy_(torch.mm(f, W.t(), out=self.half[: len(f)])).add_(b)

    def factor(self, d_z: Tensor) -> Tensor:
        """d_z (n, V) in the precision of the matrix products."""
        return d_z if self.half is None else self.half[: len(d_z)].copy_(d_z)


def _cross_entropies(z: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """-log p_y and -Σ_v log p_v / V, (n,) each, of the logits z (n, V) and the labels y (n, 1); p is written over z.

    log Σ_v exp z_v = max z - log max p, because p = exp z / Σ_v exp z_v: the exponentials are computed only once.
    """
    largest, of_label, mean = z.amax(dim=1), z.gather(1, y)[:, 0], z.mean(dim=1)  # (n,) each
    p = torch.softmax(z, dim=1, out=z)  # (n, V)
    normalizer = largest - p.amax(dim=1).log()  # (n,) p is at least 1/V there
    return normalizer - of_label, normalizer - mean


def _differentiate(p: Tensor, y: Tensor, smoothing: float, w: Tensor | None) -> None:
    """∂loss/∂z = w (p - (1-ε) 1_y - ε/V), (n, V), written over p."""
    if smoothing:
        p -= smoothing / p.shape[1]
    p.scatter_add_(1, y, torch.full_like(y, smoothing - 1, dtype=p.dtype))
    if w is not None:
        p *= w[:, None]


def _weighted_sum(x: Tensor, w: Tensor | None) -> Tensor:
    return x.sum() if w is None else x @ w


def _accumulate(total: Tensor, a: Tensor, b: Tensor) -> None:
    """Add a b to `total`; half-precision products are summed in the precision of `total`."""
    if a.dtype == total.dtype:
        total.addmm_(a, b)
    else:
        total += a @ b
