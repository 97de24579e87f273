"""The Transformer: positions, masks, one kernel in training, a KV cache in search."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model.transformer import MultiHead, positions

from .test_lstmn import step_costs

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]


def tiny(**settings: object) -> ModelConfig:
    return ModelConfig.from_preset("vaswani2017", **{"embedding_size": 8, "hidden_size": 8} | settings)


def test_positions_are_those_of_the_paper_for_any_length() -> None:
    table = positions(0, 2000, torch.zeros(6, dtype=torch.float64))
    for t in (0, 1, 1999):
        for i in range(3):
            angle = t / 10000 ** (2 * i / 6)
            assert float(table[t, 2 * i]) == pytest.approx(math.sin(angle))
            assert float(table[t, 2 * i + 1]) == pytest.approx(math.cos(angle))
    assert_close(positions(1999, 1, torch.zeros(6, dtype=torch.float64))[0], table[1999])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_no_position_sees_what_comes_after_it(norm: str, build: Build, pad: Pad) -> None:
    model = build(tiny(norm=norm))
    one, other = pad([([4, 5, 6], [7, 8, 9, 10])]), pad([([4, 5, 6], [7, 8, 4, 5])])
    memory = model.encode(one.source, one.source_lengths)
    first, second = (model.decode(memory, batch.target_inputs)[0] for batch in (one, other))
    assert_close(first[:, :3], second[:, :3])
    assert not torch.allclose(first[:, 3], second[:, 3])


def test_attention_weights_are_computed_only_on_request(
    build: Build, pad: Pad, pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = build(tiny(), training=True), pad(pairs)
    memory = model.encode(batch.source, batch.source_lengths)
    shown, hidden = (
        model.eval()._decode(memory, batch.target_inputs, attention=wanted) for wanted in (True, False)
    )
    assert_close(shown.features, hidden.features)
    assert shown.attention is not None
    assert hidden.attention is None
    calls, original = [], MultiHead.with_weights

    def noted(self: MultiHead, *args: Tensor) -> tuple[Tensor, Tensor]:
        calls.append(self)
        return original(self, *args)

    monkeypatch.setattr(MultiHead, "with_weights", noted)
    model.train().loss(batch).total.backward()  # type: ignore[no-untyped-call]
    assert calls == []
    model.decode(memory, batch.target_inputs)
    assert calls == [model.get_submodule("decoder.layers.2.attention")]


def test_the_cost_of_a_search_step_grows_linearly_with_the_target(
    build: Build, pad: Pad, pairs: Pairs
) -> None:
    costs = step_costs(build(tiny()), pad(pairs), 45)
    growth = costs[21] - costs[20]
    assert growth > 0
    assert costs[40] - costs[20] == 20 * growth
    assert growth * 40 < costs[0], "a step has become quadratic"


def test_keys_of_the_source_are_computed_once(build: Build, pad: Pad, pairs: Pairs) -> None:
    model, batch = build(tiny()), pad(pairs)
    memory = model.encode(batch.source, batch.source_lengths)
    with torch.no_grad():  # what projects the source is not needed any more
        for i in range(3):
            model.get_parameter(f"decoder.layers.{i}.attention.attention.score.W_k.weight").fill_(torch.nan)
    features, _, _ = model.step(torch.full((3, 1), 2), model.start(memory, 1), memory)
    assert bool(features.isfinite().all())


def test_words_are_scaled_and_weights_shared_where_sizes_allow(build: Build) -> None:
    model = build(tiny())
    assert model.vocabulary.weight is model.target_words.weight is model.source_words.weight
    assert model.encoder.entrance.scale == math.sqrt(8)  # type: ignore[union-attr]
    factorized = build(tiny(embedding_size=6))
    assert factorized.vocabulary.weight is not factorized.target_words.weight
    assert factorized.encoder.entrance.W.weight.shape == (8, 6)  # type: ignore[union-attr]


def test_sentences_of_600_tokens_work(build: Build, pad: Pad) -> None:
    model = build(tiny(), training=True, dtype=torch.float32)
    loss = model.loss(pad([([5] * 600, [6] * 600), ([4], [5])]))
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert bool(loss.total.isfinite())
