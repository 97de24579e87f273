"""The verdict compares a score with the expected band, if they are comparable."""

from pathlib import Path
from typing import Any

import pytest

from nmt_cli.errors import DirectoryError
from nmt_cli.recipe import Expected, check_score
from nmt_cli.run.logs import ScoresLog

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"
FULL = "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
BAND = {"low": 35.9, "high": 36.9, "scores": [36.3, 36.6], "hardware": "-", "time": "-", "version": "-"}


def expected(**changes: Any) -> Expected:
    return Expected.model_validate(
        {"test_set": "flickr", "sentences": 1000, "signature": SIGNATURE, **changes}
    )


def write(folder: Path, score: float, *, signature: str = FULL, sentences: int = 1000) -> None:
    scores = [{"metric": "BLEU", "score": score, "signature": signature}, {"metric": "chrF2", "score": 60.0}]
    ScoresLog(folder).append({"sentences": sentences, "scores": scores})


@pytest.mark.parametrize(
    ("score", "sentence", "passed"),
    [
        (36.4, "BLEU 36.4, inside the expected band 35.9–36.9", True),
        (35.86, "BLEU 35.9, inside the expected band 35.9–36.9", True),
        (35.84, "BLEU 35.8, below the expected band 35.9–36.9", False),
        (37.2, "BLEU 37.2, above the expected band 35.9–36.9", True),
    ],
)
def test_the_expected_band_decides(tmp_path: Path, score: float, sentence: str, passed: bool) -> None:
    write(tmp_path, score)
    verdict = check_score(expected(band=BAND), tmp_path)
    assert (verdict.sentence, verdict.passed) == (sentence, passed)
    assert verdict.notes == (f"signature: {FULL}",)


def test_without_an_expected_band_only_published_scores_are_shown(tmp_path: Path) -> None:
    write(tmp_path, 20.0)
    anchor = {"score": 24.4, "system": "GNMT", "source": "https://x", "note": "± 0.13"}
    verdict = check_score(expected(anchor=[anchor]), tmp_path)
    assert verdict.passed
    assert verdict.sentence == "BLEU 20.0 on flickr; no expected band has been measured yet"
    assert "published: 24.4, GNMT (https://x; ± 0.13)" in verdict.notes


def test_another_test_set_is_not_comparable(tmp_path: Path) -> None:
    write(tmp_path, 10.0, sentences=60)
    verdict = check_score(expected(band=BAND), tmp_path)
    assert verdict.passed
    assert "not comparable, since this test set has 60 sentences and flickr has 1,000" in verdict.sentence


def test_a_score_with_another_signature_is_not_comparable(tmp_path: Path) -> None:
    write(tmp_path, 40.0, signature=FULL.replace("mixed", "lc"))
    verdict = check_score(expected(band=BAND), tmp_path)
    assert "not computed as expected" in verdict.sentence
    write(tmp_path, 36.0)
    write(tmp_path, 50.0, signature=FULL.replace("13a", "none"))
    assert check_score(expected(band=BAND), tmp_path).sentence.startswith("BLEU 36.0, inside")


def test_a_run_without_an_evaluation_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DirectoryError) as caught:
        check_score(expected(), tmp_path)
    assert "has no BLEU score yet" in caught.value.message
