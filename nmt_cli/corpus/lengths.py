"""What the lengths of lines say about alignment: a translation is about as long as its source.

With s, t the log lengths of a line and of a candidate translation, both sides centered and of equal spread,
the cost of the pair is min(|t - s|, CAP): about 0.1 for translations, 0.2 to 0.6 for unrelated lines.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

COST_CAP = 0.8  # so that a few wild pairs prove nothing
# Characters added before the logarithm: short lines differ by chance.
_SHORT = 8


def log_lengths(lines: Sequence[str]) -> Floats:
    """log(characters + 8) of every line."""
    lengths = np.fromiter(map(len, lines), dtype=np.float32, count=len(lines))
    return np.log(lengths + _SHORT)


def equal_spread(source: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Center both sides and scale the source to the spread of the target.

    Neither depends on which line stands beside which, so misaligned text is measured by the same rule.
    """
    spread_source, spread_target = (
        float(np.subtract(*np.percentile(side, [85, 15]))) for side in (source, target)
    )
    scale = np.float32(np.clip(spread_target / max(spread_source, 1e-3), 0.5, 2.0))
    return (source - np.median(source)) * scale, target - np.median(target)


def pair_costs(source: Floats, target: Floats) -> Floats:
    """The cost of each pair, from sides of equal spread."""
    costs: Floats = np.minimum(np.abs(target - source), np.float32(COST_CAP))
    return costs
