"""How confident a model is in translations of its own validation set, to notice text that is unlike its training data.

The confidence of a translation is its mean token log-probability, log P / T. At the end of training, its quantiles over
the validation set are stored in confidence.json:

    model_sha256   the model they belong to; they say nothing about another one
    sentences      number of translations
    quantiles      "0.01" → the value that 99% of the translations exceed, and so on
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.errors import DirectoryError
from nmt_cli.files.guarded import GuardedDirectory
from nmt_cli.translator.translation import Translation

CONFIDENCE = "confidence.json"
MAX_SENTENCES = 500  # enough for a quantile of 1%, and a matter of seconds
_MIN_SENTENCES = 100
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95)
_THRESHOLD = "0.01"


def confidence(translation: Translation) -> float | None:
    """Mean token log-probability; None for a blank line, or if no scores were requested."""
    if translation.log_probability is None or not translation.target_pieces:
        return None
    return translation.log_probability / len(translation.target_pieces)


def write_confidence(folder: Path, model_sha256: str | None, translations: Sequence[Translation]) -> None:
    """Store the quantiles of a validation set; too small a set says too little."""
    values = [value for translation in translations if (value := confidence(translation)) is not None]
    if len(values) < _MIN_SENTENCES:
        GuardedDirectory(folder).remove(CONFIDENCE)
        return
    found = np.quantile(values, _QUANTILES).tolist()
    content: dict[str, Any] = {
        "model_sha256": model_sha256,
        "sentences": len(values),
        "quantiles": {str(q): round(value, 4) for q, value in zip(_QUANTILES, found, strict=True)},
    }
    GuardedDirectory(folder).write_json(CONFIDENCE, content)


def read_threshold(folder: Path, model_sha256: str | None) -> float | None:
    """The confidence that 99% of the validation set exceed; None if it is not known for this model."""
    try:
        content = GuardedDirectory(folder).read_json(CONFIDENCE)
        return float(content["quantiles"][_THRESHOLD]) if content["model_sha256"] == model_sha256 else None
    except (DirectoryError, ValueError, KeyError, TypeError):  # a run of an older version has none
        return None
