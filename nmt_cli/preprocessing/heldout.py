"""Validation and test sets: every line is kept unchanged."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nmt_cli.corpus import Inspector, Spec, read_pairs
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.corpus.duplicates import Fingerprints, fingerprints, pair_fingerprints
from nmt_cli.data.directory import SplitWriter
from nmt_cli.errors import CorpusError
from nmt_cli.files.languages import text_names
from nmt_cli.preprocessing.encoding import Encoder, Page, SplitStatistics
from nmt_cli.vocabulary import Vocabularies

_PAGE = 8192


@dataclass
class HeldOutSet:
    """Pairs that are never trained on."""

    name: str  # "valid" or "test"
    origin: str  # where the pairs came from, for the data card
    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)

    def fingerprints(self, normalization: Normalization) -> Fingerprints:
        """Fingerprints of its pairs, normalized like training text."""
        source, target = ([normalization(text) for text in side] for side in (self.source, self.target))
        return pair_fingerprints(fingerprints(source), fingerprints(target))

    def write(
        self,
        directory: Path,
        vocabularies: Vocabularies,
        normalization: Normalization,
        languages: tuple[str, str],
    ) -> SplitStatistics:
        """Write the token ids, and the raw text of both sides for scoring."""
        encoder = Encoder(vocabularies)
        statistics = SplitStatistics()
        sizes = len(vocabularies.source), len(vocabularies.target)
        with SplitWriter(directory / f"{self.name}.arrow", *sizes) as writer:
            for first in range(0, len(self.source), _PAGE):
                source, target = self.source[first : first + _PAGE], self.target[first : first + _PAGE]
                lines = np.arange(first + 1, first + 1 + len(source), dtype=np.int64)
                page = Page(first, np.zeros(len(source), dtype=np.uint16), lines, source, target)
                page = page.normalized(normalization)
                encoded = encoder(page)
                writer.write(page.source, page.target, encoded.source_ids, encoded.target_ids)
                statistics.add(encoded.statistics)
        sides = (self.source, self.target) if languages[0] else (self.target,)
        for name, texts in zip(text_names(self.name, *languages), sides, strict=True):
            with (directory / name).open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{text}\n" for text in texts)
        return statistics


def read_heldout(name: str, specs: Sequence[Spec], inspector: Callable[[Spec], Inspector]) -> HeldOutSet:
    """Read all corpora of a validation or test set; a line that is not a pair is an error, never dropped.

    Unfinished entries of localization files are not part of the set; the origin counts them.
    """
    whole = HeldOutSet(name, "")
    origins = []
    for spec in specs:
        inspect = inspector(spec)
        skipped: Counter[str] = Counter()
        for block in read_pairs(spec):
            inspect.observe(block)
            skipped.update(entry.reason for entry in block.skipped)
            malformed = next((row for row, damage in block.damage.items() if damage == "malformed"), None)
            if malformed is not None:
                raise CorpusError(
                    f"{spec.text}: line {block.number(malformed)} is not a pair: {block.source[malformed][:60]!r}",
                    hint=f"every line of the {name} set must be a pair; fix or remove that line",
                )
            whole.source += block.source
            whole.target += block.target
        counts = ", ".join(f"{reason} {count:,}" for reason, count in skipped.most_common())
        origins.append(f"{spec.text} (skipped: {counts})" if counts else spec.text)
    whole.origin = " + ".join(origins)
    return whole
