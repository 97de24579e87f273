"""What holds for every command."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from nmt_cli import __version__
from nmt_cli.cli.app import app
from nmt_cli.cli.boundary import Boundary, Terminated
from nmt_cli.config import setting_names
from nmt_cli.errors import ConfigError, CorpusError
from nmt_cli.files.manifest import write_manifest

from .conftest import Run

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
HEAVY = ("torch", "datasets", "pandas", "pyarrow", "numpy", "sentencepiece", "sacrebleu")


def imported(commands: Sequence[Sequence[str]], code: str, modules: Sequence[str]) -> list[str]:
    """The commands that import one of the modules, run one after the other in a process of their own.

    `code` is what each command is expected to exit with, as a condition on `code`.
    """
    script = (
        "import json, sys\n"
        "from nmt_cli.cli.app import app\n"
        f"for arguments in {[list(map(str, command)) for command in commands]!r}:\n"
        "    try: app(arguments, prog_name='nmt')\n"
        "    except SystemExit as end: code = end.code\n"
        f"    assert {code}, (arguments, code)\n"
        f"    found = [name for name in {tuple(modules)!r} if name in sys.modules]\n"
        "    if found: sys.exit(f'{arguments} imported {found}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    return [] if done.returncode == 0 else done.stderr.splitlines()[-1:]


def test_help_and_version_import_nothing_heavy() -> None:
    commands = [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)]
    assert len(commands) > 14
    assert imported(commands, "code == 0", HEAVY) == []


NO_RUN = "nowhere", "text", "data"  # missing, a file, a directory of another kind
MISTAKES = {
    "preprocess": [
        ["--target-lang", "en", "--train", "text", "--out", "new", "--quiet", "--verbose"],
        ["-s", "de", "-t", "en", "--train", "nowhere", "--out", "new"],
        ["-s", "de", "-t", "en", "--train", "text", "--out", "new", "--set", "data.nonsense=1"],
    ],
    "demo-data": [["--out", "text"], ["--out", "new", "--size", "0"]],
    "train": [
        [],
        ["data"],
        *([place, "--out", "new"] for place in ("nowhere", "text", "run")),
        *(["data", "--out", place] for place in ("text", "run")),
        *(["--resume", place] for place in NO_RUN),
        *(["data", "--out", "new", "--init", place] for place in NO_RUN),
        ["--resume", "run", "--out", "new"],
        ["data", "--out", "new", "--time-limit", "soon"],
        ["data", "--out", "new", "--device", "gpu"],
        ["data", "--out", "new", "--preset", "nonsense"],
        ["data", "--out", "new", "--set", "train.nonsense=1"],
        ["data", "nowhere.toml", "--out", "new"],
        ["data", "--dry-run", "--on", "8×Z80"],
        ["data", "--out", "new", "--on", "8×A100"],
    ],
    "average": [
        *([place, "--out", "new"] for place in NO_RUN),
        *(["run", "--out", place] for place in ("text", "run")),
        ["run", "run", "--out", "new", "--last", "2"],
    ],
    "recipe": [["nonsense"], ["--smoke"]],
    "translate": [
        [],
        *([place] for place in NO_RUN),
        ["run", "--input", "nowhere"],
        ["run", "--set", "search.nonsense=1"],
        ["run", "--set", "train.seed=1"],
        ["run", "--tsv", "--json"],
        ["run", "--attention"],
        ["run", "--device", "gpu"],
    ],
    "score": [
        *([place, "--target", "text"] for place in NO_RUN),
        ["run", "--target", "nowhere"],
        ["run", "--target", "text", "--source", "nowhere"],
        ["run", "--target", "-", "--source", "-"],
        ["run", "--target", "text", "--tokens"],
        ["run", "--target", "text", "--set", "search.nonsense=1"],
    ],
    "rerank": [
        [],
        *(["-i", "text", "--reverse", place] for place in NO_RUN),
        ["-i", "nowhere", "--reverse", "run"],
        ["-i", "text", "--reverse", "run@weight=much"],
        ["-i", "text", "--reverse", "run", "--tune", "nowhere"],
        ["-i", "text", "--reverse", "run", "--tune", "text", "--json"],
        ["--reverse", "run", "--tune", "-"],
    ],
    "generate": [
        *([place, "ba"] for place in NO_RUN),
        ["run", "--input", "nowhere"],
        ["run", "ba", "--input", "text"],
        ["run", "ba", "--set", "search.nonsense=1"],
    ],
    "export": [
        *([place, "--out", "new"] for place in NO_RUN),
        ["run"],
        ["run", "--out", "text"],
        ["run", "--out", "new", "--shortlist", "many"],
        ["run", "--out", "new", "--data", "run"],
        ["run", "--out", "new", "--set", "search.nonsense=1"],
    ],
    "caption": [
        *([place, "a.png"] for place in NO_RUN),
        ["run", "a.png", "--attention"],
        ["run", "a.png", "--n-best", "2"],
        ["run", "a.png", "--set", "search.nonsense=1"],
        ["run", "a.png", "--device", "gpu"],
    ],
    "transcribe": [
        *([place, "a.wav"] for place in NO_RUN),
        ["run", "a.wav", "--attention"],
        ["run", "a.wav", "--n-best", "2"],
        ["run", "a.wav", "--set", "search.nonsense=1"],
        ["run", "a.wav", "--device", "gpu"],
    ],
    "explain": [
        *([place, "ba"] for place in NO_RUN),
        ["run"],
        ["run", "ba", "de", "--svg", "new"],
        ["run", "ba", "--html", "-"],
        ["run", "ba", "--html", "new", "--output", "new"],
        ["run", "ba", "de", "--target", "BA"],
        ["run", "ba", "--set", "search.nonsense=1"],
        ["run", "ba", "--device", "gpu"],
    ],
    "evaluate": [
        [],
        ["text"],
        ["nowhere", "--reference", "text"],
        ["data", "--reference", "text"],
        ["run", "--reference", "nowhere"],
        ["run", "--source", "nowhere", "--reference", "text"],
        ["run", "--report", "nowhere/report.html"],
        ["run", "--json", "--plain"],
        ["run", "--set", "search.nonsense=1"],
        ["run", "--device", "gpu"],
        ["text", "--reference", "text", "--set", "search.beam_size=1"],
        ["text", "--reference", "text", "--save-hypotheses", "new"],
        ["text", "--reference", "text", "--metrics", "nonsense"],
    ],
    "serve": [
        *([place] for place in NO_RUN),
        ["run", "--port", "99999"],
        ["run", "--keys", "nowhere"],
        ["run", "--set", "search.nonsense=1"],
        ["run", "--device", "gpu"],
    ],
    "align": [["-s", "text"], ["-s", "nowhere", "-t", "text"], ["-s", "-", "-t", "-"]],
    "align-eval": [["text"], ["nowhere", "--gold", "text"], ["text", "--gold", "text", "--json", "--plain"]],
    "info": [["text"], ["nowhere"], ["data"]],
    "presets": [["nonsense"]],
    "selftest": [["--device", "nonsense"], ["--threads", "0"]],
    "config": [["nowhere.toml"], ["--set", "train.nonsense=1"], ["--preset", "nonsense"]],
}  # fmt: skip


@pytest.fixture
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text, and two directories with a valid manifest but nothing else."""
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("ba de\n")
    for kind in ("run", "data"):
        Path(kind).mkdir()
        write_manifest(Path(kind), kind)


@pytest.mark.usefixtures("_places")
def test_mistakes_on_the_command_line_are_reported_before_torch_is_imported() -> None:
    assert set(MISTAKES) == set(COMMANDS)
    commands = [[name, *arguments] for name, many in MISTAKES.items() for arguments in many]
    assert imported(commands, "code in (1, 2)", ["torch", "datasets"]) == []
    assert sorted(path.name for path in Path().iterdir()) == ["data", "run", "text"]


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


@pytest.mark.parametrize(
    ("arguments", "message", "usage"),
    [
        (["--nonsense"], "no such option: --nonsense", "nmt [OPTIONS] COMMAND [ARGS]...; try `nmt --help`"),
        (["translat"], "no such command 'translat'. Did you mean 'translate', 'train'?", "nmt [OPTIONS] COMMAND"),
        (["config", "--nonsense"], "no such option: --nonsense", "nmt config [OPTIONS] [FILE] [SECTION]; try"),
        (["translate"], "missing argument 'RUN_DIR... [SENTENCE|FILE...]'", "nmt translate [OPTIONS] RUN_DIR..."),
        (["average", "run"], "missing option '--out' / '-o'", "nmt average [OPTIONS] RUN_DIR...; try"),
        (["translate", "x", "--threads", "0"],
         "invalid value for '--threads': Input should be greater than or equal to 1", "nmt translate"),
        (["translate", "x", "--threads", "100000"],
         "invalid value for '--threads': Input should be less than or equal to 1024", "nmt translate"),
        (["preprocess", "--workers", "100000"],
         "invalid value for '--workers': Input should be less than or equal to 1024", "nmt preprocess"),
    ],
)  # fmt: skip
def test_a_usage_error_is_one_line_and_a_hint_that_shows_the_usage(
    nmt: Run, arguments: list[str], message: str, usage: str
) -> None:
    outcome = nmt(*arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.error == f"error: {message}"
    assert outcome.hint.startswith(f"hint: usage: {usage}")


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


def test_config_shows_one_section(nmt: Run, tmp_path: Path) -> None:
    listed = [
        line.split()[0] for line in nmt("config", "search").stdout.splitlines()[1:] if line[:1].isalpha()
    ]
    assert [name for name in listed if "." in name] == [n for n in setting_names() if n.startswith("search.")]
    (tmp_path / "a.toml").write_text("[search]\nbeam_size = 3\n")
    outcome = nmt("config", tmp_path / "a.toml", "search")
    assert outcome.stdout.startswith("[search]\nbeam_size = 3  # file ")
    assert outcome.stdout.count("[") == 1
    assert nmt("config", "search", tmp_path / "a.toml").stdout == outcome.stdout
    for arguments in ([tmp_path / "a.toml", "serch"], ["serch"]):
        assert nmt("config", *arguments).error.endswith("no section serch (did you mean search?)")


def test_config_shows_what_differs_from_the_defaults_and_can_be_used_again(nmt: Run, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[search]\nbeam_size = 5\n[train]\nseed = 9\n")  # 5 is the default
    outcome = nmt("config", tmp_path / "a.toml", "--changed")
    assert outcome.stdout == f"[train]\nseed = 9  # file {tmp_path / 'a.toml'}\n"
    (tmp_path / "b.toml").write_text(nmt("config", "--preset", "vaswani2017", "--changed").stdout)
    plain, again = nmt("config", "--preset", "vaswani2017"), nmt("config", tmp_path / "b.toml")
    assert [line.split("  #")[0] for line in plain.stdout.splitlines()] == [
        line.split("  #")[0] for line in again.stdout.splitlines()
    ]
    assert nmt("config", "--changed").stdout == ""


def test_every_command_that_takes_settings_takes_a_file_too() -> None:
    for name, command in COMMANDS.items():
        options = {text for parameter in command.params for text in parameter.opts}
        assert name == "config" or ("--set" in options) == ("--config" in options), name


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
        (OSError(13, "Permission denied", "/x/y"), 1, "error: cannot access /x/y: Permission denied\n"),
        (
            OSError(28, "No space left on device"),
            1,
            "error: cannot write to standard output: No space left on device\nhint: the output is incomplete",
        ),
        (OSError(11, "Resource temporarily unavailable"), 1, "error: the system reports an error: Resource"),
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


def test_a_signal_during_cleanup_does_not_hide_the_error() -> None:
    app = typer.Typer(cls=Boundary, pretty_exceptions_enable=False)

    @app.callback()
    def root() -> None: ...

    @app.command()
    def fail() -> None:
        try:
            raise CorpusError("the text is wrong", hint="mend it")
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)  # ended by the signal

    result = CliRunner().invoke(app, ["fail"])
    assert (result.exit_code, result.stderr) == (1, "error: the text is wrong\nhint: mend it\n")


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
def test_a_closed_pipe_is_not_an_error(command: str) -> None:
    line = f"{sys.executable} -m nmt_cli {command} | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2> >(true)"])
def test_a_lost_standard_error_does_not_stop_the_work(redirection: str) -> None:
    script = (
        "from nmt_cli.cli.display.console import messages; [messages().print('x' * 9999) for _ in range(99)]"
    )
    line = f"{sys.executable} -c {shlex.quote(script + '; print(42)')} {redirection}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "42\n")


def test_a_closed_standard_error_does_not_stop_the_work() -> None:
    line = f"{sys.executable} -m nmt_cli presets 2>&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "luong2015" in done.stdout


@pytest.mark.parametrize("command", ["config", "presets", "recipe"])
def test_a_closed_standard_output_is_an_error(command: str) -> None:
    line = f"{sys.executable} -m nmt_cli {command} >&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: standard output is closed\nhint: ")


def test_ctrl_c_during_start_up_ends_without_a_traceback() -> None:
    script = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with Ctrl-C ignored
class Slow:
    def find_spec(self, name, *_):
        if name == "nmt_cli.cli.app":
            print("importing", flush=True)
            time.sleep(600)
sys.meta_path.insert(0, Slow())
from nmt_cli.cli import main
main()
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=300) == ("", "")
    assert process.returncode == -signal.SIGINT
