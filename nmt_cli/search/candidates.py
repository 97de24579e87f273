"""The candidates of a step: which tokens may continue which hypotheses, the most probable first."""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt_cli.vocabulary.token_ids import EOS

_SMALLEST, _LARGEST = 64, 160  # tokens of a chunk, of which only the maximum is looked at first


class Candidates(NamedTuple):
    """C continuations of the K hypotheses of each of B sentences."""

    tokens: Tensor  # (B, C)
    parents: Tensor  # (B, C) the hypothesis that is continued
    scores: Tensor  # (B, C) log P with the token; -∞ where there is no such continuation
    log_p: Tensor  # (B, C) log p of the token alone

    def select(self, rows: Tensor) -> "Candidates":
        """The sentences `rows` (B',) only."""
        return Candidates(*(part.index_select(0, rows) for part in self))


class Split(NamedTuple):
    """The candidates of a step, those that end a hypothesis apart from those that go on."""

    ended: Tensor  # (B, E) which of the E ≤ K best candidates are <eos>; no matter where the score is -∞
    order: Tensor  # (B, K') the candidates that go on
    live: Candidates  # (B, K') the same; score -∞ where there were not so many


def best_candidates(log_p: Tensor, scores: Tensor, count: int) -> Candidates:
    """The `count` best of all K·V continuations: log p (B, K, V) of each token, log P (B, K) so far

        score_kv = log P_k + log p_kv

    is monotone in log p, also after rounding. So the best `count` tokens lie in the `count` chunks of the
    vocabulary with the best maxima: one pass over log p finds the maxima, and top-k sees these chunks only (on a
    CPU four times as fast). What a sentence gets is a function of its own numbers: neighbours decide no tie.
    """
    B, K, V = log_p.shape
    count = min(count, K * V)
    size, missing = _chunks(V)
    chunks = (pad(log_p, (0, missing), value=-torch.inf) if missing else log_p).view(B, K, -1, size)
    maxima = scores[..., None] + chunks.amax(dim=3)  # (B, K, N)
    N = maxima.shape[2]
    best = maxima.flatten(1).topk(min(count, K * N)).indices  # (B, c)
    first = torch.arange(0, B * K * N, K * N, device=log_p.device)  # (B,) the first chunk of each sentence
    token_log_p = chunks.flatten(0, 2).index_select(0, (best + first[:, None]).flatten())  # (B·c, size)
    token_log_p = token_log_p.view(B, -1, size)
    before = scores.gather(1, best // N)  # (B, c)
    total, index = (before[..., None] + token_log_p).flatten(1).topk(count)  # (B, C)
    chunk = best.gather(1, index // size)  # (B, C)
    # Where no continuation is left all are -∞, and what was missing may be among them: the model must know the token.
    tokens = (chunk % N * size + index % size).clamp(max=V - 1)  # (B, C)
    return Candidates(tokens, chunk // N, total, token_log_p.flatten(1).gather(1, index))


def force(candidates: Candidates, tokens: Tensor, log_p: Tensor, scores: Tensor) -> Candidates:
    """Where tokens (B,) are not negative, each hypothesis is continued by that token, and by nothing else.

    log p (B, K) of the token after each hypothesis; log P so far (B, K).
    """
    K = scores.shape[1]
    missing = (0, candidates.tokens.shape[1] - K)
    only = Candidates(
        tokens[:, None].expand_as(candidates.tokens),
        pad(torch.arange(K, device=tokens.device), missing).expand_as(candidates.parents),
        pad(scores + log_p, missing, value=-torch.inf),
        pad(log_p, missing, value=-torch.inf),
    )
    forced = tokens[:, None] >= 0  # (B, 1)
    return Candidates(*(torch.where(forced, a, b) for a, b in zip(only, candidates, strict=True)))


def split(candidates: Candidates, width: int) -> Split:
    """A hypothesis ends if it does so among the `width` best candidates; the best others go on.

    At most K of the 2 K best candidates end in <eos>, so K others are always there to go on.
    """
    ends = candidates.tokens == EOS  # (B, C)
    scores = candidates.scores.masked_fill(ends, -torch.inf)  # (B, C)
    ended = ends[:, :width]  # (B, E)
    if ends.shape[1] <= width:  # all go on that can: a greedy hypothesis, samples
        order = torch.arange(ends.shape[1], device=ends.device).expand_as(ends)
        return Split(ended, order, candidates._replace(scores=scores))
    best, order = scores.topk(width)  # (B, K')
    tokens, parents, log_p = (
        part.gather(1, order) for part in (candidates.tokens, candidates.parents, candidates.log_p)
    )
    return Split(ended, order, Candidates(tokens, parents, best, log_p))


@cache
def _chunks(V: int) -> tuple[int, int]:
    """The size of equal chunks of V tokens, and how many tokens are missing for that."""
    size = max(size for size in range(1, _LARGEST + 1) if V % size == 0)
    return (size, 0) if size >= min(_SMALLEST, V) else (_LARGEST, -V % _LARGEST)
