"""Translation memory: a text that was translated before is not translated again.

    memory = TranslationMemory.load(Path("memory.tmx"), "en", "de", threshold=75)
    match = memory.lookup("Open the file", context="menu")

A match is exact, and then it replaces the translation, or near, and then it is an offer that someone has to look at.

Lines go through `MemoryLines`, which spares the translator those with an exact match, and segments of documents
through `MemorySegments`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nmt_cli.corpus import parse_spec, read_pairs
from nmt_cli.corpus.localization.reader import localization_format, read_units
from nmt_cli.corpus.locate import table_kind
from nmt_cli.documents.document import Segment, plain
from nmt_cli.documents.segment_translation import Result, SegmentTranslator
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.byte_stream import check_readable

DEFAULT_THRESHOLD = 75.0
"""Similarity in percent from which a translation is offered; as in tools for translators."""
EXACT = 100.0

# No translation contains these; a memory may come from anywhere, and a terminal would obey them.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LINE_BREAK = re.compile("\r?\n|\r")

Window = TypeVar("Window", bound=Any)


class Match(NamedTuple):
    """What the memory has for a text."""

    source: str  # as it is in the memory
    target: str
    similarity: float  # percent

    @property
    def is_exact(self) -> bool:
        """Whether the memory has the text itself, apart from white space at line breaks and ends."""
        return self.similarity == EXACT


class TranslationMemory:
    """Finished translations, found by their source. It is held in memory as a whole."""

    def __init__(
        self, units: Iterable[tuple[str, str, str]], *, threshold: float = DEFAULT_THRESHOLD
    ) -> None:
        """`units` are source, target and context; a threshold of 100 finds exact matches only."""
        self.threshold = threshold
        self.exact = self.near = 0  # matches found so far
        self._targets: dict[str, Counter[str]] = {}  # normalized source → how often it has each target
        self._in_context: dict[tuple[str, str], str] = {}
        self._sources: dict[str, str] = {}  # as they are in the memory
        for source, target, context in units:
            if _CONTROL.search(target):
                continue
            key = _normalized(source)
            self._targets.setdefault(key, Counter())[target] += 1
            self._sources.setdefault(key, source)
            if context:
                self._in_context[key, context] = target
        # By length: only texts of about the same length can be similar.
        self._keys = sorted(self._targets, key=len)
        self._lengths = [len(key) for key in self._keys]

    @classmethod
    def load(
        cls, path: Path, source_lang: str, target_lang: str, *, threshold: float = DEFAULT_THRESHOLD
    ) -> TranslationMemory:
        """Read a TMX, PO, XLIFF, TSV, CSV or JSON lines file; a file without translations is a CorpusError."""
        check_readable(path)
        memory = cls(_units(path, source_lang, target_lang), threshold=threshold)
        if not len(memory):
            raise CorpusError(
                f"{path} has no finished translations from {source_lang} to {target_lang}",
                hint="check the languages in the file, or give another memory",
            )
        return memory

    def __len__(self) -> int:
        return len(self._keys)

    def lookup(self, text: str, context: str = "") -> Match | None:
        """The translation of this text, or of the most similar one; None if nothing is similar enough.

        If the memory has several translations, the one with the same context wins, then the most frequent one.
        """
        key = _normalized(text)
        if not key:
            return None
        if key in self._targets:
            return Match(self._sources[key], self._target(key, context), EXACT)
        found = self._most_similar(key) if self.threshold < EXACT else None
        if found is None:
            return None
        similar, similarity = found
        # Normalized texts that differ are never the same text.
        return Match(self._sources[similar], self._target(similar, context), min(similarity, EXACT - 0.01))

    def count(self, match: Match) -> None:
        """Note that a match was used, for the summary."""
        self.exact += match.is_exact
        self.near += not match.is_exact

    def digest(self) -> str:
        """A hash of everything that lookups depend on."""
        content = hashlib.sha256(f"{self.threshold:g}".encode())
        for key in self._keys:
            content.update("\0".join([key, *self._targets[key].elements()]).encode())
        return content.hexdigest()

    def summary(self) -> str:
        """The number of matches so far, for people."""
        exact = f"{self.exact:,} exact match{'es'[: 2 * (self.exact != 1)]} reused"
        near = f"{self.near:,} near match{'es'[: 2 * (self.near != 1)]}"
        if self.threshold == EXACT:
            return f"memory: {exact}"
        return f"memory: {exact}, {near} (at least {self.threshold:g}% similar)"

    def _target(self, key: str, context: str) -> str:
        if context and (found := self._in_context.get((key, context))) is not None:
            return found
        return self._targets[key].most_common(1)[0][0]

    def _most_similar(self, key: str) -> tuple[str, float] | None:
        """The most similar source and its similarity: 1 - (insertions + deletions) / (sum of both lengths)."""
        from rapidfuzz import fuzz, process

        # A similarity of t needs lengths m ≤ n with 2 m / (m + n) ≥ t.
        share = self.threshold / 100
        shortest, longest = len(key) * share / (2 - share), len(key) * (2 - share) / share
        candidates = self._keys[bisect_left(self._lengths, shortest) : bisect_right(self._lengths, longest)]
        found = process.extractOne(key, candidates, scorer=fuzz.ratio, score_cutoff=self.threshold)
        return None if found is None else (str(found[0]), float(found[1]))


def _normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _units(path: Path, source_lang: str, target_lang: str) -> Iterator[tuple[str, str, str]]:
    if kind := localization_format(path.name):
        for unit in read_units(kind, path, source_lang=source_lang, target_lang=target_lang):
            if not unit.skipped and not unit.damaged:
                yield unit.source, unit.target, unit.context
    elif table_kind(path.name):
        spec = parse_spec(str(path), source_lang=source_lang, target_lang=target_lang)
        for block in read_pairs(spec):
            for row, (source, target) in enumerate(zip(block.source, block.target, strict=True)):
                if row not in block.damage and source.strip() and target.strip():
                    yield source, target, ""
    else:
        raise UsageError(
            f"{path} is not a translation memory",
            hint="give a file that ends in .tmx, .po, .xlf, .tsv, .csv or .jsonl",
        )


class MemoryLines:
    """Lines for a translator, blank where the memory has an exact match, which costs the translator nothing.

    `restored` puts the matches into the translated windows.
    """

    def __init__(self, memory: TranslationMemory, lines: Iterable[str]) -> None:
        self._memory = memory
        self._lines = lines
        self._waiting: deque[tuple[int, str, Match | None]] = deque()  # number from 0, line, match
        self.matches: dict[int, Match] = {}  # of the last window, by number from 1

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._lines):
            match = self._memory.lookup(line)
            if match:
                self._memory.count(match)
            self._waiting.append((number, line, match))
            yield "" if match and match.is_exact else line

    def restored(self, windows: Iterable[Window]) -> Iterator[Window]:
        """The windows of translated lines with the original sources, and with the translations of the memory."""
        for window in windows:
            while (
                self._waiting[0][0] < window.first
            ):  # lines that were not translated, because they were before
                self._waiting.popleft()
            sources, translations = [], []
            self.matches = {}
            for translation in window.translations:
                number, line, match = self._waiting.popleft()
                if match:
                    self.matches[number + 1] = match
                if match and match.is_exact:
                    text = _LINE_BREAK.sub(" ", match.target)  # one line in, one line out
                    translation = replace(translation, text=text, source=line)
                sources.append(line)
                translations.append(translation)
            yield window._replace(sources=sources, translations=translations)


class MemorySegments:
    """Translates segments with the memory first, and with a translator what it does not have.

    An exact match is used as it is. A near match is used only where the format can mark it as one that needs a review.
    Neither is used if it lacks a placeholder of the source, nor for texts with inline markup, which a memory has not.
    """

    def __init__(self, memory: TranslationMemory, translator: SegmentTranslator) -> None:
        self._memory = memory
        self._translator = translator

    def line_count(self, segment: Segment) -> int:
        """Number of lines that the translator sees, at least 1."""
        return self._translator.line_count(segment)

    def translate(self, segments: Sequence[Segment]) -> list[Result]:
        """One result for each segment."""
        known = {segment: result for segment in segments if (result := self._result(segment)) is not None}
        rest = [segment for segment in segments if segment not in known]
        known |= zip(rest, self._translator.translate(rest), strict=True)
        return [known[segment] for segment in segments]

    def _result(self, segment: Segment) -> Result | None:
        if not all(isinstance(part, str) for part in segment.parts):
            return None
        match = self._memory.lookup(plain(segment.parts), segment.context)
        if match is None or not (match.is_exact or segment.can_be_marked):
            return None
        if self._translator.recognizer.problem(segment, (match.target,)):
            return None
        self._memory.count(match)
        return Result((match.target,), origin="memory" if match.is_exact else "similar")
