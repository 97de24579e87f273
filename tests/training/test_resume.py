"""A resumed run is byte-identical to one that was never stopped."""

import json
import math
import shutil
from itertools import islice
from pathlib import Path

import pytest
import torch

from nmt_cli.errors import ConfigError, DirectoryError
from nmt_cli.model import Seq2Seq
from nmt_cli.run.checkpoint import Checkpoints
from nmt_cli.run.weights import tensor_bytes
from nmt_cli.training import (
    CheckpointReport,
    EndReport,
    Machine,
    StartReport,
    UpdateReport,
    ValidationReport,
    WarningReport,
    resume,
    start,
)
from nmt_cli.training.reports import RunState
from nmt_cli.training.validation import Validation, Validator

from .conftest import ON_CPU, assert_same, resume_run, settings, train

# Everything with state is switched on: dropout, sampling, accumulation, moving average, plateau.
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
    """An uninterrupted run."""
    out = tmp_path_factory.mktemp("whole") / "run"
    train(data, out, *WHOLE)
    return out


@pytest.mark.parametrize("points", [(1,), (5, 6), (7, 12, 16)])
def test_a_stopped_and_resumed_run_equals_an_uninterrupted_one(
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
def test_an_abandoned_run_resumes_from_its_last_checkpoint(
    data: Path, tmp_path: Path, whole: Path, reports: int
) -> None:
    out = tmp_path / "run"
    with start(data, out, settings(*WHOLE), machine=ON_CPU) as trainer:
        list(islice(trainer.run(), reports))
    again = resume_run(out)
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


def test_a_time_limit_leaves_time_for_the_last_validations_and_resume_ignores_it(
    data: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, seconds = tmp_path / "run", 0.0  # an update takes one second, and so does a validation
    original = Validator.validate

    def validate_in_one_second(self: Validator, model: Seq2Seq, *, must_finish: bool = False) -> Validation:
        nonlocal seconds
        seconds += 1
        return original(self, model, must_finish=must_finish)

    monkeypatch.setattr(Validator, "validate", validate_in_one_second)
    machine = Machine(device="cpu", threads=1, time_limit=10.0, now=lambda: seconds)
    reports = []
    with start(data, out, settings(*WHOLE), machine=machine) as trainer:
        for report in trainer.run():
            reports.append(report)
            seconds += isinstance(report, UpdateReport)
    end = reports[-1]
    assert isinstance(end, EndReport)
    assert (end.reason, end.interrupted) == ("time limit", False)
    # Eight seconds for seven updates and the validation of update 5, two for the validations at the end.
    assert (end.update, end.seconds) == (7, 10.0)
    finals = [report for report in reports if isinstance(report, ValidationReport) and report.final]
    assert [(report.update, report.averaged) for report in finals] == [(7, ()), (7, (5, 7))]
    assert (out / "model.safetensors").exists()
    monkeypatch.undo()
    assert_same_after(out, whole)


def assert_same_after(out: Path, whole: Path) -> None:
    resume_run(out)
    assert_same(out, whole)


def test_a_longer_limit_continues_a_finished_run(data: Path, tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run"
    train(data, out, *WHOLE[1:], "train.max_updates=9")
    reports = resume_run(out, "train.max_updates=17")
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
def test_a_setting_that_would_make_it_a_different_run_is_rejected(
    whole: Path, assignment: str, shown: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        resume_run(whole, assignment)
    assert caught.value.message == f"a resumed run cannot change {shown}"
    assert "--init" in caught.value.hint


def test_a_changed_batch_size_restarts_the_epoch(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(data, out, "train.max_updates=3")
    reports = resume_run(out, "train.batch_tokens=48", "train.max_updates=5")
    assert isinstance(reports[0], StartReport)
    assert set(reports[0].changes) == {"train.batch_tokens = 96 → 48", "train.max_updates = 3 → 5"}
    assert isinstance(reports[-1], EndReport)
    assert reports[-1].update == 5
    progress = json.loads((out / "state" / "current.json").read_text())["progress"]
    assert (progress["epoch"], progress["index"]) == (
        1,
        2,
    )  # two batches of the new size since the start of epoch 1


def test_other_data_is_rejected_and_moved_data_is_accepted(data: Path, tmp_path: Path) -> None:
    out, moved = tmp_path / "run", tmp_path / "moved"
    shutil.copytree(data, moved)
    train(moved, out, "train.max_updates=2")
    moved.rename(tmp_path / "away")
    with pytest.raises(DirectoryError, match=r"is no longer at .*moved") as caught:
        resume_run(out)
    assert f"nmt train DATA_DIR --resume {out}" in caught.value.hint
    assert isinstance(resume_run(out, "train.max_updates=3", data=tmp_path / "away")[-1], EndReport)
    assert isinstance(resume_run(out, "train.max_updates=4")[-1], EndReport)  # the new location is remembered
    manifest = tmp_path / "away" / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    with pytest.raises(DirectoryError, match=r"is not the data that .* was trained on"):
        resume_run(out, data=tmp_path / "away")


def test_checkpoints_are_the_last_and_the_best(whole: Path) -> None:
    progress = json.loads((whole / "state" / "current.json").read_text())["progress"]
    kept = {int(path.stem.removeprefix("update-")) for path in (whole / "checkpoints").iterdir()}
    assert kept == {17} | {update for update, _ in progress["best"]}
    assert [path.name for path in (whole / "state").glob("*.safetensors")] == ["update-00000017.safetensors"]


def test_a_checkpoint_is_on_disk_when_it_is_reported_and_never_changes_unreported(
    data: Path, tmp_path: Path
) -> None:
    out, reported = tmp_path / "run", [0]
    chosen = settings("train.max_updates=5", "train.save_every=2", "train.validate_every=3")
    with start(data, out, chosen, machine=ON_CPU) as trainer:
        for report in trainer.run():
            if isinstance(report, CheckpointReport):
                reported.append(report.update)
            current = json.loads((out / "state" / "current.json").read_text())
            assert current["update"] == reported[-1]
    assert reported == [0, 2, 3, 4, 5]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of threads is remembered, but not used: real ones are slow on a busy machine."""
    count = [1]
    monkeypatch.setattr(torch, "set_num_threads", lambda number: count.__setitem__(0, number))
    monkeypatch.setattr(torch, "get_num_threads", lambda: count[0])


@pytest.mark.usefixtures("threads")
def test_a_resumed_run_uses_as_many_threads_as_before(data: Path, tmp_path: Path) -> None:
    out, two = tmp_path / "run", Machine(device="cpu", threads=2)
    train(data, out, "train.max_updates=1", machine=two)
    torch.set_num_threads(1)
    reports = resume_run(out, "train.max_updates=2", machine=Machine(device="cpu"))
    assert torch.get_num_threads() == 2
    assert not any(isinstance(report, WarningReport) for report in reports)


@pytest.mark.usefixtures("threads")
def test_another_number_of_threads_is_a_warning_and_used_from_then_on(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(data, out, "train.max_updates=1")
    [warning] = [
        report
        for report in resume_run(out, "train.max_updates=2", machine=Machine(device="cpu", threads=2))
        if isinstance(report, WarningReport)
    ]
    assert "has used 1 CPU threads so far and continues with 2" in warning.message
    torch.set_num_threads(1)
    reports = resume_run(out, "train.max_updates=3", machine=Machine(device="cpu"))
    assert torch.get_num_threads() == 2
    assert not any(isinstance(report, WarningReport) for report in reports)


def test_a_checkpoint_without_a_number_of_threads_can_be_resumed(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(data, out, "train.max_updates=1")
    path = out / "state" / "current.json"
    current = json.loads(path.read_text())
    del current["progress"]["threads"]
    path.write_text(json.dumps(current))
    reports = resume_run(out, "train.max_updates=2", machine=Machine(device="cpu"))
    assert not any(isinstance(report, WarningReport) for report in reports)


def test_only_a_model_that_is_kept_is_marked_best(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last model is better than the best so far, and the average is between the two."""
    losses = iter([5.0, 4.0, 2.0, 3.0])  # two validations, the last model, the average

    def validate(self: Validator, model: Seq2Seq, *, must_finish: bool = False) -> Validation:
        return Validation(next(losses), None, None, ())

    monkeypatch.setattr(Validator, "validate", validate)
    out = tmp_path / "run"
    limits = ("train.max_updates=5", "train.validate_every=2", "train.average_best=2")
    reports = train(data, out, *limits, "train.metric=perplexity", "train.ema_decay=0")
    validations = [report for report in reports if isinstance(report, ValidationReport)]
    assert [report.best for report in validations] == [True, True, True, False]
    assert validations[-1].averaged == (4, 5)
    assert [round(math.log(-report.best_score), 3) for report in validations] == [5.0, 4.0, 2.0, 2.0]
    end = reports[-1]
    assert isinstance(end, EndReport)
    assert end.best_score == validations[2].score
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [record["best"] for record in records if record["kind"] == "validation"] == [
        True, True, True, False
    ]  # fmt: skip
    kept = (out / "model.safetensors").read_bytes()
    assert kept == tensor_bytes(Checkpoints(out).load_weights(5))


@pytest.mark.parametrize("threads", ["2", 0, -1, 1.5, True])
def test_a_damaged_number_of_threads_is_rejected(threads: object) -> None:
    with pytest.raises(ValueError, match="threads = "):
        RunState.from_json({"threads": threads})
