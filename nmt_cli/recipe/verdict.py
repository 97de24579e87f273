"""What the score of a recipe means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.errors import StoreError
from nmt_cli.recipe.definition import Expected

Record = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """The sentence to show, what else is known, and whether the run is as good as it should be."""

    sentence: str
    notes: tuple[str, ...] = ()
    passed: bool = True


def judge(expected: Expected, run: Path) -> Verdict:
    """Compare the last evaluation of a run with what is expected."""
    record, score = _evaluation(expected, run)
    value = round(score["score"], 1)
    shown = f"{expected.metric} {value:.1f}"
    notes = (f"signature: {score['signature']}", *_anchors(expected))
    if not _computed_as_expected(score, expected):
        return Verdict(
            f"{shown}: no verdict, since it was not computed as expected",
            (*notes, f"expected: {expected.signature}"),
        )
    if expected.sentences is not None and record["sentences"] != expected.sentences:
        return Verdict(
            f"{shown}: no verdict, since this test set has {record['sentences']:,} sentences and "
            f"{expected.test_set} has {expected.sentences:,}",
            notes,
        )
    if expected.band is None:
        return Verdict(f"{shown} on {expected.test_set}; there is no band of our own runs yet", notes)
    low, high = expected.band.low, expected.band.high
    place = "below" if value < low else "above" if value > high else "inside"
    return Verdict(f"{shown}, {place} the expected band {low:.1f}–{high:.1f}", notes, passed=value >= low)


def _evaluation(expected: Expected, run: Path) -> tuple[Record, Record]:
    """The last evaluation that was made as expected, or else the last one, and its score."""
    from nmt_cli.run.logs import ScoresLog  # torch takes seconds to import

    found = [
        (record, score)
        for record in ScoresLog(run).read()
        for score in record["scores"]
        if score["metric"] == expected.metric
    ]
    if not found:
        raise StoreError(f"{run} has no {expected.metric} yet", hint=f"nmt evaluate {run}")
    return next((one for one in reversed(found) if _computed_as_expected(one[1], expected)), found[-1])


def _computed_as_expected(score: Record, expected: Expected) -> bool:
    return _essence(score["signature"]) == _essence(expected.signature)


def _anchors(expected: Expected) -> tuple[str, ...]:
    return tuple(
        f"published: {anchor.score:g}, {anchor.system} ({anchor.source}{f'; {anchor.note}' if anchor.note else ''})"
        for anchor in expected.anchor
    )


def _essence(signature: str) -> str:
    """What decides a score: not how its interval was estimated, nor the version of sacreBLEU."""
    parts = signature.split("|")
    return "|".join(part for part in parts if part.partition(":")[0] not in ("version", "bs", "ar", "seed"))
