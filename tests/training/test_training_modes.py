"""Training with hard attention, copying, scheduled sampling and the loss on a subset; resume stays exact."""

import math
from pathlib import Path

import pytest
import torch

from nmt_cli.run import RunDirectory
from nmt_cli.run.weights import weights_of
from nmt_cli.training import UpdateReport, resume, start

from .conftest import ON_CPU, assert_same, settings, train

OWN_WORDS = ("train.scheduled_sampling=0.5", "train.sampled_word=drawn", "train.sampling_updates=6")
EVERYTHING = (
    *OWN_WORDS,
    "train.loss_share=0.5",
    "train.max_updates=9",
    "train.validate_every=5",
    "train.save_every=4",
)


@pytest.mark.parametrize("average", ["train.ema_decay=0.9", "train.ema_decay=0"])
@pytest.mark.parametrize(
    "model",
    [("model.hard_attention=true",), ("model.copying=true",), ("model.preset=vaswani2017", "model.heads=4")],
    ids=["hard", "copying", "transformer"],
)
def test_a_stopped_and_resumed_run_equals_an_uninterrupted_one(
    data: Path, tmp_path: Path, model: tuple[str, ...], average: str
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train(data, whole, *EVERYTHING, *model, average)
    for point in (3, 99):
        again = (
            start(data, stopped, settings(*EVERYTHING, *model, average), machine=ON_CPU)
            if point == 3
            else resume(stopped, machine=ON_CPU)
        )
        with again as trainer:
            for report in trainer.run():
                if isinstance(report, UpdateReport) and report.update == point:
                    trainer.stop()
    assert_same(stopped, whole)


def test_the_baseline_of_hard_attention_is_learned_and_saved(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", "model.hard_attention=true", "train.max_updates=4", "train.ema_decay=0")
    run = RunDirectory.open(tmp_path / "run")
    baseline = run.load_model().baseline
    assert baseline is not None
    vocabulary = len(run.vocabularies.target)
    first = -math.log(vocabulary)
    assert float(baseline) != pytest.approx(first, abs=1e-6)
    assert float(baseline) == pytest.approx(first, abs=2.0)


@pytest.mark.parametrize(
    "mode",
    [
        ("train.scheduled_sampling=0.5", "train.sampling_schedule=constant"),
        ("train.loss_share=0.5",),
        ("train.loss_words=1",),
    ],
)
def test_a_training_mode_changes_the_weights(data: Path, tmp_path: Path, mode: tuple[str, ...]) -> None:
    short = ("train.max_updates=2", "train.ema_decay=0")
    train(data, tmp_path / "plain", *short)
    train(data, tmp_path / "mode", *short, *mode)
    assert (tmp_path / "plain" / "model.safetensors").read_bytes() != (
        tmp_path / "mode" / "model.safetensors"
    ).read_bytes()


@pytest.mark.parametrize(("before", "after"), [("false", "true"), ("true", "false")])
def test_a_run_can_be_initialized_from_one_with_another_kind_of_attention(
    data: Path, tmp_path: Path, before: str, after: str
) -> None:
    """The baseline of hard attention is a buffer, not a weight."""
    short = ("train.max_updates=2", "train.ema_decay=0.9")
    train(data, tmp_path / "first", *short, f"model.hard_attention={before}")
    first = weights_of(RunDirectory.open(tmp_path / "first").load_model())
    second = settings(*short, f"model.hard_attention={after}", "train.learning_rate=1e-12")
    with start(data, tmp_path / "second", second, init=tmp_path / "first", machine=ON_CPU) as trainer:
        list(trainer.run())
    model = RunDirectory.open(tmp_path / "second").load_model()
    assert (model.baseline is not None) == (after == "true")
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.data, first[name], atol=1e-6, rtol=0)
