"""Constraints on the candidates of a step: banned tokens and words, lengths, no repeated n-grams, given prefixes.

B sentences · K hypotheses per sentence · V tokens
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.model.protocol import State
from nmt_cli.search.banned_words import BannedWords
from nmt_cli.vocabulary.token_ids import EOS

_FREE = -1  # in place of a forced token: the sentence is free to choose


@dataclass(frozen=True, eq=False)
class History(State):
    """What constraints have to know about each hypothesis."""

    sequences: Tensor | None  # (B, K, t) all tokens, if n-grams must not be repeated
    words: tuple[Tensor, ...]  # (B, K) state of each automaton of banned words


@dataclass(frozen=True, eq=False)
class Constraints:
    """A forced token (from a prefix, or <eos> at the maximum length) takes precedence over all other rules.

    At step t = 0, 1, … a hypothesis has t tokens. Lengths do not count <eos>.
    """

    banned: Tensor  # (n,) ids
    words: tuple[BannedWords, ...]
    min_length: int
    ngram: int  # 0 if repetitions are allowed
    limits: Tensor  # (B,) the maximum length of each sentence
    prefix: Tensor | None  # (B, P) forced tokens, _FREE after the end of a sentence's prefix
    shortest_limit: int  # over all sentences, kept on the host: no step has to wait for the device
    longest_limit: int

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        prefix = None if self.prefix is None else self.prefix.index_select(0, rows)
        return replace(self, limits=self.limits.index_select(0, rows), prefix=prefix)

    def start(self, hypotheses: int) -> History:
        """The history of K hypotheses without tokens."""
        shape = (len(self.limits), hypotheses)
        return History(
            sequences=self.limits.new_empty(*shape, 0) if self.ngram else None,
            words=tuple(words.start(shape) for words in self.words),
        )

    def extend(self, history: History, tokens: Tensor) -> History:
        """The history after one more token (B, K) per hypothesis."""
        sequences = history.sequences
        if sequences is not None:
            sequences = torch.cat([sequences, tokens[..., None]], dim=2)  # (B, K, t + 1)
        pairs = zip(self.words, history.words, strict=True)
        return History(sequences, tuple(words.after(states, tokens) for words, states in pairs))

    def forced(self, t: int) -> Tensor | None:
        """(B,) the token that must come next, _FREE where there is a choice; None if no sentence is forced."""
        in_prefix = self.prefix is not None and t < self.prefix.shape[1]
        if not in_prefix and t < self.shortest_limit:
            return None
        free = self.prefix[:, t] if self.prefix is not None and in_prefix else _FREE
        return torch.where(self.limits <= t, EOS, free)

    def exclude(self, log_p: Tensor, t: int, history: History) -> None:
        """Set log p (B, K, V) to -∞, in place, where a token may not follow."""
        if len(self.banned):
            log_p.index_fill_(2, self.banned, -torch.inf)
        if t < self.min_length:
            log_p[..., EOS] = -torch.inf
        if history.sequences is not None and t >= self.ngram:
            exclude_repetitions(log_p, history.sequences, self.ngram)
        last = self.limits == t + 1 if self.words and t + 1 >= self.shortest_limit else None  # (B,)
        for words, states in zip(self.words, history.words, strict=True):
            words.exclude(log_p, states, last)

    def truncates(self, best: Tensor, t: int) -> Tensor | None:
        """(B, K) where the maximum length forces <eos> although another token is the `best` (B, K); None: nowhere."""
        return None if t < self.shortest_limit else (self.limits <= t)[:, None] & (best != EOS)


def exclude_repetitions(log_p: Tensor, sequences: Tensor, n: int) -> None:
    """Set log p (B, K, V) to -∞, in place, where a token would repeat an n-gram of `sequences` (B, K, t)."""
    windows = sequences.unfold(2, n, 1)  # (B, K, t-n+1, n) all n-grams so far
    last = sequences[:, :, None, sequences.shape[2] - n + 1 :]  # (B, K, 1, n-1) start of the next n-gram
    repeats = (windows[..., :-1] == last).all(dim=-1)  # (B, K, t-n+1)
    ceiling = torch.where(repeats, -torch.inf, torch.inf).to(log_p.dtype)
    # A minimum, because a token may be the last of several windows.
    log_p.scatter_reduce_(2, windows[..., -1], ceiling, "amin")


def length_limits(config: SearchConfig, source_lengths: Tensor) -> Tensor:
    """Maximum length (B,) of the translations of sources with `source_lengths` (B,), not counting <eos>."""
    limits = torch.full_like(source_lengths, config.max_length)
    if config.max_length_ratio is not None:
        # The product may exceed every integer, so it is bounded before it becomes one.
        allowed = (source_lengths * config.max_length_ratio).clamp(max=config.max_length).long()
        limits = torch.minimum(limits, allowed + config.max_length_constant)
    return limits.clamp(min=config.min_length)


def build_constraints(
    config: SearchConfig,
    source_lengths: Tensor,
    *,
    banned: Sequence[int],
    words: Sequence[BannedWords],
    prefix: Sequence[Sequence[int]] | None,
    required: Sequence[int] | None,
    device: torch.device,
) -> Constraints:
    """For each sentence limit = max(min_length, |prefix| + required, min(max_length, ratio · |source| + constant)).

    required   number of tokens (B,) that required phrases need
    """
    limits = length_limits(config, source_lengths)  # (B,)
    least = torch.zeros_like(limits) if required is None else torch.tensor(required)  # (B,)
    forced = None
    if prefix is not None and any(prefix):
        assert len(prefix) == len(source_lengths)
        assert not any(EOS in tokens for tokens in prefix), "a prefix cannot contain <eos>"
        forced = torch.full((len(prefix), max(map(len, prefix))), _FREE)  # (B, P)
        for row, tokens in zip(forced, prefix, strict=True):
            row[: len(tokens)] = torch.tensor(tokens, dtype=torch.long)
        least = least + (forced != _FREE).sum(dim=1)
    limits = torch.maximum(limits, least)
    assert EOS not in banned, "no hypothesis could ever end"
    return Constraints(
        banned=torch.tensor(banned, dtype=torch.long, device=device),
        words=tuple(automaton.to(device) for automaton in words),
        min_length=config.min_length,
        ngram=config.no_repeat_ngram,
        limits=limits.to(device),
        prefix=None if forced is None else forced.to(device),
        shortest_limit=int(limits.min()),
        longest_limit=int(limits.max()),
    )
