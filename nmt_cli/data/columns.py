"""Columns of lists and of text in an Arrow stream: written in groups of rows, read from a memory-mapped file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nmt_cli.vocabulary.token_ids import Ragged, gather, narrowest, offsets_of

GROUP = 16384
"""All record batches but the last have this many rows, so the same rows give the same bytes."""


class Column:
    """A column of lists or of text, as flat views of the whole file.

    Arrow's offsets start at 0 in each group. Buffers are aligned to 8 bytes, so the file viewed as int64 contains
    all offsets, and viewed as the value type all values; each group has a base position in both.
    """

    def __init__(self, buffer: Any, groups: Sequence[Any]) -> None:
        is_list = bool(groups) and pa.types.is_large_list(groups[0].type)
        if groups and not is_list and not pa.types.is_large_string(groups[0].type):
            raise TypeError(f"a column of type {groups[0].type}")
        if is_list and not pa.types.is_unsigned_integer(groups[0].type.value_type):
            raise TypeError(f"ids of type {groups[0].type.value_type}")
        dtype = np.dtype(groups[0].type.value_type.to_pandas_dtype() if is_list else np.uint8)
        self._offsets = _view(buffer, np.dtype(np.int64))
        self._values = _view(buffer, dtype)
        # Lists: [validity, offsets, values' validity, values]; text: [validity, offsets, bytes].
        places = [
            [_place(part, buffer) for part in (group.buffers()[1], group.buffers()[-1])] for group in groups
        ]
        self._offset_bases = np.array([offsets // 8 for offsets, _ in places], np.int64)
        self._value_bases = np.array([values // dtype.itemsize for _, values in places], np.int64)

    def gather(self, rows: NDArray[np.int64]) -> Ragged:
        """A copy of some rows, in that order."""
        group, within = np.divmod(rows, GROUP)
        at = self._offset_bases[group] + within
        starts = self._offsets[at]
        lengths = self._offsets[at + 1] - starts
        return gather(self._values, starts + self._value_bases[group], lengths)

    def lengths(self, rows: int) -> NDArray[Any]:
        """The lengths of the first `rows` rows, in the narrowest type."""
        lengths = np.empty(rows, np.uint32)
        for start, base in zip(range(0, rows, GROUP), self._offset_bases.tolist(), strict=True):
            stop = min(start + GROUP, rows)
            np.subtract(
                self._offsets[base + 1 : base + 1 + stop - start],
                self._offsets[base : base + stop - start],
                out=lengths[start:stop],
                casting="unsafe",
            )
        return lengths.astype(narrowest(int(lengths.max(initial=0)) + 1))


def concatenate(blocks: Sequence[Ragged], dtype: np.dtype[Any]) -> Ragged:
    """The rows of all blocks."""
    lengths = np.concatenate([block.lengths for block in blocks])
    values = np.concatenate([block.values.astype(dtype, copy=False) for block in blocks])
    return Ragged(values, offsets_of(lengths))


# Arrays are made of buffers, because `pa.array` imports pandas.
def list_array(ids: Ragged, start: int, stop: int) -> Any:
    """Rows [start, stop) as an Arrow array of lists."""
    offsets, values = _part(ids, start, stop)
    kind = pa.from_numpy_dtype(values.dtype)
    children = [pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])]
    buffers = [None, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(pa.large_list(kind), stop - start, buffers, children=children)


def text_array(texts: Ragged, start: int, stop: int) -> Any:
    """Rows [start, stop), which are UTF-8 bytes, as an Arrow array of text."""
    buffers = [None, *map(pa.py_buffer, _part(texts, start, stop))]
    return pa.Array.from_buffers(pa.large_string(), stop - start, buffers)


def _part(ragged: Ragged, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Offsets and values of some rows."""
    first, last = ragged.offsets[start], ragged.offsets[stop]
    return ragged.offsets[start : stop + 1] - first, ragged.values[first:last]


def _view(buffer: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(buffer, dtype, buffer.size // dtype.itemsize)


def _place(part: Any, buffer: Any) -> int:
    """Where a buffer of a group starts in the file; 0 for an empty one."""
    if part is None or part.size == 0:
        return 0
    place = int(part.address - buffer.address)
    assert 0 <= place < buffer.size
    assert place % 8 == 0
    return place
