"""`nmt translate` as a user meets it: pipes, files, signals, bad input."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["NOWHERE"], 1, "there is no directory NOWHERE", "nmt train"),
        (["FILE"], 2, "FILE is a file, not a run directory", "--input FILE"),
        (["RUN", "--beam", "0"], 2, "search.beam_size = 0: input should be greater", "nmt config"),
        (["RUN", "--input", "NOWHERE"], 1, "NOWHERE does not exist", " contains "),
        (["RUN", "--device", "cuda:7"], 2, "no such device: cuda:7", "available: cpu"),
        (["RUN", "--set", "train.seed=1"], 2, "--set train.seed: only search.* can be set here", "nmt config"),
        (["RUN", "--set", "search.beam=1"], 2, "did you mean search.beam_size", "nmt config"),
        (["RUN", "--tsv", "--json"], 2, "--tsv and --json contradict each other", "one output format"),
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
        "heavy = ('datasets', 'pandas', 'pyarrow', 'sacrebleu', 'matplotlib', 'scipy', 'zstandard')\n"
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
