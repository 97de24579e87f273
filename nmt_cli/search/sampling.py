"""Sampling: the next token drawn at random, in a way that no neighbour in the batch can change."""

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.candidates import Candidates

# SplitMix64 (Steele, Lea & Flood 2014), as numbers of 64 bits with a sign.
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64


def draw_candidates(log_p: Tensor, scores: Tensor, uniform: Tensor, config: SearchConfig) -> Candidates:
    """One token for each hypothesis: log p (B, K, V) of each token, log P so far and uniform numbers (B, K).

    q ∝ p^(1 / temperature) over the `top_k` best tokens, and of these over the fewest with mass `top_p`.
    The scores are those of p itself.
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
        kept = cumulative - q < config.top_p  # up to the token that reaches top_p
        mass = cumulative.where(kept, 0.0).amax(dim=2, keepdim=True)
    # The first token with Σ_{v' ≤ v} q_v' > u: never one whose probability is 0.
    index = torch.searchsorted(cumulative, uniform[..., None] * mass, right=True)  # (B, K, 1)
    index = index.clamp(max=q.shape[2] - 1)
    drawn = index if tokens is None else tokens.gather(2, index)  # (B, K, 1)
    token_log_p = log_p.gather(2, drawn)[..., 0]  # (B, K)
    parents = torch.arange(log_p.shape[1], device=log_p.device).expand_as(scores)
    return Candidates(drawn[..., 0], parents, scores + token_log_p, token_log_p)


def sentence_seeds(seed: int, numbers: Tensor) -> Tensor:
    """A seed (B,) for each sentence, from the seed of all and the number (B,) of each."""
    return _mix(_mix(torch.full_like(numbers, seed)) + numbers)


def uniforms(seeds: Tensor, step: int, width: int) -> Tensor:
    """Uniform numbers (B, K) in [0, 1) for one step, a function of seed (B,), step and hypothesis alone."""
    counters = torch.arange(step * width, (step + 1) * width, device=seeds.device)  # (K,)
    bits = _mix(seeds[:, None] + (counters + 1) * _GOLDEN)  # (B, K)
    return _shift(bits, 11).double() * 2.0**-53


def _mix(x: Tensor) -> Tensor:
    x = (x ^ _shift(x, 30)) * _MIX_1
    x = (x ^ _shift(x, 27)) * _MIX_2
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Shift x to the right, without its sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
