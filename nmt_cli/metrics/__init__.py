"""Scores of translations. A score never travels without its signature.

corpus_metric      sacreBLEU's metrics: in one call, or from the statistics of each sentence; tokenizers by language
character_ngrams   the statistics of chrF, and sentence-level chrF
pairwise           sentence-level BLEU and chrF of every text against every other
resampling         confidence intervals and paired significance tests
"""

from nmt_cli.metrics.corpus_metric import Score, bleu, chrf, error_rate, tokenizer_for

__all__ = ["Score", "bleu", "chrf", "error_rate", "tokenizer_for"]
