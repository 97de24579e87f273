"""Cleaned text, spooled to disk until the vocabulary is built, and its encoding, page by page.

Encoding a page gives token ids, applies the filters that need them, and counts. Statistics are sums, so those of pages
from several workers can be added.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config import DataConfig
from nmt_cli.corpus.cleaning import Dropped, Normalization
from nmt_cli.preprocessing.token_links import token_links, words_as_read
from nmt_cli.vocabulary import UNK, Vocabularies, Vocabulary
from nmt_cli.vocabulary.token_ids import Ragged

LENGTH_EDGES = (5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200)
"""Upper edges of the histogram's bins; the last bin is open."""


class Page(NamedTuple):
    """Consecutive rows of a spool."""

    first: int  # row number of the first
    corpus: NDArray[np.uint16]
    line: NDArray[np.int64]
    source: list[str]
    target: list[str]
    links: Ragged | None = None  # between words, if word alignments were given

    def take(self, rows: NDArray[np.int64]) -> "Page":
        """Only the given rows of the page, in order."""
        if len(rows) == len(self.source):
            return self
        return Page(
            self.first,
            self.corpus[rows],
            self.line[rows],
            [self.source[row] for row in rows],
            [self.target[row] for row in rows],
            self.links.take(rows) if self.links is not None else None,
        )

    def dropped(self, row: int, reason: str) -> Dropped:
        """A row of the page as a dropped pair."""
        return Dropped(int(self.corpus[row]), int(self.line[row]), reason, self.source[row], self.target[row])

    def normalized(self, normalization: Normalization) -> "Page":
        """The same page, normalized."""
        if normalization.function() is None:
            return self
        pairs = [normalization.pair(*pair) for pair in zip(self.source, self.target, strict=True)]
        return self._replace(source=[source for source, _ in pairs], target=[target for _, target in pairs])


class SpooledPage(NamedTuple):
    """Where a page is in the spool."""

    corpus: int
    first: int  # row number of the first
    rows: int
    position: int  # in the file
    sizes: tuple[int, int]  # bytes of text of each side
    links: int | None = None  # how many the page has, if word alignments were given

    def read(self, path: Path, rows: NDArray[np.int64]) -> Page:
        """The given rows of the page."""
        shapes: list[tuple[type[np.generic], int]] = [(np.int64, self.rows)]
        for size in self.sizes:
            shapes += [(np.int64, self.rows + 1), (np.uint8, size)]
        if self.links is not None:
            shapes += [(np.int64, self.rows + 1), (np.uint32, self.links)]
        with path.open("rb") as file:
            file.seek(self.position)
            line, *parts = (np.fromfile(file, dtype, count) for dtype, count in shapes)
        columns = [Ragged(values, offsets) for offsets, values in zip(parts[::2], parts[1::2], strict=True)]
        if len(rows) < self.rows:
            line, columns = line[rows], [column.take(rows) for column in columns]
        corpus = np.full(len(line), self.corpus, dtype=np.uint16)
        return Page(self.first, corpus, line, columns[0].texts(), columns[1].texts(), *columns[2:])


class Spool:
    """Pairs with their corpus and line number: written once, then read page by page, in any process.

    A page has its line numbers, then the offsets and the UTF-8 bytes of each side, then the same of links, if any.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self.pages: list[SpooledPage] = []
        self._file = path.open("wb")

    def append(
        self,
        corpus: int,
        lines: NDArray[np.int64],
        source: Ragged,
        target: Ragged,
        links: Ragged | None = None,
    ) -> None:
        """Add the pairs of a block as a page."""
        if not len(lines):
            return
        sizes = len(source.values), len(target.values)
        count = None if links is None else len(links.values)
        self.pages.append(SpooledPage(corpus, self.rows, len(lines), self._file.tell(), sizes, count))
        self._file.write(lines.tobytes())
        for column in (source, target, *([] if links is None else [links])):
            self._file.write(column.offsets.tobytes())
            self._file.write(column.values.tobytes())
        self.rows += len(lines)

    def finish(self) -> None:
        """Close the file: all pairs have been added."""
        self._file.close()


@dataclass
class SideStatistics:
    """Statistics of one side of a split."""

    words: int = 0
    tokens: int = 0
    byte_tokens: int = 0
    unknown_tokens: int = 0
    longest: int = 0
    histogram: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(len(LENGTH_EDGES) + 1, dtype=np.int64)
    )

    @classmethod
    def of(cls, texts: Sequence[str], ids: Ragged, vocabulary: Vocabulary) -> "SideStatistics":
        """The statistics of these texts and their token ids."""
        lengths = np.diff(ids.offsets)
        return cls(
            words=sum(text.count(" ") + 1 for text in texts if text),
            tokens=len(ids.values),
            byte_tokens=int(vocabulary.is_byte[ids.values].sum()),
            unknown_tokens=int((ids.values == UNK).sum()),
            longest=int(lengths.max(initial=0)),
            histogram=np.bincount(np.searchsorted(LENGTH_EDGES, lengths), minlength=len(LENGTH_EDGES) + 1),
        )

    def add(self, other: "SideStatistics") -> None:
        """Add the statistics of more text."""
        self.words += other.words
        self.tokens += other.tokens
        self.byte_tokens += other.byte_tokens
        self.unknown_tokens += other.unknown_tokens
        self.longest = max(self.longest, other.longest)
        self.histogram = self.histogram + other.histogram

    def to_json(self) -> dict[str, object]:
        """The statistics as they appear in data-card.json."""
        return {
            "words": self.words,
            "tokens": self.tokens,
            "tokens_per_word": round(self.tokens / max(1, self.words), 3),
            "byte_tokens": self.byte_tokens,
            "byte_share": round(self.byte_tokens / max(1, self.tokens), 6),
            "unknown_tokens": self.unknown_tokens,
            "unknown_share": round(self.unknown_tokens / max(1, self.tokens), 6),
            "longest": self.longest,
            "length_histogram": dict(zip(histogram_labels(), self.histogram.tolist(), strict=True)),
        }


@dataclass
class SplitStatistics:
    """Statistics of one split."""

    pairs: int = 0
    source: SideStatistics = field(default_factory=SideStatistics)
    target: SideStatistics = field(default_factory=SideStatistics)

    def add(self, other: "SplitStatistics") -> None:
        """Add the statistics of more pairs."""
        self.pairs += other.pairs
        self.source.add(other.source)
        self.target.add(other.target)

    def to_json(self) -> dict[str, object]:
        """The statistics as they appear in data-card.json."""
        return {"pairs": self.pairs, "source": self.source.to_json(), "target": self.target.to_json()}


def histogram_labels() -> list[str]:
    """Labels of the bins, such as `6–10`."""
    starts = [0, *(edge + 1 for edge in LENGTH_EDGES)]
    return [f"{start}–{end}" for start, end in zip(starts, LENGTH_EDGES, strict=False)] + [f"{starts[-1]}+"]


class EncodedPage(NamedTuple):
    """The pairs of a page that are kept, with their token ids, and why the others were dropped."""

    rows: NDArray[np.int64]  # of the page
    source_ids: Ragged
    target_ids: Ragged
    statistics: SplitStatistics
    dropped: list[tuple[int, str]]  # row, reason


@dataclass(frozen=True)
class PageEncoder:
    """Encodes pages; without a DataConfig it keeps every pair, as validation and test sets require."""

    vocabularies: Vocabularies
    config: DataConfig | None = None

    def __call__(self, page: Page) -> EncodedPage:
        """Encode one page and drop pairs that are too long or too different in length."""
        source_ids = self.vocabularies.source.encode(page.source)
        target_ids = self.vocabularies.target.encode(page.target)
        rows = np.arange(len(page.source))
        dropped: list[tuple[int, str]] = []
        if self.config is not None:
            too_long, unequal = _too_long_or_unequal(source_ids.lengths, target_ids.lengths, self.config)
            dropped += [(row, "too_long") for row in np.flatnonzero(too_long).tolist()]
            dropped += [(row, "length_ratio") for row in np.flatnonzero(unequal).tolist()]
            if dropped:
                rows = np.flatnonzero(~(too_long | unequal))
                page, source_ids, target_ids = page.take(rows), source_ids.take(rows), target_ids.take(rows)
        statistics = SplitStatistics(
            pairs=len(rows),
            source=SideStatistics.of(page.source, source_ids, self.vocabularies.source),
            target=SideStatistics.of(page.target, target_ids, self.vocabularies.target),
        )
        return EncodedPage(rows, source_ids, target_ids, statistics, sorted(dropped))


def _too_long_or_unequal(
    source: NDArray[np.int64], target: NDArray[np.int64], config: DataConfig
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows that each of the two filters drops, if it is enabled; no row is in both."""
    longer, shorter = np.maximum(source, target), np.minimum(source, target)
    too_long = (longer > config.max_tokens) & config.too_long
    slack = config.ratio_slack
    unequal = longer + slack > config.max_ratio * (shorter + slack)
    return too_long, unequal & ~too_long & config.length_ratio


@dataclass
class LinkStatistics:
    """Statistics of given word alignments."""

    pairs: int = 0  # with links
    links: int = 0  # between words
    token_links: int = 0
    left_out: int = 0  # links between words that normalization or the vocabulary changed
    pairs_changed: int = 0  # with such links
    too_many_tokens: int = 0  # links between words that have too many pairs of tokens
    pairs_too_many: int = 0  # with such links

    def add(self, other: "LinkStatistics") -> None:
        """Add the statistics of more pairs."""
        for name, count in asdict(other).items():
            setattr(self, name, getattr(self, name) + count)


class SpooledRows(NamedTuple):
    """Rows of a page in the spool, which a worker reads by itself."""

    page: SpooledPage
    rows: NDArray[np.int64]  # of the page


class EncodedRows(NamedTuple):
    """What is written of a page: normalized text as UTF-8 bytes, and token ids."""

    source_text: Ragged
    target_text: Ragged
    source_ids: Ragged
    target_ids: Ragged
    statistics: SplitStatistics
    dropped: list[Dropped]  # as they were read
    links: Ragged | None  # between tokens, if word alignments were given
    link_statistics: LinkStatistics


@dataclass(frozen=True)
class SpoolEncoder:
    """Reads, normalizes and encodes rows of a spool; little more than their numbers is sent to a worker."""

    path: Path
    normalization: Normalization
    encoder: PageEncoder

    def __call__(self, rows: SpooledRows) -> EncodedRows:
        """Encode some rows of a page."""
        as_read = rows.page.read(self.path, rows.rows)
        page = as_read.normalized(self.normalization)
        encoded = self.encoder(page)
        kept = page.take(encoded.rows)
        links, link_statistics = self._links(as_read.take(encoded.rows), kept, encoded)
        return EncodedRows(
            Ragged.from_texts(kept.source),
            Ragged.from_texts(kept.target),
            encoded.source_ids,
            encoded.target_ids,
            encoded.statistics,
            [as_read.dropped(row, reason) for row, reason in encoded.dropped],
            links,
            link_statistics,
        )

    def _links(self, as_read: Page, page: Page, encoded: EncodedPage) -> tuple[Ragged | None, LinkStatistics]:
        """The links between tokens of the pairs that are kept."""
        if as_read.links is None:
            return None, LinkStatistics()
        vocabularies = self.encoder.vocabularies
        source, target = (
            words_as_read(texts, normalized, self.normalization, vocabulary, ids)
            for texts, normalized, vocabulary, ids in (
                (as_read.source, page.source, vocabularies.source, encoded.source_ids),
                (as_read.target, page.target, vocabularies.target, encoded.target_ids),
            )
        )
        links, left_out, too_many = token_links(as_read.links, source, target)
        statistics = LinkStatistics(
            pairs=int((links.lengths > 0).sum()),
            links=len(as_read.links.values),
            token_links=len(links.values),
            left_out=int(left_out.sum()),
            pairs_changed=int((left_out > 0).sum()),
            too_many_tokens=int(too_many.sum()),
            pairs_too_many=int((too_many > 0).sum()),
        )
        return links, statistics
