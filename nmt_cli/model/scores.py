"""Score functions: how well a source position matches a query.

A query is any decoder state that attends to the source: Q counts the T steps of teacher forcing, the K hypotheses
of a beam, or 1. To add a score function, add a class here, a line in `SCORES` and a choice in `config/model.py`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from nmt_cli.model.fast.additive import blockwise_additive_score, fits_in_one_block


class Sizes(NamedTuple):
    """What a score function needs to know of the model."""

    hidden: int  # H, of queries and source states
    attention: int  # A, in which some functions compare the two
    positions: int  # source positions that `location` can see


class AttentionScore(nn.Module):
    """e_qs: how well source position s matches query q."""

    def keys(self, states: Tensor) -> Tensor:
        """The part that does not depend on the query, computed once per sentence: h_s (B, S, H) → (B, S, A)."""
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Query (B, Q, H), keys (B, S, A) → e (B, Q, S)."""
        raise NotImplementedError


class Dot(AttentionScore):
    """e_s = q · h_s   (Luong et al. 2015, section 3.1)"""

    def __init__(self, sizes: Sizes) -> None:
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

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.W = nn.Linear(sizes.hidden, sizes.hidden, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        """W h_s"""
        keys: Tensor = self.W(states)  # (B, S, H)
        return keys


class ProjectedDot(Dot):
    """e_s = f(q) · g(h_s), with f and g linear into the size A"""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.f = nn.Linear(sizes.hidden, sizes.attention)
        self.g = nn.Linear(sizes.hidden, sizes.attention)

    def keys(self, states: Tensor) -> Tensor:
        """g(h_s)"""
        keys: Tensor = self.g(states)  # (B, S, A)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """e_s = f(q) · K_s"""
        return super().forward(self.f(query), keys)  # (B, Q, S)


class Additive(AttentionScore):
    """e_s = v · tanh(W q + U h_s)   (Bahdanau et al. 2015, A.1.2)"""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.W = nn.Linear(sizes.hidden, sizes.attention, bias=False)
        self.U = nn.Linear(sizes.hidden, sizes.attention, bias=False)
        self.v = nn.Linear(sizes.attention, 1, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        """U h_s"""
        keys: Tensor = self.U(states)  # (B, S, A)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """e_s = v · tanh(W q + K_s)"""
        return self.compare(self.W(query), keys)  # (B, Q, S)

    def compare(self, q: Tensor, K: Tensor) -> Tensor:
        """e_s = v · tanh(q + K_s): projected queries q (B, Q, A), keys K (B, S, A) → e (B, Q, S)"""
        v = self.v.weight[0].to(q.dtype)  # (A,)
        if fits_in_one_block(q, K):
            return torch.tanh(q[:, :, None] + K[:, None]) @ v  # (B, Q, S, A) (A,) → (B, Q, S)
        return blockwise_additive_score(q, K, v)  # the same, never holding all B·Q·S·A values


class Concat(Additive):
    """e_s = v · tanh(W [q; h_s])   (Luong et al. 2015, section 3.1): `additive` with W = [W U] and A = H"""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes._replace(attention=sizes.hidden))


class Location(AttentionScore):
    """e = W q, independent of the source words   (Luong et al. 2015, equation 8)

    Row s of W scores position s, so the number of positions is limited: later ones get the lowest possible score.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.W = nn.Linear(sizes.hidden, sizes.positions, bias=False)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """e_s = W_s · q; only the number of keys (B, S, A) matters."""
        S = keys.shape[1]
        e = linear(query, self.W.weight[:S])  # (B, Q, ≤ S)
        return pad(e, (0, S - e.shape[-1]), value=torch.finfo(e.dtype).min)  # (B, Q, S)


class Uniform(AttentionScore):
    """e_s = 0: every word has the same weight, and the context is the mean of the source states."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """0 for queries (B, Q, H) and keys (B, S, A)."""
        return query.new_zeros(*query.shape[:2], keys.shape[1])  # (B, Q, S)


SCORES: dict[str, Callable[[Sizes], AttentionScore]] = {
    "additive": Additive,
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": General,
    "concat": Concat,
    "projected_dot": ProjectedDot,
    "location": Location,
    "uniform": Uniform,
}


class CoverageScore(AttentionScore):
    """e_s = v · tanh(W q + U h_s + w β_s), β_s = Σ_{t'<t} α_{t's} the attention h_s has received so far

    (Tu et al. 2016, section 3.1, linguistic coverage without fertility; See et al. 2017, equation 11)
    """

    def __init__(self, additive: Additive) -> None:
        super().__init__()
        self.additive = additive
        self.w = nn.Linear(1, additive.v.in_features, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        """U h_s"""
        return self.additive.keys(states)  # (B, S, A)

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor) -> Tensor:  # type: ignore[override]
        """Query (B, Q, H), keys (B, S, A), coverage β (B, Q, S) → e (B, Q, S)."""
        q = self.additive.W(query)[:, :, None]  # (B, Q, 1, A)
        h = torch.tanh(q + keys[:, None] + self.w(coverage.to(q.dtype)[..., None]))  # (B, Q, S, A)
        e: Tensor = self.additive.v(h)[..., 0]  # (B, Q, S)
        return e
