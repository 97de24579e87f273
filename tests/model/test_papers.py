"""One decoder step computes the equations of its paper, written out here with the model's weights."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model.recurrent_decoders import (
    AttentionDecoder,
    AttentionMemory,
    BahdanauDecoder,
    LuongDecoder,
    LuongFeedingDecoder,
)

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
WORDS = [2, 5, 7]  # y_{t-1} of three steps


def steps(model: Seq2Seq, batch: Batch) -> tuple[AttentionMemory, list[Tensor], list[Tensor]]:
    """The memory, and features (F,) and attention (S,) of the first sentence at each step."""
    memory = model.encode(batch.source, batch.source_lengths)
    assert isinstance(memory, AttentionMemory)
    state, features, attention = model.start(memory, 1), [], []
    for word in WORDS:
        f, state, alpha = model.step(torch.full((len(batch.source), 1), word), state, memory)
        assert alpha is not None
        features.append(f[0, 0])
        attention.append(alpha[0, 0])
    return memory, features, attention


def lstm(decoder: AttentionDecoder[Any], x: Tensor, s: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """s_t, c_t of an LSTM"""
    W_ih, W_hh, b_ih, b_hh = decoder.layers[0].weights
    i, f, g, o = (W_ih @ x + b_ih + W_hh @ s + b_hh).chunk(4)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def test_a_bahdanau_step(build: Build, pad: Pad, pairs: Pairs) -> None:
    config = ModelConfig.from_preset("bahdanau2015", embedding_size=6, hidden_size=8)
    model, batch = build(config), pad(pairs)
    assert isinstance(model.decoder, BahdanauDecoder)
    decoder: Any = model.decoder
    memory, features, attention = steps(model, batch)
    h, s = memory.values[0], memory.initial[0][0][0]  # (S, H), (H,)
    score, W_o = decoder.attention.score, decoder.readout.W
    W_ih, W_hh, b_ih, b_hh = decoder.layers[0].weights
    for t, word in enumerate(WORDS):
        y = model.target_words.weight[word]
        e = score.v.weight[0] @ torch.tanh(score.W.weight @ s + h @ score.U.weight.t()).t()  # (S,)
        alpha = e.masked_fill(~memory.mask[0], -torch.inf).softmax(dim=0)
        c = alpha @ h
        x, u = W_ih @ torch.cat([y, c]) + b_ih, W_hh @ s + b_hh
        r, z = (x + u)[:16].sigmoid().chunk(2)
        n = torch.tanh(x[16:] + r * u[16:])
        s = (1 - z) * n + z * s
        a, b = (W_o.weight @ torch.cat([s, y, c]) + W_o.bias).chunk(2)
        assert_close(attention[t], alpha)
        assert_close(features[t], torch.maximum(a, b))


def test_a_luong_step(build: Build, pad: Pad, pairs: Pairs) -> None:
    config = ModelConfig.from_preset("luong2015", embedding_size=6, hidden_size=8)
    model, batch = build(config), pad(pairs)
    assert isinstance(model.decoder, LuongDecoder)
    check_luong(model, batch, feeding=False)


def test_a_luong_step_with_input_feeding(build: Build, pad: Pad, pairs: Pairs) -> None:
    config = ModelConfig.from_preset("luong2015", embedding_size=6, hidden_size=8, input_feeding=True)
    model, batch = build(config), pad(pairs)
    assert isinstance(model.decoder, LuongFeedingDecoder)
    check_luong(model, batch, feeding=True)


def check_luong(model: Seq2Seq, batch: Batch, *, feeding: bool) -> None:
    decoder: Any = model.decoder
    memory, features, attention = steps(model, batch)
    h, (s, cell) = memory.values[0], (part[0] for part in memory.initial[0])
    fed = torch.zeros_like(features[0])  # h̃_0
    for t, word in enumerate(WORDS):
        y = model.target_words.weight[word]
        s, cell = lstm(decoder, torch.cat([y, fed]) if feeding else y, s, cell)
        e = h @ decoder.attention.score.W.weight.t() @ s  # (S,)
        alpha = e.masked_fill(~memory.mask[0], -torch.inf).softmax(dim=0)
        fed = torch.tanh(decoder.readout.W_c.weight @ torch.cat([alpha @ h, s]))
        assert_close(attention[t], alpha)
        assert_close(features[t], fed)
