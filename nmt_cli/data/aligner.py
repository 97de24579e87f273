"""Word alignment by expectation maximization, in both directions, symmetrized.

The model is IBM model 2 with a diagonal prior (Dyer et al. 2013, "fast_align"): target token j of J comes from the null
word, or from source token i of I, both counted from 1,

    P(a_j = i, y_j) = δ(i | j) · t(y_j | x_i),   δ(0 | j) = p₀,   δ(i | j) = (1 - p₀) e^{-λ |i/I - j/J|} / Z_j

t has a Dirichlet prior, with variational Bayes in place of the maximization step. A cell is one (j, i) of one pair; all
cells of all pairs are flat arrays, so an iteration is a few passes over them, without a loop over pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nmt_cli.vocabulary.token_ids import Ragged, offsets_of

ITERATIONS = 5
_NULL_PROBABILITY = 0.2  # p₀, for corpora with many words that occur once; fast_align has 0.08
_TENSION = 4.0  # λ
_DIRICHLET = 0.01
_UNSEEN = 1e-9  # t of a pair of tokens that does not occur in the cells of the EM algorithm
_EM_CELLS = 1 << 24  # beyond this, t is estimated on evenly spaced pairs
_CHUNK_CELLS = 1 << 20
LONGEST = 1 << 16
"""Tokens that links can be between; longer sentences are not aligned."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


class _Cells(NamedTuple):
    """Flat arrays of cells, grouped by target token; the first cell of a token is that of the null word."""

    keys: Integers  # (C,) (x + 1) · V + y, where V is the size of the target vocabulary; x of the null word is -1
    prior: Floats  # (C,) δ
    starts: Integers  # (tokens,) the first cell of each target token


@dataclass(frozen=True)
class _Direction:
    """t(y | x), sparse: of the pairs of tokens that occur together."""

    size: int  # V
    keys: Integers  # (P,) ascending, as in `_Cells`
    t: Floats  # (P,)

    @classmethod
    def train(cls, source: Ragged, target: Ragged, size: int, iterations: int) -> Self:
        rows = _evenly_spaced(_cell_counts(source, target), _EM_CELLS)
        parts = [_cells(source.take(part), target.take(part), size) for part in _chunks(source, target, rows)]
        if not parts:
            return cls(size, np.zeros(1, np.int64), np.zeros(1, np.float32))
        keys, pair = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
        pairs = np.split(pair.astype(np.int32), np.cumsum([len(part.keys) for part in parts])[:-1])
        owner = keys // size  # (P,) x + 1
        choices = np.bincount(owner)  # (X,) how many different y occur with x
        t = np.ones(len(keys), np.float32)
        for _ in range(iterations):
            counts = np.zeros(len(keys))
            for part, index in zip(parts, pairs, strict=True):
                counts += np.bincount(index, _posterior(part, t[index]), minlength=len(keys))
            total = np.bincount(owner, counts) + _DIRICHLET * choices  # (X,)
            t = np.exp(_digamma(counts + _DIRICHLET) - _digamma(np.maximum(total, _DIRICHLET))[owner])
            t = t.astype(np.float32)
        return cls(size, keys, t)

    def best(self, source: Ragged, target: Ragged) -> Integers:
        """For each target token the most probable source token of its sentence, from 0; -1 for the null word."""
        cells = _cells(source, target, self.size)
        if not len(cells.starts):
            return np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(self.keys, cells.keys), len(self.keys) - 1)
        p = np.where(self.keys[at] == cells.keys, self.t[at], np.float32(_UNSEEN)) * cells.prior
        widths = np.diff(cells.starts, append=len(p))
        highest = np.flatnonzero(p == np.repeat(np.maximum.reduceat(p, cells.starts), widths))
        # The first cell of each token that reaches its maximum.
        token = np.searchsorted(cells.starts, highest, side="right") - 1
        _, first = np.unique(token, return_index=True)
        found: Integers = highest[first] - cells.starts - 1
        return found


@dataclass(frozen=True)
class Aligner:
    """Alignment models in both directions."""

    forward: _Direction  # t(target | source)
    backward: _Direction  # t(source | target)

    @classmethod
    def train(
        cls, source: Ragged, target: Ragged, sizes: tuple[int, int], *, iterations: int = ITERATIONS
    ) -> Self:
        """Estimate both models on pairs of token ids below `sizes`, (source, target)."""
        return cls(
            _Direction.train(source, target, sizes[1], iterations),
            _Direction.train(target, source, sizes[0], iterations),
        )

    def align(self, source: Ragged, target: Ragged) -> Ragged:
        """The symmetrized links of each pair, as numbers (`pack_links`) in ascending order."""
        rows, numbers = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
        order = np.lexsort((source.lengths, target.lengths))
        for chunk in _chunks(source, target, order):
            b, j, i = np.nonzero(self._symmetrized(source.take(chunk), target.take(chunk)))
            rows.append(chunk[b])
            numbers.append(pack_links(j, i))
        row = np.concatenate(rows)
        sort = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=len(source))
        return Ragged(np.concatenate(numbers)[sort], offsets_of(counts))

    def _symmetrized(self, source: Ragged, target: Ragged) -> NDArray[np.bool_]:
        """(B, J, I) the links of a chunk of pairs."""
        shape = len(source), int(target.lengths.max(initial=0)), int(source.lengths.max(initial=0))
        forward, backward = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        b, j = _positions(target)
        i = self.forward.best(source, target)
        forward[b[i >= 0], j[i >= 0], i[i >= 0]] = True
        b, i = _positions(source)
        j = self.backward.best(target, source)
        backward[b[j >= 0], j[j >= 0], i[j >= 0]] = True
        return symmetrize(forward, backward)


def symmetrize(forward: NDArray[np.bool_], backward: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """grow-diag-final-and of two sets of links (B, J, I)   (Koehn et al. 2003)

    Start from the intersection. Add links of the union that are next to one, also diagonally, as long as one of their
    two tokens has no link. Finally add links between two tokens without any. Links that are added together, of one
    neighbor position, do not see each other.
    """
    links, union = forward & backward, forward | backward
    while True:
        before = int(links.sum())
        for dj, di in _NEIGHBORS:
            free = ~links.any(axis=2, keepdims=True) | ~links.any(axis=1, keepdims=True)
            links |= _shifted(links, dj, di) & union & free
        if int(links.sum()) == before:
            break
    for side in (forward, backward):
        free = ~links.any(axis=2, keepdims=True) & ~links.any(axis=1, keepdims=True)
        links |= side & free
    return links


def pack_links(target: NDArray[Any], source: NDArray[Any]) -> NDArray[np.uint32]:
    """Links between target and source positions, counted from 0, as one number each: j · 2¹⁶ + i."""
    return ((target.astype(np.int64) << 16) | source.astype(np.int64)).astype(np.uint32)


def unpack_links(numbers: NDArray[Any]) -> tuple[Integers, Integers]:
    """Target and source positions; the inverse of `pack_links`."""
    return (numbers >> 16).astype(np.int64), (numbers & 0xFFFF).astype(np.int64)


def align_texts(
    source: Sequence[str], target: Sequence[str], *, iterations: int = ITERATIONS
) -> Iterator[list[tuple[int, int]]]:
    """Links (source word, target word) of each pair of lines, from models trained on these lines.

    Words are split at spaces.
    """
    sides, sizes = [], []
    for lines in (source, target):
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(word, len(numbers)) for word in line.split()] for line in lines]
        sides.append(Ragged.from_rows(rows))
        sizes.append(max(1, len(numbers)))
    aligner = Aligner.train(sides[0], sides[1], (sizes[0], sizes[1]), iterations=iterations)
    links = aligner.align(sides[0], sides[1])
    for row in range(len(links)):
        j, i = unpack_links(links[row])
        yield list(zip(i.tolist(), j.tolist(), strict=True))


def _cells(source: Ragged, target: Ragged, size: int) -> _Cells:
    row, j = _positions(target)  # of each target token
    I = source.lengths  # noqa: E741 - the letter of the equation
    widths = I[row] + 1
    starts = offsets_of(widths)[:-1]
    token = np.repeat(np.arange(len(row)), widths)  # (C,) the target token of each cell
    i = np.arange(len(token)) - starts[token]  # (C,) 0 is the null word
    at = np.minimum(source.offsets[row[token]] + i - 1, max(0, len(source.values) - 1))
    x = np.where(i == 0, 0, source.values[at].astype(np.int64) + 1 if len(source.values) else 0)
    share = (j + 1) / target.lengths[row]  # j / J
    distance = np.abs(i / np.maximum(I[row], 1)[token] - share[token])
    prior = np.where(i == 0, 0.0, np.exp(-_TENSION * distance))
    Z = np.add.reduceat(prior, starts) if len(starts) else np.empty(0)
    prior *= ((1 - _NULL_PROBABILITY) / np.maximum(Z, 1e-30))[token]
    prior[starts] = _NULL_PROBABILITY
    return _Cells(x * size + target.values[token].astype(np.int64), prior.astype(np.float32), starts)


def _posterior(cells: _Cells, t: Floats) -> Floats:
    """P(a_j = i | y_j) of each cell."""
    p: Floats = cells.prior * t
    widths = np.diff(cells.starts, append=len(p))
    p /= np.repeat(np.maximum(np.add.reduceat(p, cells.starts), np.float32(1e-30)), widths)
    return p


def _positions(rows: Ragged) -> tuple[Integers, Integers]:
    """The row of each value, and its position in the row."""
    row = np.repeat(np.arange(len(rows)), rows.lengths)
    return row, np.arange(len(row)) - rows.offsets[row]


def _cell_counts(source: Ragged, target: Ragged) -> Integers:
    """The number of cells of each pair; 0 if it is too long to be aligned, or a side is empty."""
    I, J = source.lengths, target.lengths  # noqa: E741
    fits = (np.maximum(I, J) < LONGEST) & (np.minimum(I, J) > 0) & ((I + 1) * (J + 1) <= _CHUNK_CELLS)
    return np.where(fits, (I + 1) * (J + 1), 0)


def _evenly_spaced(cells: Integers, budget: int) -> Integers:
    """Rows that have cells, as many as the budget allows."""
    rows = np.flatnonzero(cells)
    step = -(-int(cells.sum()) // budget)
    return rows[:: max(1, step)]


def _chunks(source: Ragged, target: Ragged, rows: Integers) -> Iterator[Integers]:
    """Consecutive `rows` that fit into one array, padded or not, without those that are not aligned."""
    rows = rows[_cell_counts(source, target)[rows] > 0]
    I, J = source.lengths[rows] + 1, target.lengths[rows] + 1  # noqa: E741
    first, longest = 0, (0, 0)
    for at in range(len(rows)):
        longest = max(longest[0], int(I[at])), max(longest[1], int(J[at]))
        if (at + 1 - first) * longest[0] * longest[1] > _CHUNK_CELLS:
            yield rows[first:at]
            first, longest = at, (int(I[at]), int(J[at]))
    if first < len(rows):
        yield rows[first:]


def _shifted(links: NDArray[np.bool_], dj: int, di: int) -> NDArray[np.bool_]:
    """Where a link is `dj` target and `di` source positions away."""
    result = np.zeros_like(links)
    J, I = links.shape[1:]  # noqa: E741
    result[:, max(0, dj) : J + min(0, dj), max(0, di) : I + min(0, di)] = links[
        :, max(0, -dj) : J + min(0, -dj), max(0, -di) : I + min(0, -di)
    ]
    return result


def _digamma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """ψ(x) for x > 0: ψ(x) = ψ(x + 6) - Σ_k 1 / (x + k), and the asymptotic series for x + 6."""
    below = sum(1 / (x + k) for k in range(6))
    z = 1 / (x + 6)
    series = np.log(x + 6) - z / 2 - z**2 / 12 + z**4 / 120 - z**6 / 252
    result: NDArray[np.float64] = series - below
    return result
