"""What a terminal shows of training."""

import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from nmt_cli.cli.display.console import Verbosity
from nmt_cli.cli.display.training import TrainingDisplay
from nmt_cli.training import Report, Sample, StartReport, UpdateReport, ValidationReport

START = StartReport(
    run=Path("run"),
    update=0,
    epoch=1,
    parameters=9,
    updates_per_epoch=100,
    last_update=1000,
    device="cpu",
    precision="float32",
    processes=1,
    validates=True,
    changes=(),
)
VALIDATION = ValidationReport(
    update=5,
    epoch=1,
    loss=1.0,
    perplexity=2.7,
    bleu=None,
    chrf=None,
    score=1.0,
    best=True,
    best_score=1.0,
    samples=tuple(
        Sample(f"source {i}", f"reference {i}", f"translation {i}", (), (), None) for i in range(3)
    ),
    seconds=1.0,
)


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(
    monkeypatch: pytest.MonkeyPatch,
    reports: Sequence[Report],
    *,
    level: Verbosity = Verbosity.NORMAL,
    screen: io.StringIO,
    time_limit: float | None = None,
) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", screen)
    with TrainingDisplay(level, metric="perplexity", time_limit=time_limit) as display:
        for report in reports:
            display.show(report)
    return screen.getvalue()


@pytest.mark.parametrize(
    ("level", "screen", "count"),
    [
        (Verbosity.NORMAL, Terminal(), 1),
        (Verbosity.NORMAL, io.StringIO(), 0),
        (Verbosity.VERBOSE, io.StringIO(), 3),
        (Verbosity.QUIET, Terminal(), 0),
    ],
)
def test_a_validation_shows_one_sample_on_a_screen_all_on_request_and_none_in_a_log(
    monkeypatch: pytest.MonkeyPatch, level: Verbosity, screen: io.StringIO, count: int
) -> None:
    text = shown(monkeypatch, [START, VALIDATION], level=level, screen=screen)
    assert text.count("  translation  translation") == count


def test_with_a_time_limit_the_bar_counts_time(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[Report] = [START, UpdateReport(update=20, epoch=1)]
    limited = shown(monkeypatch, reports, screen=Terminal(), time_limit=600.0)
    assert "20 updates, 0 s of 10 min, " in limited
    assert "20/1,000" in shown(monkeypatch, reports, screen=Terminal())
