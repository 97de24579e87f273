"""`nmt COMMAND --help` as users read it."""

import inspect
import re
from typing import Any

import pytest
import typer

from nmt_cli.cli.app import app

from .conftest import Run

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
USAGE = {
    "align": "[OPTIONS]",
    "align-eval": "[OPTIONS] HYP...",
    "average": "[OPTIONS] RUN_DIR...",
    "caption": "[OPTIONS] RUN_DIR [IMAGE...]",
    "config": "[OPTIONS] [FILE] [SECTION]",
    "demo-data": "[OPTIONS]",
    "evaluate": "[OPTIONS] [SYSTEM...]",
    "export": "[OPTIONS] RUN_DIR",
    "explain": "[OPTIONS] RUN_DIR [SENTENCE...]",
    "generate": "[OPTIONS] RUN_DIR [TEXT]",
    "info": "[OPTIONS] [DIR...]",
    "preprocess": "[OPTIONS]",
    "presets": "[OPTIONS] [NAME]",
    "recipe": "[OPTIONS] [NAME]",
    "rerank": "[OPTIONS]",
    "serve": "[OPTIONS] MODEL...",
    "score": "[OPTIONS] RUN_DIR...",
    "selftest": "[OPTIONS]",
    "train": "[OPTIONS] [DATA_DIR] [CONFIG]",
    "transcribe": "[OPTIONS] RUN_DIR [FILE...]",
    "translate": "[OPTIONS] RUN_DIR... [SENTENCE|FILE...]",
}


def test_every_command_is_covered() -> None:
    assert set(USAGE) == set(COMMANDS)


@pytest.mark.parametrize("width", ["80", "120"])
@pytest.mark.parametrize("name", ["", *USAGE])
def test_help_shows_no_python_types_and_fits_the_terminal(
    nmt: Run, monkeypatch: pytest.MonkeyPatch, name: str, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    outcome = nmt(*name.split(), "--help")
    assert outcome.code == 0
    assert re.findall(r"<\w+[\w\[\]|, ]*>|list\[|\{|\}", outcome.stdout) == []
    assert all(len(line) <= int(width) for line in outcome.stdout.split("\n"))


@pytest.mark.parametrize("name", USAGE)
def test_the_usage_line_has_arguments_as_people_expect_them(
    nmt: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert f" Usage: nmt {name} {USAGE[name]} " in nmt(name, "--help").stdout


@pytest.mark.parametrize("name", USAGE)
def test_every_option_has_a_sentence_of_help_and_flags_have_no_metavar(name: str) -> None:
    for parameter in COMMANDS[name].params:
        assert re.fullmatch(r"[A-Z].*\.", parameter.help), (parameter.name, parameter.help)
        is_flag = getattr(parameter, "is_flag", False)
        assert bool(parameter.metavar) != is_flag, parameter.name


@pytest.mark.parametrize("name", USAGE)
def test_no_line_of_a_description_is_folded_at_80_columns(name: str) -> None:
    description = inspect.cleandoc(COMMANDS[name].help)
    summary, *lines = re.sub(r"\[/?(?:cyan)?\]", "", description).split("\n")
    assert len(summary) <= 64, summary  # one line in the list of commands, too
    assert [line for line in lines if len(line) > 78] == []
