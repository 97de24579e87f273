"""Settings of the section `data`: what is read, what is kept."""

from pathlib import Path

from nmt_cli.config.section import Section, setting


class DataConfig(Section):
    """Cleaning acts on training pairs only; validation and test keep every line."""

    undecodable: bool = setting(
        True, "drop a pair with bytes that are not UTF-8, or with U+FFFD, their trace"
    )
    control: bool = setting(True, "drop a pair with control characters other than a tab")
    blank: bool = setting(True, "drop a pair with a blank side")
    copy_of_source: bool = setting(True, "drop a pair whose target is its source")
    duplicate: bool = setting(True, "drop a pair that was there before")
    in_heldout: bool = setting(True, "drop a training pair that occurs in validation or test")
    too_long: bool = setting(True, "drop a pair with more than max_tokens on either side")
    max_tokens: int = setting(256, "most subword tokens on a side, for too_long", ge=1)
    length_ratio: bool = setting(True, "drop a pair if one side has max_ratio times the tokens of the other")
    max_ratio: float = setting(
        4.0, "largest ratio of the two lengths, each plus ratio_slack, for length_ratio", gt=1.0
    )
    ratio_slack: int = setting(
        5, "tokens added to both lengths before the ratio is taken: short pairs vary more", ge=0, le=1_000_000
    )
    lowercase: bool = setting(
        False, "lower-case all text before it is tokenized (references are kept as they are)"
    )
    normalization: Path | None = setting(
        None, "TSV file of replacements (from, to), applied in order before tokenizing"
    )
    valid_size: int = setting(
        1000, "pairs held out for validation if none are given, at most 5 % of train; 0: none", ge=0
    )
    test_size: int = setting(
        1000, "pairs held out for testing if none are given, at most 5 % of train; 0: none", ge=0
    )
    seed: int = setting(1, "decides which pairs are held out and which lines train the vocabulary", ge=0)


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
"""The switches of the filters, in the order in which they act."""
