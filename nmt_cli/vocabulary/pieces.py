"""Just enough of protocol buffers to look into a sentencepiece model."""

import re
import struct
from collections.abc import Callable, Iterator, Sequence

from nmt_cli.vocabulary.token_ids import UNK


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of the fields of a message, in their order."""
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
    """Seven bits a byte, the low ones first; the eighth says that there are more."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


# What splitting text by hand needs to know of a sentencepiece model.


# Longer words hardly come twice, so that nothing is kept of them. Without spaces, a text is one long word.
LONG_WORD = 20

# SentencePiece.Type of sentencepiece_model.proto
_NORMAL, _SYMBOL, _BYTE = 1, 4, 6
_SPACE = "▁"
_WORD = re.compile(f"{_SPACE}?[^{_SPACE}]+|{_SPACE}")
_WHOLE_TEXT = re.compile(".+", re.DOTALL)

Normalize = Callable[[list[str]], list[str]]


class Pieces:
    """Ids and scores of the pieces that text is made of, and how text falls into words."""

    def __init__(self, model: bytes, normalize: Normalize) -> None:
        """`model` is of kind bpe or unigram; `normalize` is that of its `SentencePieceProcessor`."""
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
        # The longest symbol first: of two that begin alike, it is the one that counts.
        self._symbol = re.compile("|".join(sorted(symbols, key=len, reverse=True))) if symbols else None
        # A model that was not trained by `nmt preprocess` may have pieces of several words.
        one_word = all(_SPACE not in text[1:] for text in self.ids)
        self._word = _WORD if one_word else _WHOLE_TEXT

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text in the parts that are split on their own: words with the space before them, and symbols."""
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
        """Whether a word is one of the pieces that are never split."""
        return self._symbol is not None and self._symbol.fullmatch(word) is not None

    def spell(self, text: str) -> list[int]:
        """The id of a piece; the bytes of what is none, or <unk> where there are no bytes."""
        token = self.ids.get(text)
        if token is not None:
            return [token]
        return [self._bytes[byte] for byte in text.encode()] if self._bytes else [UNK]

    def finish(self, ids: list[int]) -> list[int]:
        """The ids of a text as sentencepiece has them: one <unk> for many in a row."""
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
