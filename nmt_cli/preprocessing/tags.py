"""Checks of the tags of training corpora (`@tag=<BT>`), and of the corpora that have one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nmt_cli.corpus import Spec
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.directory import CorpusRows
from nmt_cli.errors import DataWarning, UsageError
from nmt_cli.vocabulary import Vocabularies


def check_only_train_is_tagged(specs: Mapping[str, Sequence[Spec]]) -> None:
    """Raise an error for a tagged validation or test set: these stay as they are."""
    for name, group in specs.items():
        for spec in group:
            if spec.tag and name != "train":
                raise UsageError(
                    f"--{name} {spec.text}: only training text can be tagged",
                    hint="leave out @tag, or put the tag into the text",
                )


def check_tags_are_pieces(specs: Sequence[Spec], vocabularies: Vocabularies) -> None:
    """Raise an error if a tag is not one token of a given vocabulary."""
    for spec in specs:
        if spec.tag and spec.tag not in vocabularies.source.pieces:
            raise UsageError(
                f"{spec.text}: the vocabulary of --vocabulary has no token for the tag {spec.tag}",
                hint="leave out @tag or --vocabulary",
            )


def check_tags_stay(tags: Sequence[str], normalization: Normalization) -> None:
    """Raise an error for a tag that normalization changes: a translator might change it in another way."""
    for tag in tags:
        if normalization(tag) != tag:
            raise UsageError(
                f"@tag={tag}: normalization changes the tag to {normalization(tag)!r}",
                hint="choose one that data.lowercase, data.normalization and data.placeholders leave alone",
            )


def few_tagged_pairs(
    specs: Sequence[Spec], pairs_read: Sequence[int], corpora: Sequence[CorpusRows]
) -> Iterator[DataWarning]:
    """A warning for each tagged corpus of which less than half is left, as when its synthetic sources are bad."""
    for spec, read, corpus in zip(specs, pairs_read, corpora, strict=True):
        kept = corpus.stop - corpus.start
        if spec.tag and kept < read / 2:
            yield DataWarning(
                "few-tagged-pairs",
                f"{spec.text}: only {kept:,} of {read:,} pairs are left",
                hint="see the reasons and examples in the data card",
            )
