"""Progress and warnings in a terminal do not run into each other or into the results."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from nmt_cli.cli.display.lines import LineProgress, LineWarnings


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


Show = Callable[..., str]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Show:
    """What is on the screen after two windows, the second of which has a warning."""

    def shown(*, out: Path | None, wanted: bool | None = None) -> str:
        screen = Terminal()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(sys, "stderr", screen)
        console = Console(file=screen, force_terminal=True, width=80, color_system=None)
        bar = LineProgress(console, out=out, wanted=wanted, quiet=False)
        warnings = LineWarnings(console)
        with bar, warnings:
            bar.advance(30)
            warnings.undecodable(75)
            bar.advance(30)
        return screen.getvalue()

    return shown


@pytest.mark.parametrize("out", [None, Path("-")])
def test_there_is_no_live_line_if_results_go_to_the_same_terminal(show: Show, out: Path | None) -> None:
    screen = show(out=out)
    assert screen.startswith("warning: line 75 is not valid UTF-8")
    assert screen.count("\n") == 1


def test_requested_progress_is_a_plain_line(show: Show) -> None:
    screen = show(out=None, wanted=True)
    assert screen.splitlines()[-1].startswith("60 lines, ")
    assert "\x1b" not in screen


def test_a_warning_starts_a_line_of_its_own(show: Show) -> None:
    before, note, after = show(out=Path("out")).partition("warning: line 75 is not valid UTF-8")
    assert note
    assert before.endswith(("\n", "\x1b[2K"))  # the live line is taken away first
    assert "60 lines, " in after


def test_progress_shows_share_and_time_left_if_the_number_of_lines_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    screen = io.StringIO()
    console = Console(file=screen, width=120)
    monkeypatch.setattr("nmt_cli.cli.display.lines._INTERVAL", 0.0)
    bar = LineProgress(console, out=Path("out"), wanted=True, quiet=False)
    bar.total = 400
    with bar:
        bar.skip(100)
        bar.advance_within(60)
        bar.advance(100)
        bar.advance(200)
    lines = screen.getvalue().splitlines()
    assert [line.split(" lines,")[0] for line in lines[:2]] == ["40%, 160 of 400", "50%, 200 of 400"]
    assert lines[0].endswith(" left")
    assert lines[-1].startswith("400 lines, ")
