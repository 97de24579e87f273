"""Examples for the report: which sentences are kept, and where their words differ."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.evaluation.result import Example, Examples
from nmt_cli.evaluation.texts import Lines

_KEPT = 10
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # no spaces between words
_UNIT = re.compile(rf"\s+|[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")

Pieces = list[tuple[str, bool]]  # stretches of a text, and whether they differ from another text


class Baseline(NamedTuple):
    """The hypotheses of the baseline for some lines, with the chrF of each if it was computed."""

    hypotheses: Sequence[str]
    chrf: NDArray[np.float64] | None


class ExampleSelector:
    """Keeps the best and worst sentences of one system, and those furthest from the baseline."""

    def __init__(self) -> None:
        self._heaps: dict[str, list[tuple[float, int, int, Example]]] = {
            name: [] for name in ("worst", "best", "gained", "lost")
        }

    def observe(
        self,
        lines: Lines,
        hypotheses: Sequence[str],
        chrf: NDArray[np.float64],
        baseline: Baseline | None,
    ) -> None:
        """Consider the next sentences, with the chrF of each."""
        ranks = {"worst": -chrf, "best": chrf}
        if baseline is not None and baseline.chrf is not None:
            ranks |= {"gained": chrf - baseline.chrf, "lost": baseline.chrf - chrf}
        for name, rank in ranks.items():
            heap = self._heaps[name]
            for row in np.argsort(-rank, kind="stable")[: 4 * _KEPT].tolist():
                if name in ("gained", "lost") and rank[row] <= 0:
                    break
                # Of equally ranked sentences, longer ones are more instructive.
                key = (round(float(rank[row]), 6), len(hypotheses[row]), -(lines.first + row))
                if len(heap) < _KEPT or heap[0][:3] < key:
                    example = _example(lines, row, hypotheses[row], float(chrf[row]), baseline)
                    heapq.heappush(heap, (*key, example))
                if len(heap) > _KEPT:
                    heapq.heappop(heap)

    def examples(self) -> Examples:
        """The sentences kept, the most extreme first."""
        found = {
            name: [entry[3] for entry in sorted(heap, key=lambda entry: entry[:3], reverse=True)]
            for name, heap in self._heaps.items()
        }
        return Examples(**found)


def differences(text: str, other: str) -> Pieces:
    """The text in pieces, each with whether its words are missing from `other` at that point."""
    units = units_of(text)
    places = [place for place, unit in enumerate(units) if not unit.isspace()]
    matcher = SequenceMatcher(None, [units[place] for place in places], _words(other), autojunk=False)
    same = {
        places[index]
        for block in matcher.get_matching_blocks()
        for index in range(block.a, block.a + block.size)
    }
    pieces: Pieces = []
    for place, unit in enumerate(units):
        differs = place not in same
        if unit.isspace():  # a space differs only between two words that do
            differs = bool(pieces) and pieces[-1][1] and place + 1 < len(units) and place + 1 not in same
        if pieces and pieces[-1][1] == differs:
            pieces[-1] = (pieces[-1][0] + unit, differs)
        else:
            pieces.append((unit, differs))
    return pieces


def closest(hypothesis: str, references: Sequence[str]) -> str:
    """The reference that is most similar to the hypothesis."""
    if len(references) < 2:
        return references[0] if references else ""
    words = _words(hypothesis)
    return max(
        references, key=lambda text: SequenceMatcher(None, words, _words(text), autojunk=False).ratio()
    )


def units_of(text: str) -> list[str]:
    """Words, punctuation marks and spaces; joined, they are the text again."""
    return _UNIT.findall(text)


def _words(text: str) -> list[str]:
    return [unit for unit in units_of(text) if not unit.isspace()]


def _example(lines: Lines, row: int, hypothesis: str, chrf: float, baseline: Baseline | None) -> Example:
    scores = baseline.chrf if baseline is not None else None
    return Example(
        line=lines.first + row,
        chrf=chrf,
        baseline_chrf=float(scores[row]) if scores is not None else None,
        source=lines.sources[row] if lines.sources is not None else None,
        references=[text for texts in lines.references if (text := texts[row]) is not None],
        hypothesis=hypothesis,
        baseline=baseline.hypotheses[row] if baseline is not None else None,
    )
