"""The losses, and scheduled sampling.

The main one is the cross-entropy of the real target tokens, computed together with the vocabulary projection in
`fast.cross_entropy`; `draw_share` and `draw_words` restrict it to some of them. Hard attention and coverage add their
own terms. All are sums over target tokens.

In scheduled sampling the decoder is sometimes fed its own words instead of the reference: at each step after the
first, y_{t-1} is replaced with probability p by ŷ_{t-1}, the most probable word or a draw from p(· | ŷ_{<t-1}, x)
(Bengio et al. 2015). No gradient flows through the choice, so the words can be chosen first and the loss computed
afterwards, as with any other target inputs. A sequential decoder chooses word by word, each given those before it. A
decoder that runs all steps at once predicts all words from the reference in a first pass, and is fed the mixture in a
second one (Mihaylova & Martins 2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.model.protocol import Memory, Risks, ScheduledSampling

if TYPE_CHECKING:
    from nmt_cli.model.seq2seq import Seq2Seq

BASELINE_DECAY = 0.9  # Xu et al. 2015, section 4.1


def hard_attention_loss(
    attention: Tensor,
    probabilities: Tensor,
    losses: Tensor,
    counted: Tensor,
    positions: Tensor,
    *,
    baseline: Tensor,
    scale: float | Tensor,
    entropy_weight: float,
    expected: Tensor | None = None,
) -> Tensor:
    """What teaches hard attention where to look: REINFORCE   (Xu et al. 2015, equations 11 and 12)

    ∇ E[ℓ] = E[∇ℓ + Σ_t ∇log α_t(s_t) · A_t],   A_t = Σ_{t' ≥ t} (ℓ_t' + b)

    s_t is the position drawn from α_t, ℓ_t the loss of word t, and b the moving average of log p(y_t). A choice
    cannot change earlier words, so its advantage A_t sums only the losses from step t on. The expectation is exact
    for any b; a good one reduces the variance. The entropy of α_t keeps the choice open.

    attention (B, T, S) is 1 at s_t; probabilities α (B, T, S); losses (M,) of the words at `counted` (M,), flat
    indices b·T + t, each of which stands for `scale` words, a number or (M,); positions (N,) of all real words;
    expected (B,) are the sentences without a draw, whose gradient is that of soft attention.
    """
    B, T, _ = probabilities.shape
    log_alpha = probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()  # (B, T, S)
    log_p = (attention * log_alpha).sum(dim=-1)  # (B, T) log α_t(s_t)
    entropy = -(probabilities * log_alpha).sum(dim=-1)  # (B, T)
    excess = (losses.to(log_p.dtype) + baseline.to(log_p.dtype)) * scale  # (M,) ℓ_t + b
    excess = log_p.new_zeros(B * T).index_copy(0, counted, excess).view(B, T)
    advantage = excess.flip(1).cumsum(dim=1).flip(1)  # (B, T) A_t
    if expected is not None:
        advantage = advantage.masked_fill(expected[:, None], 0.0)
    terms = log_p * advantage.detach() - entropy_weight * entropy  # (B, T)
    return terms.flatten().index_select(0, positions).sum()


def coverage_loss(attention: Tensor, positions: Tensor) -> Tensor:
    """Σ_t Σ_s min(α_ts, β_ts), β_t = Σ_{t'<t} α_t'   (See et al. 2017, equation 12): attention (B, T, S)"""
    coverage = attention.cumsum(dim=1) - attention  # (B, T, S) β
    repeated = torch.minimum(attention, coverage).sum(dim=-1)  # (B, T)
    return repeated.flatten().index_select(0, positions).sum()


def guided_alignment_loss(attention: Tensor, links: Tensor, weights: Tensor) -> Tensor:
    """-Σ_t Σ_s A_ts log α_ts: the cross-entropy of attention with a given word alignment   (Chen et al. 2016)

    A_t is uniform over the source positions that are linked to y_t; a target position without links does not count.
    attention α (B, T, S); links (L,) flat indices of the entries of A that are not 0, and their values, weights (L,)
    """
    alpha = attention.flatten().index_select(0, links)  # (L,)
    alpha = alpha.to(torch.promote_types(alpha.dtype, torch.float32))
    log_alpha = alpha.clamp(min=torch.finfo(alpha.dtype).tiny).log()  # (L,)
    return -(weights * log_alpha).sum()


def expected_risk(log_p: Tensor, risks: Risks) -> tuple[Tensor, Tensor]:
    """Σ_b E_b and its derivative with respect to log P of each candidate   (Shen et al. 2016, equations 9 and 13)

    E_b = Σ_y Q(y) Δ(y),   Q ∝ P^α over the candidates of sentence b,   ∂E_b / ∂log P(y) = α Q(y) (Δ(y) - E_b)

    log P (R,) → (), (R,)
    """
    sentence, delta = risks.sentences, risks.risks.to(log_p.dtype)  # (R,)
    scaled = risks.sharpness * log_p  # (R,)
    # There are at most as many sentences as candidates.
    largest = torch.full_like(scaled, -torch.inf).scatter_reduce(0, sentence, scaled, "amax")
    power = (scaled - largest[sentence]).exp()  # (R,) P^α
    Q = power / torch.zeros_like(power).index_add(0, sentence, power)[sentence]  # (R,)
    expected = torch.zeros_like(Q).index_add(
        0, sentence, Q * delta
    )  # (R,) E_b, and 0 beyond the last sentence
    return expected.sum(), risks.sharpness * Q * (delta - expected[sentence])


def doubly_stochastic_loss(attention: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
    """Σ_i (1 - Σ_t α_ti)², t over real words and i over real positions   (Xu et al. 2015, equation 14)

    attention α (B, T, S), positions (N,) flat indices b·T + t of the real words, mask (B, S)
    """
    B, T, _ = attention.shape
    real = attention.new_zeros(B * T).index_fill(0, positions, 1.0).view(B, T)
    total = (real[:, None] @ attention)[:, 0]  # (B, S) Σ_t α_ti
    return ((1 - total).square() * mask).sum()


# The loss on some of the N = Σ m_b real target tokens: the vocabulary projection has less to do, and the gradient is
# the same on average. All draws are made on the CPU, from lengths m (B,) that are there: no device has to wait.


def draw_share(lengths: Tensor, fraction: float) -> Tensor:
    """Draw which tokens count, (M,) in order: of each sentence ⌊fraction·m⌋ or one more, without replacement.

    Every token counts with probability `fraction` exactly, so that 1/fraction times their loss is unbiased.
    """
    B, N = len(lengths), int(lengths.sum())
    rounding, order = torch.split(torch.rand(B + N, device="cpu"), [B, N])
    return _first(np.floor(fraction * lengths.numpy() + rounding.numpy()), order, lengths)


def draw_words(lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Draw `count` tokens of each sentence without replacement, or all if it has fewer: (M,) in order, weights (M,).

    A token of a sentence of m stands for m/count tokens: with this weight the loss is unbiased.
    """
    drawn = np.minimum(lengths.numpy(), count)  # (B,)
    subset = _first(drawn, torch.rand(int(lengths.sum()), device="cpu"), lengths)
    return subset, torch.from_numpy(np.repeat(lengths.numpy() / np.maximum(drawn, 1), drawn))


def _first(wanted: NDArray[Any], order: Tensor, lengths: Tensor) -> Tensor:
    """The first `wanted` (B,) tokens of each sentence in a random `order` (N,): indices (M,), ascending."""
    m = lengths.numpy()
    sentence = np.repeat(np.arange(len(m)), m)  # (N,)
    shuffled = np.lexsort((order.numpy(), sentence))  # (N,) within each sentence
    rank = np.arange(len(order)) - np.repeat(np.cumsum(m) - m, m)  # (N,) index within the sentence
    return torch.from_numpy(np.sort(shuffled[rank < wanted[sentence]]))  # (M,)


# Scheduled sampling.


@torch.no_grad()
def mix_inputs(model: Seq2Seq, memory: Memory, inputs: Tensor, sampling: ScheduledSampling) -> Tensor:
    """Target inputs (B, T) with some words replaced by the model's own."""
    replaced = torch.rand(inputs.shape, device=inputs.device) < sampling.probability  # (B, T)
    replaced[:, 0] = False  # <bos>
    if model.decoder.is_sequential:
        return _step_by_step(model, memory, inputs, replaced, sampling)
    features, attention = model.decode(memory, inputs)  # (B, T, F), (B, T, S)
    steps = torch.arange(inputs.numel(), device=inputs.device).view_as(inputs)[:, :-1].flatten()  # (B·(T-1),)
    predicted = []
    for chunk in torch.split(steps, model.loss_chunk_tokens):  # (n,)
        copies = model.copies(attention, memory, chunk)  # (n, S)
        logits = model.project(features.flatten(0, 1).index_select(0, chunk), copies)  # (n, V)
        predicted.append(_choose(logits, sampling))
    words = torch.cat(predicted).view_as(inputs[:, 1:])
    return torch.cat([inputs[:, :1], torch.where(replaced[:, 1:], words, inputs[:, 1:])], dim=1)


def _step_by_step(
    model: Seq2Seq, memory: Memory, inputs: Tensor, replaced: Tensor, sampling: ScheduledSampling
) -> Tensor:
    state, tokens = model.start(memory, 1), inputs[:, :1]  # (B, 1)
    mixed = [tokens]
    for t in range(1, inputs.shape[1]):
        features, state, attention = model.step(tokens, state, memory)  # (B, 1, F)
        predicted = _choose(model.project(features, model.copies(attention, memory)), sampling)  # (B, 1)
        tokens = torch.where(replaced[:, t : t + 1], predicted, inputs[:, t : t + 1])
        mixed.append(tokens)
    return torch.cat(mixed, dim=1)  # (B, T)


def _choose(logits: Tensor, sampling: ScheduledSampling) -> Tensor:
    """Logits (…, V) → words (…)."""
    if sampling.kind == "drawn":
        noise = torch.empty_like(logits, dtype=torch.float32).exponential_()  # its -log is Gumbel noise
        logits = logits - noise.log()
    return logits.argmax(dim=-1)
