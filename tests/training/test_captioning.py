"""Captioning runs: they learn, resume, average and run on several processes like translation runs."""

import json
import shutil
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from PIL import Image

from nmt_cli import EvaluateRequest, evaluate
from nmt_cli.config import resolve
from nmt_cli.data.images import Images
from nmt_cli.demo import scenes
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.evaluation.result import CaptionResult
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.run import RunDirectory
from nmt_cli.run.average import average
from nmt_cli.training import Machine, start
from nmt_cli.translator import Captioner, Details, Translator

from .conftest import assert_same, resume_run
from .test_distributed import assert_two_processes_train_the_same

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
LEARNS = (
    "model.image_grid=4",
    "model.context_gate=false",
    "model.doubly_stochastic=0",
    "train.batch_sentences=16",
    "train.learning_rate=3e-3",
    "train.label_smoothing=0",
    "train.ema_decay=0.98",
    "train.warmup_updates=50",
    "train.max_updates=360",
    "train.validate_every=360",
    "train.seed=2",
)
SHORT = ("train.max_updates=6", "train.validate_every=3", "train.save_every=2", "train.ema_decay=0.5")


def make_data(folder: Path, size: int, side: int) -> Path:
    """Rendered scenes and the data directory made of them."""
    pictures = folder / "scenes"
    scenes.write(pictures, size, side=side)
    return preprocess_images(pictures, folder / "data", side)


def preprocess_images(pictures: Path, out: Path, side: int) -> Path:
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


def write_few_kinds(folder: Path, sizes: dict[str, int], side: int) -> None:
    """Two shapes side by side, of few shapes and colors, which are learned fast."""
    kinds = {(color, shape) for color in ("red", "blue", "yellow") for shape in ("bar", "cross", "square")}
    found = (
        scene
        for scene in scenes.scenes(1, simple=True)
        if {(each.color, each.shape) for each in scene.objects} <= kinds
    )
    folder.mkdir()
    random = Random(1)
    for split, size in sizes.items():
        records = []
        for number, scene in enumerate(islice(found, size)):
            name = f"{split}-{number}.png"
            Image.fromarray(scenes.render(scene, side, random)).save(folder / name)
            records.append(json.dumps(scene.record(name, side)) + "\n")
        (folder / f"{split}.jsonl").write_text("".join(records), "utf-8")


@pytest.fixture(scope="module")
def few_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    write_few_kinds(folder / "scenes", {"train": 600, "valid": 10, "test": 60}, side=32)
    return preprocess_images(folder / "scenes", folder / "data", side=32)


@pytest.fixture(scope="module")
def learned(few_kinds: Path) -> Path:
    """A model with soft attention that has learned to describe two shapes."""
    train(few_kinds, few_kinds.parent / "learned", *LEARNS)
    return few_kinds.parent / "learned"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("few"), 100, SIDE)


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


def test_a_tiny_model_describes_shapes_and_looks_at_the_one_it_names(learned: Path, tmp_path: Path) -> None:
    shutil.copytree(learned, tmp_path / "copy")
    found = measured(tmp_path / "copy")
    assert found.exact >= 95
    assert found.pointing is not None
    assert found.pointing.words == 2 * found.images
    assert found.pointing.accuracy >= 75 > 35 > found.pointing.chance


def test_a_tiny_model_without_attention_describes_shapes(few_kinds: Path, tmp_path: Path) -> None:
    train(few_kinds, tmp_path / "run", *LEARNS, "model.preset=vinyals2015")
    assert measured(tmp_path / "run").exact >= 40


def test_features_of_one_position_are_the_first_input_as_they_are(tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32))
    lines = [json.dumps({"image": row, "captions": [f"word{row % 3} here"]}) for row in range(40)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines), "utf-8")
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        images=[tmp_path / "features.npy"],
        train=[str(tmp_path / "train.jsonl")],
        out=tmp_path / "data",
        settings=resolve(assignments=["vocabulary.kind=word", "data.test_size=0"]),
    )
    preprocess(request)
    vinyals = "model.preset=vinyals2015"
    train(tmp_path / "data", tmp_path / "run", *SHORT, vinyals)
    assert RunDirectory.open(tmp_path / "run").config.model.initial_state == "input"
    with pytest.raises(ConfigError, match=r"model\.initial_state = contrast does not fit"):
        train(tmp_path / "data", tmp_path / "other", *SHORT, vinyals, "model.initial_state=contrast")


def test_hard_attention_after_a_soft_start_looks_at_one_cell_of_the_shape_it_names(
    few_kinds: Path, learned: Path, tmp_path: Path
) -> None:
    settings = ("model.hard_attention=true", "train.learning_rate=1e-3", "train.max_updates=60")
    train(few_kinds, tmp_path / "hard", *LEARNS, *settings, "train.validate_every=60", init=learned)
    found = measured(tmp_path / "hard")
    assert found.exact >= 80
    assert found.pointing is not None
    assert found.pointing.accuracy >= 75
    captioner = Captioner.load(tmp_path / "hard", device="cpu")
    [(_, pixels)] = captioner.read(few_kinds.parent / "scenes" / "test-0.png")
    details = Details(attention=True)
    [caption] = captioner.caption(Images(np.stack([pixels])).rows(), details=details)
    assert caption.attention is not None
    assert set(caption.attention.flatten().tolist()) == {0.0, 1.0}


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
    assert_two_processes_train_the_same(data, tmp_path / "one", (*SETTINGS, *short))


def test_runs_are_averaged_and_self_contained(data: Path, pictures: Path, run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "copy")
    average([run, tmp_path / "copy"], tmp_path / "average")
    assert measured(tmp_path / "copy") == measured(tmp_path / "average") == measured(run)
    assert measured(run, pictures / "unseen.jsonl").images == 10


def test_every_image_gets_its_caption_whatever_the_batch(pictures: Path, run: Path) -> None:
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
