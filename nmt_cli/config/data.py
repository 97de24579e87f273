"""Settings of the sections `data` and `vocabulary`: how a corpus is cleaned, held out and split into tokens."""

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from nmt_cli.config.section import Section, setting

DOWNLOAD = "download"


class DataConfig(Section):
    """Filters apply to training pairs only; validation and test sets keep every line."""

    undecodable: bool = setting(
        True,
        "drop pairs with bytes that are not UTF-8, or with U+FFFD, the mark of an earlier decoding error",
    )
    control: bool = setting(True, "drop pairs with control characters other than tab")
    blank: bool = setting(True, "drop pairs with a blank side")
    copy_of_source: bool = setting(True, "drop pairs whose target is identical to the source")
    duplicate: bool = setting(True, "drop duplicate pairs")
    in_heldout: bool = setting(True, "drop training pairs that also occur in validation or test")
    too_long: bool = setting(
        True, "drop pairs with more than max_tokens on either side, or a recording longer than max_seconds"
    )
    max_tokens: int = setting(256, "maximum number of subword tokens per side, for too_long", ge=1)
    length_ratio: bool = setting(
        True, "drop pairs in which one side is more than max_ratio times as long as the other"
    )
    max_ratio: float = setting(
        4.0, "maximum ratio of the two lengths, each plus ratio_slack, for length_ratio", gt=1.0
    )
    ratio_slack: int = setting(
        5, "tokens added to both lengths before taking the ratio: short pairs vary more", ge=0, le=1_000_000
    )
    lowercase: bool = setting(False, "lowercase all text before tokenization (references keep their case)")
    normalization: Path | None = setting(
        None, "TSV file of replacements (from, to), applied in order before tokenization"
    )
    placeholders: bool = setting(
        False,
        "replace format strings, tags, paths, options, URLs and the like by numbered symbols of the vocabulary",
    )
    placeholder_patterns: tuple[str, ...] = setting(
        (), "regular expressions for more placeholders, in training and in documents"
    )
    valid_size: int = setting(
        1000, "pairs held out for validation if none are given, at most 5% of the training set; 0: none", ge=0
    )
    test_size: int = setting(
        1000, "pairs held out for testing if none are given, at most 5% of the training set; 0: none", ge=0
    )
    image_size: int = setting(
        64,
        "width and height of images in pixels: scaled and cropped to a square of this size (default with a backbone: "
        "the size that torchvision states for its weights, usually 224)",
        ge=8,
        le=1024,
    )
    backbone: str | None = setting(
        None,
        "compute features of images with this pretrained torchvision network, such as `resnet50`; it is not trained",
    )
    backbone_weights: str | None = setting(
        None,
        f"weights of the backbone: a safetensors file, or `{DOWNLOAD}` to let torchvision download its own",
    )
    backbone_layer: str | None = setting(
        None,
        "layer of the backbone whose output is used (default: the last one that has a grid of positions)",
    )
    sample_rate: int = setting(
        16_000,
        "samples per second of recordings, which are resampled if they have another rate",
        ge=8000,
        le=48_000,
    )
    mel_bands: int = setting(40, "size of an audio frame: bands of the mel scale", ge=8, le=128)
    max_seconds: float = setting(30.0, "maximum duration of a training recording, for too_long", gt=0.0)
    seed: int = setting(
        1, "random seed for held-out pairs and for the sample the vocabulary is trained on", ge=0
    )

    @model_validator(mode="after")
    def _backbone_is_complete(self) -> Self:
        if self.backbone is None:
            for name in ("backbone_weights", "backbone_layer"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"data.{name} has no effect without data.backbone; set data.backbone, or leave this out"
                    )
        elif self.backbone_weights is None:
            raise ValueError(
                f"data.backbone = {self.backbone} needs weights; set data.backbone_weights to a safetensors file, or "
                f"to {DOWNLOAD}"
            )
        return self

    @model_validator(mode="after")
    def _patterns_are_used(self) -> Self:
        if self.placeholder_patterns and not self.placeholders:
            raise ValueError(
                "data.placeholder_patterns has no effect without data.placeholders = true; set it, or leave both out"
            )
        for pattern in self.placeholder_patterns:
            try:
                is_blank = re.compile(pattern).match("") is not None
            except re.error as error:
                raise ValueError(
                    f"data.placeholder_patterns: {pattern!r} is not a regular expression: {error}"
                ) from error
            if is_blank:
                raise ValueError(f"data.placeholder_patterns: {pattern!r} matches the empty string")
        return self


FILTERS = (
    "undecodable",
    "control",
    "blank",
    "copy_of_source",
    "in_heldout",
    "duplicate",
    "too_long",
    "length_ratio",
)
"""The filters' switches, in the order in which the filters apply."""


# ------------------------------------------------------------------------------------------------------------
# Section `vocabulary`.


# Reserved by sentencepiece: the four control pieces, bytes, whitespace and the symbols it writes for whitespace.
_RESERVED = re.compile(r"<pad>|<unk>|<s>|</s>|<0x[0-9A-F]{2}>|.*[\s\0▁▅].*", re.DOTALL)

DEFAULT_SIZE = 8000


def is_reserved(symbol: str) -> bool:
    """Whether this cannot be a symbol of the vocabulary: it is empty, reserved or contains whitespace."""
    return not symbol or _RESERVED.fullmatch(symbol) is not None


class VocabularyConfig(Section):
    """The subword model, trained on the training text."""

    kind: Literal["bpe", "unigram", "char", "word"] = setting(
        "bpe", "tokens: BPE merges, unigram language model pieces, characters or words"
    )
    size: int | None = setting(
        None,
        f"vocabulary size, including reserved pieces and bytes (default: {DEFAULT_SIZE}, less for a small corpus)",
        ge=5,
        le=10_000_000,
    )
    joint: bool = setting(True, "share one vocabulary between both languages")
    byte_fallback: bool | None = setting(
        None,
        "encode unknown characters as UTF-8 bytes instead of `<unk>` (default: true, except for kind = word)",
    )
    character_coverage: float = setting(
        1.0, "fraction of the characters in the text that get a piece of their own", ge=0.98, le=1.0
    )
    symbols: tuple[str, ...] = setting((), "symbols that are never split, such as `<ent>` or placeholders")
    sample: int = setting(
        500_000, "train the vocabulary on a random sample of about this many lines per side", ge=1
    )

    @model_validator(mode="after")
    def _words_have_no_byte_fallback(self) -> Self:
        if self.kind == "word" and self.byte_fallback:
            raise ValueError(
                "vocabulary.byte_fallback = true is incompatible with vocabulary.kind = word, which has a real <unk>; "
                "leave out vocabulary.byte_fallback"
            )
        return self

    @model_validator(mode="after")
    def _symbols_are_allowed(self) -> Self:
        taken = [symbol for symbol in self.symbols if is_reserved(symbol)]
        if taken:
            raise ValueError(f"vocabulary.symbols: {taken[0]!r} is empty, reserved or contains whitespace")
        if len(set(self.symbols)) < len(self.symbols):
            raise ValueError("vocabulary.symbols contains a symbol twice")
        return self

    @property
    def bytes_for_unknown(self) -> bool:
        """Whether unknown characters are encoded as bytes."""
        return self.kind != "word" if self.byte_fallback is None else self.byte_fallback
