"""Attention in three parts: a score function, a normaliser and a reader.

    e = score(q, K)      α = normalise(e)      c = read(α, h)

A query is anything that looks at the source: Q is the T steps of teacher forcing, the K hypotheses of a beam,
or 1. A new score function is one class and one line in `SCORES`.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.kernels.additive import additive_score


class Score(nn.Module):
    """e_qs, how well position s of the source suits query q."""

    def keys(self, states: Tensor) -> Tensor:
        """What of h_s (B, S, H) does not depend on the query: (B, S, A); computed once for a sentence."""
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Query (B, Q, H), keys (B, S, A) → e (B, Q, S)."""
        raise NotImplementedError


class Dot(Score):
    """e_s = q · h_s   (Luong et al. 2015, section 3.1)"""

    def __init__(self, hidden_size: int, attention_size: int) -> None:
        super().__init__()

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """e_s = q · K_s"""
        return query @ keys.transpose(1, 2)  # (B, Q, S)


class ScaledDot(Dot):
    """e_s = q · h_s / √H   (Vaswani et al. 2017, section 3.2.1)"""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """e_s = q · K_s / √H"""
        return super().forward(query, keys) / math.sqrt(keys.shape[-1])  # (B, Q, S)


class General(Dot):
    """e_s = q · W h_s   (Luong et al. 2015, section 3.1)"""

    def __init__(self, hidden_size: int, attention_size: int) -> None:
        super().__init__(hidden_size, attention_size)
        self.W = nn.Linear(hidden_size, hidden_size, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        """W h_s"""
        keys: Tensor = self.W(states)  # (B, S, H)
        return keys


class ProjectedDot(Dot):
    """e_s = f(q) · g(h_s), with f and g linear into the size A"""

    def __init__(self, hidden_size: int, attention_size: int) -> None:
        super().__init__(hidden_size, attention_size)
        self.f = nn.Linear(hidden_size, attention_size)
        self.g = nn.Linear(hidden_size, attention_size)

    def keys(self, states: Tensor) -> Tensor:
        """g(h_s)"""
        keys: Tensor = self.g(states)  # (B, S, A)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """e_s = f(q) · K_s"""
        return super().forward(self.f(query), keys)  # (B, Q, S)


class Additive(Score):
    """e_s = v · tanh(W q + U h_s)   (Bahdanau et al. 2015, A.1.2)"""

    def __init__(self, hidden_size: int, attention_size: int) -> None:
        super().__init__()
        self.W = nn.Linear(hidden_size, attention_size, bias=False)
        self.U = nn.Linear(hidden_size, attention_size, bias=False)
        self.v = nn.Linear(attention_size, 1, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        """U h_s"""
        keys: Tensor = self.U(states)  # (B, S, A)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """e_s = v · tanh(W q + K_s)"""
        return additive_score(self.W(query), keys, self.v.weight[0])  # (B, Q, S)


class Concat(Additive):
    """e_s = v · tanh(W [q; h_s])   (Luong et al. 2015, section 3.1): `additive` with W = [W U] and A = H"""

    def __init__(self, hidden_size: int, attention_size: int) -> None:
        super().__init__(hidden_size, hidden_size)


SCORES: dict[str, Callable[[int, int], Score]] = {
    "additive": Additive,
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": General,
    "concat": Concat,
    "projected_dot": ProjectedDot,
}


def masked_softmax(e: Tensor, mask: Tensor) -> Tensor:
    """α = softmax(e) over the real positions: e (B, Q, S), mask (B, S) → α (B, Q, S), at least float32."""
    mask = mask[:, None]  # (B, 1, S)
    e = e.to(torch.promote_types(e.dtype, torch.float32))
    e = e.masked_fill(~mask, torch.finfo(e.dtype).min)  # finite: a row of nothing but padding gives no NaN
    return e.softmax(dim=-1) * mask  # the product: such a row has no weight at all


def weighted_sum(alpha: Tensor, values: Tensor) -> Tensor:
    """Σ_s α_s h_s: α (B, Q, S), values (B, S, H) → (B, Q, H)"""
    return alpha.to(values.dtype) @ values


class Attention(nn.Module):
    """e = score(q, keys);  α = normaliser(e);  c = reader(α, values)"""

    def __init__(
        self,
        score: Score,
        normaliser: Callable[[Tensor, Tensor], Tensor] = masked_softmax,
        reader: Callable[[Tensor, Tensor], Tensor] = weighted_sum,
    ) -> None:
        super().__init__()
        self.score = score
        self.normaliser = normaliser
        self.reader = reader

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Query (B, Q, H), keys (B, S, A), values (B, S, H), mask (B, S) → context (B, Q, H), α (B, Q, S)."""
        alpha = self.normaliser(self.score(query, keys), mask)  # (B, Q, S)
        return self.reader(alpha, values), alpha


def build_attention(config: ModelConfig) -> Attention | None:
    """The attention that the settings describe."""
    if config.attention == "none":
        return None
    return Attention(
        SCORES[config.attention](config.hidden_size, config.attention_size or config.hidden_size)
    )
