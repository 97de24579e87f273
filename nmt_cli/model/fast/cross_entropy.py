"""Vocabulary projection and cross-entropy in one operation, a chunk of tokens at a time.

For small models this is most of the work, and N·V logits would be most of the memory. Each chunk of tokens is
projected, its loss and gradient are computed in the same buffer, and the logits are gone before the next one.
"""

from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from nmt_cli.model.copying import copying_cross_entropy
from nmt_cli.model.device import autocast_dtype, no_autocast
from nmt_cli.model.protocol import Loss


def chunked_cross_entropy(
    features: Tensor,
    weight: Tensor,
    bias: Tensor,
    labels: Tensor,
    switch: Tensor | None = None,
    copied: Tensor | None = None,
    *,
    label_smoothing: float,
    chunk_tokens: int,
    losses: Tensor | None = None,
    token_weights: Tensor | None = None,
) -> Loss:
    """Features (N, F), weight (V, F), bias (V,), labels (N,) → the summed loss; each one is written into `losses` (N,).

    log p = log softmax(W f + b);  loss = -Σ_n w_n ((1-ε) log p_y + ε Σ_v log p_v / V),  as torch smooths
    token_weights: w (N,), or None for 1

    A model that copies has log p_y = log(σ(u) P_vocab(y) + (1 - σ(u)) a) instead, given u = `switch` (N,) and
    a = `copied` (N,), the attention to the source words y. Only P_vocab is smoothed: the uniform part stays
    -Σ_v log P_vocab(v) / V, because with the mixture in its place every copied word would cost -ε log p_gen.
    """
    needs_gradient = torch.is_grad_enabled() and any(x.requires_grad for x in (features, weight, bias))
    tensors = features, weight, bias, switch, copied
    options = label_smoothing, chunk_tokens, needs_gradient, losses, token_weights
    total, cross_entropy = _ChunkedCrossEntropy.apply(*tensors, labels, *options)  # type: ignore[no-untyped-call]
    return Loss(total, cross_entropy, len(labels))


class _ChunkedCrossEntropy(torch.autograd.Function):
    """The gradient is computed in the forward pass, where the logits are; backward only scales it."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        switch: Tensor | None,
        copied: Tensor | None,
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
        copying = None if switch is None or copied is None else _Copying.of(switch, copied, exact)
        buffers = _Buffers.allocate(min(chunk_tokens, len(labels)), len(weight), f_all, exact)
        with no_autocast(device):
            for start in range(0, len(labels), chunk_tokens):
                chunk = slice(start, start + chunk_tokens)
                f, y = f_all[chunk], labels[chunk, None]  # (n, F), (n, 1)
                w = None if token_weights is None else token_weights[chunk].to(exact)  # (n,)
                z = buffers.project(f, W, bias)  # (n, V)
                cross_entropy, uniform = _cross_entropies(z, y)  # (n,) each; from here on, z is p
                generated = None
                if copying is not None:
                    cross_entropy, generated = copying.mix(cross_entropy, chunk, w)  # (n,) each
                loss = torch.lerp(cross_entropy, uniform, smoothing)  # (n,)
                totals += torch.stack([_weighted_sum(loss, w), _weighted_sum(cross_entropy, w)])
                if losses is not None:
                    losses[chunk] = loss
                if needs_gradient:
                    _differentiate(z, y, smoothing, w, generated)
                    d_bias += z.sum(dim=0)  # (V,)
                    d_z = buffers.factor(z)  # (n, V)
                    torch.mm(d_z, W, out=d_features[chunk])  # (n, F)
                    _accumulate(d_weight, d_z.t(), f)  # (V, F)
        if needs_gradient:
            d_features, d_weight = d_features.to(features.dtype), d_weight.to(weight.dtype)
            d_copying = (None, None) if copying is None else copying.gradients(smoothing)
            ctx.save_for_backward(d_features, d_weight, d_bias.to(bias.dtype), *d_copying)
        total, cross_entropy = (part.clone() for part in totals)  # no views: callers may scale them in place
        ctx.mark_non_differentiable(cross_entropy)
        return total, cross_entropy

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_total: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (None if gradient is None else gradient * d_total for gradient in ctx.saved_tensors)
        return *gradients, *([None] * 6)


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


class _Copying(NamedTuple):
    """The inputs of the switch and their gradients, (N,) each."""

    u: Tensor
    a: Tensor
    d_u: Tensor
    d_a: Tensor
    dtypes: tuple[torch.dtype, torch.dtype]  # in which the gradients of u and a are returned

    @classmethod
    def of(cls, u: Tensor, a: Tensor, exact: torch.dtype) -> Self:
        """Without gradients as yet."""
        x, y = u.to(exact), a.to(exact)
        return cls(x, y, torch.empty_like(x), torch.empty_like(y), (u.dtype, a.dtype))

    def mix(self, cross_entropy: Tensor, chunk: slice, w: Tensor | None) -> tuple[Tensor, Tensor]:
        """-log p(y) and r, the probability that y was generated, from -log P_vocab(y), (n,) each."""
        cross_entropy, r, d_a = copying_cross_entropy(cross_entropy, self.u[chunk], self.a[chunk])
        d_u = torch.sigmoid(self.u[chunk]) - r
        self.d_u[chunk], self.d_a[chunk] = (d_u, d_a) if w is None else (d_u * w, d_a * w)
        return cross_entropy, r

    def gradients(self, smoothing: float) -> tuple[Tensor, Tensor]:
        """Of u and a; the uniform part of the loss does not depend on them."""
        d_u, d_a = self.d_u * (1 - smoothing), self.d_a * (1 - smoothing)
        return d_u.to(self.dtypes[0]), d_a.to(self.dtypes[1])


def _cross_entropies(z: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """-log p_y and -Σ_v log p_v / V, (n,) each, of the logits z (n, V) and the labels y (n, 1); p is written over z.

    log Σ_v exp z_v = max z - log max p, because p = exp z / Σ_v exp z_v: the exponentials are computed only once.
    """
    largest, of_label, mean = z.amax(dim=1), z.gather(1, y)[:, 0], z.mean(dim=1)  # (n,) each
    p = torch.softmax(z, dim=1, out=z)  # (n, V)
    normalizer = largest - p.amax(dim=1).log()  # (n,) p is at least 1/V there
    return normalizer - of_label, normalizer - mean


def _differentiate(p: Tensor, y: Tensor, smoothing: float, w: Tensor | None, r: Tensor | None) -> None:
    """∂loss/∂z = w ((1-ε) r (p - 1_y) + ε (p - 1/V)), (n, V), written over p; r (n,) is None for 1."""
    if r is None:
        d_y = torch.full_like(y, smoothing - 1, dtype=p.dtype)  # (n, 1)
    else:
        d_y = (smoothing - 1) * r[:, None]  # (n, 1)
        p *= smoothing - d_y
    if smoothing:
        p -= smoothing / p.shape[1]
    p.scatter_add_(1, y, d_y)
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
