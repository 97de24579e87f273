"""Faults of single hypotheses: nothing there, left untranslated, caught in a loop, numbers lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import eq

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LONGEST = 6  # words of a sequence that is looked for
_THRICE_BELOW = 3  # shorter sequences must stand three times in a row: "very very" is language


@dataclass
class Faults:
    """The lines (from 1) of one system that have each fault."""

    empty: list[int] = field(default_factory=list)
    untranslated: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    dropped_numbers: list[int] = field(default_factory=list)
    with_numbers: int = 0  # lines that have a number to keep

    def observe(
        self,
        first: int,
        hypotheses: Sequence[str],
        references: Sequence[Sequence[str | None]],
        sources: Sequence[str] | None,
    ) -> None:
        """Take the next lines; `references` has one list for each file."""
        for row, hypothesis in enumerate(hypotheses):
            line = first + row
            texts = [texts[row] or "" for texts in references]
            source = sources[row] if sources is not None else None
            if not hypothesis or hypothesis.isspace():
                if any(text.strip() for text in texts):
                    self.empty.append(line)
                continue
            if source is not None and hypothesis == source and hypothesis not in texts:
                self.untranslated.append(line)
            if has_loop(hypothesis) and not any(map(has_loop, texts)):
                self.repeated.append(line)
            if expected := _numbers_to_keep(texts, source):
                self.with_numbers += 1
                if expected - _numbers(hypothesis):
                    self.dropped_numbers.append(line)


def has_loop(text: str) -> bool:
    """Whether up to two words stand three times in a row, or three to six words twice."""
    words = text.split()
    if len(words) < 3 and len(text) > 20:
        words = list(text)  # no spaces: characters
    for period in range(1, min(_LONGEST, len(words) // 2) + 1):
        needed = 2 * period if period < _THRICE_BELOW else period
        same = list(map(eq, words, words[period:]))
        if sum(same) >= needed and _longest_run(same, words) >= needed:
            return True
    return False


def _longest_run(same: Sequence[bool], words: Sequence[str]) -> int:
    """The longest run of equal words that has more in it than dots and dashes."""
    longest = run = 0
    lettered = False
    for is_same, word in zip(same, words, strict=False):
        run = run + 1 if is_same else 0
        lettered = is_same and (lettered or any(character.isalnum() for character in word))
        if lettered:
            longest = max(longest, run)
    return longest


def _numbers_to_keep(references: Sequence[str], source: str | None) -> Counter[str]:
    """Numbers that every reference has, and the source too if there is one."""
    texts: Iterator[str] = iter([*(text for text in references if text), *([source] if source else [])])
    kept = _numbers(next(texts, ""))
    for text in texts:
        if not kept:
            break
        kept &= _numbers(text)
    return kept


def _numbers(text: str) -> Counter[str]:
    """Numbers as digits only: 1,000 is 1.000 elsewhere."""
    return Counter(re.sub("[.,]", "", number) for number in _NUMBER.findall(text))
