"""Token ids: the reserved ones, and rows of different lengths in two flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""The reserved ids, the same in every vocabulary."""
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: NDArray[Any]  # (N,) all rows concatenated
    offsets: NDArray[np.int64]  # (rows + 1,) from 0 to N

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]], dtype: DTypeLike = np.int64) -> Ragged:
        """The same rows in flat arrays."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        offsets = offsets_of(lengths)
        return cls(np.fromiter(chain.from_iterable(rows), dtype, int(offsets[-1])), offsets)

    @classmethod
    def from_texts(cls, texts: Sequence[str]) -> Ragged:
        """The UTF-8 bytes of each text."""
        joined = np.frombuffer("\n".join(texts).encode(), np.uint8)
        is_end = joined == ord("\n")
        ends = np.flatnonzero(is_end)
        if len(ends) == len(texts) - 1:  # no text contains a line break
            offsets = np.zeros(len(texts) + 1, np.int64)
            offsets[1:-1] = ends - np.arange(len(ends))
            offsets[-1] = len(joined) - len(ends)
            return cls(joined[~is_end], offsets)
        rows = [text.encode() for text in texts]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return cls(np.frombuffer(b"".join(rows), np.uint8), offsets_of(lengths))

    def texts(self) -> list[str]:
        """The texts of which the rows are the UTF-8 bytes."""
        data, ranges = self.values.tobytes(), pairwise(self.offsets.tolist())
        if data.isascii():
            text = data.decode()
            return [text[start:stop] for start, stop in ranges]
        return [data[start:stop].decode() for start, stop in ranges]

    def reversed_rows(self) -> Ragged:
        """Each row from its last value to its first."""
        ends = np.repeat(
            self.offsets[:-1] + self.offsets[1:] - 1, self.lengths
        )  # (N,) first + last index of a row
        return Ragged(self.values[ends - np.arange(len(self.values))], self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        row %= len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each row."""
        return np.diff(self.offsets)

    def take(self, rows: NDArray[Any]) -> Ragged:
        """The given rows in the given order."""
        return gather(self.values, self.offsets[rows], self.lengths[rows])


def gather(values: NDArray[Any], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Ragged:
    """Rows `values[starts[i]:starts[i] + lengths[i]]`, copied without a loop."""
    offsets = offsets_of(lengths)
    index = np.arange(offsets[-1])
    index += np.repeat(starts - offsets[:-1], lengths)
    return Ragged(values[index], offsets)


def mirrored(items: Sequence[Item]) -> list[Item]:
    """The items of a sentence, one for each token, from right to left; <eos>, the last one, stays at the end."""
    return [*items[-2::-1], items[-1]]


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Where each row starts if all are concatenated, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def narrowest(size: int) -> np.dtype[Any]:
    """The narrowest unsigned integer type that holds 0 … size - 1."""
    return np.min_scalar_type(max(size - 1, 0))
