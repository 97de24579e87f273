"""Segments to translated segments, with every placeholder in its place, or a reason why there is no translation.

1. Each segment is cut into sentences, and tags are taken out. Placeholders stay in the text: the model may know them,
   and one that was trained with `data.placeholders = true` sees the symbols that it has learned to copy.
2. All sentences go through the translator together. Where a tag was taken out, attention says where it belongs.
3. Where a placeholder was not copied exactly, the sentence is translated without it, and it is inserted by attention.
4. The finished segment is checked, independently of all this. One that fails is left untranslated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from nmt_cli.documents.document import MAX_SEGMENT_CHARACTERS, Markup, Origin, Parts, Segment, merged
from nmt_cli.documents.insertion import Alignment, Span, restore
from nmt_cli.documents.placeholders import Recognizer, insert_accelerator, remove_accelerator
from nmt_cli.documents.sentences import Line, lines_of, without_placeholders
from nmt_cli.runtime.placeholders import SYMBOLS
from nmt_cli.runtime.words import group_pieces, words_of

_MOST_PLACEHOLDERS = 300  # in a sentence


class Translated(Protocol):
    """What is needed of a translation; translators of runs and of exported models return it."""

    @property
    def text(self) -> str:
        """The translation."""

    @property
    def source_pieces(self) -> tuple[str, ...]:
        """S pieces of the source, with <eos>."""

    @property
    def target_pieces(self) -> tuple[str, ...]:
        """T pieces of the translation, with <eos>."""

    @property
    def attention(self) -> Any:
        """Attention (T, S), if it was requested and the model has it."""

    @property
    def whole_words(self) -> tuple[bool, bool]:
        """Whether each piece is a word, source and target."""

    @property
    def reached_limit(self) -> bool:
        """Whether the maximum length ended it."""


TranslateLines = Callable[[Sequence[str], bool], Sequence[Translated]]
"""Translations of lines, with attention if requested."""


class Terms(NamedTuple):
    """Terms that translations must contain: how many there are, and how many are there."""

    required: int = 0
    met: int = 0

    def plus(self, other: Terms) -> Terms:
        """Those of both."""
        return Terms(self.required + other.required, self.met + other.met)


class Result(NamedTuple):
    """The translation of a segment, or the reason why there is none."""

    parts: Parts | None
    reason: str = ""
    origin: Origin = "machine"
    terms: Terms = Terms()


class _Restored(NamedTuple):
    """The translation of a line with its markup, or the reason why there is none."""

    parts: Parts | None
    reason: str = ""
    terms: Terms = Terms()


@dataclass(frozen=True)
class _Plan:
    """A segment, cut into lines."""

    segment: Segment
    accelerator: str
    lines: tuple[Line, ...]
    reason: str = ""  # why it cannot be translated


class SegmentTranslator:
    """Translates segments with any translator of lines."""

    def __init__(
        self, translate: TranslateLines, recognizer: Recognizer | None = None, *, symbols: bool = False
    ) -> None:
        """`symbols`: the model was trained with symbols for placeholders."""
        self._translate = translate
        self.recognizer = recognizer or Recognizer()
        self._symbols = SYMBOLS if symbols else ()

    def translate(self, segments: Sequence[Segment]) -> list[Result]:
        """One result for each segment; the lines of all of them share batches."""
        plans = [self._plan(segment) for segment in segments]
        lines = [line for plan in plans for line in plan.lines if line.is_text]
        first = self._restored(lines)
        failed = {line: None for line in lines if first[line].parts is None and line.shows}
        second = self._restored(list(map(without_placeholders, failed)))
        for line in failed:
            first[line] = second[without_placeholders(line)]
        results = [self._result(plan, first) for plan in plans]
        # What is wrong with a whole segment may be due to a line that passed.
        again = [
            row
            for row, (plan, result) in enumerate(zip(plans, results, strict=True))
            if result.parts is None
            and any(line.shows and line.is_text and line not in failed for line in plan.lines)
        ]
        if again:
            lines = [line for row in again for line in plans[row].lines if line.is_text]
            hidden = {line: without_placeholders(line) for line in lines}
            second |= self._restored([line for line in hidden.values() if line not in second])
            for row in again:
                results[row] = self._result(plans[row], {line: second[hidden[line]] for line in hidden})
        return results

    def line_count(self, segment: Segment) -> int:
        """Number of lines that the translator sees, at least 1."""
        return max(1, segment.size // 100)

    def _plan(self, segment: Segment) -> _Plan:
        if segment.size > MAX_SEGMENT_CHARACTERS:
            return _Plan(segment, "", (), f"it has {segment.size:,} characters")
        recognized, accelerator = self.recognizer.split(segment.parts, segment.syntax), ""
        if segment.accelerators:
            recognized, accelerator = remove_accelerator(recognized)
        lines = tuple(lines_of(recognized, hard_breaks=segment.hard_breaks, symbols=self._symbols))
        most = max((len(line.placed) for line in lines), default=0)
        if most > _MOST_PLACEHOLDERS:
            return _Plan(segment, "", (), f"a sentence has {most:,} placeholders")
        return _Plan(segment, accelerator, lines)

    def _restored(self, lines: Sequence[Line]) -> dict[Line, _Restored]:
        """The translations of lines with their markup, or the reasons why there are none."""
        results: dict[Line, _Restored] = {}
        distinct = list(dict.fromkeys(lines))
        for hides in (False, True):
            chosen = [line for line in distinct if line.hides is hides]
            with_text = [line for line in chosen if line.text.strip()]
            translations = self._translate([line.text for line in with_text], hides) if with_text else []
            for line, translation in zip(with_text, translations, strict=True):
                results[line] = self._line_with_markup(line, translation)
        return results

    def _line_with_markup(self, line: Line, translation: Translated) -> _Restored:
        text = translation.text.strip()
        terms = getattr(translation, "terms", ())  # exported models have none
        counts = Terms(len(terms), sum(term.met for term in terms))
        if text == line.text:
            return _Restored(line.parts, terms=counts)
        if not text or translation.reached_limit:
            return _Restored(None, "its translation is empty" if not text else "its translation is too long")
        parts = None
        if not self._symbols or _has_all_symbols(translation):
            parts = restore(line, text, aligned(line.text, text, translation) if line.hides else None)
        return _Restored(parts, "" if parts else "a placeholder was not copied", counts)

    def _result(self, plan: _Plan, translations: Mapping[Line, _Restored]) -> Result:
        if plan.reason:
            return Result(None, plan.reason)
        if all(not line.is_text or translations[line].parts == line.parts for line in plan.lines):
            return Result(plan.segment.parts)
        parts: list[str | Markup] = []
        terms = Terms()
        for line in plan.lines:
            found = translations[line] if line.is_text else _Restored(line.parts)
            if found.parts is None:
                return Result(None, found.reason)
            parts += [*line.before, *found.parts, *line.after]
            terms = terms.plus(found.terms)
        if plan.accelerator:
            recognized = self.recognizer.split(merged(parts), plan.segment.syntax)
            inserted = insert_accelerator(recognized, plan.accelerator)
            if inserted is None:
                return Result(None, f"there is no place for {plan.accelerator[0]}")
            parts = list(inserted)
        target = merged([part.raw if isinstance(part, Markup) and part.literal else part for part in parts])
        problem = self.recognizer.problem(plan.segment, target)
        return Result(None, problem) if problem else Result(target, terms=terms)


def _has_all_symbols(translation: Translated) -> bool:
    """Whether the model itself copied each symbol once: a translator adds those that are missing at the end."""
    before, after = (
        Counter(piece for piece in pieces if piece in SYMBOLS)
        for pieces in (translation.source_pieces, translation.target_pieces)
    )
    return before == after


def aligned(source: str, target: str, translation: Translated) -> Alignment | None:
    """Words with punctuation apart, their places in the texts, and A_ji = Σ_{s ∈ i} mean_{t ∈ j} α_ts between them."""
    if translation.attention is None:
        return None
    attention = np.asarray(translation.attention, np.float32)  # (T, S)
    sides: list[tuple[list[list[int]], list[Span]]] = []
    for text, pieces, whole in (
        (source, translation.source_pieces, translation.whole_words[0]),
        (target, translation.target_pieces, translation.whole_words[1]),
    ):
        groups = group_pieces(pieces, whole_words=whole, separate_punctuation=True)
        spans = _located(words_of(pieces, groups), text)
        kept = [(list(group), span) for group, span in zip(groups, spans, strict=True) if span]
        sides.append(([group for group, _ in kept], [span for _, span in kept if span]))
    (sources, source_spans), (targets, target_spans) = sides
    if not sources or not targets:
        return None
    columns = np.stack([attention[:, group].sum(axis=1) for group in sources], axis=1)  # (T, I)
    weights = np.stack([columns[group].mean(axis=0) for group in targets])  # (J, I)
    return Alignment(source_spans, target_spans, weights)


def _located(words: Iterable[str], text: str) -> list[Span | None]:
    """Where each word stands in the text; None for one that is not there, because it was normalized."""
    lowered = text.lower()
    same = len(lowered) == len(text)
    spans: list[Span | None] = []
    position = 0
    for word in words:
        at = lowered.find(word.lower(), position) if same else text.find(word, position)
        if at < 0 or not word:
            spans.append(None)
            continue
        spans.append((at, at + len(word)))
        position = at + len(word)
    return spans
