"""The loop without a tape equals the plain one, in value and gradient."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.batch import Batch
from nmt_cli.config.model import ModelConfig
from nmt_cli.model import Seq2Seq
from nmt_cli.model.attention import SCORES
from nmt_cli.model.cells import CELLS
from nmt_cli.model.sequential_decoder import SequentialDecoder

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
ORDERS: dict[str, dict[str, Any]] = {
    "query before": {"query": "before", "input_feeding": False, "readout": "tanh"},
    "query after, fed": {"query": "after", "input_feeding": True},
}


def configured(**overrides: Any) -> ModelConfig:
    size = {"attention_size": 5} if overrides["attention"] in ("additive", "projected_dot") else {}
    layers = {"encoder_layers": overrides.get("decoder_layers", 1), "decoder_layers": 1}
    return ModelConfig.from_preset(
        "luong2015", **{"embedding_size": 6, "hidden_size": 8, "readout_size": 7} | size | layers | overrides
    )


def unrolled(
    model: Seq2Seq, batch: Batch, *, fast: bool, part: str | None = None
) -> tuple[list[Tensor], list[Tensor | None]]:
    """What the loop finds, and the gradients of all weights (a random sum of all it finds, or of one part)."""
    decoder = model.decoder
    assert isinstance(decoder, SequentialDecoder)
    torch.manual_seed(5)  # of dropout
    memory = model.encode(batch.source, batch.source_lengths)
    y = model._word_vectors(model.target_words, batch.target_inputs)
    W_y, W_feed, b = decoder._input_weights()
    gates = torch.nn.functional.linear(y, W_y, b)
    assert decoder.is_fast(gates)
    loop = decoder.unroll_fast if fast else decoder.unroll
    found = loop(gates, W_feed, memory, decoder._dropout_masks(gates))
    torch.manual_seed(6)
    weights = [torch.randn(value.shape, dtype=value.dtype) for value in found]
    total = sum(
        (value * weight).sum()
        for name, value, weight in zip(found._fields, found, weights, strict=True)
        if part in (None, name)
    )
    assert isinstance(total, Tensor)
    gradients = torch.autograd.grad(total, list(model.parameters()), allow_unused=True)
    return list(found), list(gradients)


def assert_equal(model: Seq2Seq, batch: Batch, part: str | None = None) -> None:
    fast, fast_gradients = unrolled(model, batch, fast=True, part=part)
    plain, plain_gradients = unrolled(model, batch, fast=False, part=part)
    assert_close(fast, plain)
    for (name, _), one, other in zip(model.named_parameters(), fast_gradients, plain_gradients, strict=True):
        zero = torch.zeros((), dtype=torch.float64)
        assert_close(
            zero if one is None else one, zero if other is None else other, msg=name, check_dtype=False
        )


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("score", SCORES)
def test_it_equals_the_plain_loop_in_value_and_gradient(
    score: str, order: str, cell: str, layers: int, build: Build, pad: Pad, pairs: Pairs
) -> None:
    config = configured(attention=score, cell=cell, decoder_layers=layers, dropout=0.4, **ORDERS[order])
    assert_equal(build(config, training=True), pad(pairs, extra_source=2, extra_target=1))
