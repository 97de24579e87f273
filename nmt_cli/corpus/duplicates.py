"""Which sentences are the same: fingerprints on disk, compared in bounded memory."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

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


# Holding out validation and test pairs from train so that no sentence stands on both sides.


LARGEST_SHARE = 0.05
"""Neither held-out set takes more of the training pairs than this."""


_BLANK = {int(fingerprints([""])[0])}
"""A blank text is no sentence that two pairs could share; one-sided text has it as every source."""


class Holdout(NamedTuple):
    """Rows taken out of train, and the fingerprints of all their sentences."""

    valid: NDArray[np.int64]
    test: NDArray[np.int64]
    sentences: Fingerprints  # sorted; no training pair may contain one of them


def choose(file: FingerprintFile, alive: NDArray[np.bool_], *, valid: int, test: int, seed: int) -> Holdout:
    """Draw held-out pairs from the rows that are alive.

    The draw is by a hash of (seed, pair), so it does not depend on the order of the corpus. A pair is passed over
    if one of its sentences was drawn before: each held-out pair has sentences of its own.
    """
    most = int(LARGEST_SHARE * int(alive.sum()))
    valid, test = min(valid, most), min(test, most)
    keys, rows, pairs = _lottery(file, alive, 3 * (valid + test), seed)
    taken: set[int] = set()
    drawn: list[int] = []
    for index in np.argsort(keys, kind="stable"):
        source, target = int(pairs[index, 1]), int(pairs[index, 2])
        if len(drawn) < valid + test and source not in taken and target not in taken:
            taken |= {source, target} - _BLANK
            drawn.append(int(rows[index]))
    chosen = np.array(drawn, dtype=np.int64)
    share = len(drawn) * valid // max(1, valid + test)
    return Holdout(np.sort(chosen[:share]), np.sort(chosen[share:]), np.array(sorted(taken), dtype=np.uint64))


def rows_sharing(file: FingerprintFile, sentences: Fingerprints) -> list[NDArray[np.int64]]:
    """Rows whose source or target is among `sentences`."""
    return [
        first + np.flatnonzero(np.isin(columns[:, 1:], sentences).any(axis=1))
        for first, columns in file.blocks()
    ]


def _lottery(
    file: FingerprintFile, alive: NDArray[np.bool_], count: int, seed: int
) -> tuple[Fingerprints, NDArray[np.int64], Fingerprints]:
    """The `count` living rows with the smallest keys: their keys, rows and fingerprints."""
    salt = np.random.default_rng(seed).integers(1 << 63, dtype=np.uint64) | np.uint64(1)
    keys = np.empty(0, dtype=np.uint64)
    rows = np.empty(0, dtype=np.int64)
    pairs = np.empty((0, 3), dtype=np.uint64)
    for first, columns in file.blocks():
        own = np.flatnonzero(alive[first : first + len(columns)])
        key = columns[own, 0] ^ salt
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = np.concatenate([keys, key ^ (key >> np.uint64(32))])
        rows = np.concatenate([rows, own + first])
        pairs = np.concatenate([pairs, columns[own]])
        if len(keys) > count:
            best = np.argpartition(keys, count)[:count]
            keys, rows, pairs = keys[best], rows[best], pairs[best]
    return keys, rows, pairs
