"""Settings of the section `vocabulary`."""

from typing import Literal, Self

from pydantic import model_validator

from nmt_cli.config.section import Section, setting


class VocabularyConfig(Section):
    """How text becomes token ids."""

    kind: Literal["bpe", "unigram", "char", "word"] = setting("bpe", "how text is split into tokens")
    size: int = setting(8000, "number of pieces, the four reserved ones and the 256 bytes included", ge=5)
    joint: bool = setting(True, "one vocabulary for both languages instead of one for each")
    byte_fallback: bool | None = setting(
        None, "spell unknown characters in UTF-8 bytes, so that nothing is unknown (default: all kinds but `word`)"
    )
    character_coverage: float = setting(1.0, "share of characters that get a piece of their own", gt=0.9, le=1.0)
    symbols: tuple[str, ...] = setting((), "pieces that are never split, such as <ent> or placeholders")
    sample: int = setting(2_000_000, "train the vocabulary on at most this many lines a side, drawn at random", ge=1)

    @model_validator(mode="after")
    def _word_has_a_real_unknown(self) -> Self:
        if self.kind == "word" and self.byte_fallback:
            raise ValueError("vocabulary.kind = word has a real <unk>; it cannot have vocabulary.byte_fallback = true")
        return self

    @property
    def bytes_for_unknown(self) -> bool:
        """Whether unknown characters are spelled in bytes."""
        return self.kind != "word" if self.byte_fallback is None else self.byte_fallback
