"""Text to token ids and back, with sentencepiece. Reading order:

token_ids    reserved ids, and rows of different lengths in flat arrays
vocabulary   building, loading and using sentencepiece models
sampling     subword regularization, and the parser for sentencepiece model files
"""

from nmt_cli.vocabulary.token_ids import BOS, EOS, PAD, UNK
from nmt_cli.vocabulary.vocabulary import Vocabularies, Vocabulary

__all__ = ["BOS", "EOS", "PAD", "UNK", "Vocabularies", "Vocabulary"]
