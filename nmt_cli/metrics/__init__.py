"""Scores of translations and word alignments. A score never travels without its signature.

corpus_metric      sacreBLEU's metrics: in one call, or from the statistics of each sentence
character_ngrams   the statistics of chrF, and sentence-level chrF
tokenizers         BLEU's tokenizer for each language
resampling         confidence intervals and paired significance tests
word_alignment     precision, recall and alignment error rate
"""

from nmt_cli.metrics.corpus_metric import Score, bleu, chrf, tokenizer_for

__all__ = ["Score", "bleu", "chrf", "tokenizer_for"]
