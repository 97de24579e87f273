"""However a run dies, a valid checkpoint exists, and the resumed run equals an uninterrupted one."""

import errno
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.errors import DirectoryError, OutputError
from nmt_cli.files import guarded
from nmt_cli.files.atomic import cannot_write
from nmt_cli.run import RunDirectory
from nmt_cli.run.checkpoint import Checkpoints
from nmt_cli.run.logs import MetricsLog
from nmt_cli.training import EndReport, StartReport
from tests.fork_server import ForkServer

from .conftest import SMALL, assert_same, resume_run, train

SHORT = ("train.max_updates=4", "train.validate_every=2", "train.save_every=1", "train.average_best=2")
ROUNDS = int(os.environ.get("NMT_SOAK_ROUNDS", "3"))


class Death(BaseException):
    """What nobody catches."""


class Mortal:
    """Counts what is done to files, and ends everything at one of these moments; nothing can be cleaned up then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, dies_at: int | None = None) -> None:
        self.done = 0
        self._dies_at = dies_at
        for owner, name in [
            (Path, "write_bytes"),
            (Path, "write_text"),
            (os, "write"),
            (os, "fsync"),
            (os, "replace"),
            (os, "rename"),
        ]:
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))
        monkeypatch.setattr(os, "unlink", self._counted(os.unlink, counts=False))

    def _counted(self, function: Callable[..., Any], *, counts: bool = True) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if self._dies_at is not None and self.done >= self._dies_at:
                raise Death
            self.done += counts
            return function(*arguments, **options)

        return counted


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("short") / "run"
    train(data, out, *SHORT)
    return out


def test_a_crash_before_a_write_fsync_or_rename_is_harmless(data: Path, tmp_path: Path, whole: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        mortal = Mortal(patch)
        train(data, tmp_path / "alive", *SHORT)
    assert_same(tmp_path / "alive", whole)
    assert mortal.done > 60
    # Three moments in a row are the write, the fsync and the rename of one file. `make soak` tries more of them.
    chance = random.Random(2)
    moments = sorted(chance.sample(range(8, mortal.done), 2 * ROUNDS))
    for moment in moments:
        out = tmp_path / f"died-{moment}"
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Death):
            Mortal(patch, moment)
            train(data, out, *SHORT)
        if not out.exists():  # it died before there was anything
            continue
        Checkpoints(out).load()
        RunDirectory.open(out, hashes=True)
        resume_run(out)
        assert_same(out, whole)
        assert not [path for path in out.rglob("*") if ".partial-" in path.name]


def test_a_crash_while_the_directory_is_created_leaves_no_directory(data: Path, tmp_path: Path) -> None:
    for moment in (0, 3, 6):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Death):
            Mortal(patch, moment)
            train(data, tmp_path / "run", *SHORT)
        assert not (tmp_path / "run").exists()


def test_a_run_survives_sigkill_at_random_moments(data: Path, tmp_path: Path, server: ForkServer) -> None:
    chosen = ["train.max_updates=40", "train.validate_every=20", "train.save_every=5"]
    chosen.append("train.subword_sampling=0.1")  # must draw the same in every process
    options = [part for setting in (*SMALL, *chosen) for part in ("--set", setting)]
    options += ["--threads", "1", "--quiet"]
    out, whole = tmp_path / "killed", tmp_path / "whole"
    server.begin("train", data, "--out", whole, *options)
    assert server.end() == 0
    chance = random.Random()
    kills = 0
    while kills < ROUNDS:
        resume_run = out.exists()
        child = (
            server.begin("train", "--resume", out, "--quiet")
            if resume_run
            else server.begin("train", data, "--out", out, *options)
        )
        time.sleep(chance.uniform(0.0, 1.2))
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        if server.end() == 0:  # it was faster
            shutil.rmtree(out)
            continue
        kills += 1
        if out.exists():
            Checkpoints(out).load()
            RunDirectory.open(out, hashes=True)
    server.begin("train", "--resume", out, "--quiet") if out.exists() else server.begin(
        "train", data, "--out", out, *options
    )
    assert server.end() == 0
    assert_same(out, whole)


def test_a_full_disk_keeps_the_last_checkpoint_and_says_so(
    data: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    original = guarded.create

    def create(folder: int, name: str, content: bytes) -> None:
        if "update-00000003" in name:
            original(folder, name, content[:100])
            raise OSError(errno.ENOSPC, "No space left on device", name)
        original(folder, name, content)

    monkeypatch.setattr(guarded, "create", create)
    with pytest.raises(OutputError) as caught:
        train(data, out, *SHORT)
    monkeypatch.undo()
    assert "No space left on device; the checkpoint of update 2 is intact" in caught.value.message
    assert f"nmt train --resume {out}" in caught.value.hint
    reports = resume_run(out)
    assert isinstance(reports[0], StartReport)
    assert reports[0].update == 2
    assert_same(out, whole)


def test_a_full_disk_is_reported_with_the_intact_checkpoint_whatever_was_being_written(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def append(log: MetricsLog, record: object) -> None:
        raise cannot_write(log.path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(MetricsLog, "append", append)
    with pytest.raises(OutputError, match="No space left on device; the checkpoint of update 1 is intact"):
        train(data, tmp_path / "run", *SHORT)


def test_a_damaged_checkpoint_is_rejected(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(data, out, "train.max_updates=1")
    file = out / "state" / "update-00000001.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DirectoryError, match="was changed after it was written"):
        resume_run(out)
    file.write_bytes(content[:50])
    with pytest.raises(DirectoryError, match="is truncated"):
        resume_run(out)
    (out / "state" / "current.json").write_text("{")
    with pytest.raises(DirectoryError, match=r"current\.json is damaged"):
        resume_run(out)


def test_a_damaged_model_is_rejected(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(data, out, "train.max_updates=1")
    model = out / "model.safetensors"
    content = model.read_bytes()
    model.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DirectoryError, match="was changed after it was written"):
        RunDirectory.open(out).load_model()
    model.write_bytes(content[:60])
    with pytest.raises(DirectoryError, match="is truncated"):
        RunDirectory.open(out)
    model.unlink()
    with pytest.raises(DirectoryError, match=r"model\.safetensors is missing"):
        RunDirectory.open(out)


def test_the_end_report_says_why_training_stopped(data: Path, tmp_path: Path) -> None:
    end = train(data, tmp_path / "run", *SHORT)[-1]
    assert isinstance(end, EndReport)
    assert (end.reason, end.update, end.interrupted) == ("train.max_updates = 4", 4, False)
