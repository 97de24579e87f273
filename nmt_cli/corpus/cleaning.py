"""Filters on the text of a training pair, each with a name. A pair is dropped as a pair."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nmt_cli.config import DataConfig
from nmt_cli.corpus.block import Block
from nmt_cli.corpus.duplicates import Fingerprints, fingerprints
from nmt_cli.corpus.normalization import Normalization

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

TEXT_FILTERS: dict[str, Callable[[str, str], bool]] = {
    "undecodable": lambda source, target: "\ufffd" in source or "\ufffd" in target,
    "control": lambda source, target: bool(_CONTROL.search(source) or _CONTROL.search(target)),
    "blank": lambda source, target: not source or source.isspace() or not target or target.isspace(),
    "copy_of_source": lambda source, target: source == target,
}
"""What makes a pair drop, by the text alone. The remaining filters need the whole corpus or the token counts."""


class Dropped(NamedTuple):
    """A pair that was left out of train, and why."""

    corpus: int  # which of the --train corpora
    line: int  # 1-based
    reason: str
    source: str
    target: str


class Cleaned(NamedTuple):
    """What is left of a block, as it was read, and what is not; fingerprints are those of the normalized text."""

    corpus: int
    lines: list[int]
    source: list[str]
    target: list[str]
    source_fingerprints: Fingerprints
    target_fingerprints: Fingerprints
    dropped: list[Dropped]


@dataclass(frozen=True)
class Cleaner:
    """Applies the filters that are switched on to the normalized training pairs of a block."""

    config: DataConfig
    normalization: Normalization

    def __call__(self, task: tuple[int, Block]) -> Cleaned:
        """Clean one block of the corpus with the given number."""
        corpus, block = task
        normalize = self.normalization.function()
        sources, targets = block.source, block.target
        if normalize is not None:
            sources, targets = [normalize(text) for text in sources], [normalize(text) for text in targets]
        reasons = self._reasons(sources, targets, block.damage)
        dropped = [
            Dropped(corpus, block.first + row, why, sources[row], targets[row])
            for row, why in reasons.items()
        ]
        rows = [row for row in range(len(sources)) if row not in reasons]
        return Cleaned(
            corpus,
            [block.first + row for row in rows],
            [block.source[row] for row in rows],
            [block.target[row] for row in rows],
            fingerprints([sources[row] for row in rows]),
            fingerprints([targets[row] for row in rows]),
            dropped,
        )

    def _reasons(self, sources: list[str], targets: list[str], damage: Mapping[int, str]) -> dict[int, str]:
        """Row → the first reason to drop it."""
        reasons = {row: why for row, why in damage.items() if why == "malformed" or self.config.undecodable}
        for name, drop in TEXT_FILTERS.items():
            if getattr(self.config, name):
                for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
                    if drop(source, target):
                        reasons.setdefault(row, name)
        return dict(sorted(reasons.items()))
