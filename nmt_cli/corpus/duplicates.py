"""Fingerprints of sentences: finding duplicates, and holding out sets that share no sentence with train.

The fingerprints of all training pairs are stored in a file and compared in bounded memory.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Fingerprints = NDArray[np.uint64]

# Fingerprints sorted at once, at about 64 bytes each.
_GROUP_ROWS = 1_000_000
_MOST_GROUPS = 256  # files that are open at the same time
_READ_ROWS = 262_144


def fingerprints(texts: list[str]) -> Fingerprints:
    """64 bits of each text; among ten million texts, the probability of any collision is 1 in 400,000."""
    digests = b"".join(
        [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def pair_fingerprints(source: Fingerprints, target: Fingerprints) -> Fingerprints:
    """One fingerprint for each (source, target); the order of the two matters."""
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
        """Close the file: all pairs have been added."""
        self._file.close()

    def blocks(self) -> Iterator[tuple[int, Fingerprints]]:
        """The number of the first row and the three columns (n, 3) of each block of rows."""
        with self.path.open("rb") as file:
            for first in range(0, self.rows, _READ_ROWS):
                content = np.fromfile(file, dtype=np.uint64, count=3 * min(_READ_ROWS, self.rows - first))
                yield first, content.reshape(-1, 3)


def repeated_rows(file: FingerprintFile) -> Iterator[NDArray[np.int64]]:
    """Rows whose pair occurs in an earlier row, group by group.

    Fingerprints are grouped by their remainder, so that equal ones are in the same group, and each group fits into
    memory. Two pairs are equal if the fingerprints of both their sources and their targets are.
    """
    if file.rows <= _GROUP_ROWS:
        blocks = [_with_rows(first, columns) for first, columns in file.blocks()]
        yield _repeated(np.concatenate(blocks)) if blocks else np.empty(0, np.int64)
        return
    groups = min(_MOST_GROUPS, -(-file.rows // _GROUP_ROWS))
    with ExitStack() as stack:
        paths = [file.path.with_name(f"{file.path.name}.{group}") for group in range(groups)]
        parts = [stack.enter_context(path.open("wb")) for path in paths]
        for first, columns in file.blocks():
            group = (columns[:, 0] % np.uint64(groups)).astype(np.int64)
            order = np.argsort(group, kind="stable")
            content = _with_rows(first, columns)[order]
            ends = np.cumsum(np.bincount(group, minlength=groups))
            for part, rows in zip(parts, np.split(content, ends[:-1]), strict=True):
                part.write(rows.tobytes())
    for path in paths:
        yield _repeated(np.fromfile(path, np.uint64).reshape(-1, 3))
        path.unlink()


def _with_rows(first: int, columns: Fingerprints) -> Fingerprints:
    """Pair, source and row number (n, 3)."""
    numbered = columns.copy()
    numbered[:, 2] = np.arange(first, first + len(columns), dtype=np.uint64)
    return numbered


def _repeated(content: Fingerprints) -> NDArray[np.int64]:
    """The rows of a group whose pair occurs in an earlier row."""
    pair, source, row = content.T
    order = np.lexsort((source, pair))  # stable: equal pairs keep the order of their rows
    pair, source = pair[order], source[order]
    again = np.flatnonzero((pair[1:] == pair[:-1]) & (source[1:] == source[:-1])) + 1
    repeated: NDArray[np.int64] = row[order[again]].astype(np.int64)
    return repeated


LARGEST_SHARE = 0.05
"""The largest share of the training pairs that one held-out set takes."""

_BLANK = {int(fingerprints([""])[0])}  # not a shared sentence: it is every source of monolingual text


class Holdout(NamedTuple):
    """Rows held out from train, and the fingerprints of all their sentences."""

    valid: NDArray[np.int64]
    test: NDArray[np.int64]
    sentences: Fingerprints  # sorted; no training pair may contain any of them


def choose_held_out(
    file: FingerprintFile, kept: NDArray[np.bool_], *, valid: int, test: int, seed: int
) -> Holdout:
    """Draw held-out pairs from the rows marked in `kept`.

    The draw uses a hash of (seed, pair), so it does not depend on the order of the corpus. A pair that shares a
    sentence with one drawn before is skipped.
    """
    most = int(LARGEST_SHARE * int(kept.sum()))
    valid, test = min(valid, most), min(test, most)
    keys, rows, pairs = _smallest_keys(file, kept, 3 * (valid + test), seed)
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


def _smallest_keys(
    file: FingerprintFile, kept: NDArray[np.bool_], count: int, seed: int
) -> tuple[Fingerprints, NDArray[np.int64], Fingerprints]:
    """The `count` kept rows with the smallest random keys: their keys, rows and fingerprints."""
    salt = np.random.default_rng(seed).integers(1 << 63, dtype=np.uint64) | np.uint64(1)
    keys = np.empty(0, dtype=np.uint64)
    rows = np.empty(0, dtype=np.int64)
    pairs = np.empty((0, 3), dtype=np.uint64)
    for first, columns in file.blocks():
        own = np.flatnonzero(kept[first : first + len(columns)])
        key = columns[own, 0] ^ salt
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = np.concatenate([keys, key ^ (key >> np.uint64(32))])
        rows = np.concatenate([rows, own + first])
        pairs = np.concatenate([pairs, columns[own]])
        if len(keys) > count:
            best = np.argpartition(keys, count)[:count]
            keys, rows, pairs = keys[best], rows[best], pairs[best]
    return keys, rows, pairs
