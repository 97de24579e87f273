"""Words and word alignments, read off pieces.

A sentencepiece piece carries its preceding space as '▁', so words can be read off the pieces. Byte pieces (<0xE2>)
belong to the word around them. A piece of nothing but white space belongs to the word that follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

SPACE = "▁"  # U+2581, sentencepiece's space
_RESERVED = ("<s>", "</s>", "<pad>")
_WHITE = SPACE + "\t\r"
_WHITE_BYTES = ("<0x09>", "<0x0D>")  # tab, carriage return
BYTE = re.compile("<0x[0-9A-F]{2}>")
# Scripts written without spaces between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese).
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)

Groups = tuple[tuple[int, ...], ...]
"""For each word the positions of its pieces, in order."""

Links = tuple[tuple[int, int], ...]
"""Word alignment: (source word, target word), counted from 0."""


def group_pieces(
    pieces: Sequence[str], *, whole_words: bool = False, separate_punctuation: bool = False
) -> Groups:
    """The positions of each word's pieces; <eos> and other reserved pieces belong to no word.

    whole_words           every piece is a word (vocabularies of kind `word`, where <unk> has no space in front)
    separate_punctuation  punctuation is a word of its own where it has its own pieces, and in scripts without
                          spaces every piece is a word
    """
    groups: list[list[int]] = []
    waiting: list[int] = []  # pieces of nothing but white space
    inside = False  # whether the next letter continues the last word
    for position, piece in enumerate(pieces):
        if piece in _RESERVED:
            inside = False
            continue
        letters = "" if piece in _WHITE_BYTES else piece.strip(_WHITE)
        if piece.startswith(SPACE) or whole_words:
            inside = False
        if not letters:
            waiting.append(position)
            continue
        if separate_punctuation and inside and _is_boundary(pieces[position - 1], piece):
            inside = False
        if inside and not waiting:
            groups[-1].append(position)
        else:
            groups.append([*waiting, position])
            waiting = []
        inside = not piece.endswith(SPACE)
    if groups:
        groups[-1] += waiting  # spaces at the end
    return tuple(map(tuple, groups))


def _is_boundary(before: str, piece: str) -> bool:
    """Whether a word starts at `piece` although there is no space."""
    if BYTE.fullmatch(before) or BYTE.fullmatch(piece):
        return False  # they may be bytes of one character
    return _is_punctuation(before) != _is_punctuation(piece) or bool(
        _NO_SPACES.match(piece) or _NO_SPACES.match(before.removeprefix(SPACE))
    )


def _is_punctuation(piece: str) -> bool:
    """Whether it has neither letters nor digits; apostrophes and hyphens belong to their word."""
    text = piece.removeprefix(SPACE)
    return bool(text) and not any(character.isalnum() or character in "'’-" for character in text)


def words_of(pieces: Sequence[str], groups: Groups) -> tuple[str, ...]:
    """The text of each word, with characters that are spelled in bytes decoded."""
    return tuple(_text([pieces[position] for position in group]) for group in groups)


def _text(pieces: Sequence[str]) -> str:
    texts: list[str] = []
    data = bytearray()
    for piece in pieces:
        if BYTE.fullmatch(piece):
            data.append(int(piece[3:5], 16))
            continue
        texts += [data.decode(errors="replace"), piece]
        data.clear()
    texts.append(data.decode(errors="replace"))
    return "".join(texts).replace(SPACE, "").strip("\t\r")


def links_of(attention: Any, source: Groups, target: Groups) -> Links:
    """Link each target word to the source word with the most attention; attention (T, S) is between pieces.

    A_ji = Σ_{s ∈ word i} mean_{t ∈ word j} α_ts. A target word that attends to the source's <eos> more than to any word
    has no link. Ties go to the earlier source word.
    """
    if not source or not target:
        return ()
    columns = np.stack([attention[:, list(group)].sum(axis=1) for group in source], axis=1)  # (T, I)
    weights = np.stack([columns[list(group)].mean(axis=0) for group in target])  # (J, I)
    best, elsewhere = weights.max(axis=1), 1.0 - weights.sum(axis=1)  # (J,) the weight of <eos>
    rows = zip(weights.argmax(axis=1).tolist(), (best >= elsewhere).tolist(), strict=True)
    return tuple((i, j) for j, (i, linked) in enumerate(rows) if linked)


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """The links of a line, sorted, in Pharaoh format: `0-0 1-2 2-1`."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))
