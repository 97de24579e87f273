"""Which of a few known languages a text is in, from its letters.

A `LetterProfile` counts the letter trigrams (and bigrams and letters) of a sample of text in one language. It predicts
each letter from the two before it, as an interpolated language model:

    P(c | ab) = λ₃ n(abc)/n(ab) + λ₂ n(bc)/n(b) + λ₁ n(c)/n + λ₀/V

Languages are compared by Bayes' rule, together with an unknown one that predicts every letter equally badly.
Neighboring letters are not independent, so their evidence is discounted, or every word would be certain.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from nmt_cli.corpus.checks.language_profiles import FUNCTION_WORDS, base_language

_WEIGHTS = (0.005, 0.1, 0.245, 0.65)  # λ₀ to λ₃
_ALPHABET = 1000  # V: letters of any script that a text may use
_UNKNOWN = -math.log(30)  # log P of a letter in an unknown language
_DISCOUNT = 0.25  # of the evidence of each letter
_MAX_LETTERS = 1000  # of a text are looked at
_KEPT = 1000  # n-grams of a profile
_MAX_SAMPLE = 200_000  # characters
_OTHER = re.compile(r"[\W\d_]+")


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
