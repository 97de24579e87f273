"""Scores of translations, from sacreBLEU. A score never travels without its signature."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

# Languages that are written without spaces: words are found by sacreBLEU, or each character counts as one.
_TOKENIZERS = {
    "zh": ("zh",),
    "ja": ("ja-mecab", "char"),
    "ko": ("ko-mecab", "13a"),
    "th": ("char",),
    "lo": ("char",),
}
_NEEDS = {"ja-mecab": "MeCab", "ko-mecab": "mecab_ko"}


class Score(NamedTuple):
    """A corpus score between 0 and 100, and all that is needed to compute it again."""

    name: str
    value: float
    signature: str


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> Score:
    """BLEU of detokenized text (Papineni et al. 2002; Post 2018)."""
    from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]

    metric = BLEU(tokenize=tokenize, lowercase=lowercase)
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Score("BLEU", float(result.score), str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """chrF2: the F-score of character n-grams, recall counted twice (Popović 2015)."""
    from sacrebleu.metrics import CHRF  # type: ignore[attr-defined]

    metric = CHRF()
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Score("chrF2", float(result.score), str(metric.get_signature()))


def tokenizer_for(language: str) -> str:
    """How BLEU splits text of this language into words: the first way that is installed."""
    options = _TOKENIZERS.get(language.lower().partition("-")[0].partition("_")[0], ("13a",))
    return next(option for option in options if option not in _NEEDS or find_spec(_NEEDS[option]))
