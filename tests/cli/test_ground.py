"""What holds for the command as a whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from nmt_cli import __version__
from nmt_cli.cli.boundary import Boundary, Terminated
from nmt_cli.config import setting_names
from nmt_cli.errors import ConfigError, CorpusError

from .conftest import Run

HEAVY = ("torch", "datasets", "pandas", "pyarrow", "numpy", "sentencepiece", "sacrebleu")


def test_help_and_version_import_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from nmt_cli.cli.app import app\n"
        "for arguments in (['--help'], ['--version'], ['preprocess', '--help']):\n"
        "    try: app(arguments)\n"
        "    except SystemExit as end: assert end.code == 0, arguments\n"
        f"print('imported:', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("imported: []\n")


def test_version(nmt: Run) -> None:
    outcome = nmt("--version")
    assert (outcome.code, outcome.stdout) == (0, f"nmt {__version__}\n")


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nmt_cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"nmt {__version__}\n"


def test_no_command_shows_help_and_exits_2(nmt: Run) -> None:
    outcome = nmt()
    assert outcome.code == 2
    assert "Usage" in outcome.stdout + outcome.stderr


def test_unknown_command_and_unknown_option_exit_2(nmt: Run) -> None:
    assert nmt("translat").code == 2
    assert nmt("config", "--nonsense").code == 2


def test_config_lists_every_setting(nmt: Run) -> None:
    outcome = nmt("config")
    assert outcome.code == 0
    listed = [line.split()[0] for line in outcome.stdout.splitlines() if line[:1].isalpha()]
    assert [name for name in listed if "." in name] == setting_names()
    assert outcome.stderr == ""


def test_config_shows_the_layer_of_each_value(nmt: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[train]\nseed = 9\n")
    outcome = nmt("config", file, "--set", "vocabulary.size=500", "--preset", "luong2015")
    assert outcome.code == 0
    assert f"seed = 9  # file {file}" in outcome.stdout
    assert "size = 500  # --set" in outcome.stdout
    assert 'preset = "luong2015"  # --set' in outcome.stdout


def test_a_misspelt_setting_exits_2_and_names_the_nearest(nmt: Run) -> None:
    outcome = nmt("config", "--set", "train.sed=1")
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert "train.sed is not a setting (did you mean train.seed?)" in outcome.error
    assert "nmt config" in outcome.hint


def boundary_app(problem: BaseException) -> typer.Typer:
    app = typer.Typer(cls=Boundary, pretty_exceptions_enable=False)

    @app.callback()
    def root() -> None: ...

    @app.command()
    def fail() -> None:
        raise problem

    return app


@pytest.mark.parametrize(
    ("problem", "code", "message"),
    [
        (CorpusError("the text is wrong", hint="mend it"), 1, "error: the text is wrong\nhint: mend it\n"),
        (ConfigError("no such thing", hint="look"), 2, "error: no such thing\nhint: look\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (Terminated(), 143, "error: terminated\n"),
        (
            OSError(28, "No space left on device", "/x/y"),
            1,
            "error: cannot write /x/y: No space left on device\n",
        ),
        (MemoryError(), 1, "error: out of memory\n"),
        (ValueError("oops"), 1, "error: internal error: ValueError: oops\n"),
    ],
)
def test_every_error_becomes_one_line_and_an_exit_code(
    problem: BaseException, code: int, message: str
) -> None:
    result = CliRunner().invoke(boundary_app(problem), ["fail"])
    assert result.exit_code == code
    assert result.stderr.startswith(message)
    assert "Traceback" not in result.stderr


def test_messages_have_no_color_codes_in_a_pipe_even_if_color_is_forced(tmp_path: Path) -> None:
    environment = {**os.environ, "FORCE_COLOR": "1"}
    command = [sys.executable, "-m", "nmt_cli", "config", str(tmp_path / "no.toml")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "\x1b" not in done.stdout + done.stderr


def test_completion_offers_settings() -> None:
    environment = {
        **os.environ,
        "_NMT_COMPLETE": "complete_bash",
        "COMP_WORDS": "nmt config --set train.se",
        "COMP_CWORD": "3",
    }
    script = "from nmt_cli.cli import main; import sys; sys.argv[0] = 'nmt'; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert "train.seed=" in done.stdout


@pytest.mark.parametrize("command", ["config", "presets luong2015"])
def test_a_pipe_that_is_closed_is_no_error(command: str) -> None:
    line = f"{sys.executable} -m nmt_cli {command} | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_standard_error_does_not_stop_the_work() -> None:
    line = f"{sys.executable} -m nmt_cli presets 2>&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "luong2015" in done.stdout
