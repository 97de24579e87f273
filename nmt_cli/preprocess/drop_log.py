"""Dropped pairs by reason: counts, a few examples, and on request every pair in a file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TextIO

from nmt_cli.corpus.cleaning import Dropped

EXAMPLES = 3
_COLUMNS = ("corpus", "line", "reason", "source", "target")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass
class DropLog:
    """Counts of dropped pairs, with the first examples of each reason."""

    names: list[str]  # of the --train corpora
    file: TextIO | None = None  # gets every dropped pair as a TSV row
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Dropped]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file is not None:
            self.file.write("\t".join(_COLUMNS) + "\n")

    def add(self, dropped: Iterable[Dropped]) -> None:
        """Record dropped pairs."""
        for pair in dropped:
            self.counts[pair.reason] = self.counts.get(pair.reason, 0) + 1
            kept = self.examples.setdefault(pair.reason, [])
            if len(kept) < EXAMPLES:
                kept.append(pair)
            if self.file is not None:
                cells = (self.names[pair.corpus], str(pair.line), pair.reason, pair.source, pair.target)
                self.file.write("\t".join(cell.translate(_ESCAPES) for cell in cells) + "\n")

    @property
    def total(self) -> int:
        """The number of dropped pairs."""
        return sum(self.counts.values())

    def summary(self) -> str:
        """The counts on one line, the most frequent reason first."""
        ordered = sorted(self.counts.items(), key=lambda item: -item[1])
        return ", ".join(f"{reason} {count}" for reason, count in ordered)
