"""Terminology: which target terms a translation must contain because its source contains the source term.

A term is found in a source, and looked for in a translation, as a sequence of whole words. Words are runs of letters
and digits; other characters, and those of scripts without spaces, stand alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.defaults import TERMS_CASE, TERMS_INFLECTION, TermsCase
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.byte_stream import check_readable, read_chunks
from nmt_cli.files.line_reader import LineReader
from nmt_cli.search.constraints import normal_form

# Thai, Lao, Burmese, Khmer, Japanese, Chinese
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_NO_SPACES}]|[^\W{_NO_SPACES}]+|[^\w\s]")
_SHORTEST_STEM = 3  # letters; shorter words have no inflected forms: "a" is not the stem of "and"

TermPair = tuple[str, str]
"""Source term and target term."""


class RequiredTerm(NamedTuple):
    """A term found in a source, and what its translation must contain: any one of the targets."""

    source: str  # as in the glossary; "" if the target is required whatever the source is
    targets: tuple[str, ...]


class TermResult(NamedTuple):
    """Whether a translation contains a required term."""

    source: str
    target: str  # the one that it contains, else the first that would do
    met: bool


class _Entry(NamedTuple):
    source: str
    words: tuple[str, ...]  # of the source, lower case unless case matters
    targets: tuple[str, ...]


class Glossary:
    """Terms by the first word of their source. Several targets for one source are alternatives.

    case         adapt: ignore the case of the source; the target may be capitalized as the source is
                 keep: ignore the case of the source; the target is used as given
                 exact: the case of the source must agree; the target is used as given
    inflection   number of letters that may follow each word of a source term: 1 finds "dogs" with "dog"
    """

    def __init__(
        self,
        terms: Iterable[TermPair] = (),
        *,
        case: TermsCase = TERMS_CASE,
        inflection: int = TERMS_INFLECTION,
        normalization: Callable[[str], str] = str,
    ) -> None:
        self.case: TermsCase = case
        self.inflection = inflection
        self._normalization = normalization
        targets: dict[str, list[str]] = {}
        for source, target in terms:
            targets.setdefault(self._normal(source), []).append(self._normal(target))
        self._by_first_word: dict[str, list[_Entry]] = {}
        for source, found in targets.items():
            entry = _Entry(source, tuple(map(self._key, words_of(source))), tuple(dict.fromkeys(found)))
            self._by_first_word.setdefault(entry.words[0], []).append(entry)

    def __bool__(self) -> bool:
        return bool(self._by_first_word)

    def changed(self, terms: Iterable[TermPair]) -> Glossary:
        """A glossary of other terms that are matched in the same way."""
        return Glossary(terms, case=self.case, inflection=self.inflection, normalization=self._normalization)

    def fingerprint(self) -> list[str]:
        """What identifies the glossary, for `PartialOutput`."""
        entries = sorted(entry for found in self._by_first_word.values() for entry in found)
        return [self.case, str(self.inflection), hashlib.sha256(repr(entries).encode()).hexdigest()]

    def find(self, text: str, *others: Glossary) -> tuple[RequiredTerm, ...]:
        """The terms in a normalized text, from left to right: the longest one at each word, without overlaps.

        `others` are further glossaries; of two terms for the same words, that of the later glossary applies.
        """
        words = words_of(text)
        keys = [self._key(word) for word in words]
        found: list[RequiredTerm] = []
        position = 0
        while position < len(words):
            matches = [
                (len(entry.words), -extra, rank, entry)
                for rank, glossary in enumerate((self, *others))
                for entry, extra in glossary._matches(keys, position)
            ]
            if not matches:
                position += 1
                continue
            length, _, _, entry = max(matches, key=lambda match: match[:3])
            as_found = words[position : position + length]
            found.append(RequiredTerm(entry.source, self._adapted(entry, as_found)))
            position += length
        return tuple(found)

    def _matches(self, keys: Sequence[str], position: int) -> Iterable[tuple[_Entry, int]]:
        """The entries found at a position, with the number of letters that they lack."""
        first = keys[position]
        for letters in range(min(self.inflection, max(0, len(first) - _SHORTEST_STEM)) + 1):
            for entry in self._by_first_word.get(first[: len(first) - letters], ()):
                window = keys[position : position + len(entry.words)]
                if len(window) == len(entry.words):
                    extra = [self._extra_letters(*pair) for pair in zip(window, entry.words, strict=True)]
                    if None not in extra:
                        yield entry, sum(letters or 0 for letters in extra)

    def _extra_letters(self, word: str, stem: str) -> int | None:
        """By how many letters a word is longer than the word of a term; None if it is another word."""
        extra = len(word) - len(stem)
        if extra == 0:
            return 0 if word == stem else None
        inflected = 0 < extra <= self.inflection and len(stem) >= _SHORTEST_STEM and word.startswith(stem)
        return extra if inflected and word[len(stem) :].isalpha() else None

    def _adapted(self, entry: _Entry, found: Sequence[str]) -> tuple[str, ...]:
        """The targets, and their capitalized forms if the source is capitalized in the text but not in the glossary."""
        if self.case != "adapt":
            return entry.targets
        text, more = "".join(found), list[str]()
        if text.isupper() and len(text) > 1 and not entry.source.isupper():
            more = [target.upper() for target in entry.targets]
        elif text[:1].isupper() and not entry.source[:1].isupper():
            more = [target[:1].upper() + target[1:] for target in entry.targets]
        return tuple(dict.fromkeys((*entry.targets, *more)))

    def _normal(self, text: str) -> str:
        return " ".join(self._normalization(text).split())

    def _key(self, word: str) -> str:
        return word if self.case == "exact" else word.lower()


def words_of(text: str) -> list[str]:
    """The words and marks of a text."""
    return _WORD.findall(text)


def is_without_spaces(text: str) -> bool:
    """Whether a text begins in a script without spaces between words."""
    return re.match(rf"[{_NO_SPACES}]", text) is not None


def check_terms(required: Sequence[RequiredTerm], text: str) -> tuple[TermResult, ...]:
    """Which of the required terms a translation contains, each at a place of its own; longer ones choose first."""
    words: list[str | None] = list(words_of(text))
    results: dict[int, TermResult] = {}
    longest_first = sorted(enumerate(required), key=lambda one: -max(map(len, one[1].targets)))
    for index, (source, targets) in longest_first:
        results[index] = TermResult(source, targets[0], met=False)
        for target in targets:
            parts = words_of(target)
            starts = range(len(words) - len(parts) + 1)
            start = next((i for i in starts if words[i : i + len(parts)] == parts), None)
            if start is not None and parts:
                words[start : start + len(parts)] = [None] * len(parts)
                results[index] = TermResult(source, target, met=True)
                break
    return tuple(results[index] for index in range(len(required)))


@dataclass(frozen=True)
class BannedList:
    """Words and phrases that no translation may contain.

    A word in lower case is banned however it is capitalized, one with a capital letter only as it is written.
    """

    words: tuple[str, ...] = ()

    def by_case(self) -> dict[bool, list[str]]:
        """The words whose case is ignored (True), and those whose case counts (False)."""
        groups: dict[bool, list[str]] = {}
        for word in self.words:
            groups.setdefault(word == word.lower(), []).append(word)
        return groups

    def find(self, text: str) -> str | None:
        """A banned word that a text contains, if there is one."""
        for ignore_case, words in self.by_case().items():
            inside = _spaced(text, ignore_case=ignore_case)
            for word in words:
                if _spaced(word, ignore_case=ignore_case) in inside:
                    return word
        return None


def _spaced(text: str, *, ignore_case: bool) -> str:
    return f" {' '.join(normal_form(text, ignore_case=ignore_case).split())} "


def read_terms(path: Path) -> list[TermPair]:
    """The terms of a TSV file with two columns, source and target; blank lines do not count."""
    terms = []
    for number, line in _lines(path):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2 or not all(words_of(column) for column in columns):
            raise CorpusError(
                f"{path}, line {number} is not a term: {line[:80]!r}",
                hint="write two columns with one tab between them: source term, target term",
            )
        terms.append((columns[0], columns[1]))
    return terms


def read_banned(path: Path) -> list[str]:
    """The words or phrases of a file, one on each line; blank lines do not count."""
    words = []
    for number, line in _lines(path):
        if not normal_form(line, ignore_case=False).strip():
            raise CorpusError(
                f"{path}, line {number} has no letters or digits: {line[:80]!r}",
                hint="write one word or phrase on each line",
            )
        words.append(line.strip())
    return words


def check_pair(term: Sequence[str]) -> None:
    """A term of a request must be a pair, or a target alone."""
    if isinstance(term, str) or len(term) not in (1, 2) or not all(words_of(text) for text in term):
        raise UsageError(
            f"{term!r} is not a term", hint='give source and target, ["dog", "Hund"], or a target alone'
        )


def _lines(path: Path) -> Iterable[tuple[int, str]]:
    check_readable(path)
    reader = LineReader(str(path), read_chunks(path))
    for number, line in enumerate(reader, start=1):
        if number in reader.undecodable:
            raise CorpusError(f"{path}, line {number} is not UTF-8", hint="convert it with iconv")
        if line.strip():
            yield number, line
