"""Banned words: words and phrases that no translation may contain, however they are segmented into tokens.

Search tracks the text of every hypothesis with an Aho–Corasick automaton over its UTF-8 bytes. Before a step, the
automaton knows for each token whether the text would then contain a banned word. W states · V tokens · B sentences ·
K hypotheses per sentence

A word ends where the next character is no letter, digit or mark, so "cat" bans neither "cats" nor "concat". The
token that would end a banned word is excluded; the hypothesis can still go on to a longer word.
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

from nmt_cli.errors import UsageError
from nmt_cli.vocabulary.token_ids import EOS, UNK

_FORBIDDEN = 0  # state: the text contains a banned word
_MAX_ENTRIES = 100_000_000  # of the table: 200 MB
_SPACE = "▁"
_BOUNDARY = b" "  # stands for everything between words
_OTHER = b"\xff"  # never occurs in UTF-8


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
