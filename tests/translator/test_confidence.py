"""Calibration of confidence: what is normal depends on the length of a sentence."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.translator.confidence import CONFIDENCE, Calibration, read_calibration

LENGTHS = np.random.default_rng(1).integers(3, 40, 2000)
SPREAD = np.random.default_rng(2).normal(size=2000)
VALUES = -0.1 * LENGTHS**0.7 * np.exp(0.3 * SPREAD)


def test_one_sentence_in_a_hundred_is_unusual_among_short_and_among_long_ones() -> None:
    calibration = Calibration.of(VALUES.tolist(), LENGTHS.tolist())
    unusual = np.array(
        [value < calibration.threshold(int(n)) for value, n in zip(VALUES, LENGTHS, strict=True)]
    )
    assert unusual.mean() == pytest.approx(0.01, abs=0.002)
    for share in (unusual[LENGTHS < 15].mean(), unusual[LENGTHS >= 15].mean()):
        assert 0 < share < 0.03


def test_the_same_confidence_is_normal_for_a_long_sentence_and_unusual_for_a_short_one() -> None:
    calibration = Calibration.of(VALUES.tolist(), LENGTHS.tolist())
    typical = float(np.median(VALUES[LENGTHS >= 35]))
    assert calibration.threshold(35) < typical < calibration.threshold(3)


def test_lengths_that_the_validation_set_lacks_are_treated_like_the_nearest() -> None:
    calibration = Calibration.of(VALUES.tolist(), LENGTHS.tolist())
    assert calibration.threshold(1000) == calibration.threshold(39)
    assert calibration.threshold(1) == calibration.threshold(3)


def test_a_model_that_is_certain_and_sentences_of_one_length_are_calibrated_too() -> None:
    assert Calibration.of([0.0] * 200, [7] * 200).threshold(7) == pytest.approx(-1e-3)


@pytest.mark.parametrize(
    "damage",
    [{"factor": "many"}, {"factor": float("nan")}, {"exponent": 1e9}, {"shortest": 0}, {"model_sha256": "b"}],
)
def test_a_file_that_is_damaged_or_of_another_model_is_not_used(
    tmp_path: Path, damage: dict[str, object]
) -> None:
    content = {"model_sha256": "a", **asdict(Calibration(1.0, 0.5, 3, 9))}
    (tmp_path / CONFIDENCE).write_text(json.dumps(content))
    assert read_calibration(tmp_path, "a") == Calibration(1.0, 0.5, 3, 9)
    (tmp_path / CONFIDENCE).write_text(json.dumps({**content, **damage}))
    assert read_calibration(tmp_path, "a") is None
