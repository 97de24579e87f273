"""Cleaning the text of training pairs: normalization, then filters, each with a name.

Normalization (symbols for placeholders, lower case and the user's table of replacements) applies to all text. Filters
apply to training pairs only: a pair is dropped as a whole, for the first reason that applies.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config import DataConfig
from nmt_cli.corpus.block import Block
from nmt_cli.corpus.duplicates import Fingerprints, fingerprints
from nmt_cli.errors import CorpusError
from nmt_cli.runtime.placeholders import Masked, PlaceholderSymbols, outside_symbols


@dataclass(frozen=True)
class Normalization:
    """Placeholders become symbols, then text becomes lower case, then each replacement in the order of the table."""

    lowercase: bool = False
    replacements: tuple[tuple[str, str], ...] = ()
    placeholders: PlaceholderSymbols | None = None  # None: they are ordinary text

    def __call__(self, text: str) -> str:
        """The text as the vocabulary sees it."""
        return self._changed(text) if self.placeholders is None else self.masked(text).text

    def masked(self, text: str) -> Masked:
        """The text as the vocabulary sees it, with the placeholders of which it sees symbols."""
        if self.placeholders is None:
            return Masked(self._changed(text), ())
        masked = self.placeholders.mask(text)
        return masked._replace(text=outside_symbols(masked.text, self._changed))

    def pair(self, source: str, target: str) -> tuple[str, str]:
        """A text and its translation, whose placeholders have the same symbols."""
        if self.placeholders is None:
            return self._changed(source), self._changed(target)
        source, target = self.placeholders.mask_pair(source, target)
        return outside_symbols(source, self._changed), outside_symbols(target, self._changed)

    def target(self, text: str, originals: Sequence[str]) -> str:
        """A translation, or its beginning, with the symbols of a source whose placeholders are `originals`."""
        if self.placeholders is None:
            return self._changed(text)
        return outside_symbols(self.placeholders.mask_target(text, originals), self._changed)

    def _changed(self, text: str) -> str:
        if self.lowercase:
            text = text.lower()
        for old, new in self.replacements:
            text = text.replace(old, new)
        return text

    @property
    def without_placeholders(self) -> "Normalization":
        """The same for a text whose placeholders are ordinary text, such as a term."""
        return replace(self, placeholders=None)

    def function(self) -> Callable[[str], str] | None:
        """The normalization itself, or None if it changes nothing, so that callers can skip the work."""
        return self if self.lowercase or self.replacements or self.placeholders else None


def normalization_of(config: DataConfig) -> Normalization:
    """The normalization in these settings; the table of replacements is read."""
    table = config.normalization
    return Normalization(
        config.lowercase, read_replacements(table) if table else (), placeholder_symbols(config)
    )


def placeholder_symbols(config: DataConfig) -> PlaceholderSymbols | None:
    """What replaces placeholders, if these settings say so."""
    return PlaceholderSymbols(config.placeholder_patterns) if config.placeholders else None


def write_replacements(path: Path, replacements: tuple[tuple[str, str], ...]) -> None:
    """Write a table that `read_replacements` reads."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{old}\t{new}\n" for old, new in replacements)


def read_replacements(path: Path) -> tuple[tuple[str, str], ...]:
    """Read a table of two tab-separated columns (from, to); an empty second column deletes."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CorpusError(
            f"cannot read the normalization table {path}: {error.strerror}",
            hint="data.normalization names a TSV file with two columns: from, to",
        ) from error
    return parse_replacements(content, path)


def parse_replacements(content: bytes, path: Path) -> tuple[tuple[str, str], ...]:
    """The replacements in the content of the table at `path`."""
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"the normalization table {path} is not UTF-8", hint="convert it with iconv"
        ) from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        old, tab, new = line.removesuffix("\r").partition("\t")
        if not tab or not old or "\t" in new:
            raise CorpusError(
                f"{path} line {number} is not a replacement: {line!r}",
                hint="write two columns with one tab between them: from, to",
            )
        rows.append((old, new))
    return tuple(rows)


Texts = list[str]


def _contains(pattern: str) -> Callable[[Texts, Texts], Iterable[int]]:
    """Rows with a match on either side. The whole block is searched first, which is cheap: few have any."""
    search = re.compile(pattern).search

    def rows(source: Texts, target: Texts) -> Iterable[int]:
        if not search("\n".join(source)) and not search("\n".join(target)):
            return []
        return [row for row, (s, t) in enumerate(zip(source, target, strict=True)) if search(s) or search(t)]

    return rows


def _blank(source: Texts, target: Texts) -> Iterable[int]:
    return [
        row for row, (s, t) in enumerate(zip(source, target, strict=True)) if not (s.strip() and t.strip())
    ]


def _equal(source: Texts, target: Texts) -> Iterable[int]:
    return [row for row, (s, t) in enumerate(zip(source, target, strict=True)) if s == t]


TEXT_FILTERS: dict[str, Callable[[Texts, Texts], Iterable[int]]] = {
    "undecodable": _contains("\ufffd"),
    "control": _contains("[\x00-\x08\x0b-\x1f\x7f-\x9f]"),
    "blank": _blank,
    "copy_of_source": _equal,
}
"""The filters that look at the text of a pair alone, and the rows of a block that each one drops.

The other filters need the whole corpus (`duplicate`, `in_heldout`) or token counts (`too_long`, `length_ratio`)."""


class Dropped(NamedTuple):
    """A pair dropped from train, as it was read, and why."""

    corpus: int  # which of the --train corpora
    line: int  # from 1
    reason: str
    source: str
    target: str


class Cleaned(NamedTuple):
    """The pairs of a block that are kept, as they were read, except that sources have the tag of their corpus.

    Fingerprints are of the normalized text without tags, so a pair that repeats one of another corpus is a duplicate.
    """

    lines: list[int]
    source: Texts
    target: Texts
    source_fingerprints: Fingerprints
    target_fingerprints: Fingerprints
    dropped: list[Dropped]


@dataclass(frozen=True)
class Cleaner:
    """Applies the enabled filters to the normalized training pairs of a block."""

    config: DataConfig
    normalization: Normalization
    monolingual: bool = False
    tags: Sequence[str] = ()  # of the corpora, "" for none: put before each source that the filters keep

    def clean(self, corpus: int, block: Block) -> Cleaned:
        """Clean one block of the corpus with the given number."""
        normalize = self.normalization.function()
        sources, targets = block.source, block.target
        if normalize is not None:
            sources, targets = [normalize(text) for text in sources], [normalize(text) for text in targets]
        reasons = self._reasons(targets if self.monolingual else sources, targets, block.damage)
        dropped = [
            Dropped(corpus, block.number(row), why, block.source[row], block.target[row])
            for row, why in reasons.items()
        ]
        rows = [row for row in range(len(sources)) if row not in reasons]

        def kept(texts: Texts) -> Texts:
            return [texts[row] for row in rows] if reasons else texts

        return Cleaned(
            [block.number(row) for row in rows] if block.numbers else [block.first + row for row in rows],
            self._tagged(corpus, kept(block.source)),
            kept(block.target),
            fingerprints(kept(sources)),
            fingerprints(kept(targets)),
            dropped,
        )

    def _tagged(self, corpus: int, sources: Texts) -> Texts:
        tag = self.tags[corpus] if self.tags else ""
        return [f"{tag} {source}" for source in sources] if tag else sources

    def _reasons(self, source: Texts, target: Texts, damage: Mapping[int, str]) -> dict[int, str]:
        """Row → the first reason to drop it."""
        reasons = {row: why for row, why in damage.items() if why == "malformed" or self.config.undecodable}
        for name, rows in TEXT_FILTERS.items():
            if getattr(self.config, name):
                for row in rows(source, target):
                    reasons.setdefault(row, name)
        return dict(sorted(reasons.items()))
