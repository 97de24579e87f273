"""Captioning runs: they learn, resume, average and run on several processes like translation runs."""

import json
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from nmt_cli import EvaluateRequest, evaluate
from nmt_cli.config import resolve
from nmt_cli.demo import scenes
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.run.average import average
from nmt_cli.training import Machine, start
from nmt_cli.translator import Captioner, Translator

from .conftest import assert_same, resume_run
from .test_distributed import torchrun

SIDE = 48
SETTINGS = (
    "model.preset=xu2015",
    "model.embedding_size=32",
    "model.hidden_size=64",
    "model.dropout=0",
    "model.doubly_stochastic=0",
    "train.batch_sentences=32",
    "train.learning_rate=4e-3",
    "train.warmup_updates=50",
    "train.max_epochs=0",
    "train.patience=0",
    "train.ema_decay=0.9",
    "train.average_best=1",
    "train.samples=1",
    "train.label_smoothing=0",
    "search.max_length=12",
    "search.beam_size=1",
)
SHORT = ("train.max_updates=6", "train.validate_every=3", "train.save_every=2", "train.ema_decay=0.5")


def write_scenes(folder: Path, sizes: dict[str, int]) -> None:
    """Two shapes each, in three colors and three shapes."""
    (folder / "images").mkdir(parents=True)
    few = (
        scene
        for scene in scenes.scenes(1, simple=True)
        if all(each.color in ("red", "green", "yellow") for each in scene.objects)
        and all(each.shape in ("circle", "triangle", "cross") for each in scene.objects)
    )
    for split, size in sizes.items():
        lines = []
        for number, scene in enumerate(islice(few, size)):
            name = f"images/{split}{number}.png"
            Image.fromarray(scenes.render(scene, SIDE, Random(number))).save(folder / name)
            lines.append(json.dumps(scene.record(name, SIDE)))
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, {"train": 2000, "valid": 40, "test": 100})
    return folder


@pytest.fixture(scope="module")
def data(pictures: Path) -> Path:
    out = pictures.parent / "caption-data"
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        images=[pictures],
        out=out,
        settings=resolve(assignments=[f"data.image_size={SIDE}", "vocabulary.kind=word"]),
        **{name: [str(pictures / f"{name}.jsonl")] for name in ("train", "valid", "test")},  # type: ignore[arg-type]
    )
    preprocess(request)
    return out


def train(data: Path, out: Path, *assignments: str, **options: Any) -> None:
    machine = Machine(device="cpu", threads=1)
    with start(data, out, resolve(None, [*SETTINGS, *assignments]), machine=machine, **options) as trainer:
        list(trainer.run())


@pytest.fixture(scope="module")
def soft(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("soft") / "run"
    train(data, out, "train.max_updates=700", "train.validate_every=700")
    return out


def measured(run: Path) -> tuple[float, float, float]:
    """Exact captions, pointing and the chance of pointing at random, in percent."""
    captions = evaluate(EvaluateRequest([run], samples=0)).systems[0].captions
    assert captions is not None
    assert captions.pointing is not None
    return captions.exact, captions.pointing.accuracy, captions.pointing.chance


def test_soft_attention_learns_to_describe_and_to_look(soft: Path) -> None:
    exact, pointing, chance = measured(soft)
    assert exact >= 95
    assert pointing >= 95
    assert chance <= 40


def test_hard_attention_learns_after_a_soft_start(data: Path, soft: Path, tmp_path: Path) -> None:
    hard = (
        "model.hard_attention=true",
        "train.max_updates=60",
        "train.validate_every=60",
        "train.learning_rate=2e-3",
    )
    train(data, tmp_path / "run", *hard, init=soft)
    exact, pointing, _ = measured(tmp_path / "run")
    assert exact >= 80
    assert pointing >= 95


@pytest.mark.parametrize("settings", [(), ("model.hard_attention=true", "train.soft_updates=3")])
def test_a_resumed_run_equals_one_that_never_stopped(
    data: Path, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    train(data, tmp_path / "whole", *SHORT, *settings)
    train(data, tmp_path / "stopped", *SHORT, *settings, "train.max_updates=2")
    resume_run(tmp_path / "stopped", "train.max_updates=6")
    assert_same(tmp_path / "whole", tmp_path / "stopped")


def test_two_processes_equal_one(data: Path, tmp_path: Path) -> None:
    short = ("train.max_updates=4", "train.validate_every=4", "train.batch_sentences=7")
    train(data, tmp_path / "one", *short)
    options = [part for setting in (*SETTINGS, *short) for part in ("--set", setting)]
    done = torchrun(data, "--out", tmp_path / "two", *options)
    assert done.returncode == 0, done.stderr
    one, two = (load_file(tmp_path / run / "model.safetensors") for run in ("one", "two"))
    for name, tensor in one.items():
        assert torch.allclose(tensor, two[name], rtol=1e-3, atol=1e-5), name


def test_runs_are_averaged_and_self_contained(data: Path, pictures: Path, soft: Path, tmp_path: Path) -> None:
    average([soft], tmp_path / "average", last=None, overwrite=False)
    one, two = (load_file(run / "model.safetensors") for run in (soft, tmp_path / "average"))
    assert all(torch.allclose(tensor, two[name]) for name, tensor in one.items())
    assert measured(tmp_path / "average") == measured(soft)
    found = evaluate(EvaluateRequest([soft], source=pictures / "valid.jsonl", samples=0))
    assert found.sentences == 40
    assert found.systems[0].captions is not None
    assert found.systems[0].captions.pointing is not None


def test_every_image_gets_its_caption_whatever_the_batch(pictures: Path, soft: Path) -> None:
    import numpy as np

    from nmt_cli.data.images import Images

    captioner = Captioner.load(soft, device="cpu")
    found = [captioner.read(pictures / "images" / f"test{number}.png")[0] for number in range(20)]
    rows = Images(np.stack([pixels for _, pixels in found])).rows()
    together = [each.text for each in captioner.caption(rows)]
    alone = [captioner.caption(rows.take(np.array([row])))[0].text for row in range(20)]
    assert together == alone
    wide = captioner.with_search(beam_size=3, n_best=3).caption(rows.take(np.array([0])))[0]
    assert wide.n_best is not None
    assert len(wide.n_best) == 3
    [prefixed] = captioner.caption(rows.take(np.array([0])), prefixes=["a yellow"])
    assert prefixed.text.startswith("a yellow")


def test_a_model_and_its_data_must_be_of_the_same_kind(data: Path, soft: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains captioned images"):
        train(data, tmp_path / "run", "model.preset=luong2015")
    with pytest.raises(ConfigError, match=r"model\.source = features does not fit"):
        train(
            data,
            tmp_path / "run",
            "model.source=features",
            "model.image_grid=6",
            "model.feature_shape=[2, 3]",
        )
    with pytest.raises(UsageError, match="captioning model"):
        Translator.load(soft)
