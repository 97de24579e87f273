"""Constraints on the candidates of a step: banned tokens and words, lengths, no repeated n-grams, given prefixes.

B sentences · K hypotheses per sentence · V tokens · W states of an automaton

Banned words are words and phrases that no translation may contain, however they are segmented into tokens. Search
tracks the text of every hypothesis with an Aho–Corasick automaton over its UTF-8 bytes. Before a step, the automaton
knows for each token whether the text would then contain a banned word. A word ends where the next character is no
letter, digit or mark, so "cat" bans neither "cats" nor "concat". The token that would end a banned word is excluded;
the hypothesis can still go on to a longer word.
"""

import unicodedata
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import UsageError
from nmt_cli.model.protocol import State
from nmt_cli.vocabulary.token_ids import EOS, UNK

_FORBIDDEN = 0  # state: the text contains a banned word
_MAX_ENTRIES = 100_000_000  # of the table: 200 MB
_SPACE = "▁"
_BOUNDARY = b" "  # stands for everything between words
_OTHER = b"\xff"  # never occurs in UTF-8
_FREE = -1  # in place of a forced token: the sentence is free to choose


@dataclass(frozen=True, eq=False)
class BannedWords:
    """The automaton as a table of tokens instead of bytes, so that a step of search is a lookup."""

    table: Tensor  # (W, V) the state after a token; _FORBIDDEN if it would complete a banned word
    restricted: Tensor  # (W,) whether any token is forbidden
    first: int  # the state before the first token

    def to(self, device: torch.device) -> Self:
        """The same on another device."""
        return replace(self, table=self.table.to(device), restricted=self.restricted.to(device))

    def start(self, shape: tuple[int, int]) -> Tensor:
        """The states (B, K) before the first token."""
        return torch.full(shape, self.first, device=self.table.device)

    def after(self, states: Tensor, tokens: Tensor) -> Tensor:
        """The states (B, K) after one more token (B, K)."""
        return self.table[states, tokens].long()

    def exclude(self, log_p: Tensor, states: Tensor, last: Tensor | None) -> None:
        """Set log p (B, K, V) to -∞, in place, for forbidden tokens after `states` (B, K).

        last   (B,) sentences whose next token is the last before <eos>: no banned word may end there
        """
        restricted = self.restricted[states]  # (B, K) few hypotheses are about to complete a banned word
        if last is not None:
            restricted = restricted | last[:, None]
        rows = restricted.nonzero(as_tuple=True)  # (n,) twice
        if len(rows[0]) == 0:
            return
        following = self.table[states[rows]].long()  # (n, V)
        forbidden = following == _FORBIDDEN
        if last is not None:
            cannot_end = self.table[:, EOS] == _FORBIDDEN  # (W,)
            forbidden |= cannot_end[following] & last[rows[0], None]
            forbidden[:, EOS] = following[:, EOS] == _FORBIDDEN
        log_p[rows] = log_p[rows].masked_fill(forbidden, -torch.inf)


def normal_form(text: str, *, ignore_case: bool) -> str:
    """Letters, digits and marks, with a space for everything else."""
    text = text.lower() if ignore_case else text
    return "".join(character if unicodedata.category(character)[0] in "LNM" else " " for character in text)


def build_banned_words(
    words: Iterable[str], pieces: Sequence[str], is_byte: NDArray[np.bool_], *, ignore_case: bool
) -> BannedWords:
    """The automaton of `words` over the pieces of a target vocabulary."""
    patterns = {
        _BOUNDARY + " ".join(parts).encode() + _BOUNDARY
        for word in words
        if (parts := normal_form(word, ignore_case=ignore_case).split())
    }
    delta, first = _automaton(sorted(patterns))  # (W, 256)
    if len(delta) * len(pieces) > _MAX_ENTRIES:
        raise UsageError(
            f"{len(patterns):,} banned words are too many for a vocabulary of {len(pieces):,} tokens",
            hint=f"ban at most about {len(patterns) * _MAX_ENTRIES // (len(delta) * len(pieces)):,} words",
        )
    texts = [
        _piece_bytes(token, piece, is_byte=byte, ignore_case=ignore_case)
        for token, (piece, byte) in enumerate(zip(pieces, is_byte.tolist(), strict=True))
    ]
    table = _token_table(delta, texts)
    return BannedWords(
        torch.from_numpy(table), torch.from_numpy((table[:, 3:] == _FORBIDDEN).any(axis=1)), first
    )


def _piece_bytes(token: int, piece: str, *, is_byte: bool, ignore_case: bool) -> bytes:
    """What the automaton reads for a token."""
    if token == EOS:
        return _BOUNDARY
    if token == UNK:
        return _BOUNDARY + _OTHER
    if token < EOS:
        return b""
    if is_byte:
        value = int(piece[3:5], 16)
        return normal_form(chr(value), ignore_case=ignore_case).encode() if value < 128 else bytes([value])
    return normal_form(piece.replace(_SPACE, " "), ignore_case=ignore_case).encode()


def _automaton(patterns: Sequence[bytes]) -> tuple[NDArray[np.int32], int]:
    """Aho–Corasick: delta (W, 256) and the state at the start of a text, which is a boundary."""
    children: list[dict[int, int]] = [{}, {}]  # state 0 is _FORBIDDEN, state 1 the root of the trie
    root = 1
    is_final, ends_in_space = [True, False], [False, False]
    for pattern in patterns:
        node = root
        for byte in pattern:
            if byte not in children[node]:
                children[node][byte] = len(children)
                children.append({})
                is_final.append(False)
                ends_in_space.append(byte == _BOUNDARY[0])
            node = children[node][byte]
        is_final[node] = True
    delta = np.full((len(children), 256), root, np.int32)
    delta[_FORBIDDEN] = _FORBIDDEN
    failure = [root] * len(children)
    queue = deque([root])
    while queue:  # breadth first, so the shorter suffix is complete
        node = queue.popleft()
        if node != root:
            delta[node] = delta[failure[node]]
            is_final[node] |= is_final[failure[node]]
        for byte, child in children[node].items():
            failure[child] = root if node == root else int(delta[failure[node], byte])
            delta[node, byte] = child
            queue.append(child)
        if ends_in_space[node]:
            delta[node, _BOUNDARY[0]] = node  # any number of spaces and marks between two words
    delta[np.isin(delta, np.flatnonzero(is_final))] = _FORBIDDEN
    return delta, int(delta[root, _BOUNDARY[0]])


def _token_table(delta: NDArray[np.int32], texts: Sequence[bytes]) -> NDArray[np.int16] | NDArray[np.int32]:
    """The state (W, V) after each token, one byte of all tokens at a time."""
    lengths = np.array([len(text) for text in texts])
    states = np.repeat(np.arange(len(delta), dtype=np.int32)[:, None], len(texts), axis=1)  # (W, V)
    for position in range(int(lengths.max(initial=0))):
        tokens = np.flatnonzero(lengths > position)
        data = np.array([texts[token][position] for token in tokens.tolist()])
        states[:, tokens] = delta[states[:, tokens], data]
    return states.astype(np.int16) if len(delta) < 1 << 15 else states


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
