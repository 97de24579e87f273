"""Scores of translations and of word alignments. A score never travels without its signature.

score              BLEU and chrF of a list of translations
tokenizers         how BLEU splits text into words, by language
corpus_metric      sacreBLEU's metrics from per-sentence statistics, for large and many systems
character_ngrams   the statistics of chrF, and chrF of each sentence
resampling         confidence intervals and paired tests, from the same statistics
word_alignment     precision, recall and AER
"""

from nmt_cli.metrics.score import Score, bleu, chrf
from nmt_cli.metrics.tokenizers import tokenizer_for

__all__ = ["Score", "bleu", "chrf", "tokenizer_for"]
