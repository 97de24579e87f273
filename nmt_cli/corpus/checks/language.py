"""Which language a text is in.

Whether each side of a corpus is in the expected language is judged by its script and its function words. Which of a few
known languages a text is in, is told by its letters: a `LetterProfile` counts the letter trigrams (and bigrams and
letters) of a sample of text in one language. It predicts each letter from the two before it, as an interpolated
language model:

    P(c | ab) = λ₃ n(abc)/n(ab) + λ₂ n(bc)/n(b) + λ₁ n(c)/n + λ₀/V

Languages are compared by Bayes' rule, together with an unknown one that predicts every letter equally badly.
Neighboring letters are not independent, so their evidence is discounted, or every word would be certain.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.checks.language_profiles import (
    FUNCTION_WORDS,
    RANGE_SCRIPTS,
    RANGE_STARTS,
    SCRIPTS,
    SIMILAR_LANGUAGES,
    base_language,
    scripts_of,
)

_WORD = re.compile(r"[^\W\d_]+")
_STARTS = np.array(RANGE_STARTS)
_SCRIPT_OF_RANGE = np.array(RANGE_SCRIPTS)
_UNSCRIPTED = SCRIPTS.index("")

_MIN_WORDS = 200
_MIN_LETTERS = 400
_CLEAR_SHARE = 0.12  # of function words among all words; running text has 0.25 to 0.45
_CLEARER = 2.0
_BIGRAM_BUCKETS = 2048
_WEIGHTS = (0.005, 0.1, 0.245, 0.65)  # λ₀ to λ₃
_ALPHABET = 1000  # V: letters of any script that a text may use
_UNKNOWN = -math.log(30)  # log P of a letter in an unknown language
_DISCOUNT = 0.25  # of the evidence of each letter
_MAX_LETTERS = 1000  # of a text are looked at
_KEPT = 1000  # n-grams of a profile
_MAX_SAMPLE = 200_000  # characters
_OTHER = re.compile(r"[\W\d_]+")


@dataclass
class SideProfile:
    """Counts from a sample of one side; its size does not depend on the corpus."""

    language: str
    words: int = 0
    hits: Counter[str] = field(default_factory=Counter)  # language → number of its function words
    scripts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(SCRIPTS), dtype=np.int64))
    bigrams: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BIGRAM_BUCKETS, dtype=np.int64))

    def observe(self, lines: list[str]) -> None:
        """Take a sample of lines."""
        text = "\n".join(lines).lower()
        counts = Counter(_WORD.findall(text))
        self.words += counts.total()
        for language, words in FUNCTION_WORDS.items():
            self.hits[language] += sum(counts[word] for word in words)
        points = np.frombuffer(text.encode("utf-32-le", "replace"), dtype=np.uint32)
        found = _SCRIPT_OF_RANGE[np.searchsorted(_STARTS, points, side="right") - 1]
        self.scripts += np.bincount(found, minlength=len(SCRIPTS))
        pairs = (points[:-1].astype(np.int64) * 31 + points[1:]) % _BIGRAM_BUCKETS
        self.bigrams += np.bincount(pairs, minlength=_BIGRAM_BUCKETS)

    def add(self, other: SideProfile) -> None:
        """Add the counts of another sample."""
        self.words += other.words
        self.hits.update(other.hits)
        self.scripts += other.scripts
        self.bigrams += other.bigrams

    @property
    def letters(self) -> int:
        """Letters of any known script."""
        return int(self.scripts.sum() - self.scripts[_UNSCRIPTED])

    def share_of_scripts(self, scripts: frozenset[str]) -> float:
        """The share of letters in some scripts."""
        return sum(int(self.scripts[SCRIPTS.index(name)]) for name in scripts) / max(self.letters, 1)

    def share_of_words(self, language: str) -> float:
        """The share of the function words of a language among all words."""
        return self.hits[language] / max(self.words, 1)

    def main_script(self) -> str:
        """The script of most letters."""
        counts = self.scripts.copy()
        counts[_UNSCRIPTED] = -1
        return SCRIPTS[int(np.argmax(counts))]

    def likely_language(self) -> str | None:
        """The language whose function words are clearly more frequent than those of any other."""
        if self.words < _MIN_WORDS:
            return None
        (first, hits), *others = self.hits.most_common()
        rivals = [count for language, count in others if not _close(language, first)]
        clear = hits >= _CLEAR_SHARE * self.words and hits >= 1.5 * rivals[0]
        return first if clear else None

    def similarity(self, other: SideProfile) -> float:
        """Cosine of the letter bigrams: near 1 for two texts in one language."""
        norm = float(np.linalg.norm(self.bigrams) * np.linalg.norm(other.bigrams))
        return float(self.bigrams @ other.bigrams) / norm if norm else 0.0


def swapped(source: SideProfile, target: SideProfile) -> bool:
    """Whether each side looks like the language of the other."""
    source_scripts, target_scripts = scripts_of(source.language), scripts_of(target.language)
    if source_scripts and target_scripts and not source_scripts & target_scripts:
        straight = source.share_of_scripts(source_scripts) + target.share_of_scripts(target_scripts)
        crossed = source.share_of_scripts(target_scripts) + target.share_of_scripts(source_scripts)
        return min(source.letters, target.letters) >= _MIN_LETTERS and crossed > straight + 0.5
    languages = base_language(source.language), base_language(target.language)
    if languages[0] == languages[1] or min(source.words, target.words) < _MIN_WORDS:
        return False
    known = [language for language in languages if language in FUNCTION_WORDS]
    own_side = {languages[0]: source, languages[1]: target}
    other_side = {languages[0]: target, languages[1]: source}
    expected = sum(own_side[language].share_of_words(language) for language in known)
    crossed = sum(other_side[language].share_of_words(language) for language in known)
    return bool(known) and crossed > _CLEARER * expected and crossed > _CLEAR_SHARE * len(known)


def foreign_script(side: SideProfile) -> str | None:
    """The script of a side that is written almost entirely in another script than its language's."""
    scripts = scripts_of(side.language)
    if scripts is None or side.letters < _MIN_LETTERS or side.share_of_scripts(scripts) >= 0.05:
        return None
    return side.main_script()


def foreign_language(side: SideProfile, other: SideProfile) -> str | None:
    """The language that a side appears to be in, if it is not the expected one."""
    own = base_language(side.language)
    likely = side.likely_language()
    if likely is None or _close(likely, own):
        return None
    if own in FUNCTION_WORDS:
        return likely if side.share_of_words(likely) > _CLEARER * side.share_of_words(own) else None
    # The function words of the expected language are unknown: compare with the other side instead.
    same = likely == base_language(other.language)
    return likely if same and side.share_of_words(likely) > 0.75 * other.share_of_words(likely) else None


def _close(one: str, other: str) -> bool:
    return one == other or any({one, other} <= group for group in SIMILAR_LANGUAGES)


def letters_of(text: str) -> str:
    """Lower case, with a single space for everything that is not a letter, and around the text."""
    return f" {_OTHER.sub(' ', text.lower()).strip()} "


@dataclass(frozen=True)
class LetterProfile:
    """How often letters, bigrams and trigrams occur in a language; a space is a letter."""

    counts: Mapping[str, int]

    @classmethod
    def of(cls, text: str) -> LetterProfile:
        """The profile of a sample: the most frequent n-grams."""
        letters = letters_of(text[:_MAX_SAMPLE])
        counts: Counter[str] = Counter()
        for n in (1, 2, 3):
            counts.update(letters[i : i + n] for i in range(len(letters) - n + 1))
        return cls(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_KEPT]))

    @classmethod
    def of_function_words(cls, language: str) -> LetterProfile | None:
        """The profile of a language of which there is no text, if its function words are known."""
        words = FUNCTION_WORDS.get(base_language(language))
        return cls.of(" ".join(sorted(words))) if words else None

    def log_p(self, letters: str) -> float:
        """log P of the letters after the first two, discounted."""
        counts = self.counts
        total = sum(count for gram, count in counts.items() if len(gram) == 1) or 1
        λ0, λ1, λ2, λ3 = _WEIGHTS
        result = 0.0
        for i in range(2, len(letters)):
            a, b, c = letters[i - 2], letters[i - 1], letters[i]
            p = λ0 / _ALPHABET + λ1 * counts.get(c, 0) / total
            if before := counts.get(b):
                p += λ2 * counts.get(b + c, 0) / before
            if before := counts.get(a + b):
                p += λ3 * counts.get(a + b + c, 0) / before
            result += math.log(p)
        return _DISCOUNT * result


def identify(text: str, profiles: Mapping[str, LetterProfile]) -> list[tuple[str, float]]:
    """Languages with their probabilities, best first; the rest of the sum is that of any other language."""
    letters = letters_of(text)[: _MAX_LETTERS + 1]
    scores = {language: profile.log_p(letters) for language, profile in profiles.items()}
    unknown = _DISCOUNT * _UNKNOWN * max(0, len(letters) - 2)
    top = max([unknown, *scores.values()])
    weights = {language: math.exp(score - top) for language, score in scores.items()}
    total = math.exp(unknown - top) + sum(weights.values())
    if len(letters) <= 2:  # no letter at all
        return [(language, 0.0) for language in profiles]
    return sorted(
        ((language, weight / total) for language, weight in weights.items()), key=lambda one: -one[1]
    )
