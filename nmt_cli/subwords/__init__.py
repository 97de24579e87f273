"""Random splits of text into the pieces of a sentencepiece model, drawn from a seed alone.

sentencepiece salts its random numbers in each process, so that its own samples cannot be had again: a run that
is resumed would see other ones. Its model, its normalization and its best split are used as they are.
"""

from typing import Protocol

from nmt_cli.subwords.bpe import BpeDropout
from nmt_cli.subwords.pieces import Pieces
from nmt_cli.subwords.unigram import UnigramSampling

__all__ = ["BpeDropout", "Pieces", "Sampler", "UnigramSampling"]


class Sampler(Protocol):
    """Splits words at random."""

    def sample(self, texts: list[list[str]], strength: float, seed: int) -> list[list[int]]:
        """Ids of a random split of each text, which comes in the words of `Pieces.words`."""
        ...
