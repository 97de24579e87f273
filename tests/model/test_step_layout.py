"""Preparing a model for search does not change its results, or only slightly with int8."""

from typing import Any

import pytest
import torch
from torch import Tensor

from nmt_cli.config import ModelConfig
from nmt_cli.config.presets import TRANSLATION_PRESETS
from nmt_cli.errors import UsageError
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.model.decoder import RecurrentDecoder
from nmt_cli.model.fast.step_layout import Int8Linear, prepare_for_search
from nmt_cli.model.transformer import TransformerDecoder

SOURCE, LENGTHS = torch.tensor([[7, 8, 9, 3], [5, 6, 3, 0]]), torch.tensor([4, 3])
WORDS = torch.tensor([[2, 9, 4], [2, 7, 5]])  # (B, T)


def model_of(preset: str, words: int, size: int, **settings: Any) -> Seq2Seq:
    config = ModelConfig.from_preset(preset, embedding_size=size, hidden_size=size, **settings)
    return build_model(config, words, words, shared=True, generator=torch.Generator().manual_seed(1)).eval()


def forced_logits(model: Seq2Seq) -> Tensor:
    """Of teacher forcing: (B, T, V)"""
    memory = model.encode(SOURCE, LENGTHS)
    features, attention = model.decode(memory, WORDS)
    return model.project(features, model.copies(attention, memory))


def step_logits(model: Seq2Seq) -> Tensor:
    """Step by step: (B, T, V)"""
    memory = model.encode(SOURCE, LENGTHS)
    state, steps = model.start(memory, 1), []
    for column in torch.split(WORDS, 1, dim=1):
        features, state, attention = model.step(column, state, memory)
        steps.append(model.project(features, model.copies(attention, memory)))
    return torch.cat(steps, dim=1)


@pytest.mark.parametrize("preset", TRANSLATION_PRESETS)
@torch.inference_mode()
def test_a_prepared_model_computes_the_same(preset: str) -> None:
    model = model_of(preset, 40, 16)
    before = forced_logits(model), step_logits(model)
    assert prepare_for_search(model) == []
    assert model.vocabulary.weight.stride() == (1, 40)
    for a, b in zip(before, (forced_logits(model), step_logits(model)), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("preset", TRANSLATION_PRESETS)
@torch.inference_mode()
def test_int8_steps_are_close_to_those_in_full_precision(preset: str) -> None:
    model = model_of(preset, 200, 128)
    if isinstance(model.decoder, RecurrentDecoder):
        for weight in model.parameters():
            weight.mul_(4)  # as after training: the states of a fresh model are nearly 0
    plain = step_logits(model)
    try:
        names = prepare_for_search(model, int8=True)
    except UsageError:
        pytest.skip("this build of torch does not support int8")
    assert "vocabulary" in names
    assert isinstance(model.decoder, TransformerDecoder) or "decoder.layers.0.hidden_side" in names
    used = set()
    for name in names:
        model.get_submodule(name).register_forward_hook(lambda *_, name=name: used.add(name))
    assert (step_logits(model) - plain).abs().max() < 0.05 * plain.abs().max()
    assert used == set(names)  # what is said to be in 8 bits is


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("bahdanau2015", {"readout": "attentional", "layer_norm": True}),  # the context is fed, and is large
        ("cho2014", {"readout": "attentional"}),  # a summary and no attention
    ],
)
@torch.inference_mode()
def test_inputs_of_bounded_layers_are_within_plus_or_minus_1(preset: str, settings: dict[str, Any]) -> None:
    model = model_of(preset, 200, 128, **settings)
    try:
        prepare_for_search(model, int8=True)
    except UsageError:
        pytest.skip("this build of torch does not support int8")
    largest: list[float] = []
    for module in model.modules():
        if isinstance(module, Int8Linear) and module._bounded:
            module.register_forward_pre_hook(lambda _, x: largest.append(x[0].abs().max().item()))
    step_logits(model)
    assert largest
    assert max(largest) <= 1.0001


@pytest.mark.parametrize("bounded", [False, True])
@torch.inference_mode()
def test_int8_sums_do_not_overflow(bounded: bool) -> None:
    linear = torch.nn.Linear(512, 32).eval()
    linear.weight.fill_(0.5)
    try:
        layer = Int8Linear.of(linear, bounded=bounded)
    except RuntimeError:
        pytest.skip("this build of torch does not support int8")
    x = torch.ones(3, 512)
    torch.testing.assert_close(layer(x), linear(x))
    torch.testing.assert_close(layer(-x), linear(-x))
