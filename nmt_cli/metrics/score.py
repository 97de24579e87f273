"""BLEU and chrF of a list of translations, in one call."""

from collections.abc import Sequence
from typing import NamedTuple


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
