"""Text to token ids and back, by sentencepiece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sentencepiece

from nmt_cli.runtime.search import BOS, EOS, PAD, UNK, Integers, RuntimeFailure
from nmt_cli.runtime.segments import CONTROL
from nmt_cli.runtime.words import SPACE


class Vocabulary:
    """The pieces of one language; the same text gives the same ids as in training."""

    def __init__(self, model: bytes, *, words: bool) -> None:
        """`words`: every piece is a word (kind `word`)."""
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            ids = [getattr(self._processor, f"{name}_id")() for name in ("pad", "unk", "bos", "eos")]
        except RuntimeError:
            ids = []
        if not model or ids != [PAD, UNK, BOS, EOS]:
            raise RuntimeFailure(
                "the vocabulary is not a sentencepiece model of nmt", "export the model again"
            )
        self.words = words
        self.pieces: list[str] = self._processor.id_to_piece(list(range(self._processor.get_piece_size())))

    @cached_property
    def is_byte(self) -> Any:
        """(V,) whether each id is one of the 256 bytes that spell unknown characters."""
        return np.array(self._processor.is_byte(list(range(len(self.pieces)))), bool)

    @cached_property
    def has_unknown(self) -> bool:
        """Whether <unk> can occur; otherwise unknown characters are spelled in bytes."""
        return not self.is_byte.any()

    @cached_property
    def banned(self) -> Integers:
        """Ids that no translation may contain: pad, bos, control characters, and <unk> if nothing is unknown."""
        banned = {PAD, BOS} if self.has_unknown else {PAD, UNK, BOS}
        for i, (piece, is_byte) in enumerate(zip(self.pieces, self.is_byte.tolist(), strict=True)):
            text = bytes([int(piece[3:5], 16)]).decode(errors="replace") if is_byte else piece
            if CONTROL.search(text):
                banned.add(i)
        return np.array(sorted(banned))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece.removeprefix(SPACE): i for i, piece in enumerate(self.pieces) if i > EOS}

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without <eos>."""
        if self.words:
            return [[self._ids.get(word, UNK) for word in text.split(" ") if word] for text in texts]
        # One by one: for a list sentencepiece starts a thread, which takes longer than to encode a line.
        return [self._processor.encode(text, out_type=int) for text in texts]

    def surfaces(self, text: str) -> list[str]:
        """What each id of `encode` stands for in the text, also where it is <unk>."""
        if self.words:
            return [word for word in text.split(" ") if word]
        return [piece.replace(SPACE, "") for piece in self._processor.encode(text, out_type=str)]

    def decode(self, ids: Sequence[int], unknown: Iterable[str] = ()) -> str:
        """The text of `ids`; each <unk> takes the next text of `unknown`, if any."""
        if not self.has_unknown:
            return str(self._processor.decode(list(ids)))
        texts, before = iter(unknown), SPACE if self.words else ""
        pieces = [
            before + next(texts, "<unk>") if i == UNK else self.pieces[i]
            for i in ids
            if i not in (PAD, BOS, EOS)
        ]
        return "".join(pieces).replace(SPACE, " ").removeprefix(" ")
