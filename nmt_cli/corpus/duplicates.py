"""Which sentences are the same: fingerprints on disk, compared in bounded memory."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Fingerprints = NDArray[np.uint64]

# Fingerprints compared at once; each takes about 40 bytes while they are sorted.
_AT_ONCE = 1_000_000
_READ = 262_144


def fingerprints(texts: list[str]) -> Fingerprints:
    """64 bits of each text; two different texts of ten million share them with a chance of 1 in 400 000."""
    digests = b"".join(
        [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def pair_fingerprints(source: Fingerprints, target: Fingerprints) -> Fingerprints:
    """One fingerprint for each (source, target): the order of the two matters."""
    mixed = source * np.uint64(0x9E3779B97F4A7C15)  # odd, so no information is lost
    mixed ^= mixed >> np.uint64(32)
    return mixed * np.uint64(0xD6E8FEB86659FD93) + target


class FingerprintFile:
    """The fingerprints of all training pairs, three columns: pair, source, target."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self.rows = 0

    def append(self, source: Fingerprints, target: Fingerprints) -> None:
        """Add the pairs of a block."""
        columns = np.stack([pair_fingerprints(source, target), source, target], axis=1)
        self._file.write(columns.tobytes())
        self.rows += len(columns)

    def finish(self) -> None:
        """No more pairs will come."""
        self._file.close()

    def blocks(self) -> Iterator[tuple[int, Fingerprints]]:
        """The number of the first row and the three columns (n, 3) of each stretch of rows."""
        with self.path.open("rb") as file:
            for first in range(0, self.rows, _READ):
                content = np.fromfile(file, dtype=np.uint64, count=3 * min(_READ, self.rows - first))
                yield first, content.reshape(-1, 3)


def repeated_rows(file: FingerprintFile) -> Iterator[NDArray[np.int64]]:
    """Rows whose pair stands in an earlier row, group by group.

    The fingerprints are dealt into groups by their remainder, so that equal ones meet; each group is one pass
    over the file and fits into memory whatever the size of the corpus.
    """
    groups = max(1, -(-file.rows // _AT_ONCE))
    for group in range(groups):
        keys, rows = [], []
        for first, columns in file.blocks():
            own = np.flatnonzero(columns[:, 0] % np.uint64(groups) == group)
            keys.append(columns[own, 0])
            rows.append(own + first)
        if keys:
            key, row = np.concatenate(keys), np.concatenate(rows)
            order = np.argsort(key, kind="stable")  # equal fingerprints stay in the order of their rows
            repeated = np.zeros(len(key), dtype=bool)
            repeated[1:] = key[order][1:] == key[order][:-1]
            yield row[order[repeated]]
