"""Captioning runs: they learn, resume, average and run on several processes like translation runs."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from nmt_cli import EvaluateRequest, evaluate
from nmt_cli.config import resolve
from nmt_cli.demo import scenes
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.evaluation.result import CaptionResult
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.run.average import average
from nmt_cli.training import Machine, start
from nmt_cli.translator import Captioner, Translator

from .conftest import assert_same, resume_run
from .test_distributed import torchrun

SIDE = 24
SETTINGS = (
    "model.preset=xu2015",
    "model.embedding_size=32",
    "model.hidden_size=64",
    "model.dropout=0",
    "train.batch_sentences=32",
    "train.learning_rate=4e-3",
    "train.max_epochs=0",
    "train.patience=0",
    "train.average_best=1",
    "train.samples=1",
    "search.max_length=20",
    "search.beam_size=1",
)
SHORT = ("train.max_updates=6", "train.validate_every=3", "train.save_every=2", "train.ema_decay=0.5")


def make_data(folder: Path, size: int, side: int, *, simple: bool) -> Path:
    """Rendered scenes and the data directory made of them."""
    pictures, out = folder / "scenes", folder / "data"
    scenes.write(pictures, size, side=side, simple=simple)
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        images=[pictures],
        out=out,
        settings=resolve(assignments=[f"data.image_size={side}", "vocabulary.kind=word"]),
        **{name: [str(pictures / f"{name}.jsonl")] for name in ("train", "valid", "test")},  # type: ignore[arg-type]
    )
    preprocess(request)
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("few"), 100, SIDE, simple=False)


@pytest.fixture(scope="module")
def pictures(data: Path) -> Path:
    return data.parent / "scenes"


def train(data: Path, out: Path, *assignments: str, **options: Any) -> None:
    machine = Machine(device="cpu", threads=1)
    with start(data, out, resolve(None, [*SETTINGS, *assignments]), machine=machine, **options) as trainer:
        list(trainer.run())


@pytest.fixture(scope="module")
def run(data: Path) -> Path:
    """A model that has seen a few batches."""
    train(data, data.parent / "run", *SHORT)
    return data.parent / "run"


def measured(run: Path, source: Path | None = None) -> CaptionResult:
    captions = evaluate(EvaluateRequest([run], source=source, samples=0)).systems[0].captions
    assert captions is not None
    return captions


@pytest.mark.parametrize("settings", [(), ("model.hard_attention=true", "train.soft_updates=3")])
def test_a_resumed_run_equals_one_that_never_stopped(
    data: Path, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    train(data, tmp_path / "whole", *SHORT, *settings)
    train(data, tmp_path / "stopped", *SHORT, *settings, "train.max_updates=2")
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
    options = [part for setting in (*SETTINGS, *short) for part in ("--set", setting)]
    done = torchrun(data, "--out", tmp_path / "two", *options)
    assert done.returncode == 0, done.stderr
    one, two = (load_file(tmp_path / run / "model.safetensors") for run in ("one", "two"))
    for name, tensor in one.items():
        assert torch.allclose(tensor, two[name], rtol=1e-3, atol=1e-5), name


def test_runs_are_averaged_and_self_contained(data: Path, pictures: Path, run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "copy")
    average([run, tmp_path / "copy"], tmp_path / "average")
    assert measured(tmp_path / "copy") == measured(tmp_path / "average") == measured(run)
    assert measured(run, pictures / "unseen.jsonl").images == 10


def test_every_image_gets_its_caption_whatever_the_batch(pictures: Path, run: Path) -> None:
    import numpy as np

    from nmt_cli.data.images import Images

    captioner = Captioner.load(run, device="cpu")
    found = [captioner.read(pictures / "images" / f"test-{number:05}.png")[0] for number in range(1, 11)]
    rows = Images(np.stack([pixels for _, pixels in found])).rows()
    together = [each.text for each in captioner.caption(rows)]
    alone = [captioner.caption(rows.take(np.array([row])))[0].text for row in range(10)]
    assert together == alone
    wide = captioner.with_search(beam_size=3, n_best=3).caption(rows.take(np.array([0])))[0]
    assert wide.n_best is not None
    assert len(wide.n_best) == 3
    [prefixed] = captioner.caption(rows.take(np.array([0])), prefixes=["a yellow"])
    assert prefixed.text.startswith("a yellow")


def test_a_model_and_its_data_must_be_of_the_same_kind(data: Path, run: Path, tmp_path: Path) -> None:
    features = ("model.source=features", "model.feature_shape=[2, 3]")
    for settings, message in (
        (("model.preset=luong2015",), "contains captioned images"),
        (features, r"model\.source = features does not fit"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(data, tmp_path / "run", *SHORT, *settings)
    with pytest.raises(UsageError, match="captioning model"):
        Translator.load(run)
