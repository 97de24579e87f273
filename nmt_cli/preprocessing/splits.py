"""The splits between reading and encoding.

Of training text: cleaned pairs on disk, which are kept, and a log of those dropped. Of validation and test sets, every
line is kept unchanged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config import DataConfig
from nmt_cli.corpus import Block, Spec, read_pairs
from nmt_cli.corpus.checks.inspector import Inspector
from nmt_cli.corpus.cleaning import Cleaner, Dropped, Normalization
from nmt_cli.corpus.duplicates import (
    FingerprintFile,
    Fingerprints,
    choose_held_out,
    fingerprints,
    pair_fingerprints,
    repeated_rows,
    rows_sharing,
)
from nmt_cli.corpus.workers import WorkerPool
from nmt_cli.data.directory import SplitWriter
from nmt_cli.errors import CorpusError
from nmt_cli.files.languages import text_names
from nmt_cli.preprocessing.alignments import AlignmentFile, read_blocks
from nmt_cli.preprocessing.encoding import (
    Page,
    PageEncoder,
    SplitStatistics,
    Spool,
    SpooledPage,
    SpooledRows,
)
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import Ragged

_PAGE = 8192
# The state of a row; the names are the reasons in the data card.
_KEPT, _IN_HELDOUT, _DUPLICATE, _SHARES_HELDOUT, _HELD_OUT = range(5)
FROM_TRAIN = "held out from train"  # where a held-out set came from
_REASONS = {_IN_HELDOUT: "in_heldout", _DUPLICATE: "duplicate", _SHARES_HELDOUT: "shares_heldout"}
EXAMPLES = 3
_COLUMNS = ("corpus", "line", "reason", "source", "target")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class HeldOutFingerprints(NamedTuple):
    """The fingerprints of pairs that are never trained on, and of their targets."""

    pairs: Fingerprints
    targets: Fingerprints

    @classmethod
    def joined(cls, sets: Sequence[HeldOutFingerprints]) -> HeldOutFingerprints:
        """Those of several sets."""
        none = cls(np.empty(0, np.uint64), np.empty(0, np.uint64))
        return cls(*map(np.concatenate, zip(none, *sets, strict=True)))


@dataclass
class HeldOutSet:
    """Pairs that are never trained on."""

    name: str  # "valid" or "test"
    origin: str  # where the pairs came from, for the data card
    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)

    def fingerprints(self, normalization: Normalization) -> HeldOutFingerprints:
        """Fingerprints of its pairs, normalized like training text."""
        sides = (self.source, self.target)
        source, target = (fingerprints([normalization(text) for text in side]) for side in sides)
        return HeldOutFingerprints(pair_fingerprints(source, target), target)

    def write(
        self,
        directory: Path,
        vocabularies: Vocabularies,
        normalization: Normalization,
        languages: tuple[str, str],
    ) -> SplitStatistics:
        """Write the token ids, and the raw text of both sides for scoring."""
        encoder = PageEncoder(vocabularies)
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


class CleanedBlock(NamedTuple):
    """The pairs of a block that are kept, and what was observed in the block."""

    lines: NDArray[np.int64]
    source: Ragged  # as UTF-8 bytes
    target: Ragged
    source_fingerprints: Fingerprints
    target_fingerprints: Fingerprints
    dropped: list[Dropped]
    inspector: Inspector
    links: Ragged | None  # between words, if word alignments were given


@dataclass(frozen=True)
class BlockCleaner:
    """Cleans and inspects a block of the corpus with the given number."""

    cleaner: Cleaner
    source_lang: str
    target_lang: str

    def __call__(self, numbered: tuple[int, Block, Ragged | None]) -> CleanedBlock:
        """Clean one block."""
        number, block, links = numbered
        inspector = Inspector("", source_lang=self.source_lang, target_lang=self.target_lang)
        inspector.observe(block)
        cleaned = self.cleaner.clean(number, block)
        lines = np.array(cleaned.lines, np.int64)
        return CleanedBlock(
            lines,
            Ragged.from_texts(cleaned.source),
            Ragged.from_texts(cleaned.target),
            cleaned.source_fingerprints,
            cleaned.target_fingerprints,
            cleaned.dropped,
            inspector,
            links.take(lines - block.first) if links is not None else None,
        )


class TrainingText:
    """The pairs that passed the text filters, with a mark for each that a later stage removes."""

    def __init__(self, scratch: Path, corpora: int) -> None:
        self._spool = Spool(scratch / "text")
        self.path = self._spool.path
        self._fingerprints = FingerprintFile(scratch / "fingerprints")
        self._marks_path = scratch / "marks"
        self.pairs_read = [0] * corpora

    def fill(
        self,
        specs: Sequence[Spec],
        cleaner: Cleaner,
        inspector: Callable[[Spec], Inspector],
        drop_log: DropLog,
        progress: Callable[[int], None],
        pool: WorkerPool,
        alignments: Sequence[AlignmentFile] = (),
    ) -> None:
        """Read all corpora, and their word alignments, in this process; clean and inspect them in the workers."""
        inspectors = [inspector(spec) for spec in specs]
        blocks = read_blocks(specs, alignments)
        clean = BlockCleaner(cleaner, specs[0].source_lang, specs[0].target_lang)
        for (number, block, _), cleaned in pool.map(clean, blocks):
            inspectors[number].add(cleaned.inspector)
            self._spool.append(number, cleaned.lines, cleaned.source, cleaned.target, cleaned.links)
            self._fingerprints.append(cleaned.source_fingerprints, cleaned.target_fingerprints)
            if block.file:
                drop_log.start_file(number, *block.file)
            drop_log.add(Dropped(number, *skipped) for skipped in block.skipped)
            drop_log.add(cleaned.dropped)
            self.pairs_read[number] += len(block.source) + len(block.skipped)
            progress(sum(self.pairs_read))
        self._spool.finish()
        self._fingerprints.finish()
        # One byte per pair in a memory-mapped file, so that it does not have to fit into memory.
        self._marks_path.write_bytes(bytes(max(1, self._spool.rows)))
        self._marks: NDArray[np.uint8] = np.memmap(self._marks_path, dtype=np.uint8, mode="r+")

    def mark_known(self, config: DataConfig, heldout: HeldOutFingerprints, tags: Sequence[str] = ()) -> None:
        """Mark pairs that occur in a held-out set or in an earlier row.

        The source of a tagged pair may be synthetic, so it is enough that its target occurs in a held-out set.
        """
        if config.in_heldout and len(heldout.pairs):
            tagged = self._tagged(tags)
            for first, columns in self._fingerprints.blocks():
                known = np.isin(columns[:, 0], heldout.pairs)
                known |= tagged[first : first + len(columns)] & np.isin(columns[:, 2], heldout.targets)
                self._mark(first + np.flatnonzero(known), _IN_HELDOUT)
        if config.duplicate:
            for rows in repeated_rows(self._fingerprints):
                self._mark(rows, _DUPLICATE)

    def hold_out(
        self, config: DataConfig, missing: Sequence[str], tags: Sequence[str] = ()
    ) -> list[HeldOutSet]:
        """Draw the sets in `missing` from the kept rows, and mark rows that share a sentence with them.

        A corpus with a tag is not drawn from: sets are to have the text that a translator will see.
        """
        sizes = {
            name: getattr(config, f"{name}_size") if name in missing else 0 for name in ("valid", "test")
        }
        kept = np.asarray(self._marks[: self._spool.rows] == _KEPT) & ~self._tagged(tags)
        chosen = choose_held_out(self._fingerprints, kept, **sizes, seed=config.seed)
        for rows in rows_sharing(self._fingerprints, chosen.sentences):
            self._mark(rows, _SHARES_HELDOUT)
        rows_of = {"valid": chosen.valid, "test": chosen.test}
        for name in missing:
            self._marks[rows_of[name]] = _HELD_OUT
        return [self._extract(name, rows_of[name]) for name in missing if len(rows_of[name])]

    def kept(self) -> Iterator[SpooledRows]:
        """The kept rows of each page."""
        for page in self._spool.pages:
            yield SpooledRows(page, np.flatnonzero(self._marks_of(page) == _KEPT))

    def dropped(self) -> Iterator[Dropped]:
        """The dropped pairs, with the reason."""
        for page in self._spool.pages:
            marks = self._marks_of(page)
            rows = np.flatnonzero((marks != _KEPT) & (marks != _HELD_OUT))
            if len(rows):
                pairs = page.read(self.path, rows)
                for row, mark in enumerate(marks[rows].tolist()):
                    yield pairs.dropped(row, _REASONS[mark])

    def count_kept(self) -> int:
        """The number of kept pairs."""
        return int((self._marks[: self._spool.rows] == _KEPT).sum())

    def _tagged(self, tags: Sequence[str]) -> NDArray[np.bool_]:
        """(rows) whether each row is of a corpus with a tag; `tags` has that of each corpus, or is empty."""
        tagged = np.zeros(self._spool.rows, np.bool_)
        for page in self._spool.pages:
            if tags and tags[page.corpus]:
                tagged[page.first : page.first + page.rows] = True
        return tagged

    def _mark(self, rows: NDArray[np.int64], mark: int) -> None:
        """Mark rows; the first mark of a row is final."""
        self._marks[rows[self._marks[rows] == _KEPT]] = mark

    def _marks_of(self, page: SpooledPage) -> NDArray[np.uint8]:
        return np.asarray(self._marks[page.first : page.first + page.rows])

    def _extract(self, name: str, rows: NDArray[np.int64]) -> HeldOutSet:
        whole = HeldOutSet(name, FROM_TRAIN)
        for page in self._spool.pages:
            own = rows[(rows >= page.first) & (rows < page.first + page.rows)] - page.first
            if len(own):
                pairs = page.read(self.path, own)
                whole.source += pairs.source
                whole.target += pairs.target
        return whole


# ------------------------------------------------------------------------------------------------------------
# The log of dropped pairs.


@dataclass
class DropLog:
    """Counts of dropped pairs, with the first examples of each reason."""

    names: list[str]  # of the --train corpora
    file: TextIO | None = None  # gets every dropped pair as a TSV row
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Dropped]] = field(default_factory=dict)
    _files: dict[int, list[tuple[int, str]]] = field(default_factory=dict)  # corpus → lines before, name

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
                name, line = self.place(pair)
                cells = (name, str(line), pair.reason, pair.source, pair.target)
                self.file.write("\t".join(cell.translate(_ESCAPES) for cell in cells) + "\n")

    def start_file(self, corpus: int, name: str, lines_before: int) -> None:
        """The lines of a corpus of several files are those of this one from now on."""
        files = self._files.setdefault(corpus, [])
        if not files or files[-1][1] != name:
            files.append((lines_before, name))

    def place(self, pair: Dropped) -> tuple[str, int]:
        """The corpus of a dropped pair, or its file if the corpus has several, and the line in it."""
        files = self._files.get(pair.corpus)
        if not files:
            return self.names[pair.corpus], pair.line
        before, name = files[bisect_left(files, (pair.line,)) - 1]
        return name, pair.line - before

    @property
    def total(self) -> int:
        """The number of dropped pairs."""
        return sum(self.counts.values())

    def summary(self) -> str:
        """The counts on one line, the most frequent reason first."""
        ordered = sorted(self.counts.items(), key=lambda item: -item[1])
        return ", ".join(f"{reason} {count}" for reason, count in ordered)
