"""Whether the score of a recipe is as expected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.errors import DirectoryError
from nmt_cli.recipe.definition import Expected

Record = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """One sentence, further notes, and whether the score reaches the expected band."""

    sentence: str
    notes: tuple[str, ...] = ()
    passed: bool = True


def check_score(expected: Expected, run: Path) -> Verdict:
    """Compare the last evaluation of a run with the expected score."""
    record, score = _evaluation(expected, run)
    value = round(score["score"], 1)
    shown = f"{expected.metric} {value:.1f}"
    notes = (f"signature: {score['signature']}", *_anchors(expected))
    if not _computed_as_expected(score, expected):
        return Verdict(
            f"{shown}: not comparable, since it was not computed as expected",
            (*notes, f"expected: {expected.signature}"),
        )
    if expected.sentences is not None and record["sentences"] != expected.sentences:
        return Verdict(
            f"{shown}: not comparable, since this test set has {record['sentences']:,} sentences and "
            f"{expected.test_set} has {expected.sentences:,}",
            notes,
        )
    if expected.band is None:
        return Verdict(f"{shown} on {expected.test_set}; no expected band has been measured yet", notes)
    low, high = expected.band.low, expected.band.high
    place = "below" if value < low else "above" if value > high else "inside"
    return Verdict(f"{shown}, {place} the expected band {low:.1f}–{high:.1f}", notes, passed=value >= low)


def _evaluation(expected: Expected, run: Path) -> tuple[Record, Record]:
    """The last evaluation with the expected signature, or else the last one, and its score."""
    from nmt_cli.run.logs import ScoresLog  # torch takes seconds to import

    found = [
        (record, score)
        for record in ScoresLog(run).read()
        for score in record["scores"]
        if score["metric"] == expected.metric
    ]
    if not found:
        raise DirectoryError(f"{run} has no {expected.metric} score yet", hint=f"run nmt evaluate {run}")
    return next((one for one in reversed(found) if _computed_as_expected(one[1], expected)), found[-1])


def _computed_as_expected(score: Record, expected: Expected) -> bool:
    return _essence(score["signature"]) == _essence(expected.signature)


def _anchors(expected: Expected) -> tuple[str, ...]:
    return tuple(
        f"published: {anchor.score:g}, {anchor.system} ({anchor.source}{f'; {anchor.note}' if anchor.note else ''})"
        for anchor in expected.anchor
    )


def _essence(signature: str) -> str:
    """The parts of a signature that affect the score: not the resampling, nor sacreBLEU's version."""
    parts = signature.split("|")
    return "|".join(part for part in parts if part.partition(":")[0] not in ("version", "bs", "ar", "seed"))
