"""Holding out validation and test pairs from train so that no sentence stands on both sides."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.duplicates import FingerprintFile, Fingerprints, fingerprints

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
