"""Attention: a score function, a normalizer and a reader.

    e = score(q, K)      α = normalize(e)      c = read(α, h)

Every kind is made of these three. Local attention narrows the mask before the normalizer (`Window`), several heads
are a score function and a reader with one more dimension (`HeadedScore`, `HeadedReader`), hard attention picks one
position after the normalizer (`pick`), and coverage is a score function that sees earlier weights
(`nmt_cli.model.scores.CoverageScore`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.device import has_fast_products
from nmt_cli.model.scores import SCORES, Additive, AttentionScore, CoverageScore, Sizes

StepsT = TypeVar("StepsT", bound=tuple[Any, ...])

_MOST_WEIGHTS = 1 << 22  # in all sentences and heads; more at once would take too much memory
_NOT_BY_ONEDNN = 4096  # multiplications in a product; torch computes smaller ones otherwise


def masked_softmax(e: Tensor, mask: Tensor) -> Tensor:
    """α = softmax(e) over the unmasked positions, at least in float32.

    e (B, Q, S) or (B, n, Q, S), mask (B, S) or (B, Q, S) true on what may be seen → α in the shape of e
    """
    while mask.dim() < e.dim():
        mask = mask[:, None]  # (B, 1, S), or (B, 1, Q, S)
    e = e.to(torch.promote_types(e.dtype, torch.float32))
    e = e.masked_fill(~mask, torch.finfo(e.dtype).min)  # finite: a row of padding only must not give NaN
    return e.softmax(dim=-1) * mask  # the product gives such a row no weight at all


def weighted_sum(alpha: Tensor, values: Tensor) -> Tensor:
    """c = Σ_s α_s h_s: α (B, Q, S), values (B, S, H) → (B, Q, H)"""
    return alpha.to(values.dtype) @ values


class AttentionHistory(NamedTuple):
    """What attention needs to know of earlier steps; for most kinds nothing."""

    steps: Tensor | None = None  # (B or 1, Q) how many there were
    coverage: Tensor | None = None  # (B, Q, S) Σ α over them

    def after(self, alpha: Tensor) -> AttentionHistory:
        """What the next step needs to know, given this step's α (B, Q, S)."""
        return AttentionHistory(
            None if self.steps is None else self.steps + 1,
            None if self.coverage is None else self.coverage + alpha,
        )


NO_HISTORY = AttentionHistory()


class AttentionOutput(NamedTuple):
    """What attention returns for Q queries."""

    context: Tensor  # (B, Q, H)
    alpha: Tensor  # (B, Q, S) the mean over heads
    probabilities: Tensor | None = None  # (B, Q, S) hard attention: the distribution of the chosen position


class Attention(nn.Module):
    """e = score(q, keys);  α = normalizer(e);  c = reader(α, values)

    `hard`: α is one position, drawn in training, else the most probable one   (Xu et al. 2015, section 4.1)
    `expected_share` of the training sentences get the expected context instead, with the gradient of soft attention.
    """

    def __init__(
        self,
        score: AttentionScore,
        normalizer: Callable[[Tensor, Tensor], Tensor] = masked_softmax,
        reader: Callable[[Tensor, Tensor], Tensor] = weighted_sum,
        *,
        window: Window | None = None,
        hard: bool = False,
        expected_share: float = 0.0,
    ) -> None:
        super().__init__()
        self.score = score
        self.normalizer = normalizer
        self.reader = reader
        self.window = window
        self.hard = hard
        self.expected_share = expected_share
        self.soft_start = False  # a training mode: hard attention is soft for now

    @property
    def is_hard(self) -> bool:
        """Whether α is one position, now."""
        return self.hard and not (self.soft_start and self.training)

    def draw_expected(self, mask: Tensor) -> Tensor | None:
        """Which sentences of mask (B, S) get the expected context: (B,), or None if none do."""
        if not (self.is_hard and self.training and self.expected_share):
            return None
        return torch.rand(len(mask), device=mask.device) < self.expected_share

    def keys(self, states: Tensor) -> Tensor:
        """What queries are compared with, computed once per sentence: h (B, S, H) → (B, …, S, A)."""
        return self.score.keys(states)

    def values(self, states: Tensor) -> Tensor:
        """What is read, computed once per sentence: h (B, S, H) → (B, …, S, d)."""
        return self.reader.values(states) if isinstance(self.reader, HeadedReader) else states

    @property
    def covers(self) -> bool:
        """Whether a step depends on the weights of earlier steps."""
        return isinstance(self.score, CoverageScore)

    def initial_history(self, mask: Tensor, hypotheses: int) -> AttentionHistory:
        """What the first step needs to know, for K hypotheses of each sentence in mask (B, S)."""
        rows, S = (len(mask), hypotheses), mask.shape[1]
        return AttentionHistory(
            None if self.window is None else mask.new_zeros(rows, dtype=torch.long),
            mask.new_zeros((*rows, S), dtype=torch.float32) if self.covers else None,
        )

    def forward(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        history: AttentionHistory = NO_HISTORY,
        expected: Tensor | None = None,
    ) -> AttentionOutput:
        """Query (B, Q, H), keys and values of h (B, S, H), mask (B, S) → context (B, Q, H), α (B, Q, S).

        expected: (B,) the sentences for which hard attention uses the expectation
        """
        e = self.score(query, keys) if history.coverage is None else self.score(query, keys, history.coverage)
        weights = None
        if self.window is not None:
            mask, weights = self.window(query, mask, history.steps)  # (B, Q, S), (B, Q, S)
        alpha = self.normalizer(e, mask)  # (B, Q, S), or (B, n, Q, S)
        if weights is not None:
            alpha = alpha * (weights if alpha.dim() == 3 else weights[:, None])
        probabilities = None
        if self.is_hard:
            probabilities, alpha = alpha, pick(alpha, draw=self.training)
            if expected is not None:
                alpha = torch.where(expected[:, None, None], probabilities, alpha)
        context = self.reader(alpha, values)  # (B, Q, H)
        return AttentionOutput(context, alpha if alpha.dim() == 3 else alpha.mean(dim=1), probabilities)

    def all_steps(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, expected: Tensor | None = None
    ) -> AttentionOutput:
        """All T steps of teacher forcing, query (B, T, H): at once, unless a step depends on earlier weights."""
        if not self.covers:
            steps = None if self.window is None else torch.arange(query.shape[1], device=query.device)[None]
            output: AttentionOutput = self(query, keys, values, mask, AttentionHistory(steps), expected)
            return output
        history, outputs = self.initial_history(mask, 1), list[AttentionOutput]()
        for q in query[:, None].unbind(dim=2):  # (B, 1, H)
            outputs.append(self(q, keys, values, mask, history, expected))
            history = history.after(outputs[-1].alpha)
        return join_steps(outputs)


def join_steps(steps: Sequence[StepsT]) -> StepsT:
    """Named tuples of tensors (B, 1, …), or None, for each of T steps → one of tensors (B, T, …)."""
    columns = zip(*steps, strict=True)
    kind: Any = type(steps[0])
    joined: StepsT = kind(*(None if column[0] is None else torch.cat(column, dim=1) for column in columns))
    return joined


# Hard attention


def pick(alpha: Tensor, *, draw: bool) -> Tensor:
    """One-hot over positions: a draw from α (B, Q, S), or its maximum."""
    log_p = alpha.detach().log()  # (B, Q, S)
    if draw:
        log_p = log_p - torch.empty_like(log_p).exponential_().log()  # Gumbel noise: the maximum is a draw
    chosen = torch.zeros_like(log_p).scatter_(-1, log_p.argmax(dim=-1, keepdim=True), 1.0)
    return chosen * (alpha.detach() > 0)  # a row of padding only has no position to choose


# Local attention   (Luong et al. 2015, section 3.2; positions and steps count from 0, n is the source length)


class Window(nn.Module):
    """Only the 2 D + 1 source positions |s - p_t| ≤ D are seen. Subclasses define the center p_t."""

    def __init__(self, hidden_size: int, reach: int) -> None:
        super().__init__()
        self.D = reach

    def forward(self, query: Tensor, mask: Tensor, steps: Tensor) -> tuple[Tensor, Tensor | None]:
        """Query (B, Q, H), mask (B, S), steps (B or 1, Q) → mask (B, Q, S), factors for α (B, Q, S) or None."""
        last = (mask.sum(dim=1, keepdim=True) - 1).clamp(min=0)  # (B, 1) n - 1
        p = self.centers(query, steps, last)[..., None]  # (B, Q, 1)
        s = torch.arange(mask.shape[1], device=mask.device)  # (S,)
        distance = s - p  # (B, Q, S)
        return mask[:, None] & (distance.abs() <= self.D), self.weights(distance)

    def centers(self, query: Tensor, steps: Tensor, last: Tensor) -> Tensor:
        """p_t (B, Q), between 0 and n - 1."""
        raise NotImplementedError

    def weights(self, distance: Tensor) -> Tensor | None:
        """The factor for α at distance s - p_t (B, Q, S), if there is one."""
        return None


class Monotonic(Window):
    """p_t = t, and the last position once t is past it   (local-m)"""

    def centers(self, query: Tensor, steps: Tensor, last: Tensor) -> Tensor:
        """min(t, n - 1)"""
        return torch.minimum(steps, last)  # (B, Q)


class Predictive(Window):
    """p_t = (n - 1) σ(v · tanh(W s_t));  α_s = softmax(e)_s exp(-(s - p_t)² / 2σ²), σ = D/2   (local-p)

    As in the paper, α then sums to less than 1; it is through this factor that p_t is learned.
    """

    def __init__(self, hidden_size: int, reach: int) -> None:
        super().__init__(hidden_size, reach)
        self.W = nn.Linear(hidden_size, hidden_size, bias=False)
        self.v = nn.Linear(hidden_size, 1, bias=False)

    def centers(self, query: Tensor, steps: Tensor, last: Tensor) -> Tensor:
        """(n - 1) σ(v · tanh(W q)), at least in float32 because the factor falls off steeply"""
        p = torch.sigmoid(self.v(torch.tanh(self.W(query)))[..., 0])  # (B, Q)
        return last * p.to(torch.promote_types(p.dtype, torch.float32))

    def weights(self, distance: Tensor) -> Tensor:
        """exp(-(s - p_t)² / 2σ²)"""
        return torch.exp(-2 * (distance / self.D).square())  # (B, Q, S)


WINDOWS: dict[str, Callable[[int, int], Window]] = {"local-m": Monotonic, "local-p": Predictive}


# Several heads, each with its own projections   (Vaswani et al. 2017, section 3.2.2), W x + b with `biases`


class HeadedScore(AttentionScore):
    """e^i_s = score(W_q^i q, W_k^i h_s) for each of the n heads, which share one score function."""

    def __init__(self, score: AttentionScore, hidden_size: int, heads: int, *, biases: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(hidden_size, hidden_size, bias=biases)
        self.W_k = nn.Linear(hidden_size, hidden_size, bias=biases)
        self.score = score  # for vectors of size d = H / n

    def queries(self, query: Tensor) -> Tensor:
        """W_q q: (B, Q, H) → (B, n, Q, d)"""
        return split_heads(self.W_q(query), self.heads)

    def keys(self, states: Tensor) -> Tensor:
        """The score function's keys of W_k h: (B, S, H) → (B, n, S, A)"""
        k = split_heads(self.W_k(states), self.heads)  # (B, n, S, d)
        K = self.score.keys(k.flatten(0, 1))  # (B·n, S, A)
        return K.view(*k.shape[:2], *K.shape[1:])

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Query (B, Q, H), keys (B, n, S, A) → e (B, n, Q, S)."""
        q = self.queries(query)  # (B, n, Q, d)
        e: Tensor = self.score(q.flatten(0, 1), keys.flatten(0, 1))  # (B·n, Q, S)
        return e.view(*q.shape[:2], *e.shape[1:])


class HeadedReader(nn.Module):
    """c = [c^1; …; c^n],  c^i = Σ_s α^i_s W_v^i h_s"""

    def __init__(self, hidden_size: int, heads: int, *, biases: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.W_v = nn.Linear(hidden_size, hidden_size, bias=biases)

    def values(self, states: Tensor) -> Tensor:
        """W_v h: (B, S, H) → (B, n, S, d)"""
        return split_heads(self.W_v(states), self.heads)

    def forward(self, alpha: Tensor, values: Tensor) -> Tensor:
        """α (B, n, Q, S), values (B, n, S, d) → (B, Q, H)"""
        return join_heads(alpha.to(values.dtype) @ values)


def fused_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool = False
) -> Tensor:
    """softmax(q · K / √d) V without its weights, in one kernel where that is fastest.

    Queries (B, n, Q, d), keys and values (B, n, S, d), mask (B, S) true on what may be seen → (B, Q, H).
    `causal`: query t sees only the first t positions, and there is no mask.
    """
    assert mask is None or not causal
    if queries.is_cpu and queries.dtype == torch.float32 and has_fast_products() and _fits(queries, keys):
        # The kernel for CPUs computes one product after the other, each of which oneDNN would prepare anew.
        e = (queries * queries.shape[-1] ** -0.5) @ keys.transpose(-1, -2)  # (B, n, Q, S)
        seen = e.new_ones(e.shape[-2:], dtype=torch.bool).tril()[None] if causal else mask
        return join_heads((e.softmax(dim=-1) if seen is None else masked_softmax(e, seen)) @ values)
    seen = None if mask is None else mask[:, None, None]  # (B, 1, 1, S)
    return join_heads(scaled_dot_product_attention(queries, keys, values, seen, is_causal=causal))


def _fits(queries: Tensor, keys: Tensor) -> bool:
    """Whether oneDNN would compute the products of attention, and their results are not too large."""
    B, n, Q, d = queries.shape
    S = keys.shape[2]
    return Q * S * d > _NOT_BY_ONEDNN and B * n * Q * S <= _MOST_WEIGHTS


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, S, H) → (B, n, S, d), without a copy."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """(B, n, S, d) → (B, S, H)"""
    return x.transpose(1, 2).flatten(2)


def build_attention(config: ModelConfig) -> Attention:
    """The attention that the settings describe."""
    heads, H, biases = config.heads, config.hidden_size, config.head_biases
    d = H // (heads or 1)
    score = SCORES[config.attention](Sizes(d, config.attention_size or d, config.attention_positions))
    if config.coverage:
        assert isinstance(score, Additive)
        score = CoverageScore(score)
    window = None
    if config.attention_window is not None:
        window = WINDOWS[config.attention_span](H, config.attention_window)
    return Attention(
        score if heads is None else HeadedScore(score, H, heads, biases=biases),
        reader=weighted_sum if heads is None else HeadedReader(H, heads, biases=biases),
        window=window,
        hard=config.hard_attention,
        expected_share=config.expected_context,
    )
