"""From pieces to words to look at, and attention between words."""

import re
from collections.abc import Sequence
from itertools import pairwise

from nmt_cli.explanation.explanation import Matrix, Word
from nmt_cli.vocabulary import Vocabulary
from nmt_cli.vocabulary.token_ids import EOS

END = "<eos>"
_SPACE = "▁"
# Scripts that have no spaces between words: there, every piece is shown on its own.
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)


def piece_label(vocabulary: Vocabulary, token: int) -> str:
    """A piece as it is shown, with '▁' for a space."""
    return END if token == EOS else vocabulary.pieces[token]


def words_of(vocabulary: Vocabulary, tokens: Sequence[int]) -> tuple[Word, ...]:
    """The words of ids that end in <eos>: a word begins at a space, at punctuation, and at <eos>.

    Punctuation is a word of its own if its pieces are its own: where a model looks for a full stop says
    little about the word before.
    """
    texts = [vocabulary.pieces[token] for token in tokens]
    starts = [
        at
        for at, token in enumerate(tokens)
        if at == 0
        or token == EOS
        or vocabulary.kind == "word"  # where <unk> has no space in front
        or (texts[at].startswith(_SPACE) and texts[at - 1] != _SPACE)
        or _breaks(vocabulary, tokens[at - 1], token)
    ]
    return tuple(
        Word(_text(vocabulary, tokens[first:end]), first, end)
        for first, end in pairwise([*starts, len(tokens)])
    )


def word_attention(attention: Matrix, source: Sequence[Word], target: Sequence[Word]) -> Matrix:
    """Weights of pieces (T, S) as weights of words: the sum over source pieces, the mean over target pieces."""
    return tuple(
        tuple(
            sum(sum(row[into.first : into.end]) for row in attention[word.first : word.end])
            / (word.end - word.first)
            for into in source
        )
        for word in target
    )


def _breaks(vocabulary: Vocabulary, before: int, token: int) -> bool:
    """Whether a word begins at `token` although there is no space."""
    if vocabulary.is_byte[before] or vocabulary.is_byte[token]:
        return False  # bytes may be parts of one character
    first, second = vocabulary.pieces[before], vocabulary.pieces[token]
    if first == _SPACE:
        return False
    return _is_punctuation(first) != _is_punctuation(second) or bool(
        _NO_SPACES.match(second) or _NO_SPACES.match(first.removeprefix(_SPACE))
    )


def _is_punctuation(piece: str) -> bool:
    """Whether it has neither a letter nor a digit; an apostrophe or a hyphen belongs to its word."""
    text = piece.removeprefix(_SPACE)
    return bool(text) and not any(character.isalnum() or character in "'’-" for character in text)


def _text(vocabulary: Vocabulary, tokens: Sequence[int]) -> str:
    if tokens[0] == EOS:
        return END
    return vocabulary.decode(tokens).strip() or _SPACE
