"""Cleaned training text, spooled to disk until the vocabulary is built and it can be encoded."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nmt_cli.corpus.cleaning import Dropped, Normalization

_SCHEMA = pa.schema(
    [("corpus", pa.uint16()), ("line", pa.int64()), ("source", pa.string()), ("target", pa.string())]
)


class Page(NamedTuple):
    """Consecutive rows of a spool."""

    first: int  # row number of the first
    corpus: NDArray[np.uint16]
    line: NDArray[np.int64]
    source: list[str]
    target: list[str]

    def take(self, rows: NDArray[np.int64]) -> "Page":
        """Only the given rows of the page, in order."""
        if len(rows) == len(self.source):
            return self
        return Page(
            self.first,
            self.corpus[rows],
            self.line[rows],
            [self.source[row] for row in rows],
            [self.target[row] for row in rows],
        )

    def dropped(self, row: int, reason: str) -> Dropped:
        """A row of the page as a dropped pair."""
        return Dropped(int(self.corpus[row]), int(self.line[row]), reason, self.source[row], self.target[row])

    def normalized(self, normalization: Normalization) -> "Page":
        """The same page, normalized."""
        if normalization.function() is None:
            return self
        pairs = [normalization.pair(*pair) for pair in zip(self.source, self.target, strict=True)]
        return self._replace(source=[source for source, _ in pairs], target=[target for _, target in pairs])


class Spool:
    """Pairs with their corpus and line number: written once, then read in order as often as needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self._writer = pa.ipc.new_stream(pa.OSFile(os.fsencode(path), "wb"), _SCHEMA)

    def append(self, corpus: int, lines: list[int], source: list[str], target: list[str]) -> None:
        """Add the pairs of a block."""
        if lines:
            columns = [
                np.full(len(lines), corpus, dtype=np.uint16),
                np.array(lines, dtype=np.int64),
                source,
                target,
            ]
            arrays = [
                pa.array(column, type=field.type) for column, field in zip(columns, _SCHEMA, strict=True)
            ]
            self._writer.write_batch(pa.record_batch(arrays, schema=_SCHEMA))
            self.rows += len(lines)

    def finish(self) -> None:
        """Close the file: all pairs have been added."""
        self._writer.close()

    def pages(self) -> Iterator[Page]:
        """All rows in order. They are read through a buffer, not mapped, so that memory stays constant."""
        first = 0
        with pa.OSFile(os.fsencode(self.path)) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                corpus, line = (batch.column(name).to_numpy() for name in ("corpus", "line"))
                yield Page(
                    first,
                    corpus,
                    line,
                    batch.column("source").to_pylist(),
                    batch.column("target").to_pylist(),
                )
                first += batch.num_rows
