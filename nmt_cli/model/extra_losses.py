"""The losses beside the cross-entropy: of hard attention and of coverage, summed over the real target tokens."""

import torch
from torch import Tensor

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
