"""Subword regularization: BPE-dropout and unigram sampling, and the parser for sentencepiece model files.

BPE-dropout (Provilkov et al. 2020) and unigram sampling (Kudo 2018) draw random segmentations of text. sentencepiece
seeds its random numbers differently in each process, so its samples cannot be reproduced, and a resumed run would
see different ones; here they depend on a seed alone. Its model, its normalization and its best segmentation are used
unchanged. It does not expose what segmenting text in Python requires, so the model file, a protocol buffer, is parsed
here as well.
"""

import heapq
import math
import re
import struct
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, repeat
from typing import NamedTuple, Protocol

import numpy as np

from nmt_cli.vocabulary.token_ids import UNK

# ------------------------------------------------------------------------------------------------------------
# The sentencepiece model file.


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of a protocol buffer message, in order."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            number, at = _varint(message, at)
            yield field, number
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = _varint(message, at)
            yield field, message[at : at + size]
            at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Seven bits per byte, least significant first; the eighth bit says that more follow."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


# Longer words hardly ever repeat, so they are not cached. A text without spaces is one long word.
LONG_WORD = 20

# SentencePiece.Type of sentencepiece_model.proto
_NORMAL, _SYMBOL, _BYTE = 1, 4, 6
_SPACE = "▁"
_WORD = re.compile(f"{_SPACE}?[^{_SPACE}]+|{_SPACE}")
_WHOLE_TEXT = re.compile(".+", re.DOTALL)

Normalize = Callable[[list[str]], list[str]]


class Pieces:
    """Ids and scores of the pieces of a model, and how it splits text into words."""

    def __init__(self, model: bytes, normalize: Normalize) -> None:
        """`model` is of kind bpe or unigram; `normalize` is the method of its `SentencePieceProcessor`."""
        self.ids: dict[str, int] = {}
        self.scores: dict[str, float] = {}
        self._normalize = normalize
        self._bytes: list[int] = []
        symbols = []
        pieces = (value for field, value in fields(model) if field == 1)
        for token, piece in enumerate(pieces):
            assert isinstance(piece, bytes)
            text, score, kind = _piece(piece)
            if kind in (_NORMAL, _SYMBOL):
                self.ids[text], self.scores[text] = token, score
            if kind == _SYMBOL:
                symbols.append(re.escape(text))
            elif kind == _BYTE:
                self._bytes.append(token)
        # Longest symbol first, because it takes precedence over its prefixes.
        self._symbol = re.compile("|".join(sorted(symbols, key=len, reverse=True))) if symbols else None
        # A model that was not trained by `nmt preprocess` may have pieces that span words.
        one_word = all(_SPACE not in text[1:] for text in self.ids)
        self._word = _WORD if one_word else _WHOLE_TEXT

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text as the units that are segmented independently: words with their leading space, and symbols."""
        normalized = self._normalize(list(texts))
        symbol = self._symbol
        if symbol is None:
            return [self._word.findall(text) for text in normalized]
        return [self._around(symbol, text) for text in normalized]

    def _around(self, symbol: re.Pattern[str], text: str) -> list[str]:
        words: list[str] = []
        end = 0
        for found in symbol.finditer(text):
            words += [*self._word.findall(text[end : found.start()]), found[0]]
            end = found.end()
        return words + self._word.findall(text[end:])

    def is_symbol(self, word: str) -> bool:
        """Whether a word is a user-defined symbol, which is never split."""
        return self._symbol is not None and self._symbol.fullmatch(word) is not None

    def spell(self, text: str) -> list[int]:
        """The id of a piece; for other text the ids of its bytes, or <unk> without byte fallback."""
        token = self.ids.get(text)
        if token is not None:
            return [token]
        return [self._bytes[byte] for byte in text.encode()] if self._bytes else [UNK]

    def finish(self, ids: list[int]) -> list[int]:
        """The ids of a text as sentencepiece returns them: consecutive <unk> become one."""
        if self._bytes or UNK not in ids:
            return ids
        return [token for at, token in enumerate(ids) if token != UNK or not at or ids[at - 1] != UNK]


def _piece(message: bytes) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, _NORMAL
    for field, value in fields(message):
        if field == 1 and isinstance(value, bytes):
            text = value.decode()
        elif field == 2 and isinstance(value, bytes):
            (score,) = struct.unpack("<f", value)
        elif field == 3 and isinstance(value, int):
            kind = value
    return text, score, kind


# ------------------------------------------------------------------------------------------------------------
# Random segmentations.


class Sampler(Protocol):
    """Segments words at random."""

    def sample(self, texts: list[list[str]], strength: float, seed: int) -> list[list[int]]:
        """Ids of a random segmentation of each text, given as the words of `Pieces.words`."""
        ...


_AT_ONCE = 1024


def uniform(seed: int) -> Iterator[float]:
    """Uniform random numbers in the open interval (0, 1)."""
    # NumPy guarantees stable raw bits across versions, but not the distributions derived from them.
    random = np.random.Philox(np.random.SeedSequence(seed))
    while True:
        yield from (((random.random_raw(_AT_ONCE) >> np.uint64(12)) + 0.5) * 2.0**-52).tolist()


_CACHED_SEGMENTATIONS = 1 << 17


class BpeDropout:
    """BPE-dropout (Provilkov et al. 2020): each merge is skipped with probability p when its turn comes.

    The number of merges until one is skipped is geometrically distributed, so one draw is often enough for a whole
    word. Segmentations of short words are cached by the merges that were skipped.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._kept = lru_cache(_CACHED_SEGMENTATIONS)(self._split)

    def sample(self, texts: list[list[str]], p: float, seed: int) -> list[list[int]]:
        """Ids of a random segmentation of each text, given as the words of `Pieces.words`; 0 < p ≤ 1."""
        turns = _turns(p, seed)
        rows = []
        for words in texts:
            ids: list[int] = []
            for word in words:
                ids += self._drawn(word, turns) if len(word) <= LONG_WORD else self._merge(word, turns)[0]
            rows.append(self._pieces.finish(ids))
        return rows

    def _drawn(self, word: str, turns: Iterator[float]) -> list[int]:
        skipped: tuple[float, ...] = ()
        ids, merges = self._kept(word, skipped)
        while (turn := next(turns)) <= merges:
            skipped += (turn,)
            ids, merges = self._kept(word, skipped)
        return ids

    def _split(self, word: str, skipped: tuple[float, ...]) -> tuple[list[int], int]:
        return self._merge(word, chain(skipped, repeat(math.inf)))

    def _merge(self, word: str, turns: Iterable[float]) -> tuple[list[int], int]:
        """The ids of a word, and the number of merges since the last one that was skipped.

        The n-th merge after a skipped one is skipped if n is the next number in `turns`.
        """
        if self._pieces.is_symbol(word):
            return self._pieces.spell(word), 0
        scores = self._pieces.scores
        symbols = list(word)  # "" for one that was merged into its left neighbor
        after = list(range(1, len(word) + 1))  # where the symbol to the right starts
        before = list(range(-1, len(word) - 1))
        agenda: list[tuple[float, int, str]] = []

        def propose(left: int, right: int) -> None:
            both = symbols[left] + symbols[right]
            score = scores.get(both)
            if score is not None:
                heapq.heappush(agenda, (-score, left, both))

        for left in range(len(word) - 1):
            propose(left, left + 1)
        turns = iter(turns)
        turn, merges = next(turns), 0
        while agenda:
            _, left, both = heapq.heappop(agenda)
            right = after[left]
            if not symbols[left] or right == len(word) or symbols[left] + symbols[right] != both:
                continue  # one of them was merged with another one in the meantime
            merges += 1
            if merges == turn:
                turn, merges = next(turns), 0
                continue
            symbols[left], symbols[right] = both, ""
            after[left] = after[right]
            if after[left] < len(word):
                before[after[left]] = left
                propose(left, after[left])
            if before[left] >= 0:
                propose(before[left], left)
        return [token for symbol in symbols if symbol for token in self._pieces.spell(symbol)], merges


def _turns(p: float, seed: int) -> Iterator[float]:
    """The number of merges up to and including the next one to skip: geometrically distributed."""
    log_kept = math.log1p(-p) if p < 1 else -math.inf
    return (1 + math.log(draw) // log_kept for draw in uniform(seed))


_CACHED_WORDS = 1 << 14  # a few kilobytes each
_UNKNOWN_PENALTY = 10.0  # sentencepiece scores an unknown character this much below the worst piece


class _End(NamedTuple):
    """The pieces that can end at one position of a word."""

    starts: list[int]
    ids: list[list[int]]
    cumulative: list[float]  # probabilities, up to a constant factor


class UnigramSampling:
    """Subword regularization (Kudo 2018): a segmentation is drawn with probability proportional to P^α.

    Forward filtering, backward sampling: w_e = Σ_s w_s · P(s…e)^α; the last piece starts at s with probability
    w_s · P(s…e)^α / w_e, and so on from s. No piece spans words, so each word is drawn independently.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._longest = max(map(len, pieces.ids), default=1)
        self._unknown = min(pieces.scores.values(), default=0.0) - _UNKNOWN_PENALTY
        self._kept = lru_cache(_CACHED_WORDS)(self._lattice)

    def sample(self, texts: list[list[str]], alpha: float, seed: int) -> list[list[int]]:
        """Ids of a random segmentation of each text, given as the words of `Pieces.words`; α > 0."""
        draws = uniform(seed)
        rows = []
        for words in texts:
            ids: list[int] = []
            for word in words:
                lattice = self._kept(word, alpha) if len(word) <= LONG_WORD else self._lattice(word, alpha)
                ids += _drawn(lattice, draws)
            rows.append(self._pieces.finish(ids))
        return rows

    def _lattice(self, word: str, alpha: float) -> list[_End]:
        """For each position of a word from 1 on, the pieces that can end there."""
        if self._pieces.is_symbol(word):
            return [_End([0], [self._pieces.spell(word)], [1.0])] * len(word)
        log_weights = [0.0]  # log w
        ends = []
        for end in range(1, len(word) + 1):
            starts, ids, logs = [], [], []
            for start in range(max(0, end - self._longest), end):
                text = word[start:end]
                score = self._pieces.scores.get(text, self._unknown if len(text) == 1 else None)
                if score is not None:
                    starts.append(start)
                    ids.append(self._pieces.spell(text))
                    logs.append(log_weights[start] + alpha * score)
            peak = max(logs)
            cumulative = list(accumulate(math.exp(log - peak) for log in logs))
            log_weights.append(peak + math.log(cumulative[-1]))
            ends.append(_End(starts, ids, cumulative))
        return ends


def _drawn(lattice: list[_End], draws: Iterator[float]) -> list[int]:
    pieces = []
    position = len(lattice)
    while position:
        starts, ids, cumulative = lattice[position - 1]
        chosen = 0
        if len(starts) > 1:
            # Rounding up to the last cumulative value must not give an index past the end.
            chosen = bisect(cumulative, next(draws) * cumulative[-1], hi=len(starts) - 1)
        pieces.append(ids[chosen])
        position = starts[chosen]
    return list(chain.from_iterable(reversed(pieces)))
