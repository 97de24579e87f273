"""`nmt train` as users see it: bad input, signals, locks."""

import json
import os
import re
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from nmt_cli.cli.commands.train import Signals, parse_duration
from nmt_cli.cli.display.console import Verbosity
from nmt_cli.cli.display.training import TrainingDisplay, duration
from nmt_cli.data.directory import DataDirectory
from nmt_cli.errors import UsageError
from nmt_cli.files.manifest import run_refusal
from nmt_cli.run import RunDirectory
from nmt_cli.run.checkpoint import Checkpoints
from nmt_cli.run.directory import Lock
from nmt_cli.training import UpdateReport, ValidationReport, start
from nmt_cli.training.dry_run import estimate_run
from nmt_cli.translator import Details, Translator
from nmt_cli.translator.confidence import confidence
from tests.fork_server import ForkServer

from .conftest import ON_CPU, Run, assert_same, make_data, options, settings, train


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "run"
    train(data, out, "train.max_updates=1")
    return out


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        ([], 2, "no data directory given", "nmt train DATA_DIR --out RUN_DIR"),
        (["DATA"], 2, "no run directory given", "--out RUN_DIR"),
        (["NOWHERE", "--out", "NEW"], 1, "there is no directory NOWHERE", "nmt preprocess"),
        (["RUN", "--out", "NEW"], 1, "RUN is a run directory", "give a data directory"),
        (["DATA", "--out", "RUN"], 2, "RUN already exists", "--overwrite"),
        (["DATA", "--out", "NEW", "--preset", "luong2016"], 2, "no such preset (did you mean luong2015", "nmt config"),
        (["DATA", "--out", "NEW", "--set", "train.batch_token=3"], 2, "did you mean train.batch_tokens", "nmt config"),
        (["DATA", "NOWHERE.toml", "--out", "NEW"], 2, "cannot read NOWHERE.toml", "TOML file"),
        (["DATA", "--out", "NEW", "--device", "cuda:7"], 2, "no such device: cuda:7", "available: cpu"),
        (["DATA", "--out", "NEW", "--set", "vocabulary.size=99"], 2, "but DATA was made with 300", "preprocess"),
        (["DATA", "--out", "NEW", "--init", "DATA"], 1, "DATA is a data directory", "give a run directory"),
        (["--resume", "DATA"], 1, "DATA is a data directory", "give a run directory"),
        (["--resume", "RUN", "--out", "NEW", "--overwrite"], 2, "together with --out and --overwrite", "continues"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_a_hint(
    nmt: Run,
    data: Path,
    finished: Path,
    tmp_path: Path,
    arguments: list[str],
    code: int,
    message: str,
    hint: str,
) -> None:
    places = {"DATA": str(data), "RUN": str(finished), "NEW": str(tmp_path / "new")}
    outcome = nmt("train", *[places.get(argument, argument) for argument in arguments])
    said = outcome.stderr
    for name, place in places.items():
        said = said.replace(place, name)
    assert outcome.code == code, said
    assert message in said.split("\n")[0], said
    assert said.startswith("error: ")
    assert hint in said.split("\n")[1]
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA")
def test_an_unsupported_precision_is_rejected(nmt: Run, data: Path, tmp_path: Path) -> None:
    outcome = nmt(
        "train", data, "--out", tmp_path / "run", "--set", "train.precision=fp16", "--device", "cpu"
    )
    assert outcome.code == 2
    assert "train.precision = fp16 is not supported by this CPU" in outcome.stderr


def test_an_invalid_time_limit_is_rejected(nmt: Run, data: Path, tmp_path: Path) -> None:
    outcome = nmt("train", data, "--out", tmp_path / "run", "--time-limit", "soon")
    assert outcome.code == 2
    assert outcome.stderr == "error: --time-limit soon: not a duration\nhint: write 45m, 1h30m or 90s\n"
    assert [
        parse_duration(text, "--time-limit") for text in ("45m", "1h30m", "90s", "90", "1.5h", "2min")
    ] == [
        2700,
        5400,
        90,
        90,
        5400,
        120,
    ]
    assert [duration(seconds) for seconds in (5, 200, 3900)] == ["5 s", "3 min", "1 h 05 min"]


def test_a_run_in_use_can_be_neither_resumed_nor_overwritten(nmt: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with start(data, out, settings("train.max_updates=1"), machine=ON_CPU) as trainer:
        for arguments in (["--resume", out], [data, "--out", out, "--overwrite"]):
            outcome = nmt("train", *arguments)
            assert outcome.code == 2
            assert f"{out} is in use by another process (process {os.getpid()})" in outcome.stderr
        list(trainer.run())
    assert (
        nmt("train", data, "--out", out, "--overwrite", "--threads", 1, *options("train.max_updates=1")).code
        == 0
    )
    with Lock(out), pytest.raises(UsageError, match="in use"):
        Lock(out)


def test_overwrite_replaces_only_runs(nmt: Run, data: Path, finished: Path, tmp_path: Path) -> None:
    copy, foreign = tmp_path / "data", tmp_path / "foreign"
    shutil.copytree(data, copy)
    foreign.mkdir()
    (foreign / "lock").write_text("of another program")
    for out in (copy, foreign):
        for command in (["train", copy, *options("train.max_updates=1")], ["average", finished, finished]):
            outcome = nmt(*command, "--out", out, "--overwrite")
            assert outcome.code == 2
            reason = "is a data directory)" if out == copy else "contains other files"
            assert f"{reason}, so it is not overwritten" in outcome.stderr
    assert (foreign / "lock").read_text() == "of another program"
    DataDirectory.open(copy)


def test_an_average_does_not_replace_a_run_in_use(nmt: Run, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    with Lock(out):
        outcome = nmt("average", finished, finished, "--out", out, "--overwrite")
    assert (outcome.code, "is in use by another process" in outcome.stderr) == (2, True)


def test_a_run_without_updates_does_not_suggest_translating(nmt: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    outcome = nmt("train", data, "--out", out, "--threads", 1, "--time-limit", "0s", *options())
    assert outcome.code == 0
    last = outcome.stderr.splitlines()[-1]
    assert last == f"there is no model yet; resume with: nmt train --resume {out}"


def test_a_resumed_run_accepts_a_settings_file(nmt: Run, finished: Path, tmp_path: Path) -> None:
    copy, file = tmp_path / "copy", tmp_path / "more.toml"
    shutil.copytree(finished, copy)
    file.write_text("[train]\nmax_updates = 2\n")
    outcome = nmt("train", "--resume", copy, file, "--threads", 1)
    assert outcome.code == 0, outcome.stderr
    assert "changed: train.max_updates = 1 → 2" in outcome.stderr


def test_initializing_from_a_run_with_another_vocabulary_is_rejected(
    nmt: Run, finished: Path, tmp_path: Path
) -> None:
    other = make_data(tmp_path / "other", seed=5, size=310)
    for option in (["--out", tmp_path / "run"], ["--dry-run"]):
        outcome = nmt("train", other, *option, "--init", finished)
        assert outcome.code == 2
        assert "have different source vocabularies" in outcome.stderr
        assert f"nmt preprocess --vocabulary {finished}" in outcome.stderr


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.preset=vaswani2017", "but --init fixes the model, which is luong2015"),
        ("model.hidden_size=12", "the model settings do not fit the weights of --init"),
    ],
)
def test_initializing_another_model_is_rejected_because_init_fixes_the_model(
    nmt: Run, data: Path, finished: Path, tmp_path: Path, setting: str, message: str
) -> None:
    outcome = nmt("train", data, "--out", tmp_path / "run", "--init", finished, "--set", setting)
    assert outcome.code == 2
    assert message in outcome.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_without_a_validation_set_uses_the_last_model(nmt: Run, tmp_path: Path) -> None:
    data = make_data(tmp_path, valid=False)
    outcome = nmt("train", data, "--out", tmp_path / "run", "--threads", 1, *options("train.max_updates=2"))
    assert outcome.code == 0, outcome.stderr
    assert "warning: there is no validation set" in outcome.stderr
    RunDirectory.open(tmp_path / "run", hashes=True).load_model()
    outcome = nmt("train", data, "--out", tmp_path / "no", *options("train.schedule=plateau"))
    assert (outcome.code, "train.schedule = plateau needs a validation set" in outcome.stderr) == (2, True)


def test_a_dry_run_measures_and_writes_nothing(nmt: Run, data: Path, tmp_path: Path) -> None:
    outcome = nmt("train", data, "--dry-run", "--threads", 1, *options("train.max_updates=9"))
    assert outcome.code == 0, outcome.stderr
    for text in (
        "max_updates = 9  # --set",
        "# parameters ",
        "# updates per epoch ",
        "# memory for ",
        "# time per epoch ",
    ):
        assert text in outcome.stdout
    assert "seed = " not in outcome.stdout  # it has its default
    assert "9 updates, unless it stops early" in outcome.stdout
    everything = nmt("train", data, "--dry-run", "--verbose", "--threads", 1, *options("train.max_updates=9"))
    assert "seed = " in everything.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("feeding", ["false", "true"])
def test_a_dry_run_counts_the_operations_of_an_update(data: Path, feeding: str) -> None:
    found = [
        estimate_run(
            data,
            settings(f"model.input_feeding={feeding}", f"train.accumulate={accumulate}"),
            machine=ON_CPU,
            count=True,
        )
        for accumulate in (1, 2)
    ]
    one, two = (estimate.workload for estimate in found)
    assert one is not None
    assert two is not None
    assert (two.operations, two.tokens) == (2 * one.operations, 2 * one.tokens)
    assert one.kernels < two.kernels < 2 * one.kernels  # one optimizer step
    # A forward and two backward products with nearly every weight, for each token of its side and some padding.
    assert 0.8 < one.operations / (6 * found[0].parameters * one.tokens) < 1.6


def test_a_dry_run_estimates_other_hardware(nmt: Run, data: Path) -> None:
    outcome = nmt(
        "train", data, "--dry-run", "--on", "2xV100", "--threads", 1, *options("train.precision=fp32")
    )
    assert outcome.code == 0, outcome.stderr
    assert "# estimate for 2×V100              fp32\n" in outcome.stdout
    assert outcome.stdout.count("# time per update ") == 2
    assert " of 16 GB\n" in outcome.stdout


def test_the_end_of_training_stores_the_confidence_of_the_model(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(data, tmp_path / "small", "train.max_updates=1")
    assert not (tmp_path / "small" / "confidence.json").exists()  # a tiny validation set says too little
    monkeypatch.setattr("nmt_cli.translator.confidence._MIN_SENTENCES", 1)
    train(data, tmp_path / "run", "train.max_updates=1")
    run = RunDirectory.open(tmp_path / "run")
    translator = Translator.load(run.path)
    texts = run.held_out("valid")
    assert texts is not None
    found = translator.translate(texts[0], details=Details(scores=True))
    calibration = translator.calibration
    assert calibration is not None
    unusual = [
        one
        for one in found
        if (value := confidence(one)) is not None
        and value < calibration.threshold(len(one.source_pieces)) - 1e-3
    ]
    assert len(unusual) <= 1  # the quantile of a dozen sentences is between the last two
    assert run_refusal(run.path) is None  # the file is ours: --overwrite may replace the run


def test_the_calibration_of_confidence_does_not_depend_on_how_many_sentences_are_validated(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt_cli.translator.confidence._MIN_SENTENCES", 12)
    stored = []
    for count in (1, 5, 0):  # 0: all of them
        run = tmp_path / str(count)
        train(data, run, "train.max_updates=1", f"train.validate_sentences={count}")
        stored.append((run / "confidence.json").read_bytes())
    assert len(set(stored)) == 1
    assert json.loads(stored[0])["sentences"] == 12


def test_the_log_in_a_pipe_has_one_line_for_each_validation(nmt: Run, data: Path, tmp_path: Path) -> None:
    limits = ("train.max_updates=6", "train.validate_every=3")
    outcome = nmt("train", data, "--out", tmp_path / "run", "--threads", 1, *options(*limits))
    lines = outcome.stderr.splitlines()
    assert outcome.stdout == ""
    assert "\x1b" not in outcome.stderr
    validations = [line for line in lines if re.match(r"update \d epoch 1: loss \d\.\d+ ppl ", line)]
    assert len(validations) == 2
    assert all(len(line) <= 80 for line in validations)
    assert lines[-2].endswith("train.max_updates = 6")
    run = tmp_path / "run"
    assert lines[-1] == f"wrote {run}; translate with: nmt translate {run}"
    verbose = nmt("train", data, "--out", tmp_path / "again", "--threads", 1, "-v", *options(*limits))
    assert "  reference    " in verbose.stderr
    assert (
        nmt("train", data, "--out", tmp_path / "quiet", "--threads", 1, "-q", *options(*limits)).stderr == ""
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_saves_and_stops_and_resume_continues(
    data: Path, tmp_path: Path, server: ForkServer, number: signal.Signals, code: int
) -> None:
    out, whole = tmp_path / "run", tmp_path / "whole"
    limits = ("train.max_updates=30", "train.validate_every=15")
    train(data, whole, *limits)
    ended = 0
    while ended == 0:  # training that ends before the signal arrives is repeated
        shutil.rmtree(out, ignore_errors=True)
        child = server.begin("train", data, "--out", out, "--threads", 1, "--quiet", *options(*limits))
        while not (out / "metrics.jsonl").exists():
            time.sleep(0.005)
        with suppress(ProcessLookupError):
            os.kill(child, number)
            if number == signal.SIGHUP:  # a lost connection sends several
                os.kill(child, number)
        ended = server.end()
    assert ended == code
    server.begin("train", "--resume", out, "--quiet", "--threads", 1)
    assert server.end() == 0
    assert_same(out, whole)


def test_a_second_ctrl_c_stops_immediately_unless_torchrun_repeated_the_first(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    display = TrainingDisplay(Verbosity.QUIET, metric="bleu", time_limit=None)
    with start(data, tmp_path / "run", settings(), machine=ON_CPU) as trainer:
        with Signals(trainer, display), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            assert trainer.stopping
            signal.raise_signal(signal.SIGINT)
        Checkpoints(tmp_path / "run").load()
    monkeypatch.setenv("RANK", "0")
    with start(data, tmp_path / "other", settings(), machine=ON_CPU) as trainer:
        assert not trainer.stopping
        with Signals(trainer, display), pytest.raises(KeyboardInterrupt):
            for report in trainer.run():
                if isinstance(report, UpdateReport) and not trainer.stopping:
                    signal.raise_signal(signal.SIGINT)
                    signal.raise_signal(signal.SIGINT)
                    assert trainer.stopping
                    now = time.monotonic()
                    monkeypatch.setattr(time, "monotonic", lambda now=now: now + 2)
                    signal.raise_signal(signal.SIGINT)
    monkeypatch.undo()
    Checkpoints(tmp_path / "other").load()


def test_an_unreadable_run_is_rejected(nmt: Run, finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    (copy / "config.json").write_text("{}")
    outcome = nmt("train", "--resume", copy)
    assert outcome.code == 1
    assert "truncated" in outcome.stderr


def test_divergence_is_an_error_with_exit_code_1(nmt: Run, data: Path, tmp_path: Path) -> None:
    wild = options("train.learning_rate=1e6", "train.warmup_updates=0", "train.max_updates=60")
    outcome = nmt("train", data, "--out", tmp_path / "run", "--threads", 1, *wild)
    assert outcome.code == 1
    assert "error: training has diverged" in outcome.stderr
    assert "best" not in outcome.stderr


def test_the_resume_command_is_complete(
    nmt: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a run"
    zero = options("train.max_updates=1")
    outcome = nmt("train", data, "--out", out, "--time-limit", "0s", "--device", "cpu", "--threads", 1, *zero)
    assert f"resume with: nmt train --resume '{out}' --device cpu" in outcome.stderr.replace("\n", " ")


def test_the_status_line_has_the_best_score_as_soon_as_it_is_known(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    limits = ("train.max_updates=6", "train.validate_every=6", "train.log_every=3", "train.ema_decay=0")
    with start(data, tmp_path / "run", settings(*limits), machine=ON_CPU) as trainer:
        display = TrainingDisplay(Verbosity.NORMAL, metric=trainer.metric, time_limit=None)
        with display:
            for report in trainer.run():
                display.show(report)
                if isinstance(report, ValidationReport):
                    assert f"best BLEU {report.best_score:.2f}" in display._figures.plain
