"""Gradients with respect to the source: finite differences, a network small enough for a pencil, words, distances."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt_cli.config import ModelConfig
from nmt_cli.data.batches import collate
from nmt_cli.drawing.attention import HeatMap, attention_svg, heat_maps_svg
from nmt_cli.drawing.lines import line_chart
from nmt_cli.explanation import DistanceMean, Gradients, merged_distances
from nmt_cli.explanation.gradients import describe_gradients, source_gradients
from nmt_cli.model import Seq2Seq, build_model

from .conftest import MakeExplainer

SOURCE, TARGET = [4, 5, 6, 5, 3], [7, 5, 9, 3]  # a word twice: positions count, not words
SYSTEMS: list[tuple[str, dict[str, Any]]] = [
    ("sutskever2014", {}),
    ("bahdanau2015", {"embedding_size": 8}),
    ("luong2015", {"input_feeding": True}),
    ("luong2015", {"hard_attention": True}),
    ("luong2015", {"copying": True}),
    ("cheng2016", {}),
    ("vaswani2017", {"embedding_size": 8}),  # one matrix for source, target and output
]


def build(preset: str, **settings: Any) -> Seq2Seq:
    config = ModelConfig.from_preset(preset, **{"embedding_size": 6, "hidden_size": 8} | settings)
    model = build_model(config, 11, 11, shared=True, generator=torch.Generator().manual_seed(2))
    return model.double().eval()


def log_p(model: Seq2Seq, moved: Tensor | None = None) -> Tensor:
    """log p(y_t) (T,), with the source vectors moved by (S, E)."""
    batch = collate([SOURCE[:-1]], [TARGET[:-1]])
    handle = model.source_words.register_forward_hook(
        lambda module, args, x: x + (0 if moved is None else moved)
    )
    memory = model.encode(batch.source, batch.source_lengths)
    handle.remove()
    features, attention = model.decode(memory, batch.target_inputs)
    logits = model.project(features, model.copies(attention, memory))[0]
    return logits.log_softmax(dim=-1)[range(len(TARGET)), TARGET].detach()


@pytest.mark.parametrize(("preset", "settings"), SYSTEMS, ids=str)
def test_gradients_agree_with_finite_differences(preset: str, settings: dict[str, Any]) -> None:
    model = build(preset, **settings)
    with torch.inference_mode():  # as in an explanation
        g, x = source_gradients(model, SOURCE, TARGET)
    assert torch.equal(x, model.source_words.weight[SOURCE])
    assert g.shape == (len(TARGET), len(SOURCE), x.shape[1])
    random = torch.Generator().manual_seed(1)
    for i in range(len(SOURCE)):
        moved = torch.zeros_like(x)
        moved[i] = torch.randn(x.shape[1], generator=random, dtype=torch.float64)
        slope = (log_p(model, 1e-6 * moved) - log_p(model, -1e-6 * moved)) / 2e-6  # (T,)
        torch.testing.assert_close(g[:, i] @ moved[i], slope, rtol=1e-6, atol=1e-8)
    assert bool((g.norm(dim=-1) > 0).any())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_gradient_of_a_network_with_one_unit_is_a_product_of_its_derivatives() -> None:
    """h_i = tanh(w x_i + u h_{i-1} + b);  s_t = tanh(w' y_{t-1} + u' s_{t-1} + b');  p = softmax(v s_t + c)"""
    model = build("sutskever2014", embedding_size=1, hidden_size=1, cell="rnn", encoder_layers=1,
                  decoder_layers=1, reverse_source=False, tied_embeddings="none")  # fmt: skip
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(0.3, 0.9, generator=torch.Generator().manual_seed(parameter.numel()))
    cells = [module for module in model.modules() if isinstance(module, torch.nn.RNN)]
    (w, u, b), (w_, u_, b_) = (
        (one[0], one[1], one[2] + one[3])
        for one in ([float(getattr(cell, name).detach()) for name in names] for cell in cells)
    )
    x, y = (
        [float(words.weight[token].detach()) for token in tokens]
        for words, tokens in ((model.source_words, SOURCE), (model.target_words, [2, *TARGET[:-1]]))
    )
    v, c = model.vocabulary.weight[:, 0].tolist(), model.vocabulary.bias.tolist()
    h, passed = 0.0, list[float]()  # ∂h/∂x_i so far
    for x_i in x:
        h = math.tanh(w * x_i + u * h + b)
        slope = 1 - h * h
        passed = [slope * u * one for one in passed] + [slope * w]
    g, _ = source_gradients(model, SOURCE, TARGET)
    s = h
    for t, token in enumerate(TARGET):
        s = math.tanh(w_ * y[t] + u_ * s + b_)
        passed = [(1 - s * s) * u_ * one for one in passed]
        p = [math.exp(v[k] * s + c[k]) for k in range(11)]
        towards = v[token] - sum(p[k] * v[k] for k in range(11)) / sum(p)  # ∂ log p(y_t) / ∂s_t
        assert g[t, :, 0].tolist() == pytest.approx([towards * one for one in passed], rel=1e-10)


def test_a_word_is_the_sum_of_its_target_pieces_and_all_vectors_of_its_source_pieces() -> None:
    random = torch.Generator().manual_seed(1)
    g, x = (torch.randn(size, generator=random) for size in ((3, 4, 5), (4, 5)))
    found = describe_gradients(
        g, x, ((0, 1), (2,), (3,)), ((0,), (1, 2)), reversed_source=False, reversed_target=False
    )
    both = g[1] + g[2]
    assert found.word_norms[1][0] == pytest.approx(float(both[:2].flatten().norm()), rel=1e-5)
    assert found.word_norms[0][1:] == pytest.approx([found.norms[0][2], found.norms[0][3]])
    assert sum(map(sum, found.word_products)) == pytest.approx(float((g * x).sum()), rel=1e-5)
    for matrix in found.shares():
        assert [sum(map(abs, row)) for row in matrix] == pytest.approx([1.0, 1.0])
    assert min(map(min, found.shares()[1])) < 0


@pytest.mark.parametrize("backwards", [False, True])
def test_distance_counts_the_steps_from_reading_a_token_to_predicting_a_word(backwards: bool) -> None:
    g = torch.zeros(2, 3, 1)  # two words; three tokens, of which the last is <eos>
    g[0, 2], g[0, 0], g[1, 1] = 1.0, 4.0, 8.0
    words = ((0,), (1,), (2,)), ((0,), (1,))
    found = describe_gradients(
        g, torch.ones(3, 1), *words, reversed_source=backwards, reversed_target=False
    ).by_distance
    assert [(mean.distance, mean.pairs) for mean in found] == [(1, 1), (2, 2), (3, 2), (4, 1)]
    # forwards, x_1 is 3 steps from y_1 and x_2 is 3 from y_2; backwards, x_1 is read after x_2
    expected = [1.0, 2.0, 0.0, 8.0] if backwards else [1.0, 0.0, 6.0, 0.0]
    assert [mean.norm for mean in found] == expected


def test_distance_to_a_word_counts_from_the_one_that_is_written_first() -> None:
    g = torch.zeros(3, 1, 1)  # y_1, y_2 and <eos>, which is the last to be written; one source token
    g[0, 0], g[1, 0], g[2, 0] = 1.0, 2.0, 3.0
    words = ((0,),), ((0,), (1,), (2,))
    found = describe_gradients(g, torch.ones(1, 1), *words, reversed_source=False, reversed_target=True)
    assert [mean.norm for mean in found.by_distance] == [2.0, 1.0, 3.0]


def test_means_of_several_sentences_are_over_all_their_pairs() -> None:
    one, other = (
        Gradients((), (), (), (), means)
        for means in ((DistanceMean(1, 3.0, 2), DistanceMean(2, 1.0, 1)), (DistanceMean(1, 6.0, 1),))
    )
    assert merged_distances([one, other]) == (DistanceMean(1, 4.0, 3), DistanceMean(2, 1.0, 1))


def test_an_explanation_has_gradients_only_on_request(make_explainer: MakeExplainer) -> None:
    explainer = make_explainer("luong2015")
    assert explainer.explain("ein Hund").gradients is None
    found = explainer.explain("ein Hund", gradients=True)
    assert found.gradients is not None
    rows, columns = len(found.target_pieces), len(found.source_pieces)
    assert [len(row) for row in found.gradients.norms] == [columns] * rows
    assert len(found.gradients.word_norms) == len(found.target_words)
    assert len(found.gradients.by_distance) == rows + columns - 1


def test_pictures_have_all_maps_and_lines_and_survive_zeros() -> None:
    signed = HeatMap("gradient × input", "share", [[0.5, -0.5]], signed=True)
    picture = heat_maps_svg(["a", "<b>"], ["c"], [HeatMap("attention", "weight", [[0.9, 0.1]]), signed])
    assert picture.count("<svg") == 3
    assert "c ← &lt;b&gt;: -0.500" in picture
    assert "-0.5" not in attention_svg(["a", "b"], ["c"], [[0.5, -0.5]])
    chart = line_chart(
        {"rnn": [(1, 1e-2), (2, 0.0), (3, 1e-40)], "<lstm>": [(1, 2.0)]},
        "gradients",
        "steps",
        logarithmic=True,
    )
    assert chart.count("<polyline") == 2
    assert "&lt;lstm&gt;, 1: 2" in chart
    assert "nan" not in chart.lower()
    plain = line_chart({"a": [(10.0, 31.5), (20.0, 38.0)], "b": [(11.0, 4.0)]}, "BLEU", "minutes")
    assert "a, 20: 38" in plain
    assert ">40<" in plain  # the highest line of the grid
    assert line_chart({}, "empty", "x").count("<polyline") == 0
