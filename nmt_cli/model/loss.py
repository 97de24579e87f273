"""Vocabulary projection and cross-entropy in one, a few tokens at a time.

For small models this is most of the work, and N·V logits most of the memory. Each chunk of tokens is
projected, its loss and its gradient are computed in the same buffer, and the logits are gone before the next.
"""

from contextlib import nullcontext
from typing import Any

import numpy as np
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
    """Features (N, F), weight (V, F), bias (V,), labels (N,) → the summed loss; `losses` (N,) is filled with each.

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
        f_all, W, b = (
            x if half is None else x.to(half) for x in (features, weight, bias)
        )  # cast once for all chunks
        exact = torch.promote_types(features.dtype, torch.float32)  # of the softmax and of all sums
        totals = torch.zeros(2, dtype=exact, device=features.device)  # Σ loss, Σ cross-entropy
        if needs_gradient:
            d_features = torch.empty_like(f_all)  # (N, F)
            d_weight = torch.zeros_like(weight, dtype=exact)  # (V, F)
            d_bias = torch.zeros_like(bias, dtype=exact)  # (V,)
        logits = f_all.new_empty(
            min(chunk_tokens, len(labels)), len(weight)
        )  # (n, V) one buffer for all chunks
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
                del z, log_p  # in half precision it is a copy: gone before the next one is made
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
    """Add a b to `total`; half-precision products are added up in the precision of `total`."""
    if a.dtype == total.dtype:
        total.addmm_(a, b)
    else:
        total += a @ b


def _autocast_dtype(device: str) -> torch.dtype | None:
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return None


# The losses beside the cross-entropy: of hard attention and of coverage, summed over the real target tokens.


BASELINE_DECAY = 0.9  # Xu et al. 2015, section 4.1


def hard_attention_loss(
    attention: Tensor,
    chances: Tensor,
    losses: Tensor,
    counted: Tensor,
    positions: Tensor,
    *,
    baseline: Tensor,
    scale: float,
    entropy_weight: float,
) -> Tensor:
    """What teaches hard attention where to look   (REINFORCE; Xu et al. 2015, equations 11 and 12)

    ∇ E[ℓ] = E[∇ℓ + Σ_t ∇log α_t(s_t) · A_t],   A_t = Σ_{t' ≥ t} (ℓ_t' + b)

    s_t is the position drawn from α_t, ℓ_t the loss of word t, and b the moving average of log p(y_t): a choice
    cannot change what was said before it, so only the losses from then on are its merit. The mean is exact for
    any b; a good one makes it vary less. The entropy of α_t keeps the choice open.

    attention (B, T, S) is 1 at s_t; chances α (B, T, S); losses (M,) of the words at `counted` (M,), flat indices
    b·T + t, each of which stands for `scale` words; positions (N,) of all real words.
    """
    B, T, _ = chances.shape
    log_chances = chances.clamp(min=torch.finfo(chances.dtype).tiny).log()  # (B, T, S)
    log_p = (attention * log_chances).sum(dim=-1)  # (B, T) log α_t(s_t)
    entropy = -(chances * log_chances).sum(dim=-1)  # (B, T)
    surprise = (losses.to(log_p.dtype) + baseline.to(log_p.dtype)) * scale  # (M,)
    each = log_p.new_zeros(B * T).index_copy(0, counted, surprise).view(B, T)
    merit = each.flip(1).cumsum(dim=1).flip(1)  # (B, T) A_t
    terms = log_p * merit.detach() - entropy_weight * entropy  # (B, T)
    return terms.flatten().index_select(0, positions).sum()


def coverage_loss(attention: Tensor, positions: Tensor) -> Tensor:
    """Σ_t Σ_s min(α_ts, β_ts), β_t = Σ_{t'<t} α_t'   (See et al. 2017, equation 12): attention (B, T, S)"""
    coverage = attention.cumsum(dim=1) - attention  # (B, T, S) β
    repeated = torch.minimum(attention, coverage).sum(dim=-1)  # (B, T)
    return repeated.flatten().index_select(0, positions).sum()


# The loss on a random subset of target positions: less work for the vocabulary, the same gradient on average.


def draw_subset(lengths: Tensor, share: float) -> Tensor:
    """Which of the N = Σ m_b real target tokens count, (M,) in order, from lengths m (B,) on the CPU.

    Of each sentence ⌊share·m⌋ or one more are drawn without replacement, so that every token counts with
    probability `share` exactly: 1/share times their loss is unbiased. All on the host: no device has to wait.
    """
    m = lengths.numpy()
    N = int(m.sum())
    sentence = np.repeat(np.arange(len(m)), m)  # (N,)
    chance, order = torch.split(torch.rand(len(m) + N, device="cpu"), [len(m), N])  # (B,), (N,)
    wanted = np.floor(share * m + chance.numpy())  # (B,) in the mean share·m
    by_chance = np.lexsort((order.numpy(), sentence))  # (N,) each sentence shuffled
    rank = np.arange(N) - np.repeat(np.cumsum(m) - m, m)  # (N,) place within its sentence
    return torch.from_numpy(np.sort(by_chance[rank < wanted[sentence]]))  # (M,)
