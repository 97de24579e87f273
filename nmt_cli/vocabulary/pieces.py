"""The pieces inside a sentencepiece model: ids, scores, and how text is split into words.

sentencepiece does not expose what segmenting text in Python requires, so the model file, a protocol buffer, is
parsed here.
"""

import re
import struct
from collections.abc import Callable, Iterator, Sequence

from nmt_cli.vocabulary.token_ids import UNK


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of a protocol buffer message, in order."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            number, at = _varint(message, at)
            yield field, number
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = _varint(message, at)
            yield field, message[at : at + size]
            at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Seven bits per byte, least significant first; the eighth bit says that more follow."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


# Longer words hardly ever repeat, so they are not cached. A text without spaces is one long word.
LONG_WORD = 20

# SentencePiece.Type of sentencepiece_model.proto
_NORMAL, _SYMBOL, _BYTE = 1, 4, 6
_SPACE = "▁"
_WORD = re.compile(f"{_SPACE}?[^{_SPACE}]+|{_SPACE}")
_WHOLE_TEXT = re.compile(".+", re.DOTALL)

Normalize = Callable[[list[str]], list[str]]


class Pieces:
    """Ids and scores of the pieces of a model, and how it splits text into words."""

    def __init__(self, model: bytes, normalize: Normalize) -> None:
        """`model` is of kind bpe or unigram; `normalize` is the method of its `SentencePieceProcessor`."""
        self.ids: dict[str, int] = {}
        self.scores: dict[str, float] = {}
        self._normalize = normalize
        self._bytes: list[int] = []
        symbols = []
        pieces = (value for field, value in fields(model) if field == 1)
        for token, piece in enumerate(pieces):
            assert isinstance(piece, bytes)
            text, score, kind = _piece(piece)
            if kind in (_NORMAL, _SYMBOL):
                self.ids[text], self.scores[text] = token, score
            if kind == _SYMBOL:
                symbols.append(re.escape(text))
            elif kind == _BYTE:
                self._bytes.append(token)
        # Longest symbol first, because it takes precedence over its prefixes.
        self._symbol = re.compile("|".join(sorted(symbols, key=len, reverse=True))) if symbols else None
        # A model that was not trained by `nmt preprocess` may have pieces that span words.
        one_word = all(_SPACE not in text[1:] for text in self.ids)
        self._word = _WORD if one_word else _WHOLE_TEXT

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text as the units that are segmented independently: words with their leading space, and symbols."""
        normalized = self._normalize(list(texts))
        symbol = self._symbol
        if symbol is None:
            return [self._word.findall(text) for text in normalized]
        return [self._around(symbol, text) for text in normalized]

    def _around(self, symbol: re.Pattern[str], text: str) -> list[str]:
        words: list[str] = []
        end = 0
        for found in symbol.finditer(text):
            words += [*self._word.findall(text[end : found.start()]), found[0]]
            end = found.end()
        return words + self._word.findall(text[end:])

    def is_symbol(self, word: str) -> bool:
        """Whether a word is a user-defined symbol, which is never split."""
        return self._symbol is not None and self._symbol.fullmatch(word) is not None

    def spell(self, text: str) -> list[int]:
        """The id of a piece; for other text the ids of its bytes, or <unk> without byte fallback."""
        token = self.ids.get(text)
        if token is not None:
            return [token]
        return [self._bytes[byte] for byte in text.encode()] if self._bytes else [UNK]

    def finish(self, ids: list[int]) -> list[int]:
        """The ids of a text as sentencepiece returns them: consecutive <unk> become one."""
        if self._bytes or UNK not in ids:
            return ids
        return [token for at, token in enumerate(ids) if token != UNK or not at or ids[at - 1] != UNK]


def _piece(message: bytes) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, _NORMAL
    for field, value in fields(message):
        if field == 1 and isinstance(value, bytes):
            text = value.decode()
        elif field == 2 and isinstance(value, bytes):
            (score,) = struct.unpack("<f", value)
        elif field == 3 and isinstance(value, int):
            kind = value
    return text, score, kind
