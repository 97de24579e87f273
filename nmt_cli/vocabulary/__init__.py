"""Text to token ids and back, with sentencepiece."""

from nmt_cli.vocabulary.token_ids import BOS, EOS, PAD, UNK
from nmt_cli.vocabulary.vocabulary import Vocabularies, Vocabulary

__all__ = ["BOS", "EOS", "PAD", "UNK", "Vocabularies", "Vocabulary"]
