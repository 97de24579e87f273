"""The candidates of a step: which tokens may continue which hypotheses, the most probable first."""

from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.tokens import EOS

_CHUNK = 128  # tokens of which only the maximum is looked at first


class Candidates(NamedTuple):
    """C continuations of the K hypotheses of each of B sentences."""

    tokens: Tensor  # (B, C)
    parents: Tensor  # (B, C) the hypothesis that is continued
    scores: Tensor  # (B, C) log P with the token; -∞ where there is no such continuation
    log_p: Tensor  # (B, C) log p of the token alone

    def take(self, index: Tensor) -> "Candidates":
        """The candidates `index` (B, C')."""
        return Candidates(*(part.gather(1, index) for part in self))

    def select(self, rows: Tensor) -> "Candidates":
        """The sentences `rows` (B',) only."""
        return Candidates(*(part.index_select(0, rows) for part in self))


class Split(NamedTuple):
    """The candidates of a step, those that end a hypothesis apart from those that go on."""

    ended: Tensor  # (B, E) true where one of the E ≤ K best candidates ends in <eos>
    order: Tensor  # (B, K') the candidates that go on
    live: Candidates  # (B, K') the same; score -∞ where there were not so many


def best_candidates(log_p: Tensor, scores: Tensor, count: int) -> Candidates:
    """The `count` best of all K·V continuations: log p (B, K, V) of each token, log P (B, K) so far

        score_kv = log P_k + log p_kv

    is monotone in log p, also after rounding. So the best `count` tokens lie in the `count` chunks of the
    vocabulary with the best maxima: one pass over log p finds the maxima, and top-k sees these chunks only (on a
    CPU four times as fast). What a sentence gets is a function of its own numbers: neighbours decide no tie.
    """
    K, V = log_p.shape[1:]
    count = min(count, K * V)
    maxima = scores[..., None] + _chunk_maxima(log_p)  # (B, K, N)
    N = maxima.shape[2]
    chunks = maxima.flatten(1).topk(min(count, K * N)).indices  # (B, c)
    parents = chunks // N  # (B, c)
    tokens = (chunks % N)[..., None] * _CHUNK + torch.arange(_CHUNK, device=log_p.device)  # (B, c, 128)
    outside = tokens >= V if V % _CHUNK else None  # the last chunk is not full
    tokens = tokens if outside is None else tokens.masked_fill_(outside, V - 1)
    flat = (parents[..., None] * V + tokens).flatten(1)  # (B, c·128)
    token_log_p = log_p.flatten(1).gather(1, flat).view_as(tokens)
    if outside is not None:
        token_log_p.masked_fill_(outside, -torch.inf)
    best, index = (scores.gather(1, parents)[..., None] + token_log_p).flatten(1).topk(count)  # (B, C)
    return Candidates(
        tokens.flatten(1).gather(1, index),
        parents.gather(1, index // _CHUNK),
        best,
        token_log_p.flatten(1).gather(1, index),
    )


def force(candidates: Candidates, tokens: Tensor, log_p: Tensor, scores: Tensor) -> Candidates:
    """Where tokens (B,) are not negative, each hypothesis is continued by that token, and by nothing else.

    log p (B, K) of the token after each hypothesis; log P so far (B, K).
    """
    K = scores.shape[1]
    missing = (0, candidates.tokens.shape[1] - K)
    only = Candidates(
        tokens[:, None].expand_as(candidates.tokens),
        torch.nn.functional.pad(torch.arange(K, device=tokens.device), missing).expand_as(candidates.parents),
        torch.nn.functional.pad(scores + log_p, missing, value=-torch.inf),
        torch.nn.functional.pad(log_p, missing, value=-torch.inf),
    )
    forced = tokens[:, None] >= 0  # (B, 1)
    return Candidates(*(torch.where(forced, a, b) for a, b in zip(only, candidates, strict=True)))


def split(candidates: Candidates, width: int) -> Split:
    """A hypothesis ends if it does so among the `width` best candidates; the best others go on.

    At most K of the 2 K best candidates end in <eos>, so K others are always there to go on.
    """
    count = candidates.tokens.shape[1]
    ends = candidates.tokens == EOS  # (B, C)
    ended = ends[:, :width] & (candidates.scores[:, :width] > -torch.inf)  # (B, E)
    if count <= width:  # all go on that can: a greedy hypothesis, samples
        order, live = torch.arange(count, device=ends.device).expand_as(ends), candidates
    else:
        order = ends.byte().argsort(dim=1, stable=True)[:, :width]  # (B, K')
        live, ends = candidates.take(order), ends.gather(1, order)
    return Split(ended, order, live._replace(scores=live.scores.masked_fill(ends, -torch.inf)))


def _chunk_maxima(log_p: Tensor) -> Tensor:
    """The maximum of every 128 tokens: log p (B, K, V) → (B, K, N)"""
    whole = log_p.shape[2] // _CHUNK
    parts = []
    if whole:
        parts.append(log_p.unfold(2, _CHUNK, _CHUNK).amax(dim=3))  # a view: nothing is copied
    if log_p.shape[2] % _CHUNK:
        parts.append(log_p[..., whole * _CHUNK :].amax(dim=2, keepdim=True))
    return torch.cat(parts, dim=2) if len(parts) > 1 else parts[0]
