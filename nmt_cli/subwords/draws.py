"""Random numbers that are the same in every process and with every version of NumPy."""

from collections.abc import Iterator

import numpy as np

_AT_ONCE = 1024


def uniform(seed: int) -> Iterator[float]:
    """Numbers from 0 to 1, neither of which occurs."""
    # NumPy promises that the raw bits stay as they are, and nothing of what it makes of them.
    random = np.random.Philox(np.random.SeedSequence(seed))
    while True:
        yield from (((random.random_raw(_AT_ONCE) >> np.uint64(12)) + 0.5) * 2.0**-52).tolist()
