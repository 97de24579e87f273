"""The most telling lines of each system, kept while the text goes by."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.evaluation.result import Example, Examples

KEPT = 10


class Block(NamedTuple):
    """Lines of all texts that belong together."""

    first: int  # number of the first line, from 1
    sources: Sequence[str] | None
    references: Sequence[Sequence[str | None]]  # one list for each file
    baseline: Sequence[str] | None
    baseline_chrf: NDArray[np.float64] | None


class ExampleKeeper:
    """Keeps the best and worst lines of one system, and where it differs most from the baseline."""

    def __init__(self) -> None:
        self._heaps: dict[str, list[tuple[float, int, int, Example]]] = {
            name: [] for name in ("worst", "best", "gained", "lost")
        }

    def observe(self, block: Block, hypotheses: Sequence[str], chrf: NDArray[np.float64]) -> None:
        """Take the next lines with the chrF of each."""
        ranks = {"worst": -chrf, "best": chrf}
        if block.baseline_chrf is not None:
            ranks |= {"gained": chrf - block.baseline_chrf, "lost": block.baseline_chrf - chrf}
        for name, rank in ranks.items():
            for row in np.argsort(-rank, kind="stable")[: 4 * KEPT].tolist():
                if name in ("gained", "lost") and rank[row] <= 0:
                    break
                self._offer(name, float(rank[row]), row, block, hypotheses, chrf)

    def _offer(
        self,
        name: str,
        rank: float,
        row: int,
        block: Block,
        hypotheses: Sequence[str],
        chrf: NDArray[np.float64],
    ) -> None:
        heap = self._heaps[name]
        # Of equals the longer line tells more.
        key = (round(rank, 6), len(hypotheses[row]), -(block.first + row))
        if len(heap) == KEPT and heap[0][:3] >= key:
            return
        example = Example(
            line=block.first + row,
            chrf=float(chrf[row]),
            baseline_chrf=float(block.baseline_chrf[row]) if block.baseline_chrf is not None else None,
            source=block.sources[row] if block.sources is not None else None,
            references=[text for texts in block.references if (text := texts[row]) is not None],
            hypothesis=hypotheses[row],
            baseline=block.baseline[row] if block.baseline is not None else None,
        )
        heapq.heappush(heap, (*key, example))
        if len(heap) > KEPT:
            heapq.heappop(heap)

    def examples(self) -> Examples:
        """What was kept, the most telling first."""
        found = {
            name: [entry[3] for entry in sorted(heap, key=lambda entry: entry[:3], reverse=True)]
            for name, heap in self._heaps.items()
        }
        return Examples(**found)
