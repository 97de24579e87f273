"""How confident a model is in translations of its own validation set, to notice text that is unlike its training data.

The confidence of a translation is its mean token log-probability, log P / T. It falls with the length of the sentence:
a value that is normal for a long sentence is unusual for a short one. Over the validation set, with S source tokens,

    log(-log P / T) = a + b log S + residual      (least squares)

and a translation is unusual if its residual is above the 99% quantile. At the end of training, confidence.json stores

    model_sha256        the model that this belongs to; it says nothing about another one
    sentences           number of translations
    factor, exponent    exp(a + quantile) and b: confidence below -factor · S^exponent is unusual
    shortest, longest   S of the validation set; other sentences are treated like the nearest of these
    quantiles           of the confidence at any length: "0.01" → the value that 99% of the translations exceed
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
_UNUSUAL = 0.99
_CERTAIN = 1e-3  # -log P / T below this has no meaningful logarithm


@dataclass(frozen=True)
class Calibration:
    """What confidence is normal for a model."""

    factor: float
    exponent: float
    shortest: int
    longest: int

    @classmethod
    def of(cls, values: Sequence[float], lengths: Sequence[int]) -> Calibration:
        """The calibration to translations with these confidences of sources with these numbers of tokens."""
        x = np.log(np.asarray(lengths, dtype=np.float64))
        y = np.log(np.maximum(-np.asarray(values), _CERTAIN))
        variance = float(np.var(x))
        b = float(np.mean((x - x.mean()) * (y - y.mean()))) / variance if variance > 0 else 0.0
        a = float(y.mean() - b * x.mean())
        highest = float(np.quantile(y - a - b * x, _UNUSUAL))
        return cls(round(float(np.exp(a + highest)), 4), round(b, 4), min(lengths), max(lengths))

    def threshold(self, source_tokens: int) -> float:
        """The confidence below which a translation of so many source tokens is unusual."""
        length = min(max(source_tokens, self.shortest), self.longest)
        return -self.factor * math.pow(length, self.exponent)


def confidence(translation: Translation) -> float | None:
    """Mean token log-probability; None for a blank line, or if no scores were requested."""
    if translation.log_probability is None or not translation.target_pieces:
        return None
    return translation.log_probability / len(translation.target_pieces)


def write_confidence(folder: Path, model_sha256: str | None, translations: Sequence[Translation]) -> None:
    """Store the calibration to a validation set; too small a set says too little."""
    found = [
        (value, len(translation.source_pieces))
        for translation in translations
        if (value := confidence(translation)) is not None
    ]
    if len(found) < _MIN_SENTENCES:
        GuardedDirectory(folder).remove(CONFIDENCE)
        return
    values, lengths = (list(column) for column in zip(*found, strict=True))
    quantiles = np.quantile(values, _QUANTILES).tolist()
    content: dict[str, Any] = {
        "model_sha256": model_sha256,
        "sentences": len(values),
        **asdict(Calibration.of(values, lengths)),
        "quantiles": {str(q): round(value, 4) for q, value in zip(_QUANTILES, quantiles, strict=True)},
    }
    GuardedDirectory(folder).write_json(CONFIDENCE, content)


def read_calibration(folder: Path, model_sha256: str | None) -> Calibration | None:
    """The calibration of this model; None if there is none, as in a run of an older version."""
    try:
        content = GuardedDirectory(folder).read_json(CONFIDENCE)
        if content["model_sha256"] != model_sha256:
            return None
        found = Calibration(
            float(content["factor"]),
            float(content["exponent"]),
            int(content["shortest"]),
            int(content["longest"]),
        )
        threshold = found.threshold(found.longest)
    except (DirectoryError, ValueError, KeyError, TypeError, OverflowError, ZeroDivisionError):
        return None
    return found if math.isfinite(threshold) and 1 <= found.shortest <= found.longest else None
