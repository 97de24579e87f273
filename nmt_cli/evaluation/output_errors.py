"""Errors that can be seen in a single hypothesis: empty, untranslated, repeating itself, or missing a number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from operator import eq

from nmt_cli.evaluation.result import ErrorLines, OutputErrors
from nmt_cli.evaluation.texts import Lines

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LONGEST = 6  # words of a repeated phrase
_THRICE_BELOW = 3  # shorter phrases must occur three times in a row: "very very" is fine
_KEPT = 20  # line numbers that are reported for each error


class OutputErrorCounter:
    """The line numbers (from 1) of one system's hypotheses that have each error."""

    def __init__(self) -> None:
        self.empty: list[int] = []
        self.untranslated: list[int] = []
        self.repeated: list[int] = []
        self.dropped_numbers: list[int] = []
        self.with_numbers = 0  # lines with a number that should be kept

    def observe(self, lines: Lines, hypotheses: Sequence[str]) -> None:
        """Check the next hypotheses."""
        for row, hypothesis in enumerate(hypotheses):
            line = lines.first + row
            references = [texts[row] or "" for texts in lines.references]
            source = lines.sources[row] if lines.sources is not None else None
            if not hypothesis or hypothesis.isspace():
                if any(text.strip() for text in references):
                    self.empty.append(line)
                continue
            if source is not None and hypothesis == source and hypothesis not in references:
                self.untranslated.append(line)
            if has_loop(hypothesis) and not any(map(has_loop, references)):
                self.repeated.append(line)
            if expected := _numbers_to_keep(references, source):
                self.with_numbers += 1
                if expected - _numbers(hypothesis):
                    self.dropped_numbers.append(line)

    def result(self, lines: int, *, has_source: bool) -> OutputErrors:
        """The errors in so many lines; without the source, nothing is known about untranslated ones."""
        return OutputErrors(
            empty=_error_lines(self.empty, lines),
            untranslated=_error_lines(self.untranslated, lines) if has_source else None,
            repeated=_error_lines(self.repeated, lines),
            dropped_numbers=_error_lines(self.dropped_numbers, self.with_numbers),
        )


def has_loop(text: str) -> bool:
    """Whether a phrase of one or two words occurs three times in a row, or one of three to six words twice."""
    words = text.split()
    if len(words) < 3 and len(text) > 20:
        words = list(text)  # no spaces: compare characters
    for period in range(1, min(_LONGEST, len(words) // 2) + 1):
        needed = 2 * period if period < _THRICE_BELOW else period
        same = list(map(eq, words, words[period:]))
        if sum(same) >= needed and _longest_run(same, words) >= needed:
            return True
    return False


def _error_lines(numbers: list[int], total: int) -> ErrorLines:
    return ErrorLines(count=len(numbers), of=total, lines=numbers[:_KEPT])


def _longest_run(same: Sequence[bool], words: Sequence[str]) -> int:
    """The longest run of repeated words that does not consist of punctuation only."""
    longest = run = 0
    lettered = False
    for is_same, word in zip(same, words, strict=False):
        run = run + 1 if is_same else 0
        lettered = is_same and (lettered or any(character.isalnum() for character in word))
        if lettered:
            longest = max(longest, run)
    return longest


def _numbers_to_keep(references: Sequence[str], source: str | None) -> Counter[str]:
    """The numbers that all references have, and the source too if it is known."""
    texts = [*filter(None, references), *([source] if source else [])]
    if not texts:
        return Counter()
    kept = _numbers(texts[0])
    for text in texts[1:]:
        if not kept:
            break
        kept &= _numbers(text)
    return kept


def _numbers(text: str) -> Counter[str]:
    """Numbers as digits only, because 1,000 in one language is 1.000 in another."""
    return Counter(re.sub("[.,]", "", number) for number in _NUMBER.findall(text))
