"""What a person can choose instead of a word of a translation, from its explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nmt_cli.runtime.words import BYTE, SPACE

if TYPE_CHECKING:
    from nmt_cli.explanation import Explanation


def choices_of(explanation: Explanation) -> list[list[dict[str, Any]]]:
    """For each target word, what it could begin with instead, best first: text, probability and prefix.

    The prefix is what the translation begins with if this is chosen: the words before, and the choice.
    """
    pieces = explanation.target_pieces
    return [
        [
            {
                "text": piece_text([other.piece]).strip(),
                "probability": other.probability,
                "prefix": piece_text([*pieces[: word.first], other.piece]).strip(),
            }
            for other in explanation.steps[word.first].alternatives
            if _is_text(other.piece)
        ]
        for word in explanation.target_words
    ]


def piece_text(pieces: Sequence[str]) -> str:
    """The text of pieces, bytes included."""
    result = bytearray()
    for piece in pieces:
        if BYTE.fullmatch(piece):
            result.append(int(piece[3:5], 16))
        else:
            result += piece.replace(SPACE, " ").encode("utf-8", "replace")
    return result.decode("utf-8", "replace")


def _is_text(piece: str) -> bool:
    """Whether a piece can be shown: not a byte of a character, not <eos> or <unk>, not a mere space."""
    is_token = piece.startswith("<") and piece.endswith(">") and len(piece) > 2
    return not is_token and piece.strip(SPACE) != ""
