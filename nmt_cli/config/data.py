"""Settings of the section `data`: how the corpus is cleaned, and what is held out."""

from pathlib import Path

from nmt_cli.config.section import Section, setting


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
    too_long: bool = setting(True, "drop pairs with more than max_tokens on either side")
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
    valid_size: int = setting(
        1000, "pairs held out for validation if none are given, at most 5% of the training set; 0: none", ge=0
    )
    test_size: int = setting(
        1000, "pairs held out for testing if none are given, at most 5% of the training set; 0: none", ge=0
    )
    seed: int = setting(
        1, "random seed for held-out pairs and for the sample the vocabulary is trained on", ge=0
    )


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
