"""The LSTMN: a recurrent layer that attends to all its past states."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.explanation.self_attention import self_attention
from nmt_cli.model import Seq2Seq
from nmt_cli.model.lstmn import LSTMNLayer
from nmt_cli.model.recurrent import Layer

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
X, H = 3, 4


def layer_of(cell: str) -> LSTMNLayer:
    torch.manual_seed(1)
    return LSTMNLayer(cell, X, H, layer_norm=False).double()


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_a_layer_computes_the_equations_of_the_paper(cell: str) -> None:
    layer = layer_of(cell)
    x = torch.randn(1, 4, X, dtype=torch.float64)
    first = tuple(torch.randn(1, H, dtype=torch.float64) for _ in range(layer.cell.parts))
    outputs, _ = layer(x, layer.initial_state(first))
    W_ih, W_hh, b_ih, b_hh = Layer.weights.fget(layer)  # type: ignore[attr-defined]
    A, b = torch.cat([W_ih, W_hh], dim=1), b_ih + b_hh
    score, W_x = layer.reader.score, layer.reader.W_x
    past = [tuple(part[0] for part in first)]
    s = past[0][0]
    for t in range(4):
        a = torch.stack([score.v(torch.tanh(score.U(h[0]) + W_x(x[0, t]) + score.W(s)))[0] for h in past])
        alpha = a.softmax(dim=0)
        read = [
            torch.stack([w * state[part] for w, state in zip(alpha, past, strict=True)]).sum(dim=0)
            for part in range(len(first))
        ]
        s = read[0]
        z = A @ torch.cat([x[0, t], s]) + b
        if cell == "rnn":
            past.append((torch.tanh(z),))
        else:
            i, f, g, o = z.chunk(4)
            c = f.sigmoid() * read[1] + i.sigmoid() * g.tanh()
            past.append((o.sigmoid() * c.tanh(), c))
        assert_close(outputs[0, t], past[-1][0])


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_one_step_at_a_time_equals_all_steps(cell: str) -> None:
    layer = layer_of(cell)
    x = torch.randn(2, 5, X, dtype=torch.float64)
    state = layer.initial_state(
        tuple(torch.randn(2, H, dtype=torch.float64) for _ in range(layer.cell.parts))
    )
    outputs, last = layer(x, state)
    for t in range(5):
        output, state = layer.step(x[:, t], state)
        assert_close(output, outputs[:, t])
    assert_close(state, last)


def test_reading_stops_at_the_last_real_token() -> None:
    layer = layer_of("lstm")
    x = torch.randn(2, 5, X, dtype=torch.float64)
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    outputs, last = layer.read(x, mask)
    alone, last_alone = layer.read(x[1:, :2], mask[1:, :2])
    assert_close(outputs[1:, :2], alone)
    assert_close(tuple(part[1:] for part in last), last_alone)
    assert_close(last[0][0], outputs[0, 4])


def test_the_cost_of_a_search_step_grows_linearly_with_the_memory(
    build: Build, pad: Pad, pairs: Pairs
) -> None:
    model, batch = build(ModelConfig.from_preset("cheng2016", embedding_size=6, hidden_size=8)), pad(pairs)
    costs = step_costs(model, batch, 40)
    assert costs[30] - costs[20] == costs[20] - costs[10] > 0


@torch.no_grad()
def step_costs(model: Seq2Seq, batch: Batch, steps: int) -> list[int]:
    """Floating-point operations of every step."""
    memory = model.encode(batch.source, batch.source_lengths)
    state, costs = model.start(memory, 2), []
    for _ in range(steps):
        with (
            FlopCounterMode(display=False) as counter,
            sdpa_kernel(SDPBackend.MATH),
        ):  # the others are not counted
            _, state, _ = model.step(torch.full((len(batch.source), 2), 5), state, memory)
        costs.append(counter.get_total_flops())
    return costs


@pytest.mark.parametrize("name", ["cheng2016", "vaswani2017"])
def test_self_attention_can_be_shown(name: str, build: Build, pad: Pad, pairs: Pairs) -> None:
    model, batch = build(ModelConfig.from_preset(name, embedding_size=6, hidden_size=8)), pad(pairs)
    found = self_attention(model, batch)
    layers = 1 if name == "cheng2016" else 3
    assert len(found) == 2 * layers
    for layer, alpha in found.items():
        side = 5 if layer.startswith("encoder") else 6
        assert alpha.shape == (3, side, side)
        assert_close(alpha.sum(dim=-1), torch.ones(3, side, dtype=torch.float64))
        looks_back = name == "cheng2016" or layer.startswith("decoder")
        assert bool(torch.count_nonzero(alpha.triu(1)) == 0) is looks_back
    assert not any(module._forward_hooks for module in model.modules())


def test_a_bidirectional_encoder_shows_both_directions(build: Build, pad: Pad, pairs: Pairs) -> None:
    config = ModelConfig.from_preset("cheng2016", embedding_size=6, hidden_size=8, bidirectional="all")
    found: dict[str, Tensor] = self_attention(build(config), pad(pairs))
    assert sorted(found) == ["decoder.layers.0", "encoder.layers.0.backwards", "encoder.layers.0.forwards"]
