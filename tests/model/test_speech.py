"""Models that read frames: the laws of all models, and Listen, Attend and Spell written out frame by frame."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config import ModelConfig
from nmt_cli.data.batches import Batch, collate
from nmt_cli.data.recordings import Recordings
from nmt_cli.model import Seq2Seq, build_model

WORDS, SIZE = 11, 5
TINY: dict[str, Any] = {"embedding_size": 6, "hidden_size": 8, "dropout": 0.0, "frame_size": SIZE}
FRAMES = (21, 13, 8, 1)  # odd, even, a whole pyramid, a single one
TEXTS = [[4, 5, 6, 7], [8, 9], [10], [4, 4]]


def settings(**overrides: Any) -> ModelConfig:
    return ModelConfig.from_preset("chan2016", **{**TINY, **overrides})


def build(config: ModelConfig, *, training: bool = False) -> Seq2Seq:
    generator = torch.Generator().manual_seed(1)
    model = build_model(config, WORDS, WORDS, shared=True, generator=generator)
    with torch.no_grad():  # biases start at 0
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.05)
    return model.double().train(training)


def recordings() -> Recordings:
    random = np.random.default_rng(1)
    return Recordings.of([random.normal(size=(frames, SIZE)).astype(np.float32) for frames in FRAMES])


def batch(rows: list[int] | None = None) -> Batch:
    chosen = np.array(range(len(FRAMES)) if rows is None else rows)
    return collate(recordings().rows(chosen), [TEXTS[row] for row in chosen])


VARIANTS: list[dict[str, Any]] = [
    {},
    {"encoder_layers": 2, "pyramidal_layers": 2, "decoder_layers": 1},
    {"pyramidal_layers": 0, "encoder_layers": 2, "residual": True, "initial_state": "copy"},
    {"cell": "gru", "bidirectional": "first", "initial_state": "projection"},
    {"attention": "additive", "query": "before", "input_feeding": False, "readout": "tanh"},
    {"attention": "none", "readout": "state", "input_feeding": False, "initial_state": "mean"},
    {"heads": 2, "attention": "scaled_dot", "layer_norm": True},
]


@pytest.mark.parametrize("overrides", VARIANTS)
def test_one_step_at_a_time_equals_teacher_forcing(overrides: dict[str, Any]) -> None:
    model, given = build(settings(**overrides)), batch()
    memory = model.encode(given.source, given.source_lengths)
    features, attention = model.decode(memory, given.target_inputs)
    state = model.start(memory, 1)
    for t in range(given.target_inputs.shape[1]):
        found, state, alpha = model.step(given.target_inputs[:, t : t + 1], state, memory)
        assert_close(found[:, 0], features[:, t])
        if attention is not None:
            assert alpha is not None
            assert_close(alpha[:, 0], attention[:, t])


@pytest.mark.parametrize("overrides", VARIANTS)
def test_a_batch_of_recordings_equals_its_recordings_one_by_one(overrides: dict[str, Any]) -> None:
    model = build(settings(**overrides))
    together = model.loss(batch()).cross_entropy
    alone = [model.loss(batch([row])).cross_entropy for row in range(len(FRAMES))]
    assert_close(together, torch.stack(alone).sum())


@pytest.mark.parametrize("overrides", VARIANTS)
def test_what_is_in_the_padding_changes_nothing(overrides: dict[str, Any]) -> None:
    model, given = build(settings(**overrides)), batch()
    padded = torch.full((len(FRAMES), 40, SIZE), 1e3, dtype=torch.float64)
    for row, frames in enumerate(FRAMES):
        padded[row, :frames] = given.source[row, :frames]
    assert_close(model.loss(given._replace(source=padded)).total, model.loss(given).total)


@pytest.mark.parametrize(
    ("layers", "positions"), [(0, (21, 13, 8, 1)), (1, (11, 7, 4, 1)), (3, (3, 2, 1, 1))]
)
def test_every_pyramidal_layer_halves_the_number_of_positions(
    layers: int, positions: tuple[int, ...]
) -> None:
    model, given = build(settings(pyramidal_layers=layers)), batch()
    memory: Any = model.encode(given.source, given.source_lengths)
    assert tuple(memory.mask.sum(dim=1).tolist()) == positions
    encoder: Any = model.encoder
    assert tuple(encoder.positions(given.source_lengths).tolist()) == positions
    _, attention = model.decode(memory, given.target_inputs)
    assert attention is not None
    assert_close(attention.sum(dim=-1), torch.ones_like(attention[..., 0]))
    assert not attention.masked_select(~memory.mask[:, None]).any()


def test_a_process_without_a_recording_takes_part_in_an_update() -> None:
    model = build(settings(), training=True)
    model.loss(model.empty_batch()).total.backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is not None for parameter in model.parameters())


# ------------------------------------------------------------------------------------------------------------
# The equations of the paper, written out for one recording, one frame and one character at a time.

Weights = dict[str, Tensor]


def weights_of(model: Seq2Seq) -> Weights:
    return {name: weight.detach().clone().requires_grad_() for name, weight in model.named_parameters()}


def lstm(x: Tensor, h: Tensor, c: Tensor, w: Weights, name: str) -> tuple[Tensor, Tensor]:
    gates = w[f"{name}.weight_ih_l0"] @ x + w[f"{name}.bias_ih_l0"]
    gates = gates + w[f"{name}.weight_hh_l0"] @ h + w[f"{name}.bias_hh_l0"]
    i, f, g, o = gates.chunk(4)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def one_direction(xs: list[Tensor], w: Weights, name: str) -> list[Tensor]:
    h = c = torch.zeros(4, dtype=torch.float64)
    states = []
    for x in xs:
        h, c = lstm(x, h, c, w, name)
        states.append(h)
    return states


def listen(frames: Tensor, w: Weights) -> list[Tensor]:
    """hʲ_i = BiLSTM(hʲ_{i-1}, [hʲ⁻¹_{2i}; hʲ⁻¹_{2i+1}])   (section 3.1)"""
    states = list(frames)
    for layer in range(4):
        if layer > 0:
            states = states + [torch.zeros(8, dtype=torch.float64)] * (len(states) % 2)
            states = [torch.cat(states[i : i + 2]) for i in range(0, len(states), 2)]
        name = f"encoder.layers.{layer}"
        there = one_direction(states, w, f"{name}.forwards.fused")
        back = one_direction(states[::-1], w, f"{name}.backwards.fused")[::-1]
        states = [torch.cat(pair) for pair in zip(there, back, strict=True)]
    return states


def attend_and_spell(h: list[Tensor], words: list[int], w: Weights) -> tuple[Tensor, Tensor]:
    """Section 3.2: logits (T, V) and attention (T, S)."""
    zero = torch.zeros(8, dtype=torch.float64)
    states, fed = [(zero, zero), (zero, zero)], torch.zeros(6, dtype=torch.float64)
    score = "decoder.attention.score"
    psi = [w[f"{score}.g.weight"] @ each + w[f"{score}.g.bias"] for each in h]
    logits, attention = [], []
    for word in words:
        x = torch.cat([w["source_words.weight"][word], fed])
        for layer in range(2):
            states[layer] = lstm(x, *states[layer], w, f"decoder.layers.{layer}.fused")
            x = states[layer][0]
        phi = w[f"{score}.f.weight"] @ x + w[f"{score}.f.bias"]
        e = torch.stack([phi @ each for each in psi])
        alpha = e.exp() / e.exp().sum()
        c = torch.stack([a * each for a, each in zip(alpha, h, strict=True)]).sum(dim=0)
        fed = torch.tanh(w["decoder.readout.W_c.weight"] @ torch.cat([c, x]))
        logits.append(w["source_words.weight"] @ fed + w["vocabulary.bias"])
        attention.append(alpha)
    return torch.stack(logits), torch.stack(attention)


def test_chan2016_computes_what_its_paper_says() -> None:
    model, given = build(settings()), batch()
    memory: Any = model.encode(given.source, given.source_lengths)
    features, attention = model.decode(memory, given.target_inputs)
    assert attention is not None
    logits, w = model.project(features), weights_of(model)
    for row, frames in enumerate(FRAMES):
        h = listen(given.source[row, :frames].double(), w)
        assert_close(memory.values[row, : len(h)], torch.stack(h), rtol=0, atol=1e-12)
        expected, alpha = attend_and_spell(h, given.target_inputs[row].tolist(), w)
        assert_close(logits[row], expected, rtol=0, atol=1e-12)
        assert_close(attention[row, :, : len(h)], alpha, rtol=0, atol=1e-12)


def test_the_gradient_is_that_of_the_papers_loss() -> None:
    model, given = build(settings(), training=True), batch([0, 1])
    loss = model.loss(given)
    loss.total.backward()  # type: ignore[no-untyped-call]
    w = weights_of(model)
    expected = torch.zeros((), dtype=torch.float64)
    for row, frames in enumerate(FRAMES[:2]):
        inputs = [2, *TEXTS[row]]
        logits, _ = attend_and_spell(listen(given.source[row, :frames].double(), w), inputs, w)
        log_p = logits.log_softmax(dim=-1)
        expected = expected - sum(log_p[t, label] for t, label in enumerate([*TEXTS[row], 3]))
    expected.backward()  # type: ignore[no-untyped-call]
    assert float(loss.total.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)  # in float32
    for name, parameter in model.named_parameters():
        assert_close(parameter.grad, w[name].grad, rtol=0, atol=1e-12, msg=name)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"pyramidal_layers": 5}, "model.pyramidal_layers = 5 is incompatible with model.encoder_layers = 4"),
        ({"residual": True}, "model.residual = true is incompatible with model.pyramidal_layers = 3"),
        ({"reverse_source": True}, "model.reverse_source = true is incompatible with model.source = frames"),
        ({"encoder_layers": 0}, "model.encoder_layers = 0 is incompatible with model.source = frames"),
        ({"cell": "transformer"}, "model.cell = transformer is incompatible with model.source = frames"),
        ({"copying": True}, "model.copying = true is incompatible with model.source = frames"),
        ({"source": "text"}, "model.pyramidal_layers = 3 is incompatible with model.source = text"),
        (
            {"source": "text", "frame_size": 3},
            "model.frame_size = 3 is incompatible with model.source = text",
        ),
        ({"image_grid": 3}, "model.image_grid = 3 is incompatible with model.source = frames"),
    ],
)
def test_contradictory_settings_of_a_speech_model_are_rejected(
    overrides: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        settings(**overrides)


def test_frames_of_another_size_are_refused() -> None:
    model, given = build(settings()), batch()
    with pytest.raises(AssertionError):
        model.encode(given.source[..., :-1], given.source_lengths)
