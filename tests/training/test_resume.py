"""Resume equals never having stopped, byte for byte."""

import json
import shutil
from itertools import islice
from pathlib import Path

import pytest

from nmt_cli.config import resolve
from nmt_cli.errors import ConfigError, StoreError
from nmt_cli.training import (
    CheckpointReport,
    EndReport,
    Machine,
    StartReport,
    UpdateReport,
    ValidationReport,
    resume,
    start,
)
from nmt_cli.training.progress import Clock
from nmt_cli.training.validation import Validator

from .conftest import ON_CPU, assert_same, go_on, settings, train

# Everything that has a memory is switched on: dropout, sampling, accumulation, moving average, plateau.
WHOLE = (
    "train.max_updates=17",
    "train.accumulate=2",
    "train.subword_sampling=0.2",
    "train.schedule=plateau",
    "train.decay_patience=1",
    "train.ema_decay=0.9",
    "train.validate_every=5",
    "train.save_every=4",
    "model.dropout=0.3",
)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    train(data, out, *WHOLE)
    return out


@pytest.mark.parametrize("points", [(1,), (5, 6), (7, 12, 16)])
def test_a_run_that_was_stopped_equals_one_that_was_not(
    data: Path, tmp_path: Path, whole: Path, points: tuple[int]
) -> None:
    out = tmp_path / "run"
    for number, point in enumerate([*points, 99]):
        again = resume(out, machine=ON_CPU) if number else start(data, out, settings(*WHOLE), machine=ON_CPU)
        with again as trainer:
            for report in trainer.run():
                if isinstance(report, UpdateReport) and report.update == point:
                    trainer.stop()
        assert isinstance(report, EndReport)
        assert report.interrupted == (point < 17)
    assert_same(out, whole)


@pytest.mark.parametrize("reports", [4, 17, 29])
def test_a_run_that_was_abandoned_goes_on_from_its_last_checkpoint(
    data: Path, tmp_path: Path, whole: Path, reports: int
) -> None:
    out = tmp_path / "run"
    with start(data, out, settings(*WHOLE), machine=ON_CPU) as trainer:
        list(islice(trainer.run(), reports))
    again = go_on(out)
    assert isinstance(again[0], StartReport)
    assert again[0].update in (0, 4, 5, 8, 10, 12, 15, 16)
    assert_same(out, whole)


def test_a_run_stopped_in_the_middle_of_a_validation_repeats_it(
    data: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    with start(data, out, settings(*WHOLE), machine=ON_CPU) as trainer:
        original = Validator._translate

        def stop_there(self: Validator, model: object) -> list[str]:
            trainer.stop()
            return original(self, model)  # type: ignore[arg-type]

        monkeypatch.setattr(Validator, "_translate", stop_there)
        reports = list(trainer.run())
    monkeypatch.undo()
    assert not any(isinstance(report, ValidationReport) for report in reports)
    assert isinstance(reports[-1], EndReport)
    assert reports[-1].interrupted
    assert reports[-1].update == 5
    assert_same_after(out, whole)


def test_a_run_ended_by_its_time_limit_goes_on_as_if_it_had_not(
    data: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    seconds = iter(range(1000))
    monkeypatch.setattr(Clock, "here", lambda clock: float(next(seconds)))
    reports = train(data, out, *WHOLE, machine=Machine(device="cpu", threads=1, time_limit=10.0))
    end = reports[-1]
    assert isinstance(end, EndReport)
    assert (end.reason, end.interrupted) == ("time limit", False)
    assert 0 < end.update < 10  # the next two validations have to fit in, and take what they take
    finals = [report for report in reports if isinstance(report, ValidationReport) and report.final]
    assert [report.update for report in finals] == [end.update] * 2  # the last weights, the mean of the best
    assert (out / "model.safetensors").exists()
    monkeypatch.undo()
    assert_same_after(out, whole)


def assert_same_after(out: Path, whole: Path) -> None:
    go_on(out)
    assert_same(out, whole)


def test_a_longer_limit_continues_a_finished_run(data: Path, tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run"
    train(data, out, *WHOLE[1:], "train.max_updates=9")
    reports = go_on(out, "train.max_updates=17")
    assert isinstance(reports[0], StartReport)
    assert reports[0].changes == ("train.max_updates = 9 → 17",)
    config = json.loads((out / "config.json").read_text())
    assert config["settings"]["train"]["max_updates"] == 17
    assert_same(out, whole)


@pytest.mark.parametrize(
    ("assignment", "shown"),
    [
        ("model.hidden_size=64", "model.hidden_size = 32 → 64"),
        ("train.seed=9", "train.seed = 1 → 9"),
        ("vocabulary.size=500", "vocabulary.size = 300 → 500"),
    ],
)
def test_a_setting_that_makes_another_run_is_refused(whole: Path, assignment: str, shown: str) -> None:
    with pytest.raises(ConfigError) as caught:
        go_on(whole, assignment)
    assert caught.value.message == f"a resumed run cannot change {shown}"
    assert "--init" in caught.value.hint


def test_another_batch_size_begins_the_epoch_again(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(data, out, "train.max_updates=3")
    reports = go_on(out, "train.batch_tokens=48", "train.max_updates=5")
    assert isinstance(reports[0], StartReport)
    assert set(reports[0].changes) == {"train.batch_tokens = 96 → 48", "train.max_updates = 3 → 5"}
    assert isinstance(reports[-1], EndReport)
    assert reports[-1].update == 5


def test_other_data_is_refused_and_moved_data_is_found(data: Path, tmp_path: Path) -> None:
    out, moved = tmp_path / "run", tmp_path / "moved"
    shutil.copytree(data, moved)
    train(moved, out, "train.max_updates=2")
    moved.rename(tmp_path / "away")
    with pytest.raises(StoreError, match=r"is not at .*moved any more") as caught:
        go_on(out)
    assert f"nmt train DATA_DIR --resume {out}" in caught.value.hint
    assert isinstance(go_on(out, "train.max_updates=3", data=tmp_path / "away")[-1], EndReport)
    manifest = tmp_path / "away" / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    with pytest.raises(StoreError, match=r"is not the data that .* was trained on"):
        go_on(out, data=tmp_path / "away")


def test_checkpoints_are_the_last_and_the_best(whole: Path) -> None:
    progress = json.loads((whole / "state" / "current.json").read_text())["progress"]
    kept = {int(path.stem.removeprefix("update-")) for path in (whole / "checkpoints").iterdir()}
    assert kept == {17} | {update for update, _ in progress["best"]}
    assert [path.name for path in (whole / "state").glob("*.safetensors")] == ["update-00000017.safetensors"]


def test_every_checkpoint_is_reported(data: Path, tmp_path: Path) -> None:
    reports = train(
        data, tmp_path / "run", "train.max_updates=5", "train.save_every=2", "train.validate_every=3"
    )
    assert [report.update for report in reports if isinstance(report, CheckpointReport)] == [2, 3, 4, 5]
    assert resolve(None, []).config.train.save_every > 0
