"""Required phrases: lexically constrained beam search with dynamic beam allocation   (Post & Vilar 2018)

B sentences · K hypotheses per sentence · C candidates per step · G phrases per sentence · A alternatives of a phrase ·
L tokens of an alternative

A phrase is met when one of its alternatives is in the translation, token by token, and the word does not continue.
`PhraseProgress` follows every alternative at once: bit i says that the last i + 1 tokens are its first i + 1 tokens
(the shift-and algorithm, Baeza-Yates & Gonnet 1992).

Hypotheses that have met more of the phrases are less probable, so the beam is divided. A bank holds the candidates that
lack the same number of tokens, and the beam takes the best of each bank before the second of any. Unlike the original,
a beam with fewer places than banks keeps the most advanced bank, so that all phrases are met in the end, then banks
that are not in the middle of a phrase, then the others by score: otherwise all phrases would have to come first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError
from nmt_cli.model.protocol import State
from nmt_cli.search.candidates import Candidates, EndedAndOpen, best_candidates, best_tokens, chunks_of
from nmt_cli.vocabulary.token_ids import EOS

_NONE = -1  # in place of a token
_FAR = 1 << 30  # more tokens than any phrase has
# Tokens of each hypothesis that are candidates whatever the others score: the advanced banks need some to choose from.
_OWN_CANDIDATES = 2


class Phrase(NamedTuple):
    """What a translation must contain: any one of the alternatives, each a sequence of ids."""

    alternatives: tuple[tuple[int, ...], ...]
    whole_word: bool = True  # the next token must not continue the last word


@dataclass(frozen=True, eq=False)
class PhraseProgress(State):
    """How far each hypothesis is with each phrase."""

    # (B, K, G, A, L) whether the last l + 1 tokens are the first l + 1 tokens of an alternative
    matched: Tensor
    met: Tensor  # (B, K, G) the phrase is complete and a token after it has ended the word


class Remaining(NamedTuple):
    """What hypotheses lack."""

    tokens: Tensor  # (B, K, G) of each phrase; 0 if it is complete, even if the word may still continue
    positions: Tensor  # (B, K, G, A) tokens of each alternative that are there

    @property
    def total(self) -> Tensor:
        """(B, K) the number of tokens that all phrases lack."""
        return self.tokens.sum(dim=2)

    @property
    def in_phrase(self) -> Tensor:
        """(B, K) whether a phrase has begun but is not complete."""
        return ((self.tokens > 0) & (self.positions.amax(dim=3) > 0)).any(dim=2)


@dataclass(frozen=True, eq=False)
class RequiredPhrases:
    """The phrases of B sentences; a sentence with fewer than G has phrases that are met from the start."""

    tokens: Tensor  # (B, G, A, L) _NONE after the end of an alternative
    lengths: Tensor  # (B, G, A) 0 where there is no such alternative
    whole_word: Tensor  # (B, G)
    # (B, G) the same phrase, if it is required more than once: one after the other; else itself
    previous: Tensor
    continues: Tensor  # (V,) whether a token continues the word before it
    most_met: Tensor  # (B,) of all hypotheses that have ended, the largest number of complete phrases

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        names = ("tokens", "lengths", "whole_word", "previous", "most_met")
        return replace(self, **{name: getattr(self, name).index_select(0, rows) for name in names})

    def start(self, hypotheses: int) -> PhraseProgress:
        """The progress of K hypotheses without tokens."""
        B, G, A, L = self.tokens.shape
        matched = self.tokens.new_zeros(B, hypotheses, G, A, L, dtype=torch.bool)
        nothing_required = self.lengths.amax(dim=2) == 0  # (B, G)
        return PhraseProgress(matched, nothing_required[:, None].expand(-1, hypotheses, -1))

    def after(self, progress: PhraseProgress, tokens: Tensor) -> PhraseProgress:
        """The progress after one more token (B, K) per hypothesis."""
        complete = self.remaining(progress).tokens == 0  # (B, K, G)
        word_ends = ~self.continues[tokens][..., None] | ~self.whole_word[:, None]  # (B, K, G)
        met = progress.met | (complete & word_ends)
        previous = self.previous[:, None].expand_as(met)
        is_first = previous == torch.arange(met.shape[2], device=met.device)
        counts = ~met & (is_first | met.gather(2, previous))  # (B, K, G)
        fits = self.tokens[:, None] == tokens[..., None, None, None]  # (B, K, G, A, L)
        before = torch.cat([torch.ones_like(fits[..., :1]), progress.matched[..., :-1]], dim=4)
        return PhraseProgress(before & fits & counts[..., None, None], met)

    def remaining(self, progress: PhraseProgress) -> Remaining:
        """What each hypothesis lacks."""
        L, device = self.tokens.shape[3], self.tokens.device
        numbers = torch.arange(1, L + 1, dtype=torch.int32, device=device)
        positions = (progress.matched * numbers).amax(dim=4)  # (B, K, G, A)
        lengths = self.lengths[:, None]  # (B, 1, G, A)
        left = (lengths - positions).masked_fill(lengths == 0, _FAR).amin(dim=3)  # (B, K, G)
        return Remaining(left.masked_fill(progress.met, 0), positions)

    def next_tokens(self, progress: PhraseProgress, remaining: Remaining) -> Tensor:
        """(B, K, G·A) the token that continues or begins each alternative of a phrase that is not complete."""
        K, L = progress.met.shape[1], self.tokens.shape[3]
        index = remaining.positions[..., None].clamp(max=L - 1).long()  # (B, K, G, A, 1)
        following = self.tokens[:, None].expand(-1, K, -1, -1, -1).gather(4, index)[..., 0]
        following = following.masked_fill((remaining.tokens == 0)[..., None], _NONE)
        return following.flatten(2)

    def keep_best_ended(self, ended: Tensor, remaining: Tensor) -> tuple[Self, Tensor]:
        """Scores (B, E) of ended hypotheses → -∞ where another one has met more phrases; remaining (B, E, G).

        Before the maximum length, only hypotheses that have met all phrases end.
        """
        met = (remaining == 0).sum(dim=2).masked_fill(ended == -torch.inf, _NONE)  # (B, E)
        most_met = torch.maximum(self.most_met, met.amax(dim=1))  # (B,)
        return replace(self, most_met=most_met), ended.masked_fill(met < most_met[:, None], -torch.inf)


class Chosen(NamedTuple):
    """The candidates of a step in the order in which the beam takes them."""

    candidates: Candidates  # (B, C)
    split: EndedAndOpen
    progress: PhraseProgress  # (B, K', …) of the open candidates
    remaining: Tensor  # (B, C, G)


def constrained_candidates(
    log_p: Tensor, scores: Tensor, required: RequiredPhrases, progress: PhraseProgress, count: int
) -> Candidates:
    """The `count` best of all continuations, and those that each hypothesis needs in order to meet its phrases.

    From log p (B, K, V), which is overwritten where <eos> may not follow yet, and log P (B, K) so far.
    """
    K, V = log_p.shape[1:]
    remaining = required.remaining(progress)
    log_p[..., EOS] = log_p[..., EOS].masked_fill(remaining.total > 0, -torch.inf)
    chunks = chunks_of(log_p)
    best = best_candidates(log_p, scores, count, chunks)
    own = best_tokens(chunks, _OWN_CANDIDATES).clamp(max=V - 1)
    extra = [own, required.next_tokens(progress, remaining)]
    ends = (remaining.tokens == 0) & ~progress.met & required.whole_word[:, None]  # (B, K, G)
    extra.append(_best_at_word_end(log_p, ends.any(dim=2), required.continues)[..., None])
    tokens = torch.cat(extra, dim=2)  # (B, K, E)
    token_log_p = log_p.gather(2, tokens.clamp(min=0)).masked_fill(tokens == _NONE, -torch.inf)
    parents = torch.arange(K, device=log_p.device)[:, None].expand_as(tokens)
    more = (tokens.clamp(min=0), parents, scores[..., None] + token_log_p, token_log_p)
    joined = (torch.cat([a, b.flatten(1)], dim=1) for a, b in zip(best, more, strict=True))
    return _without_duplicates(Candidates(*joined), V)


def choose(candidates: Candidates, required: RequiredPhrases, progress: PhraseProgress, width: int) -> Chosen:
    """Divide the beam: the best candidates of every bank end or stay open."""
    after = required.after(progress.reorder(candidates.parents), candidates.tokens)  # (B, C, …)
    remaining = required.remaining(after)
    total, in_phrase = remaining.total, remaining.in_phrase  # (B, C)
    order = allocate(candidates.scores, total, in_phrase)  # (B, C)
    candidates = Candidates(*(column.gather(1, order) for column in candidates))
    ends = candidates.tokens == EOS  # (B, C)
    open_scores = candidates.scores.masked_fill(ends, -torch.inf)
    slots = allocate(open_scores, total.gather(1, order), in_phrase.gather(1, order))[:, :width]  # (B, K')
    open_columns = (candidates.tokens, candidates.parents, open_scores, candidates.log_p)
    tokens, parents, best, log_p = (column.gather(1, slots) for column in open_columns)
    split = EndedAndOpen(ends[:, :width], slots, Candidates(tokens, parents, best, log_p))
    index = order[..., None].expand_as(remaining.tokens)
    return Chosen(candidates, split, after.reorder(order.gather(1, slots)), remaining.tokens.gather(1, index))


def allocate(scores: Tensor, remaining: Tensor, in_phrase: Tensor) -> Tensor:
    """The order (B, C) in which the beam takes candidates, from their scores, missing tokens and whether in a phrase.

    First the best of each bank, then the second of each bank, and so on. Within such a round the bank that lacks the
    fewest tokens comes first, then banks between phrases, then banks within one; banks of the same kind by score. With
    a single bank this is the order of the scores.
    """
    order = scores.argsort(dim=1, descending=True, stable=True)  # (B, C)
    exists = scores.gather(1, order) > -torch.inf
    bank = remaining.gather(1, order).masked_fill(~exists, _FAR)  # (B, C)
    by_bank, index = bank.sort(dim=1, stable=True)
    positions = torch.arange(bank.shape[1], device=bank.device).expand_as(bank)
    ranks = positions - torch.searchsorted(by_bank, by_bank)  # (B, C) within the bank, sorted by bank
    rank = torch.empty_like(ranks).scatter_(1, index, ranks)
    kind = torch.where(bank == by_bank[:, :1], 0, torch.where(in_phrase.gather(1, order), 2, 1))
    turn = (3 * rank + kind).masked_fill(~exists, _FAR)
    return order.gather(1, turn.argsort(dim=1, stable=True))


def check_constrained(config: SearchConfig) -> None:
    """Required phrases need a beam, whose banks are not divided among groups."""
    obstacles = {
        "sampling = true": config.sampling,
        "beam_size = 1": config.beam_size == 1,
        f"diversity_groups = {config.diversity_groups}": config.diversity_groups > 1,
    }
    for setting, is_obstacle in obstacles.items():
        if is_obstacle:
            raise ConfigError(
                f"required terms need beam search, but search.{setting}",
                hint="set search.beam_size to 5 or more, without sampling or diversity groups",
            )


def build_required(
    phrases: Sequence[Sequence[Phrase]], continues: Tensor | None, device: torch.device
) -> RequiredPhrases | None:
    """The phrases of each sentence; None if there are none. continues (V,): see `RequiredPhrases`."""
    if not any(phrases):
        return None
    assert continues is not None
    B, G = len(phrases), max(map(len, phrases))
    everything = [phrase for row in phrases for phrase in row]
    A = max(len(phrase.alternatives) for phrase in everything)
    L = max(len(tokens) for phrase in everything for tokens in phrase.alternatives)
    padded = torch.full((B, G, A, L), _NONE)
    lengths = torch.zeros(B, G, A, dtype=torch.int32)  # minima of int64 take many times as long
    whole_word = torch.ones(B, G, dtype=torch.bool)
    previous = torch.arange(G).repeat(B, 1)  # (B, G)
    for b, row in enumerate(phrases):
        last: dict[Phrase, int] = {}
        for g, phrase in enumerate(row):
            assert phrase.alternatives
            for a, tokens in enumerate(phrase.alternatives):
                assert tokens
                padded[b, g, a, : len(tokens)] = torch.tensor(tokens)
                lengths[b, g, a] = len(tokens)
            whole_word[b, g] = phrase.whole_word
            previous[b, g] = last.get(phrase, g)
            last[phrase] = g
    return RequiredPhrases(
        tokens=padded.to(device),
        lengths=lengths.to(device),
        whole_word=whole_word.to(device),
        previous=previous.to(device),
        continues=continues.to(device),
        most_met=torch.full((B,), _NONE, device=device),
    )


def required_tokens(phrases: Sequence[Sequence[Phrase]]) -> list[int]:
    """(B,) the number of tokens that are enough to meet all phrases of a sentence."""
    return [sum(min(map(len, phrase.alternatives)) for phrase in row) for row in phrases]


def _best_at_word_end(log_p: Tensor, wanted: Tensor, continues: Tensor) -> Tensor:
    """(B, K) the most probable token but <eos> that does not continue the word; _NONE where it is not `wanted`."""
    tokens = torch.full(wanted.shape, _NONE, device=log_p.device)
    rows = wanted.nonzero(as_tuple=True)  # few hypotheses have just completed a phrase
    if len(rows[0]):
        excluded = continues.clone()
        excluded[EOS] = True
        allowed = log_p[rows].masked_fill_(excluded, -torch.inf)  # (n, V)
        tokens[rows] = best_tokens(chunks_of(allowed[:, None]), 1)[:, 0, 0].clamp(max=log_p.shape[2] - 1)
    return tokens


def _without_duplicates(candidates: Candidates, V: int) -> Candidates:
    """Candidates whose score is -∞ where the same continuation is there already."""
    keys = (candidates.parents * V + candidates.tokens).masked_fill(candidates.scores == -torch.inf, _NONE)
    keys, order = keys.sort(dim=1, stable=True)
    repeated = torch.zeros_like(keys, dtype=torch.bool)
    repeated[:, 1:] = keys[:, 1:] == keys[:, :-1]
    repeated = torch.empty_like(repeated).scatter_(1, order, repeated)
    return candidates._replace(scores=candidates.scores.masked_fill(repeated, -torch.inf))
