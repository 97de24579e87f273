"""TensorBoard's own reader finds in the event files what metrics.jsonl says, whatever happened to the run."""

import importlib.util
import json
import shutil
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from nmt_cli.errors import DirectoryError
from nmt_cli.files.manifest import run_refusal
from nmt_cli.run import logs
from nmt_cli.run.logs import MetricsLog
from nmt_cli.training import Machine, ValidationReport, resume, start

from .conftest import ON_CPU, Run, options, resume_run, settings, train

WITH_EVENTS: Machine = replace(ON_CPU, tensorboard=True)
SHORT = ("train.max_updates=12", "train.validate_every=5", "train.save_every=4")
Scalars = dict[tuple[str, int], float]


def raw_events(run: Path) -> list[tuple[str, int]]:
    """Every scalar in every file, without the repairs that TensorBoard makes."""
    return [
        (value.tag, event.step)
        for path in sorted((run / "tensorboard").iterdir())
        for event in EventFileLoader(str(path)).Load()
        for value in event.summary.value
    ]


def displayed(run: Path) -> Scalars:
    """What TensorBoard displays."""
    accumulator = EventAccumulator(str(run / "tensorboard"))
    accumulator.Reload()
    return {
        (tag, event.step): event.value
        for tag in accumulator.Tags()["scalars"]
        for event in accumulator.Scalars(tag)
    }


def logged(run: Path) -> dict[tuple[str, int], object]:
    return {
        (tag, record["update"]): pytest.approx(value, rel=1e-6)
        for record in MetricsLog(run).read()
        for tag, value in logs.scalars(record).items()
    }


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("events") / "run"
    train(data, out, *SHORT, machine=WITH_EVENTS)
    return out


def test_the_events_are_the_metrics(finished: Path) -> None:
    assert displayed(finished) == logged(finished)
    tags = {tag for tag, _ in displayed(finished)}
    assert tags >= {f"train/{name}" for name in ("loss", "perplexity", "learning_rate", "gradient_norm")}
    assert tags >= {"train/tokens_per_second", "valid/loss", "valid/perplexity", "valid/bleu", "valid/chrf"}


def test_a_run_with_events_can_be_replaced(finished: Path) -> None:
    assert run_refusal(finished) is None


def test_a_run_without_the_option_has_no_events(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", "train.max_updates=2")
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_a_run_killed_between_checkpoints_has_no_event_twice(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with start(data, run, settings(*SHORT), machine=WITH_EVENTS) as trainer:
        # The metrics of update 9 and this validation are logged; the last checkpoint is that of update 8.
        for report in trainer.run():
            if isinstance(report, ValidationReport) and report.update == 10:
                break
    before = Counter(raw_events(run))
    resume_run(run)  # without the option: a run that has events continues them
    found = Counter(raw_events(run))
    assert found.keys() > before.keys()
    assert set(found.values()) == {1}
    assert displayed(run) == logged(run)


def test_a_run_that_began_without_events_gets_its_whole_history(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with start(data, run, settings(*SHORT), machine=ON_CPU) as trainer:
        list(islice(trainer.run(), 9))
    resume_run(run, machine=WITH_EVENTS)
    assert displayed(run) == logged(run)


def test_values_that_are_not_finite_are_left_out() -> None:
    record = {"kind": "step", "update": 3, "loss": None, "perplexity": None, "learning_rate": 0.1}
    assert logs.scalars(record) == {"train/learning_rate": 0.1}


def test_hostile_values_in_the_log_are_skipped(finished: Path, tmp_path: Path) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    record = {"kind": "step", "update": 3, "loss": 1.0, "perplexity": 2.0, "learning_rate": 0.1}
    hostile = [("gradient_norm", "x"), ("gradient_norm", [1]), ("update", 2**70), ("tokens_per_second", True)]
    with (run / "metrics.jsonl").open("a") as log:
        log.writelines(json.dumps({**record, key: value}) + "\n" for key, value in hostile)
    logs.EventLog(run, logs.MetricsLog(run).read())
    assert displayed(run) == displayed(finished)
    with (run / "metrics.jsonl").open("a") as log:
        log.writelines(
            json.dumps({**record, key: 1e300}) + "\n" for key in ("loss", "seconds", "gradient_norm")
        )
    logs.EventLog(run, logs.MetricsLog(run).read())


def test_a_link_in_place_of_the_folder_is_refused(finished: Path, tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    shutil.copytree(finished, run)
    (run / "tensorboard").rename(elsewhere)
    (run / "tensorboard").symlink_to(elsewhere)
    before = sorted(elsewhere.iterdir())
    with pytest.raises(DirectoryError, match="symbolic link"), resume(run, machine=WITH_EVENTS):
        pass
    assert sorted(elsewhere.iterdir()) == before


def test_without_the_package_the_error_says_how_to_install_it(
    data: Path, finished: Path, tmp_path: Path, nmt: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(logs, "find_spec", lambda name: None if name == "tensorboard" else find(name))
    code, _, stderr = nmt("train", data, "--out", tmp_path / "run", "--tensorboard", *options(*SHORT))
    assert code == 2
    assert "error: --tensorboard: tensorboard is not installed" in stderr
    assert "pip install tensorboard" in stderr
    assert not (tmp_path / "run").exists()
    shutil.copytree(finished, tmp_path / "copy")
    # The events were made elsewhere: training still resumes.
    resume_run(tmp_path / "copy", "train.max_updates=14")
