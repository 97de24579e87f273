"""`nmt translate` as a user meets it: pipes, files, signals, bad input."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.cli.options.checks import split_arguments
from nmt_cli.model import device
from nmt_cli.run import RunDirectory
from nmt_cli.translator import Translator
from nmt_cli.translator.confidence import Calibration

from ..translator.runs import LINES, make_run  # noqa: TID252 - tests are no package
from .conftest import Run

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run", ("search.beam_size=2",))


def process(*arguments: object, **options: Any) -> "subprocess.Popen[bytes]":
    """`nmt` in a process of its own."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "nmt_cli", *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=ENVIRONMENT,
        # A shell in the background would leave SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **options,
    )


def count(text: str) -> int:
    assert text == "" or text.endswith("\n")
    return text.count("\n")


def test_a_command_uses_the_faster_products(nmt: Run, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[bool] = []
    monkeypatch.setattr(device, "use_fast_products", wanted.append)
    assert nmt("translate", run, stdin="ba be\n").code == 0
    assert wanted == [True]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"ba be", 1),
        (b"ba\n\n  \nbe\r\nbi", 5),
        ("a\u2028b\x85c\x0bd\x0ce\rf\n".encode(), 1),
        (b"\xff\xfe\n\xc3\n", 2),
        (b"\xef\xbb\xbfba\n", 1),
        (b"\0\n\0\0", 2),
        (b"\n" * 5000, 5000),
        (b"ba be\n" * 3000, 3000),
    ],
)
def test_as_many_lines_come_out_as_go_in(nmt: Run, run: Path, text: bytes, lines: int) -> None:
    outcome = nmt("translate", run, stdin=text)
    assert outcome.code == 0, outcome.stderr
    assert count(outcome.stdout) == lines
    assert "\r" not in outcome.stdout
    for source, translation in zip(text.split(b"\n"), outcome.stdout.split("\n"), strict=False):
        if not source.decode(errors="replace").strip():
            assert translation == ""


@pytest.mark.parametrize("name", ["blns.txt", "UTF-8-test.malformed.txt"])
def test_naughty_text_keeps_its_lines(nmt: Run, run: Path, corpora: Path, name: str) -> None:
    path = corpora / "robustness" / name
    outcome = nmt("translate", run, "--input", path, "--beam", 1, "--max-tokens", 60)
    assert outcome.code == 0, outcome.stderr
    text = path.read_bytes()
    assert count(outcome.stdout) == text.count(b"\n") + (not text.endswith(b"\n"))


def test_text_that_is_not_utf8_is_reported_and_counted(nmt: Run, run: Path) -> None:
    outcome = nmt("translate", run, stdin=b"ba\n" + b"\xff\n" * 9)
    notes = [line for line in outcome.stderr.split("\n") if "UTF-8" in line]
    assert notes[0] == "warning: line 2 is not valid UTF-8; undecodable bytes are replaced by U+FFFD"
    assert notes[-1] == "note: 9 lines are not valid UTF-8 in total"
    assert len(notes) == 4
    strict = nmt("translate", run, "--strict", stdin=b"ba\n\xff\n")
    assert (strict.code, strict.error) == (1, "error: standard input, line 2 is not UTF-8 (byte 1)")


def test_low_confidence_is_reported_and_counted(nmt: Run, run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    text = "".join(f"{line}\n" for line in LINES[:60])
    rows = [
        json.loads(line)
        for line in nmt("translate", run, "--json", "--tokens", stdin=text).stdout.splitlines()
    ]
    values = sorted(row["log_probability"] / len(row["target_tokens"]) for row in rows)
    calibration = asdict(Calibration(-values[5] - 1e-6, 0.0, 1, 9))
    facts = {"model_sha256": RunDirectory.open(run).model_sha256, **calibration}
    (tmp_path / "run" / "confidence.json").write_text(json.dumps(facts))
    plain, noted = nmt("translate", run, stdin=text), nmt("translate", tmp_path / "run", stdin=text)
    assert plain.stdout == noted.stdout
    assert "confidence" not in plain.stderr
    notes = [line for line in noted.stderr.splitlines() if "confidence" in line]
    assert notes[0].startswith("warning: low confidence in the translation of line ")
    assert len(notes) == 4
    assert notes[-1] == "note: 6 lines have a translation with low confidence in total"
    assert "confidence" not in nmt("translate", tmp_path / "run", "--sample", stdin=text).stderr
    (tmp_path / "run" / "confidence.json").write_text(
        json.dumps({**facts, "model_sha256": "of another model"})
    )
    assert "confidence" not in nmt("translate", tmp_path / "run", stdin=text).stderr


def test_a_long_line_stays_one_line_with_a_warning(nmt: Run, run: Path) -> None:
    long = " ".join(LINES * 5)
    outcome = nmt("translate", run, "--beam", 1, "--max-tokens", 40, stdin=f"ba\n{long}\nbe\n")
    assert outcome.code == 0
    assert count(outcome.stdout) == 3
    assert "warning: line 2 is long and was translated in " in outcome.stderr


def test_files_and_gz_on_both_sides(nmt: Run, run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in LINES[:9]).encode()))
    plain = nmt("translate", run, "-i", tmp_path / "in.gz")
    packed = nmt("translate", run, "-i", tmp_path / "in.gz", "-o", tmp_path / "out.gz")
    assert (packed.code, packed.stdout) == (0, "")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == plain.stdout
    assert count(plain.stdout) == 9


def test_tsv_and_json_have_one_row_per_line(nmt: Run, run: Path) -> None:
    text = "ba\tbe\n\nbi\n"
    tsv = nmt("translate", run, "--tsv", "--n-best", 2, "--alignments", stdin=text)
    rows = [row.split("\t") for row in tsv.stdout.split("\n")[:-1]]
    assert [len(row) for row in rows] == [6, 6, 6]
    assert [row[0] for row in rows] == ["ba be", "", "bi"]
    out = nmt("translate", run, "--json", "-n", 2, "--alignments", "--tokens", "--attention", stdin=text)
    objects = [json.loads(line) for line in out.stdout.split("\n")[:-1]]
    assert [one["line"] for one in objects] == [1, 2, 3]
    assert objects[0]["source"] == "ba\tbe"
    assert [one["translation"] for one in objects] == [row[1] for row in rows]
    assert objects[0]["n_best"][0]["score"] == objects[0]["score"] >= objects[0]["n_best"][1]["score"]
    assert len(objects[0]["token_log_probabilities"]) == len(objects[0]["target_tokens"])
    assert sum(objects[0]["token_log_probabilities"]) == pytest.approx(
        objects[0]["log_probability"], abs=0.01
    )
    assert len(objects[0]["attention"][0]) == len(objects[0]["source_tokens"])


def test_sentences_on_the_command_line_are_translated_like_lines(nmt: Run, run: Path) -> None:
    lines = nmt("translate", run, stdin="ba be\nbi\n")
    sentences = nmt("translate", run, "ba be", "bi")
    assert (sentences.code, sentences.stdout) == (0, lines.stdout)
    ensemble = nmt("translate", run, run, "ba be", "bi")
    assert (ensemble.code, ensemble.stdout) == (0, lines.stdout)


def test_a_file_can_change_search_settings_and_options_override_it(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text("[train]\nseed = 3\n[search]\nbeam_size = 1\nn_best = 1\n")
    with_file = nmt("translate", run, "--tsv", "--config", tmp_path / "a.toml", stdin="ba be bi bo\n")
    assert with_file.stdout == nmt("translate", run, "--tsv", "--beam", 1, stdin="ba be bi bo\n").stdout
    both = nmt("translate", run, "-c", tmp_path / "a.toml", "-b", 3, "-n", 3, "--json", stdin="ba be bi bo\n")
    assert len(json.loads(both.stdout)["n_best"]) == 3
    (tmp_path / "a.toml").write_text("[search]\nbeam = 1\n")
    assert "did you mean search.beam_size" in nmt("translate", run, "-c", tmp_path / "a.toml", "ba").error


def test_sample_is_short_for_sampling(nmt: Run, run: Path) -> None:
    short = nmt("translate", run, "--sample", "--set", "search.seed=7", stdin="ba be\n")
    long = nmt("translate", run, "--set", "search.sampling=true", "--set", "search.seed=7", stdin="ba be\n")
    assert (short.code, short.stdout) == (0, long.stdout)
    assert nmt("translate", run, "--sample", "--beam", 3, "ba").error == "error: --beam contradicts --sample"


def test_arguments_that_look_like_directories_are_runs(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.parent)
    assert split_arguments(["run", "run", "ba", "run"]) == ([Path("run")] * 2, ["ba", "run"])
    assert split_arguments(["run", "runs", "ba be"]) == ([Path("run"), Path("runs")], ["ba be"])
    assert split_arguments(["run", "no/where"]) == ([Path("run"), Path("no/where")], [])
    assert split_arguments(["run", "now/here I am", ""]) == ([Path("run")], ["now/here I am", ""])
    assert split_arguments(["run", "x" * 5000]) == ([Path("run")], ["x" * 5000])


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["RUN", "NOWHERE", "ba be"], 1, "there is no directory NOWHERE", "nmt train"),
        (["RUN", "ba be", "--input", "FILE"], 2, "--input contradicts the sentence", "one way only"),
        (["NOWHERE"], 1, "there is no directory NOWHERE", "nmt train"),
        (["FILE"], 2, "FILE is a file, not a run directory", "--input FILE"),
        (["RUN", "--beam", "0"], 2, "search.beam_size = 0: input should be greater", "nmt config"),
        (["RUN", "--input", "NOWHERE"], 1, "NOWHERE does not exist", " contains "),
        (["RUN", "--device", "cuda:7"], 2, "no such device: cuda:7", "available: cpu"),
        (["RUN", "--set", "train.seed=1"], 2, "--set train.seed: only search.* can be set here", "nmt config"),
        (["RUN", "--set", "search.beam=1"], 2, "did you mean search.beam_size", "nmt config"),
        (["RUN", "--tsv", "--json"], 2, "--tsv and --json cannot be used together", "one output format"),
        (["RUN", "--n-best", "3"], 2, "--n-best cannot be written as plain text", "--tsv or --json"),
        (["RUN", "--set", "search.n_best=2"], 2, "search.n_best = 2, but plain text", "--tsv or --json"),
        (["RUN", "--tsv", "--attention"], 2, "--attention cannot be written as TSV", "add --json"),
        (["RUN", "--prefix", "a\nb"], 2, "the prefix of line 1 has a line break", "leave the break out"),
        (["MODEL"], 2, "MODEL is a file, not a run directory", "give the run directory itself: RUN"),
        (["RUN", "RUN2"], 2, "have different vocabularies", "same data"),
        (["NEWER"], 1, "has format 99", "upgrade"),
        (["TRUNCATED"], 1, "model.safetensors is truncated", "copy it again"),
        (["CHANGED"], 1, "model.safetensors was changed", "copy the whole directory"),
        (["NOVOCABULARY"], 1, "shared.model is missing", "copy the whole directory"),
    ],
)  # fmt: skip
def test_bad_input_gives_an_error_and_a_hint_and_leaves_no_files(
    nmt: Run, run: Path, tmp_path: Path, arguments: list[str], code: int, message: str, hint: str
) -> None:
    places = {name: str(tmp_path / name) for name in ("NOWHERE", "FILE")}
    places |= {"RUN": str(run), "MODEL": str(run / "model.safetensors")}
    (tmp_path / "FILE").write_text("ba\n")
    for name in set(arguments) & {"NEWER", "TRUNCATED", "CHANGED", "NOVOCABULARY", "RUN2"}:
        places[name] = str(_damaged(name, run, tmp_path))
    outcome = nmt(
        "translate", *(places.get(part, part) for part in arguments), "-o", tmp_path / "out", stdin="ba\n"
    )
    assert outcome.code == code, outcome.stderr
    for name, path in places.items():
        message, hint = message.replace(name, path), hint.replace(name, path)
    assert message in outcome.error
    assert hint in outcome.hint
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))
    assert outcome.stdout == ""


@pytest.mark.parametrize("name", ["out", "out.gz"])
@pytest.mark.parametrize("garbage", [b"", b"half a li"])
@pytest.mark.parametrize("sampling", ["true", "false"])
def test_an_interrupted_file_is_continued_to_the_same_bytes(
    nmt: Run,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    garbage: bytes,
    sampling: str,
) -> None:
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in LINES[:50]))
    command = ["translate", run, "-i", tmp_path / "in", "--window", 7, "--set", f"search.sampling={sampling}"]
    whole = nmt(*command, "-o", tmp_path / f"whole-{name}")
    assert whole.code == 0, whole.stderr
    with monkeypatch.context() as patch:
        _interrupt_after(3, patch)
        stopped = nmt(*command, "-o", tmp_path / name)
    assert stopped.code == 130
    assert "21 lines are done; to continue, run the same command again" in stopped.stderr
    assert not (tmp_path / name).exists()
    with (tmp_path / f"{name}.partial").open("ab") as file:
        file.write(garbage)  # as a killed process leaves it
    calls = _count_windows(monkeypatch)
    continued = nmt(*command, "-o", tmp_path / name)
    assert continued.code == 0, continued.stderr
    assert "continuing after line 21" in continued.stderr
    assert len(calls) == 5
    assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in", name, f"whole-{name}"])


@pytest.mark.parametrize("change", ["text", "settings", "changed line", "lost line"])
def test_lines_of_another_task_are_not_continued(
    nmt: Run, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in LINES[:20]))
    command = ["translate", run, "-i", tmp_path / "in", "-o", tmp_path / "out", "--window", 7]
    with monkeypatch.context() as patch:
        _interrupt_after(1, patch)
        nmt(*command)
    if change == "text":
        (tmp_path / "in").write_text("ba be\n")
    elif change.endswith("line"):
        lines = (tmp_path / "out.partial").read_bytes().splitlines(keepends=True)
        longest = max(range(len(lines)), key=lambda index: len(lines[index]))
        lines[longest] = b"" if change == "lost line" else lines[longest][-2::-1] + b"\n"
        (tmp_path / "out.partial").write_bytes(b"".join(lines))
    outcome = nmt(*command, *(["--beam", 1] if change == "settings" else []))
    assert "note: " in outcome.stderr
    assert "out.partial is from another model, text or settings" in outcome.stderr
    assert count((tmp_path / "out").read_text()) == (1 if change == "text" else 20)
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.parametrize(
    "facts",
    [
        b"{",
        b"[" * 100_000,
        b'{"job": {}, "lines": -1, "bytes": 0, "sha256": ""}',
        b'{"job": {}, "lines": 1e999, "bytes": 0, "sha256": ""}',
        b'{"job": {}, "lines": 3, "bytes": "\\u001b[2J"}',
        None,
    ],
)
def test_partial_files_that_nmt_did_not_write_are_not_touched(
    nmt: Run, run: Path, tmp_path: Path, facts: bytes | None
) -> None:
    (tmp_path / "in").write_text("ba\n")
    (tmp_path / "out.partial").write_text("mine\n")
    if facts is not None:
        (tmp_path / "out.partial.json").write_bytes(facts)
    before = sorted(tmp_path.iterdir())
    outcome = nmt("translate", run, "-i", tmp_path / "in", "-o", tmp_path / "out")
    assert outcome.code == 2, outcome.stderr
    assert "was not written by nmt" in outcome.error
    assert (tmp_path / "out.partial").read_text() == "mine\n"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["out.partial", "out.partial.json"])
def test_links_and_pipes_in_the_place_of_partial_files_are_refused(
    nmt: Run, run: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "in").write_text("ba\n")
    (tmp_path / "mine").write_text("mine\n")
    places: dict[str, Callable[[], object]] = {
        "a symbolic link": lambda: (tmp_path / name).symlink_to(tmp_path / "mine"),
        "a pipe": lambda: os.mkfifo(tmp_path / name),
    }
    for kind, make in places.items():
        make()
        outcome = nmt("translate", run, "-i", tmp_path / "in", "-o", tmp_path / "out")
        assert outcome.code == 1
        assert f"{name} is {kind}" in outcome.error
        (tmp_path / name).unlink()
    assert (tmp_path / "mine").read_text() == "mine\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "mine"]


def _count_windows(patch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    translate = Translator.translate

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        return translate(*arguments, **options)

    patch.setattr(Translator, "translate", counted)
    return calls


def test_an_interruption_before_the_first_window_says_that_nothing_is_done(
    nmt: Run, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").write_text("ba be\n" * 20)
    _interrupt_after(0, monkeypatch)
    stopped = nmt("translate", run, "-i", tmp_path / "in", "-o", tmp_path / "out", "--window", 9)
    assert stopped.code == 130
    assert "lines are saved 9 at a time (--window), so none are done yet" in stopped.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def _interrupt_after(windows: int, patch: pytest.MonkeyPatch) -> None:
    translate, calls = Translator.translate, []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) > windows:
            raise KeyboardInterrupt
        return translate(*arguments, **options)

    patch.setattr(Translator, "translate", interrupted)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.VTT.gz", "a compressed document (WebVTT subtitles)"),
        ("a.tmx", "a translation memory"),
        ("a.docx", "an office document"),
        ("a.zip", "an archive"),
        ("archive", "a ZIP archive"),
    ],
)
def test_files_that_are_not_lines_of_text_are_rejected(
    nmt: Run, run: Path, tmp_path: Path, name: str, what: str
) -> None:
    (tmp_path / name).write_bytes(
        b"PK\x03\x04" if name == "archive" else b"1\n00:00:01,000 --> 00:00:02,000\n"
    )
    for arguments in (["-i", tmp_path / name], [tmp_path / name]):
        outcome = nmt("translate", run, *arguments)
        assert outcome.code == 2
        assert f"{tmp_path / name} is {what}" in outcome.error
        assert "one " in outcome.hint or "unpack it" in outcome.hint


def test_a_zip_archive_on_standard_input_is_rejected(run: Path, tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(b"PK\x03\x04\0\0")
    with (tmp_path / "archive").open("rb") as file:
        command = [sys.executable, "-m", "nmt_cli", "translate", str(run)]
        done = subprocess.run(
            command, stdin=file, capture_output=True, text=True, env=ENVIRONMENT, check=False
        )
    assert done.returncode == 2
    assert "standard input is a ZIP archive" in done.stderr


def _damaged(name: str, run: Path, tmp_path: Path) -> Path:
    if name == "RUN2":
        return make_run(tmp_path / name, lines=[line.upper() for line in LINES])
    copy = tmp_path / name
    shutil.copytree(run, copy)
    weights = copy / "model.safetensors"
    content = weights.read_bytes()
    if name == "NEWER":
        manifest = json.loads((copy / "manifest.json").read_text())
        (copy / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    elif name == "NOVOCABULARY":
        (copy / "shared.model").unlink()
    else:
        weights.write_bytes(content[:-10] if name == "TRUNCATED" else content[:-1] + b"\x55")
    return copy


def test_translate_imports_neither_datasets_nor_arrow(run: Path) -> None:
    script = (
        "import sys\n"
        "from nmt_cli.cli.app import app\n"
        f"try: app(['translate', {str(run)!r}, '--threads', '1'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = ('datasets', 'pandas', 'pyarrow', 'sacrebleu', 'matplotlib', 'scipy', 'zstandard', 'torchvision')\n"
        "print('imported:', [name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=b"ba\n", capture_output=True, check=True, env=ENVIRONMENT
    )
    assert done.stdout.count(b"\n") == 1
    assert done.stderr.endswith(b"imported: []\n")


def test_stream_answers_each_line_at_once_and_ctrl_c_leaves_whole_lines(run: Path) -> None:
    child = process("translate", run, "--stream", "--threads", 1)
    assert child.stdin is not None
    assert child.stdout is not None
    for line in ("ba be\n", "\n", "bi\n"):
        child.stdin.write(line.encode())
        child.stdin.flush()
        assert child.stdout.readline().endswith(b"\n")  # before the next one is written
    child.send_signal(signal.SIGINT)
    rest, messages = child.communicate()
    assert child.returncode == 130
    assert rest == b""
    assert messages.decode().splitlines()[-1] == "error: interrupted"


def test_a_closed_pipe_ends_quietly(run: Path) -> None:
    nmt = f"{sys.executable} -m nmt_cli translate {run} --threads 1 --window 50"
    command = f"yes 'ba be' | head -20000 | {nmt} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, env=ENVIRONMENT, check=False
    )
    assert done.stdout.count(b"\n") == 1
    assert b"error" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Broken pipe" not in done.stderr


def test_interrupted_output_files_do_not_appear(run: Path, tmp_path: Path) -> None:
    child = process("translate", run, "--window", 1, "--threads", 1, "-o", tmp_path / "out")
    assert child.stdin is not None
    child.stdin.write(b"ba be\n" * 10)
    child.stdin.flush()
    while not list(tmp_path.glob(".out*")):
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    child.communicate()
    assert child.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error(run: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    command = f"echo ba | {sys.executable} -m nmt_cli translate {run} --threads 1 > /dev/full"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 1
    assert "error: cannot write to standard output: No space left on device\n" in done.stderr
    assert "hint: the output is incomplete" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_for_messages_loses_no_translation(run: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    command = f"printf 'ba\\xff\\n' | {sys.executable} -m nmt_cli translate {run} --threads 1 2>/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1


def test_minimum_bayes_risk_decoding_is_an_option_and_a_setting(run: Path, nmt: Run) -> None:
    text = "".join(f"{line}\n" for line in LINES[:5])
    option = nmt("translate", run, "--mbr", "chrf", "--beam", 4, "--n-best", 3, "--json", stdin=text)
    assert option.code == 0, option.stderr
    setting = nmt(
        "translate", run, "--set", "search.mbr=chrf", "--beam", 4, "--n-best", 3, "--json", stdin=text
    )
    assert setting.stdout == option.stdout
    for line in map(json.loads, option.stdout.splitlines()):
        assert line["translation"] == line["n_best"][0]["translation"]
        assert 0 < line["score"] <= 100
    alone = nmt("translate", run, "--mbr", "chrf", "--beam", 1, stdin=text)
    assert alone.code == 2
    assert "search.mbr = chrf is incompatible with search.beam_size = 1" in alone.error
