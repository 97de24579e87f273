"""Whether each side is in the expected language, based on its script and its function words."""

import re
from collections import Counter
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

    def similarity(self, other: "SideProfile") -> float:
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
