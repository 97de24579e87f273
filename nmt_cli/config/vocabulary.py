"""Settings of the section `vocabulary`."""

import re
from typing import Literal, Self

from pydantic import model_validator

from nmt_cli.config.section import Section, setting

# What sentencepiece keeps for itself: the four control pieces, bytes, white space and its marks for it.
_RESERVED = re.compile(r"<pad>|<unk>|<s>|</s>|<0x[0-9A-F]{2}>|.*[\s\0▁▅].*", re.DOTALL)

DEFAULT_SIZE = 8000


class VocabularyConfig(Section):
    """How text becomes token ids."""

    kind: Literal["bpe", "unigram", "char", "word"] = setting("bpe", "how text is split into tokens")
    size: int | None = setting(
        None,
        f"number of pieces, reserved ones and bytes included (default: {DEFAULT_SIZE}, fewer for a small corpus)",
        ge=5,
        le=10_000_000,
    )
    joint: bool = setting(True, "one vocabulary for both languages instead of one for each")
    byte_fallback: bool | None = setting(
        None,
        "spell unknown characters in UTF-8 bytes, so that nothing is unknown (default: all kinds but `word`)",
    )
    character_coverage: float = setting(
        1.0, "share of the characters of the text that get a piece of their own", ge=0.98, le=1.0
    )
    symbols: tuple[str, ...] = setting((), "pieces that are never split, such as <ent> or placeholders")
    sample: int = setting(
        500_000, "train the vocabulary on about this many lines a side, drawn at random", ge=1
    )

    @model_validator(mode="after")
    def _word_has_a_real_unknown(self) -> Self:
        if self.kind == "word" and self.byte_fallback:
            raise ValueError(
                "vocabulary.kind = word has a real <unk>; it cannot have vocabulary.byte_fallback = true"
            )
        return self

    @model_validator(mode="after")
    def _symbols_are_free(self) -> Self:
        taken = [symbol for symbol in self.symbols if not symbol or _RESERVED.fullmatch(symbol)]
        if taken:
            raise ValueError(f"vocabulary.symbols: {taken[0]!r} is empty, reserved or has white space in it")
        if len(set(self.symbols)) < len(self.symbols):
            raise ValueError("vocabulary.symbols: a symbol is there twice")
        return self

    @property
    def bytes_for_unknown(self) -> bool:
        """Whether unknown characters are spelled in bytes."""
        return self.kind != "word" if self.byte_fallback is None else self.byte_fallback
