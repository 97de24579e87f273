"""Gradients: checked against finite differences, and finite at the start."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model.scores import SCORES

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
SMALL = {
    "embedding_size": 2,
    "hidden_size": 4,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "bidirectional": "none",
}
ORDERS: dict[str, dict[str, Any]] = {
    "query before": {"query": "before", "input_feeding": False},
    "query after, fed": {"query": "after", "input_feeding": True},
    "query after, all at once": {"query": "after", "input_feeding": False},
}


def check(model: Seq2Seq, batch: Batch) -> bool:
    names = [name for name, _ in model.named_parameters()]

    def loss(*weights: Tensor) -> Tensor:
        total: Tensor = functional_call(model, dict(zip(names, weights, strict=True)), (batch,)).total
        return total

    # fast mode: one random direction of all weights at once
    return bool(torch.autograd.gradcheck(loss, tuple(model.parameters()), fast_mode=True))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("score", SCORES)
def test_every_score_function_passes_in_every_order(score: str, order: str, build: Build, pad: Pad) -> None:
    config = ModelConfig.from_preset("luong2015", **SMALL | ORDERS[order], attention=score, cell="gru")
    assert check(build(config), pad([([4, 5], [7]), ([9], [])]))


def test_every_preset_and_switch_agrees_with_finite_differences(
    config: ModelConfig, build: Build, pad: Pad
) -> None:
    """Along one random direction of all weights together."""
    model, batch = build(config), pad([([4, 5, 6], [7, 8]), ([9], [4])])
    model.loss(batch, label_smoothing=0.1).total.backward()  # type: ignore[no-untyped-call]
    generator = torch.Generator().manual_seed(1)
    directions = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in model.parameters()]
    slope = 0.0
    for parameter, direction in zip(model.parameters(), directions, strict=True):
        assert parameter.grad is not None or config.hard_attention
        slope += 0.0 if parameter.grad is None else float((parameter.grad * direction).sum())

    @torch.no_grad()
    def moved(distance: float) -> float:
        for parameter, direction in zip(model.parameters(), directions, strict=True):
            parameter.add_(direction, alpha=distance)
        return float(model.loss(batch, label_smoothing=0.1).total)

    ahead, behind = moved(1e-6), moved(-2e-6)
    assert (ahead - behind) / 2e-6 == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_gradients_are_finite_and_not_all_zero_at_the_start(
    config: ModelConfig, build: Build, pad: Pad
) -> None:
    model = build(config, training=True, dtype=torch.float32)
    pairs = [([4 + i % 7 for i in range(30)], [4 + i % 5 for i in range(30)])] * 4
    loss = model.loss(pad(pairs), label_smoothing=0.1)
    (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.isfinite().all()), name
        assert bool(parameter.grad.any()), name
