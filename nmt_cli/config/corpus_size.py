"""Defaults that depend on the size of the corpus: little data needs small batches, dropout and many epochs.

The schema has the defaults of 10,000 to 100,000 pairs, found by experiment (docs/experiments.md).
"""

from collections.abc import Mapping
from typing import Any

# Up to so many pairs → what differs from the schema.
CORPUS_SIZES: tuple[tuple[float, Mapping[str, Any]], ...] = (
    (10_000, {"train.batch_tokens": 512, "train.max_epochs": 30, "model.dropout": 0.4}),
    (100_000, {}),
    (1_000_000, {"train.batch_tokens": 2048, "train.max_epochs": 8, "model.dropout": 0.2}),
    (
        float("inf"),
        {
            "train.batch_tokens": 8192,
            "train.max_epochs": 5,
            "train.warmup_updates": 2000,
            "train.validate_every": 5000,
            "model.dropout": 0.1,
        },
    ),
)


def corpus_defaults(pairs: int) -> Mapping[str, Any]:
    """Settings whose default is another one for a corpus of so many training pairs."""
    return next(settings for most, settings in CORPUS_SIZES if pairs <= most)
