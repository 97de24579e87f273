"""Speech recognition runs: they learn, resume, average and run on several processes like translation runs."""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from nmt_cli import EvaluateRequest, evaluate
from nmt_cli.config import resolve
from nmt_cli.data.batches import TrainingBatches
from nmt_cli.data.directory import DataDirectory
from nmt_cli.demo import numbers
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.run.average import average
from nmt_cli.training import Machine, start
from nmt_cli.translator import Captioner, Details, Transcriber, Translator

from .conftest import assert_same, resume_run
from .test_distributed import assert_two_processes_train_the_same

SETTINGS = (
    "model.preset=chan2016",
    "model.embedding_size=16",
    "model.hidden_size=32",
    "model.encoder_layers=2",
    "model.pyramidal_layers=2",
    "model.decoder_layers=1",
    "model.dropout=0",
    "train.max_epochs=0",
    "train.patience=0",
    "train.average_best=1",
    "train.samples=1",
    "search.beam_size=1",
)
LEARNS = (
    "model.hidden_size=48",
    "train.batch_sentences=16",
    "train.learning_rate=5e-3",
    "train.label_smoothing=0",
    "train.ema_decay=0.95",
    "train.warmup_updates=30",
    "train.max_updates=260",
    "train.validate_every=260",
)
SHORT = (
    "train.batch_tokens=60",
    "train.max_updates=6",
    "train.validate_every=3",
    "train.save_every=2",
    "train.ema_decay=0.5",
)


def write_tones(folder: Path, sizes: dict[str, int], words: tuple[str, ...], longest: int) -> None:
    """Recordings of one or more of a few words, in tones."""
    (folder / "audio").mkdir(parents=True)
    random = Random(1)
    for split, size in sizes.items():
        records = []
        for number in range(size):
            text = " ".join(random.choice(words) for _ in range(random.randint(1, longest)))
            name = f"audio/{split}-{number}.wav"
            numbers._save(folder / name, numbers.tones(text, random))
            records.append(json.dumps({"audio": name, "text": text}) + "\n")
        (folder / f"{split}.jsonl").write_text("".join(records), "utf-8")


def preprocess_tones(folder: Path, out: Path) -> Path:
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        audio=[folder],
        out=out,
        **{name: [str(folder / f"{name}.jsonl")] for name in ("train", "valid", "test")},  # type: ignore[arg-type]
    )
    preprocess(request)
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tones")
    write_tones(folder / "tones", {"train": 60, "valid": 6, "test": 12}, ("one", "two", "six"), 3)
    return preprocess_tones(folder / "tones", folder / "data")


def train(data: Path, out: Path, *assignments: str, **options: Any) -> None:
    machine = Machine(device="cpu", threads=1)
    with start(data, out, resolve(None, [*SETTINGS, *assignments]), machine=machine, **options) as trainer:
        list(trainer.run())


@pytest.fixture(scope="module")
def run(data: Path) -> Path:
    """A model that has seen a few batches."""
    train(data, data.parent / "run", *SHORT)
    return data.parent / "run"


def word_error_rate(run: Path, source: Path | None = None) -> float:
    return evaluate(EvaluateRequest([run], source=source, samples=0)).systems[0].score("WER").score


def test_a_tiny_model_learns_to_transcribe_tones(tmp_path: Path) -> None:
    words = ("one", "two", "six", "ten")
    write_tones(tmp_path / "tones", {"train": 400, "valid": 10, "test": 60}, words, 2)
    train(preprocess_tones(tmp_path / "tones", tmp_path / "data"), tmp_path / "run", *LEARNS)
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    shutil.rmtree(tmp_path / "run")
    assert word_error_rate(tmp_path / "copy") <= 5
    transcriber = Transcriber.load(tmp_path / "copy", device="cpu")
    line = (tmp_path / "tones" / "test.jsonl").read_text().splitlines()[0]
    record = json.loads(line)
    [(name, frames)] = transcriber.read(tmp_path / "tones" / record["audio"])
    [found] = transcriber.transcribe(transcriber.rows_of([frames]), [name], details=Details(attention=True))
    assert found.text == record["text"]
    assert found.attention is not None
    positions = -(-len(frames) // 4)
    assert found.attention.shape == (len(found.target_pieces), positions)
    assert found.source_pieces == tuple(f"{0.04 * position:.2f}" for position in range(positions))


def test_a_resumed_run_equals_one_that_never_stopped(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "whole", *SHORT)
    train(data, tmp_path / "stopped", *SHORT, "train.max_updates=2")
    resume_run(tmp_path / "stopped", "train.max_updates=6")
    assert_same(tmp_path / "whole", tmp_path / "stopped")


def test_two_processes_equal_one(data: Path, tmp_path: Path) -> None:
    short = (
        "train.max_updates=4",
        "train.validate_every=4",
        "train.batch_sentences=7",
        "train.ema_decay=0.5",
    )
    train(data, tmp_path / "one", *short)
    assert_two_processes_train_the_same(data, tmp_path / "one", (*SETTINGS, *short))


def test_runs_are_averaged_and_self_contained(data: Path, run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "copy")
    average([run, tmp_path / "copy"], tmp_path / "average")
    rates = {word_error_rate(path) for path in (run, tmp_path / "copy", tmp_path / "average")}
    rates.add(word_error_rate(run, data.parent / "tones" / "test.jsonl"))
    assert len(rates) == 1


def test_every_recording_gets_its_transcript_whatever_the_batch(data: Path, run: Path) -> None:
    transcriber = Transcriber.load(run, device="cpu").with_search(max_length=12)
    paths = sorted((data.parent / "tones" / "audio").glob("test-*.wav"))
    rows = transcriber.rows_of([transcriber.read(path)[0][1] for path in paths])
    together = transcriber.transcribe(rows, details=Details(scores=True))
    for row, found in enumerate(together):
        [alone] = transcriber.transcribe(rows.take(np.array([row])), details=Details(scores=True))
        assert alone.text == found.text
        assert alone.log_probability == pytest.approx(found.log_probability, abs=1e-4)
    wide = transcriber.with_search(beam_size=3, n_best=3).transcribe(rows.take(np.array([0])))[0]
    assert wide.n_best is not None
    assert len(wide.n_best) == 3


def test_no_batch_has_more_frames_than_its_budget(data: Path) -> None:
    """Padding included; a recording that is longer is a batch of its own."""
    opened = DataDirectory.open(data)
    for batch_tokens in (10, 60, 200):
        config = resolve(assignments=[f"train.batch_tokens={batch_tokens}"]).config.train
        seen = 0
        for rank_batch in TrainingBatches(opened.train, config).epoch(1):
            assert rank_batch.batch is not None
            B, S, _ = rank_batch.batch.source.shape
            assert B == 1 or 8 * batch_tokens >= B * S
            assert int(rank_batch.batch.source_lengths.max()) == S
            seen += B
        assert seen == len(opened.train)


def test_a_model_and_its_data_must_be_of_the_same_kind(data: Path, run: Path, tmp_path: Path) -> None:
    for settings, message in (
        (
            ("model.preset=luong2015", "model.pyramidal_layers=0", "model.encoder_layers=1"),
            "contains recordings",
        ),
        (("model.frame_size=7",), r"model\.frame_size = 7 does not fit the recordings"),
        (("data.mel_bands=80",), r"data\.mel_bands = 80"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(data, tmp_path / "run", *SHORT, *settings)
    for kind in (Translator, Captioner):
        with pytest.raises(UsageError, match="speech recognition model"):
            kind.load(run)
    with pytest.raises(ConfigError, match=r"train\.metric = wer is incompatible with model\.source = text"):
        resolve(assignments=["train.metric=wer"])
