"""Several attentions side by side, each with projections of its own   (Vaswani et al. 2017, section 3.2.2)

    e^i = score(W_q^i q, W_k^i h);   α^i = softmax(e^i);   c = [Σ_s α^1_s W_v^1 h_s; …; Σ_s α^n_s W_v^n h_s]

A score function and a reader like any other: scores and weights have a dimension more, (B, n, Q, S).
"""

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from nmt_cli.model.scores import Score


class HeadedScore(Score):
    """e^i_s = score(W_q^i q, W_k^i h_s) for each of the n heads; the score function itself is one for all."""

    def __init__(self, score: Score, hidden_size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(hidden_size, hidden_size, bias=False)
        self.W_k = nn.Linear(hidden_size, hidden_size, bias=False)
        self.score = score  # of the size d = H / n

    def queries(self, query: Tensor) -> Tensor:
        """W_q q: (B, Q, H) → (B, n, Q, d)"""
        return split(self.W_q(query), self.heads)

    def keys(self, states: Tensor) -> Tensor:
        """What is compared with them: (B, S, H) → (B, n, S, A)"""
        k = split(self.W_k(states), self.heads)  # (B, n, S, d)
        K = self.score.keys(k.flatten(0, 1))  # (B·n, S, A)
        return K.view(*k.shape[:2], *K.shape[1:])

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Query (B, Q, H), keys (B, n, S, A) → e (B, n, Q, S)."""
        q = self.queries(query)  # (B, n, Q, d)
        e: Tensor = self.score(q.flatten(0, 1), keys.flatten(0, 1))  # (B·n, Q, S)
        return e.view(*q.shape[:2], *e.shape[1:])


class HeadedReader(nn.Module):
    """c = [c^1; …; c^n],  c^i = Σ_s α^i_s W_v^i h_s"""

    def __init__(self, hidden_size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_v = nn.Linear(hidden_size, hidden_size, bias=False)

    def values(self, states: Tensor) -> Tensor:
        """W_v h: (B, S, H) → (B, n, S, d)"""
        return split(self.W_v(states), self.heads)

    def forward(self, alpha: Tensor, values: Tensor) -> Tensor:
        """α (B, n, Q, S), values (B, n, S, d) → (B, Q, H)"""
        return join(alpha.to(values.dtype) @ values)


def fused_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool = False
) -> Tensor:
    """softmax(q · K / √d) V in one kernel that never shows its weights.

    Queries (B, n, Q, d), keys and values (B, n, S, d), mask (B, S) true on what may be seen → (B, Q, H).
    `causal`: query t sees the first t positions only.
    """
    seen = None if mask is None else mask[:, None, None]  # (B, 1, 1, S)
    return join(scaled_dot_product_attention(queries, keys, values, seen, is_causal=causal))


def split(x: Tensor, heads: int) -> Tensor:
    """(B, S, H) → (B, n, S, d), without a copy."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def join(x: Tensor) -> Tensor:
    """(B, n, S, d) → (B, S, H)"""
    return x.transpose(1, 2).flatten(2)
