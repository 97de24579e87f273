"""The candidates of a step: which tokens continue which hypotheses, the most probable, sampled, or diverse.

B sentences · K hypotheses per sentence · V tokens · C candidates per step
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt_cli.config.search import SearchConfig
from nmt_cli.vocabulary.token_ids import EOS

# Size of a vocabulary chunk. Top-k looks at the maximum of each chunk first, and then into the best chunks only.
_SMALLEST_CHUNK, _LARGEST_CHUNK = 64, 160


class Candidates(NamedTuple):
    """C continuations of the K hypotheses of each of B sentences."""

    tokens: Tensor  # (B, C)
    parents: Tensor  # (B, C) index of the hypothesis being continued
    scores: Tensor  # (B, C) log P including the token; -∞ where there is no such continuation
    log_p: Tensor  # (B, C) log p of the token alone

    def select(self, rows: Tensor) -> "Candidates":
        """The sentences `rows` (B',) only."""
        return Candidates(*(column.index_select(0, rows) for column in self))


class EndedAndOpen(NamedTuple):
    """The candidates of a step, separated into those that end a hypothesis and those that stay open."""

    ended: Tensor  # (B, E) which of the E ≤ K best candidates are <eos>; meaningless where the score is -∞
    order: Tensor  # (B, K') indices of the open candidates
    open: Candidates  # (B, K') the open candidates themselves; score -∞ where there are fewer than K'


class Chunks(NamedTuple):
    """log p (B, K, V) in N chunks of the vocabulary."""

    log_p: Tensor  # (B, K, N, size), padded with -∞
    maxima: Tensor  # (B, K, N)


def chunks_of(log_p: Tensor) -> Chunks:
    """Cut log p (B, K, V) into chunks of equal size, in one pass."""
    B, K, V = log_p.shape
    size, missing = _chunk_size(V)
    chunks = (pad(log_p, (0, missing), value=-torch.inf) if missing else log_p).view(B, K, -1, size)
    return Chunks(chunks, chunks.amax(dim=3))


def best_tokens(chunks: Chunks, count: int) -> Tensor:
    """The `count` most probable tokens (B, K, count) after each hypothesis, in any order; fewer if there are fewer."""
    B, K, N, size = chunks.log_p.shape
    best = chunks.maxima.topk(min(count, N), dim=2).indices  # (B, K, c)
    # The first chunk of each hypothesis.
    first = torch.arange(0, B * K * N, N, device=best.device).view(B, K, 1)
    # (B, K, c·size)
    inside = chunks.log_p.flatten(0, 2).index_select(0, (best + first).flatten()).view(B, K, -1)
    index = inside.topk(min(count, inside.shape[2]), dim=2).indices  # (B, K, count)
    return best.gather(2, index // size) * size + index % size


def best_candidates(log_p: Tensor, scores: Tensor, count: int, chunks: Chunks | None = None) -> Candidates:
    """The `count` best of all K·V continuations: log p (B, K, V) of each token, log P (B, K) so far

        score_kv = log P_k + log p_kv

    is monotone in log p, even after rounding. So the best `count` tokens lie in the `count` vocabulary chunks
    with the largest maxima: one pass over log p finds the maxima, and top-k looks at these chunks only (four times
    as fast on a CPU). A sentence's candidates depend on its own numbers only: its neighbors cannot break a tie.
    `chunks` are those of log p, if the caller has them.
    """
    B, K, V = log_p.shape
    count = min(count, K * V)
    chunked, largest = chunks or chunks_of(log_p)
    N, size = chunked.shape[2:]
    maxima = scores[..., None] + largest  # (B, K, N)
    best = maxima.flatten(1).topk(min(count, K * N)).indices  # (B, c)
    first = torch.arange(0, B * K * N, K * N, device=log_p.device)  # (B,) the first chunk of each sentence
    token_log_p = chunked.flatten(0, 2).index_select(0, (best + first[:, None]).flatten())  # (B·c, size)
    token_log_p = token_log_p.view(B, -1, size)
    before = scores.gather(1, best // N)  # (B, c)
    total, index = (before[..., None] + token_log_p).flatten(1).topk(count)  # (B, C)
    chunk = best.gather(1, index // size)  # (B, C)
    # If nothing can continue, every score is -∞ and top-k may pick the chunk's padding: keep the id valid.
    tokens = (chunk % N * size + index % size).clamp(max=V - 1)  # (B, C)
    return Candidates(tokens, chunk // N, total, token_log_p.flatten(1).gather(1, index))


def force(candidates: Candidates, tokens: Tensor, log_p: Tensor, scores: Tensor) -> Candidates:
    """Where tokens (B,) is not negative, that token is the only continuation of each hypothesis.

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


def split_ended(candidates: Candidates, width: int) -> EndedAndOpen:
    """A hypothesis ends if its <eos> is among the `width` best candidates; the best others stay open.

    At most K of the 2 K best candidates are <eos>, so there are always K others.
    """
    ends = candidates.tokens == EOS  # (B, C)
    scores = candidates.scores.masked_fill(ends, -torch.inf)  # (B, C)
    ended = ends[:, :width]  # (B, E)
    if ends.shape[1] <= width:  # greedy search and samples: whatever did not end stays open
        order = torch.arange(ends.shape[1], device=ends.device).expand_as(ends)
        return EndedAndOpen(ended, order, candidates._replace(scores=scores))
    best, order = scores.topk(width)  # (B, K')
    tokens, parents, log_p = (
        column.gather(1, order) for column in (candidates.tokens, candidates.parents, candidates.log_p)
    )
    return EndedAndOpen(ended, order, Candidates(tokens, parents, best, log_p))


@cache
def _chunk_size(V: int) -> tuple[int, int]:
    """The size of equal chunks of V tokens, and how many tokens of padding they need."""
    size = max(size for size in range(1, _LARGEST_CHUNK + 1) if V % size == 0)
    return (size, 0) if size >= min(_SMALLEST_CHUNK, V) else (_LARGEST_CHUNK, -V % _LARGEST_CHUNK)


# Sampling. A token is drawn from a counter-based generator, so a sentence's sample never depends on its batch.

# SplitMix64 (Steele, Lea & Flood 2014), constants as signed 64-bit integers.
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64


def sample_candidates(log_p: Tensor, scores: Tensor, uniform: Tensor, config: SearchConfig) -> Candidates:
    """Draw one token per hypothesis: log p (B, K, V) of each token, log P so far and uniform numbers (B, K).

    q ∝ p^(1 / temperature), restricted to the `top_k` most probable tokens and then to the smallest set of those
    with probability mass `top_p`. Scores are computed from p, not from q.
    """
    values, tokens = log_p, None  # (B, K, V)
    if config.top_k is not None:
        values, tokens = log_p.topk(min(config.top_k, log_p.shape[2]))  # (B, K, top_k), best first
    elif config.top_p is not None:
        values, tokens = log_p.sort(dim=2, descending=True, stable=True)  # (B, K, V)
    q = (values / config.temperature).softmax(dim=2, dtype=torch.float64)
    cumulative = q.cumsum(dim=2)
    mass = cumulative[..., -1:]  # (B, K, 1)
    if config.top_p is not None:
        kept = cumulative - q < config.top_p  # up to and including the token that reaches top_p
        mass = cumulative.where(kept, 0.0).amax(dim=2, keepdim=True)
    # The first token with Σ_{v' ≤ v} q_v' > u, which is never one with probability 0.
    index = torch.searchsorted(cumulative, uniform[..., None] * mass, right=True)  # (B, K, 1)
    index = index.clamp(max=q.shape[2] - 1)
    drawn = index if tokens is None else tokens.gather(2, index)  # (B, K, 1)
    token_log_p = log_p.gather(2, drawn)[..., 0]  # (B, K)
    parents = torch.arange(log_p.shape[1], device=log_p.device).expand_as(scores)
    return Candidates(drawn[..., 0], parents, scores + token_log_p, token_log_p)


def sentence_seeds(seed: int, numbers: Tensor) -> Tensor:
    """A seed (B,) per sentence, from the global seed and the sentence numbers (B,)."""
    return _mix(_mix(torch.full_like(numbers, seed)) + numbers)


def uniforms(seeds: Tensor, step: int, width: int) -> Tensor:
    """Uniform numbers (B, K) in [0, 1) for one step: a function of seed (B,), step and hypothesis only."""
    counters = torch.arange(step * width, (step + 1) * width, device=seeds.device)  # (K,)
    bits = _mix(seeds[:, None] + (counters + 1) * _GOLDEN)  # (B, K)
    return _shift(bits, 11).double() * 2.0**-53


def _mix(x: Tensor) -> Tensor:
    x = (x ^ _shift(x, 30)) * _MIX_1
    x = (x ^ _shift(x, 27)) * _MIX_2
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical shift to the right; torch's own shift copies the sign bit."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def diverse_candidates(
    log_p: Tensor,
    scores: Tensor,
    groups: int,
    strength: float,
    width: int,
    forced: Tensor | None,
    forced_log_p: Tensor | None,
) -> tuple[Candidates, EndedAndOpen]:
    """Candidates (B, 2 K) and those that end or stay open, group by group: log p (B, K, V), log P (B, K) so far.

    Diverse beam search (Vijayakumar et al. 2018, algorithm 1): the K hypotheses are in groups of k that choose one
    after the other. What earlier groups have just chosen costs λ:

        score_kv = log P_k + log p_kv - λ · |{hypotheses of earlier groups that chose v in this step}|

    Only the choice is affected: log P stays that of the model. <eos> costs nothing, because a translation that ends at
    the same time is not similar for that reason.

    Before the first step there is a single hypothesis, and all groups start from it. The first K candidates, those
    that may end, are the first k of each group. Where forced (B,) is not negative, that token with its log p (B, K) is
    the only one.
    """
    k = width // groups
    chosen = log_p.new_zeros(len(log_p), 0, dtype=torch.long)  # (B, n) the tokens of earlier groups
    parts: list[tuple[Candidates, EndedAndOpen]] = []
    for group in range(groups):
        first = group * k if log_p.shape[1] > 1 else 0
        slots = slice(first, first + k)
        before = scores[:, slots]
        penalized, candidates = _group_candidates(log_p[:, slots], before, chosen, strength, 2 * k)
        if forced is not None and forced_log_p is not None:
            given = forced, forced_log_p[:, slots], before
            penalized, candidates = force(penalized, *given), force(candidates, *given)
        split = split_ended(penalized, k)
        total, token_log_p = (x.gather(1, split.order) for x in (candidates.scores, candidates.log_p))
        total = total.masked_fill(split.open.scores == -torch.inf, -torch.inf)
        open_ = split.open._replace(scores=total, log_p=token_log_p)
        parts.append((_within_beam(candidates, first), split._replace(open=_within_beam(open_, first))))
        chosen = torch.cat([chosen, split.open.tokens], dim=1)
    return _join(parts, k)


def _group_candidates(
    log_p: Tensor, scores: Tensor, chosen: Tensor, strength: float, count: int
) -> tuple[Candidates, Candidates]:
    """The best candidates (B, `count`) of one group, with penalized and with plain scores.

    From log p (B, k, V), which is as before afterwards, log P (B, k) so far, and tokens chosen by others (B, n).
    """
    index = chosen[:, None].expand(-1, log_p.shape[1], -1)  # (B, k, n)
    original = log_p.gather(2, index)
    cost = torch.where(index == EOS, 0.0, -strength).to(log_p.dtype)
    log_p.scatter_add_(2, index, cost)
    penalized = best_candidates(log_p, scores, count)
    log_p.scatter_(2, index, original)
    missing = (0, count - penalized.tokens.shape[1])  # a tiny vocabulary has fewer continuations
    penalized = Candidates(
        pad(penalized.tokens, missing),
        pad(penalized.parents, missing),
        pad(penalized.scores, missing, value=-torch.inf),
        pad(penalized.log_p, missing, value=-torch.inf),
    )
    tokens, parents, total, _ = penalized
    rows = torch.arange(len(log_p), device=log_p.device)[:, None]
    token_log_p = log_p[rows, parents, tokens]  # (B, C)
    plain = (scores.gather(1, parents) + token_log_p).masked_fill(total == -torch.inf, -torch.inf)
    return penalized, Candidates(tokens, parents, plain, token_log_p)


def _within_beam(candidates: Candidates, first: int) -> Candidates:
    """Parents counted within the beam instead of within the group."""
    return candidates._replace(parents=candidates.parents + first)


def _join(parts: list[tuple[Candidates, EndedAndOpen]], k: int) -> tuple[Candidates, EndedAndOpen]:
    """Side by side: the first k candidates of each group, then the others of each group."""
    G = len(parts)
    columns = []
    for field in zip(*(candidates for candidates, _ in parts), strict=True):
        columns.append(torch.cat([x[:, :k] for x in field] + [x[:, k:] for x in field], dim=1))
    orders = []
    for group, (_, split) in enumerate(parts):
        among_first, among_rest = split.order + group * k, split.order + (G - 1) * k + group * k
        orders.append(torch.where(split.order < k, among_first, among_rest))
    splits = [split for _, split in parts]
    opened = (torch.cat(field, dim=1) for field in zip(*(split.open for split in splits), strict=True))
    ended = torch.cat([split.ended for split in splits], dim=1)
    return Candidates(*columns), EndedAndOpen(ended, torch.cat(orders, dim=1), Candidates(*opened))
