"""Copying: a pointer to the source as a second way to produce a word   (See et al. 2017, section 2.2)

    p(w) = p_gen P_vocab(w) + (1 - p_gen) Σ_{i: x_i = w} α_i        equation 9
    p_gen = σ(w_c · c_t + w_s · s_t + w_x · y_{t-1} + b)            equation 8

P_vocab is the softmax over the vocabulary, α_t is attention, and the switch p_gen decides between them. Both sides
share one vocabulary, so a token id of the source is a token id of the target. With subword vocabularies no word is
unknown: instead of the extended vocabulary of the paper, a word is copied piece by piece.

The decoder computes u_t, the logit of p_gen, where c_t, s_t and y_{t-1} are at hand, and appends it to the features.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.protocol import Copies


class CopySwitch(nn.Module):
    """u_t = w_c · c_t + w_s · s_t + w_x · y_{t-1} + b,  the logit of p_gen   (equation 8)"""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.w = nn.Linear(2 * config.hidden_size + config.embedding_size, 1)  # w = [w_c w_s w_x]

    def forward(self, c: Tensor, s: Tensor, y: Tensor) -> Tensor:
        """Context c (…, H), state s (…, H), previous word y (…, E) → u (…, 1)"""
        u: Tensor = self.w(torch.cat([c, s, y], dim=-1))
        return u


def copies_of(source: Tensor, attention: Tensor, positions: Tensor | None) -> Copies:
    """Source x (B, S), attention α (B, Q, S) → (B, Q, S), or (N, S) for the steps at `positions` b·Q + q (N,)"""
    if positions is None:
        return Copies(source[:, None].expand_as(attention), attention)
    rows = torch.div(positions, attention.shape[1], rounding_mode="floor")  # (N,) b
    return Copies(source.index_select(0, rows), attention.flatten(0, 1).index_select(0, positions))


def mixture(logits: Tensor, u: Tensor, copies: Copies) -> Tensor:
    """log p of all words   (equation 9): logits z (…, V) and u (…, 1) → (…, V), at least in float32"""
    exact = torch.promote_types(logits.dtype, torch.float32)
    p_gen, p_copy = torch.sigmoid(u.to(exact)), torch.sigmoid(-u.to(exact))  # (…, 1) each
    p = p_gen * logits.softmax(dim=-1, dtype=exact)  # (…, V)
    p = p.scatter_add(-1, copies.words, p_copy * copies.weights.to(exact))  # (…, V)
    return p.clamp(min=torch.finfo(exact).tiny).log()  # finite: -∞ would mean that a word is not allowed


def copied_weight(copies: Copies, labels: Tensor) -> Tensor:
    """a_n = Σ_{i: x_i = y_n} α_i: all that the loss needs to know of α; copies (N, S), labels y (N,) → (N,)"""
    return (copies.weights * (copies.words == labels[:, None])).sum(dim=-1)


def copying_cross_entropy(cross_entropy: Tensor, u: Tensor, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """-log p(y) and what its gradient needs, from -log P_vocab(y), u and a, (N,) each.

    With m = p_gen P_vocab(y) + (1 - p_gen) a and r = p_gen P_vocab(y) / m, the probability that y was generated:

    ∂(-log m)/∂z = r (P_vocab - 1_y),   ∂/∂u = p_gen - r,   ∂/∂a = -(1 - p_gen) / m

    Returns -log m, r and the last of them, (N,) each.
    """
    tiny = torch.finfo(a.dtype).tiny
    generated = logsigmoid(u) - cross_entropy  # log p_gen P_vocab(y)
    log_m = torch.logaddexp(generated, logsigmoid(-u) + a.clamp(min=tiny).log())
    # Far from overflow, whatever the scale of the loss: for a word that is not in the source, 0 · d_a must be 0.
    d_a = -torch.sigmoid(-u) / log_m.exp().clamp(min=tiny**0.5)
    return -log_m, (generated - log_m).exp(), d_a
