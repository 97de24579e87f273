"""Several processes write the bytes that one process writes, whatever was done before."""

import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import zstandard

from nmt_cli.cli.processes import _without_processes
from nmt_cli.files.line_writer import Blocks, PartialOutput
from nmt_cli.translator.streaming import WindowShare
from tests.cli.conftest import Run
from tests.translator.runs import make_run

LINES = [f"{'ba ' * (number % 5)}be bi {number}" for number in range(40)]
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run")


def test_two_processes_write_the_bytes_of_one_and_keep_what_was_finished(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.zst").write_bytes(zstandard.compress("".join(f"{line}\n" for line in LINES).encode()))
    options = ["-i", tmp_path / "in.zst", "--window", 4, "--threads", 1, "--device", "cpu", "--quiet"]
    assert nmt("translate", run, *options, "-o", tmp_path / "one.zst").code == 0
    one = (
        zstandard.decompress((tmp_path / "one.zst").read_bytes(), max_output_size=1 << 20)
        .decode()
        .split("\n")
    )

    command = [
        sys.executable,
        "-m",
        "nmt_cli",
        "translate",
        run,
        *options,
        "--processes=2",
        "-o",
        tmp_path / "two.zst",
    ]
    words = [str(word) for word in command]

    def translate() -> list[str]:
        done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        text = zstandard.decompress((tmp_path / "two.zst").read_bytes(), max_output_size=1 << 20)
        return text.decode().split("\n")

    # As processes that were killed leave it: the first window, and one that another process had finished.
    job = job_of(nmt, [str(word) for word in words[3:] if word != "--processes=2"])
    (tmp_path / "two.zst.partial").write_text("".join(f"{line}\n" for line in one[:4]))
    begun = (tmp_path / "two.zst.partial").read_bytes()
    facts = {"job": job, "lines": 4, "bytes": len(begun), "sha256": hashlib.sha256(begun).hexdigest()}
    (tmp_path / "two.zst.partial.json").write_text(json.dumps(facts))
    blocks = Blocks(tmp_path / "two.zst")
    blocks.start(job)
    blocks.write(12, ["done", "before", "the", "crash"])
    blocks.write(20, ["a", "damaged", "block", ""])
    (tmp_path / "two.zst.partial.blocks" / "000000000020.txt").write_text("0\nx\n")
    assert translate() == [*one[:12], "done", "before", "the", "crash", *one[16:]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.zst", "one.zst", "two.zst"]


def test_two_processes_score_into_the_bytes_of_one(nmt: Run, run: Path, tmp_path: Path) -> None:
    for name, lines in (("a", LINES), ("b", LINES[::-1])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    words = [
        "score",
        run,
        "--source",
        tmp_path / "a",
        "--target",
        tmp_path / "b",
        "--window",
        4,
        "--threads",
        1,
    ]
    one = nmt(*words, "-o", tmp_path / "one")
    assert one.code == 0
    two = command(*words, "--processes=2", "-o", tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()
    assert two.strip() == one.stderr.strip()  # the totals of all lines, once
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "one", "two"]


@pytest.mark.parametrize("launched", ["--processes=2", "torchrun"])
def test_texts_of_unequal_length_are_one_error(run: Path, tmp_path: Path, launched: str) -> None:
    (tmp_path / "a").write_text("ba be\nbi\n")
    (tmp_path / "b").write_text("ba\n")
    words = ["score", run, "--source", tmp_path / "a", "--target", tmp_path / "b", "-o", tmp_path / "c"]
    words += ["--threads", 1]
    if launched == "torchrun":
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    else:
        launcher, words = [], [*words, launched]
    done = in_processes(words, launcher)
    assert done.returncode == 1
    errors = [line for line in done.stderr.split("\n") if line.startswith("error: ")]
    assert errors == [f"error: {tmp_path / 'a'} has 2 lines, {tmp_path / 'b'} has 1"]
    assert not (tmp_path / "c").exists()


def test_two_processes_evaluate_like_one(nmt: Run, run: Path, tmp_path: Path) -> None:
    for name, factor in (("source", 3), ("reference", 5)):
        lines = (f"{'ba be bi bo '[: number * factor % 13]}{number}\n" for number in range(600))
        (tmp_path / name).write_text("".join(lines))
    words = ["evaluate", run, "-s", tmp_path / "source", "-r", tmp_path / "reference", "--plain", "--quiet"]
    words += ["--no-record", "--threads", 1, "--samples", 0, "--save-hypotheses"]
    one = nmt(*words, tmp_path / "one")
    assert one.code == 0
    assert len(set((tmp_path / "one").read_text().split("\n"))) > 2
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    shown = command(*words, tmp_path / "two", launcher=torchrun, stream="stdout")
    assert shown == one.stdout
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def in_processes(words: Sequence[object], launcher: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *launcher, "-m", "nmt_cli", *map(str, words)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


def command(*words: object, launcher: Sequence[str] = (), stream: str = "stderr") -> str:
    """What a command of its own shows."""
    done = in_processes(words, launcher)
    assert done.returncode == 0, done.stderr
    return str(getattr(done, stream))


def job_of(nmt: Run, words: list[str]) -> dict[str, Any]:
    """What the partial output of this command says that it belongs to."""
    found: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:

        def stop(output: PartialOutput) -> None:
            found.append(output._job)
            raise KeyboardInterrupt

        patch.setattr(PartialOutput, "__enter__", stop)
        nmt(*words)
    return found[0]


def test_windows_shared_in_any_order_are_all_windows_once(tmp_path: Path) -> None:
    chance = random.Random(4)
    for processes in (1, 2, 5):
        claim = itertools.count().__next__
        shares = [iter(WindowShare(iter(LINES[3:]), claim, window=4, first=3)) for _ in range(processes)]
        found: dict[int, list[str]] = {}
        while shares:
            share = chance.choice(shares)
            window = next(share, None)
            if window is None:
                shares.remove(share)
            else:
                assert window[0] not in found
                found[window[0]] = window[1]
        assert [line for first in sorted(found) for line in found[first]] == LINES[3:]
        assert all(LINES[first : first + len(lines)] == lines for first, lines in found.items())


def test_finished_blocks_are_appended_in_order_and_only_to_their_own_job(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with PartialOutput(out, {"job": 1}) as output:
        output.share()
        output.blocks.write(2, ["c", "d"])
        assert output.append_blocks() == 0
        with pytest.raises(ZeroDivisionError), PartialOutput(tmp_path / "other", {"job": 2}) as other:
            other.share()
            other.blocks.write(0, ["x"])
            raise ZeroDivisionError
        output.blocks.write(0, ["a", "b"])
        assert output.append_blocks() == 4
        assert not output.blocks.is_done(0)
        output.blocks.write(4, [""])
        assert output.append_blocks() == 1
    assert out.read_text() == "a\nb\nc\nd\n\n"
    with PartialOutput(tmp_path / "other", {"job": 3}) as other:
        other.share()
        assert other.append_blocks() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("-i", "in"), "text that is not in a file"),
        (("-i", "in", "-o", "out", "--stream"), "--stream"),
        (("ba be",), "text that is not in a file"),
    ],
)
def test_what_several_processes_cannot_share_is_refused(
    nmt: Run,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").write_text("ba\n")
    outcome = nmt("translate", run, *arguments, "--processes", 2)
    assert outcome.code == 2
    assert outcome.error == f"error: several processes cannot share this: {problem}"


def test_files_of_hypotheses_have_nothing_to_share(nmt: Run, tmp_path: Path) -> None:
    for name in ("hyp", "ref"):
        (tmp_path / name).write_text("ba\n")
    outcome = nmt("evaluate", tmp_path / "hyp", "-r", tmp_path / "ref", "--processes", 2)
    assert outcome.code == 2
    assert outcome.error == "error: several processes cannot share this: hypotheses in files"


def test_the_option_is_left_out_of_the_command_of_each_process() -> None:
    assert _without_processes(["translate", "--processes", "2", "-i", "a"]) == ["translate", "-i", "a"]
    assert _without_processes(["translate", "--processes=2", "-i", "a"]) == ["translate", "-i", "a"]
