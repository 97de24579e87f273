"""BPE-dropout (Provilkov et al. 2020)."""

import heapq
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, repeat

from nmt_cli.subwords.draws import uniform
from nmt_cli.subwords.pieces import LONG_WORD, Pieces

_CACHED_SPLITS = 1 << 17


class BpeDropout:
    """Each merge is left out with probability p when its turn comes; what it would have made may still come later.

    How many merges it takes until one is left out is a geometric number, and one draw of it often settles a
    whole word. The splits of words that are not long are kept, by which merges they lack.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._kept = lru_cache(_CACHED_SPLITS)(self._split)

    def sample(self, texts: list[list[str]], p: float, seed: int) -> list[list[int]]:
        """Ids of a random split of each text, which comes in the words of `Pieces.words`; 0 < p ≤ 1."""
        turns = _turns(p, seed)
        rows = []
        for words in texts:
            ids: list[int] = []
            for word in words:
                ids += self._drawn(word, turns) if len(word) <= LONG_WORD else self._merge(word, turns)[0]
            rows.append(self._pieces.finish(ids))
        return rows

    def _drawn(self, word: str, turns: Iterator[float]) -> list[int]:
        left_out: tuple[float, ...] = ()
        ids, merges = self._kept(word, left_out)
        while (turn := next(turns)) <= merges:
            left_out += (turn,)
            ids, merges = self._kept(word, left_out)
        return ids

    def _split(self, word: str, left_out: tuple[float, ...]) -> tuple[list[int], int]:
        return self._merge(word, chain(left_out, repeat(math.inf)))

    def _merge(self, word: str, turns: Iterable[float]) -> tuple[list[int], int]:
        """The ids of a word, and the number of merges since the last that was left out.

        The n-th merge from the last that was left out is left out if n is the next of `turns`.
        """
        if self._pieces.is_symbol(word):
            return self._pieces.spell(word), 0
        scores = self._pieces.scores
        symbols = list(word)  # "" for one that was merged into the one on its left
        after = list(range(1, len(word) + 1))  # where the symbol on the right begins
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
                continue  # one of them was merged with another meanwhile
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
    """How many merges it is until one is left out, itself included: geometric numbers."""
    log_kept = math.log1p(-p) if p < 1 else -math.inf
    return (1 + math.log(draw) // log_kept for draw in uniform(seed))
