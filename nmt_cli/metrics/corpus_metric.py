"""sacreBLEU's metrics from the sufficient statistics of each sentence.

sacreBLEU keeps the n-grams of all references for as long as it scores. Here a block of references is prepared, all
systems are counted against it, and only the counts stay: many systems share the work, and memory does not
grow with the text. Counting and arithmetic are sacreBLEU's own, so the figures are too; only the character n-grams
of chrF are counted in a faster way (`character_ngrams`), with the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import UsageError, did_you_mean
from nmt_cli.metrics.character_ngrams import chrf_statistics

METRICS = ("bleu", "chrf", "chrf++", "ter")
Statistics = NDArray[np.float64]  # (sentences, counts)
Totals = NDArray[np.float64]  # (counts,)


@dataclass(frozen=True)
class BleuDetails:
    """What BLEU is made of."""

    precisions: tuple[float, ...]  # of 1-grams to 4-grams, in percent
    matches: tuple[int, ...]
    counts: tuple[int, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int

    @property
    def length_ratio(self) -> float:
        """Tokens of the hypotheses for each token of the (closest) references."""
        return self.hypothesis_length / self.reference_length if self.reference_length else 0.0


def check_metrics(names: Sequence[str]) -> None:
    """Refuse a metric that there is not."""
    for name in names:
        if name not in METRICS:
            raise UsageError(
                f"there is no metric {name!r}{did_you_mean(name, METRICS)}",
                hint=f"metrics are {', '.join(METRICS)}",
            )


class CorpusMetric:
    """One metric of sacreBLEU: references in, then statistics of hypotheses, then scores of their sums."""

    def __init__(self, key: str, *, tokenize: str = "13a", lowercase: bool = False) -> None:
        """`key` is one of `METRICS`; the tokenizer is that of BLEU."""
        self.key = key
        self.higher_is_better = key != "ter"
        self._metric = _make(key, tokenize, lowercase)
        self.name = {"bleu": "BLEU", "chrf": "chrF2", "chrf++": "chrF2++", "ter": "TER"}[key]
        self._reference_counts: set[int] = set()
        self._references: list[list[str | None]] = []  # of chrF

    def prepare(self, references: Sequence[Sequence[str | None]]) -> None:
        """Take a block of references, one list for each file; None where a file has none."""
        if self.key == "chrf":
            self._references = [[self._prepared(text) for text in texts] for texts in references]
        else:
            self._metric._ref_cache = self._metric._cache_references(references)
        self.note_references(references)

    def note_references(self, references: Sequence[Sequence[str | None]]) -> None:
        """Remember how many references lines have, for the signature; `prepare` does so too."""
        self._reference_counts.update(
            sum(text is not None for text in texts) for texts in zip(*references, strict=True)
        )

    def statistics(self, hypotheses: Sequence[str]) -> Statistics:
        """The counts of hypotheses of the block that was prepared last."""
        if self.key == "chrf":
            return chrf_statistics(
                [self._metric._preprocess_segment(text) for text in hypotheses], self._references
            )
        return np.array(self._metric._extract_corpus_statistics(hypotheses, None), np.float64)

    def score(self, totals: Totals) -> float:
        """The score of summed statistics, in the precision that they have."""
        return float(self._metric._compute_score_from_stats(_counts(totals)).score)

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        """Scores of many sums, one in each row."""
        compute = self._metric._compute_score_from_stats
        return np.array([compute(row).score for row in totals], np.float64)

    def details(self, totals: Totals) -> BleuDetails | None:
        """What a BLEU score is made of; None for other metrics."""
        if self.key != "bleu":
            return None
        result = self._metric._compute_score_from_stats(_counts(totals))
        return BleuDetails(
            tuple(map(float, result.precisions)),
            tuple(map(int, result.counts)),
            tuple(map(int, result.totals)),
            float(result.bp),
            int(result.sys_len),
            int(result.ref_len),
        )

    def tokens(self, text: str) -> list[str]:
        """The words of a text, as this metric sees them."""
        words: list[str] = self._metric._preprocess_segment(text).split()
        return words

    def signature(self, *, bootstrap: int = 0, randomization: int = 0, seed: int | None = None) -> str:
        """All that is needed to compute the score again, after all references were prepared."""
        counts = self._reference_counts
        self._metric.num_refs = next(iter(counts)) if len(counts) == 1 else -1
        signature = self._metric.get_signature()
        if bootstrap:
            signature.update("bs", bootstrap)
        if randomization:
            signature.update("ar", randomization)
        if bootstrap or randomization:
            signature.update("seed", seed)
        return str(signature)

    def _prepared(self, text: str | None) -> str | None:
        return None if text is None else str(self._metric._preprocess_segment(text))


def _make(key: str, tokenize: str, lowercase: bool) -> Any:
    from sacrebleu.metrics import BLEU, CHRF, TER  # type: ignore[attr-defined]

    if key == "bleu":
        return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)  # nmt warns by itself
    if key == "ter":
        return TER()  # which ignores case
    return CHRF(word_order=2 if key == "chrf++" else 0, lowercase=lowercase)


def _counts(totals: Totals) -> list[int | float]:
    """Whole numbers as such: sacreBLEU prints some of them."""
    return [int(value) if value.is_integer() else value for value in map(float, totals)]
