"""From the pieces of a vocabulary to the words between spaces.

A piece carries its space in front as '▁', so words can be read off the pieces. Byte pieces (<0xE2>) belong to the
word around them. A piece of nothing but spaces, tabs or returns belongs to the word that follows it.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

SPACE = "▁"  # U+2581, how sentencepiece writes a space
_RESERVED = ("<s>", "</s>", "<pad>")
_WHITE = SPACE + "\t\r"
_WHITE_BYTES = ("<0x09>", "<0x0D>")  # tab, return

Groups = tuple[tuple[int, ...], ...]
"""For each word the positions of its pieces, in order."""


def group_pieces(pieces: Sequence[str], *, whole_words: bool = False) -> Groups:
    """The pieces of each word; <eos> and other reserved pieces are in no word.

    `whole_words`: every piece is a word (vocabularies of kind `word`, where <unk> has no space in front).
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
        if inside and not waiting:
            groups[-1].append(position)
        else:
            groups.append([*waiting, position])
            waiting = []
        inside = not piece.endswith(SPACE)
    if groups:
        groups[-1] += waiting  # spaces at the end
    return tuple(map(tuple, groups))


def words_of(pieces: Sequence[str], groups: Groups) -> tuple[str, ...]:
    """The text of each word; characters that are spelled in bytes are put together again."""
    return tuple(_text([pieces[position] for position in group]) for group in groups)


def word_attention(attention: Tensor, source: Groups, target: Groups) -> Tensor:
    """Attention between pieces (T, S) → between words (J, I)

    A_ji = Σ_{s ∈ word i} mean_{t ∈ word j} α_ts: what the pieces of a source word get is added up, what the pieces of
    a target word give is averaged. A row adds up to what was not given to the source's <eos>.
    """
    by_source = [attention[:, list(group)].sum(dim=1) for group in source]  # each (T,)
    columns = torch.stack(by_source, dim=1) if source else attention.new_zeros(len(attention), 0)  # (T, I)
    rows = [columns[list(group)].mean(dim=0) for group in target]  # each (I,)
    return torch.stack(rows) if target else attention.new_zeros(0, len(source))  # (J, I)


def _text(pieces: Sequence[str]) -> str:
    parts: list[str] = []
    data = bytearray()
    for piece in pieces:
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            data.append(int(piece[3:5], 16))
            continue
        parts += [data.decode(errors="replace"), piece]
        data.clear()
    parts.append(data.decode(errors="replace"))
    return "".join(parts).replace(SPACE, "").strip("\t\r")


# Word alignments from attention, as Pharaoh writes them: `0-0 1-2 2-1`, source-target, counted from 0.


Links = tuple[tuple[int, int], ...]


def links_of(attention: Tensor, source: Groups, target: Groups) -> Links:
    """One link for each target word, from the source word that it looked at most.

    attention: (T, S) between pieces. A target word that looked at the source's <eos> more than at any word has no
    link. Of two source words with the same weight the earlier one is taken.
    """
    if not source or not target:
        return ()
    weights = word_attention(attention, source, target)  # (J, I)
    best, words = weights.max(dim=1)  # (J,)
    elsewhere = 1.0 - weights.sum(dim=1)  # (J,) what <eos> got
    rows = zip(words.tolist(), (best >= elsewhere).tolist(), strict=True)
    return tuple((i, j) for j, (i, linked) in enumerate(rows) if linked)


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """The links of a line, sorted."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))
