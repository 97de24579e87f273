"""Attention in three parts: a score function, a normaliser and a reader.

    e = score(q, K)      α = normalise(e)      c = read(α, h)

All kinds are made of them. Several heads: a score function and a reader with a dimension more (`heads`). Local
attention: a window that narrows the mask before the normaliser (`windows`). Hard attention: one position is
chosen after it. Coverage: a score function that sees the weights of the steps before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.heads import HeadedReader, HeadedScore
from nmt_cli.model.scores import SCORES, Additive, Covering, Score, Sizes
from nmt_cli.model.windows import WINDOWS, Window


class Focus(NamedTuple):
    """What attention has to know of the steps before; for most kinds nothing."""

    steps: Tensor | None = None  # (B or 1, Q) how many there were
    coverage: Tensor | None = None  # (B, Q, S) Σ α of them

    def after(self, alpha: Tensor) -> Focus:
        """What the next step has to know, after α (B, Q, S)."""
        return Focus(
            None if self.steps is None else self.steps + 1,
            None if self.coverage is None else self.coverage + alpha,
        )


NOTHING = Focus()


class Reading(NamedTuple):
    """What one look at the source finds."""

    context: Tensor  # (B, Q, H)
    alpha: Tensor  # (B, Q, S) the mean over heads
    chances: Tensor | None  # (B, Q, S) hard attention: what the one position was drawn from


def masked_softmax(e: Tensor, mask: Tensor) -> Tensor:
    """α = softmax(e) over what may be seen: e (B, Q, S) or (B, n, Q, S), mask (B, S) or (B, Q, S) → α like e.

    At least float32.
    """
    while mask.dim() < e.dim():
        mask = mask[:, None]  # (B, 1, S), or (B, 1, Q, S)
    e = e.to(torch.promote_types(e.dtype, torch.float32))
    e = e.masked_fill(~mask, torch.finfo(e.dtype).min)  # finite: a row of nothing but padding gives no NaN
    return e.softmax(dim=-1) * mask  # the product: such a row has no weight at all


def weighted_sum(alpha: Tensor, values: Tensor) -> Tensor:
    """Σ_s α_s h_s: α (B, Q, S), values (B, S, H) → (B, Q, H)"""
    return alpha.to(values.dtype) @ values


def pick(alpha: Tensor, *, draw: bool) -> Tensor:
    """One position instead of all: 1 where it is drawn from α (B, Q, S), or where α is highest, else 0."""
    log_p = alpha.detach().log()  # (B, Q, S)
    if draw:
        log_p = log_p - torch.empty_like(log_p).exponential_().log()  # Gumbel noise: the largest is a draw
    chosen = torch.zeros_like(log_p).scatter_(-1, log_p.argmax(dim=-1, keepdim=True), 1.0)
    return chosen * (alpha.detach() > 0)  # a row of nothing but padding has no position to choose


class Attention(nn.Module):
    """e = score(q, keys);  α = normaliser(e);  c = reader(α, values)

    `hard`: α is one position, drawn in training, the most probable one else   (Xu et al. 2015, section 4.1)
    """

    def __init__(
        self,
        score: Score,
        normaliser: Callable[[Tensor, Tensor], Tensor] = masked_softmax,
        reader: Callable[[Tensor, Tensor], Tensor] = weighted_sum,
        *,
        window: Window | None = None,
        hard: bool = False,
    ) -> None:
        super().__init__()
        self.score = score
        self.normaliser = normaliser
        self.reader = reader
        self.window = window
        self.hard = hard

    def keys(self, states: Tensor) -> Tensor:
        """What queries are compared with, of h (B, S, H): (B, …, S, A); computed once for a sentence."""
        return self.score.keys(states)

    def values(self, states: Tensor) -> Tensor:
        """What is read, of h (B, S, H): (B, …, S, d); computed once for a sentence."""
        return self.reader.values(states) if isinstance(self.reader, HeadedReader) else states

    @property
    def covers(self) -> bool:
        """Whether a step has to wait for the weights of the step before."""
        return isinstance(self.score, Covering)

    def focus(self, mask: Tensor, hypotheses: int) -> Focus:
        """What the first step has to know, for K hypotheses of each sentence of mask (B, S)."""
        rows, S = (len(mask), hypotheses), mask.shape[1]
        return Focus(
            None if self.window is None else mask.new_zeros(rows, dtype=torch.long),
            mask.new_zeros((*rows, S), dtype=torch.float32) if self.covers else None,
        )

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, focus: Focus = NOTHING
    ) -> Reading:
        """Query (B, Q, H), keys and values of h (B, S, H), mask (B, S) → context (B, Q, H), α (B, Q, S)."""
        e = self.score(query, keys) if focus.coverage is None else self.score(query, keys, focus.coverage)
        weights = None
        if self.window is not None:
            mask, weights = self.window(query, mask, focus.steps)  # (B, Q, S), (B, Q, S)
        alpha = self.normaliser(e, mask)  # (B, Q, S), or (B, n, Q, S)
        if weights is not None:
            alpha = alpha * (weights if alpha.dim() == 3 else weights[:, None])
        chances = None
        if self.hard:
            chances, alpha = alpha, pick(alpha, draw=self.training)
        context = self.reader(alpha, values)  # (B, Q, H)
        return Reading(context, alpha if alpha.dim() == 3 else alpha.mean(dim=1), chances)

    def all_steps(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Reading:
        """The T steps of teacher forcing at once, query (B, T, H), or one by one if a step needs the one before."""
        if not self.covers:
            steps = None if self.window is None else torch.arange(query.shape[1], device=query.device)[None]
            reading: Reading = self(query, keys, values, mask, Focus(steps))
            return reading
        focus, readings = self.focus(mask, 1), []
        for q in query[:, None].unbind(dim=2):  # (B, 1, H)
            readings.append(self(q, keys, values, mask, focus))
            focus = focus.after(readings[-1].alpha)
        return joined(readings)


def joined(readings: list[Reading]) -> Reading:
    """The readings (B, 1, …) of T steps as one of (B, T, …)."""
    context, alpha, chances = zip(*readings, strict=True)
    return Reading(
        torch.cat(context, dim=1),
        torch.cat(alpha, dim=1),
        None if chances[0] is None else torch.cat(chances, dim=1),
    )


def build_attention(config: ModelConfig) -> Attention | None:
    """The attention that the settings describe."""
    if config.attention == "none":
        return None
    heads, H = config.heads, config.hidden_size
    d = H // (heads or 1)
    score = SCORES[config.attention](Sizes(d, config.attention_size or d, config.attention_positions))
    if config.coverage:
        assert isinstance(score, Additive)
        score = Covering(score)
    window = None
    if config.attention_window is not None:
        window = WINDOWS[config.attention_span](H, config.attention_window)
    return Attention(
        score if heads is None else HeadedScore(score, H, heads),
        reader=weighted_sum if heads is None else HeadedReader(H, heads),
        window=window,
        hard=config.hard_attention,
    )
