"""Models that read images: the laws of all models, the papers' equations written out, and hard attention."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config import CAPTION_PRESETS, ModelConfig
from nmt_cli.data.batches import Batch, collate
from nmt_cli.data.images import Images
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.model import attention as attention_module
from nmt_cli.model.loss import doubly_stochastic_loss

WORDS = 11
SIDE, GRID = 16, 2
TINY: dict[str, Any] = {"embedding_size": 6, "hidden_size": 8, "dropout": 0.0}
CAPTIONS = [[4, 5, 6, 7], [8, 9], [10]]


def settings(name: str = "xu2015", **overrides: Any) -> ModelConfig:
    grid = {} if overrides.get("source") == "features" else {"image_grid": GRID}
    return ModelConfig.from_preset(name, **{**TINY, **grid, **overrides})


def build(config: ModelConfig, *, training: bool = False) -> Seq2Seq:
    generator = torch.Generator().manual_seed(1)
    model = build_model(config, WORDS, WORDS, shared=True, generator=generator)
    return model.double().train(training)


def pixels(count: int = 3, side: int = SIDE) -> Images:
    return Images(np.random.default_rng(1).integers(0, 256, (count, side, side, 3), dtype=np.uint8))


def batch(captions: list[list[int]] = CAPTIONS, images: Images | None = None) -> Batch:
    return collate((images or pixels(len(captions))).rows(), captions)


VARIANTS = [
    ("vinyals2015", {}),
    ("vinyals2015", {"cell": "gru", "decoder_layers": 2}),
    ("vinyals2015", {"initial_state": "input"}),
    ("xu2015", {}),
    ("xu2015", {"hard_attention": True}),
    ("xu2015", {"context_gate": False, "attention": "general"}),
    ("xu2015", {"query": "after", "readout": "attentional", "context_gate": False, "input_feeding": True}),
    ("xu2015", {"source": "features", "feature_shape": (5, 7)}),
]


@pytest.mark.parametrize(("name", "overrides"), VARIANTS)
def test_one_step_at_a_time_equals_teacher_forcing(name: str, overrides: dict[str, Any]) -> None:
    model = build(settings(name, **overrides))
    given = batch()
    if model.encoder is not None and overrides.get("source") == "features":
        features = np.random.default_rng(2).normal(size=(3, 5, 7)).astype(np.float32)
        given = batch(images=Images(features))
    memory = model.encode(given.source, given.source_lengths)
    features_of_all, attention = model.decode(memory, given.target_inputs)
    state = model.start(memory, 1)
    for t in range(given.target_inputs.shape[1]):
        found, state, alpha = model.step(given.target_inputs[:, t : t + 1], state, memory)
        assert_close(found[:, 0], features_of_all[:, t])
        if attention is not None:
            assert alpha is not None
            assert_close(alpha[:, 0], attention[:, t])


@pytest.mark.parametrize("name", CAPTION_PRESETS)
def test_a_batch_of_images_equals_its_images_one_by_one(name: str) -> None:
    model, images = build(settings(name)), pixels()
    together = model.loss(batch(images=images)).cross_entropy
    alone = [
        model.loss(collate(images.rows(np.array([row])), [caption])).cross_entropy
        for row, caption in enumerate(CAPTIONS)
    ]
    assert_close(together, torch.stack(alone).sum())


@pytest.mark.parametrize("network", ["strided", "pooled"])
def test_images_of_any_size_become_the_same_grid(network: str) -> None:
    model = build(settings(image_grid=3, image_network=network))
    for side in (1, 8, 24, 50):
        memory: Any = model.encode(torch.from_numpy(pixels(2, side).values), torch.ones(2))
        assert memory.values.shape == (2, 9, 8)


def test_the_first_input_tells_an_image_from_its_mirror_image() -> None:
    """The mean of linear functions of the cells cannot: where a cell is adds the same to every image."""
    for kind, differs in (("input", False), ("contrast", True)):
        overrides = {"source": "features", "feature_shape": (4, 7), "initial_state": kind}
        model = build(settings("vinyals2015", **overrides))
        features = np.random.default_rng(2).normal(size=(1, 4, 7)).astype(np.float32)
        one, other = (
            float(model.loss(batch([CAPTIONS[0]], Images(np.ascontiguousarray(each)))).cross_entropy.detach())
            for each in (features, features[:, ::-1])
        )
        assert (abs(one - other) > 1e-6) == differs


def test_what_a_cell_sees_is_centered_on_its_middle() -> None:
    """Mirroring the image and the kernels mirrors the grid, which strided convolutions do not do."""
    for network, symmetric in (("pooled", True), ("strided", False)):
        encoder: Any = build(settings(image_network=network, image_grid=4)).encoder
        for layer in encoder.network.layers:
            layer.weight.data = layer.weight.data + layer.weight.data.flip(3)
        images = torch.from_numpy(pixels(2, 32).values)
        plain, mirrored = (encoder.network(given).unflatten(1, (4, 4)) for given in (images, images.flip(2)))
        assert torch.allclose(plain, mirrored.flip(2)) == symmetric


# ------------------------------------------------------------------------------------------------------------
# The papers' equations, written out for one image and one word at a time.

Weights = dict[str, Tensor]


def weights_of(model: Seq2Seq) -> Weights:
    return {name: weight.detach().clone().requires_grad_() for name, weight in model.named_parameters()}


def convolved(f: Tensor, weight: Tensor, bias: Tensor, stride: int) -> Tensor:
    """A 3 × 3 convolution with a border of zeros: f (C, h, w) → (C', h/stride, w/stride)."""
    C, height, width = f.shape
    padded = torch.zeros(C, height + 2, width + 2, dtype=f.dtype)
    padded[:, 1:-1, 1:-1] = f
    rows = [
        torch.stack(
            [
                (weight * padded[:, y : y + 3, x : x + 3]).sum(dim=(1, 2, 3)) + bias
                for x in range(0, width, stride)
            ],
            dim=1,
        )
        for y in range(0, height, stride)
    ]
    return torch.stack(rows, dim=1)


def normalized(f: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Zero mean and unit variance over the whole image, then a scale and a shift for each channel."""
    mean = f.sum() / f.numel()
    variance = (f - mean).square().sum() / f.numel()
    return weight[:, None, None] * (f - mean) / (variance + 1e-5).sqrt() + bias[:, None, None]


def pooled(f: Tensor) -> Tensor:
    """The maximum of every 2 × 2 positions."""
    corners = torch.stack([f[:, y::2, x::2] for y in range(2) for x in range(2)])
    return corners.max(dim=0).values


def encoded(image: Tensor, w: Weights) -> list[Tensor]:
    """h_i = W a_i + p_i for each cell of the grid."""
    f = image.double().permute(2, 0, 1) / 127.5 - 1
    for layer in range(3):
        name, norm = f"encoder.network.layers.{layer}", f"encoder.network.norms.{layer}"
        if f"{norm}.weight" in w:
            f = convolved(f, w[f"{name}.weight"], w[f"{name}.bias"], stride=1)
            f = pooled(normalized(f, w[f"{norm}.weight"], w[f"{norm}.bias"]).clamp(min=0))
        else:
            f = convolved(f, w[f"{name}.weight"], w[f"{name}.bias"], stride=2).clamp(min=0)
    size = f.shape[1] // GRID
    cells = [
        f[:, row * size : (row + 1) * size, column * size : (column + 1) * size].mean(dim=(1, 2))
        for row in range(GRID)
        for column in range(GRID)
    ]
    positions = w["encoder.positions.weight"]
    return [w["encoder.W.weight"] @ a + w["encoder.W.bias"] + positions[i] for i, a in enumerate(cells)]


def lstm(x: Tensor, h: Tensor, c: Tensor, w: Weights) -> tuple[Tensor, Tensor]:
    name = "decoder.layers.0.fused"
    gates = w[f"{name}.weight_ih_l0"] @ x + w[f"{name}.bias_ih_l0"]
    gates = gates + w[f"{name}.weight_hh_l0"] @ h + w[f"{name}.bias_hh_l0"]
    i, f, g, o = gates.chunk(4)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def show_and_tell(
    image: Tensor, words: list[int], w: Weights, *, contrast: bool = True
) -> tuple[Tensor, None]:
    """Vinyals et al. 2015, equations 10 to 12: logits (T, V)."""
    h_i, zero = encoded(image, w), torch.zeros(8, dtype=torch.float64)
    summary = sum(h_i, zero) / len(h_i)
    if contrast:
        above = sum((torch.where(h > summary, h - summary, 0.0) for h in h_i), zero) / len(h_i)
        centered = above - above.sum() / len(above)
        deviation = (centered.square().sum() / len(above) + 1e-5).sqrt()
        summary = w["bridge.norm.weight"] * centered / deviation + w["bridge.norm.bias"]
    s, c = lstm(w["bridge.W.weight"] @ summary + w["bridge.W.bias"], zero, zero, w)
    logits = []
    for word in words:
        s, c = lstm(w["source_words.weight"][word], s, c, w)
        logits.append(w["vocabulary.weight"] @ s + w["vocabulary.bias"])
    return torch.stack(logits), None


def show_attend_and_tell(
    image: Tensor, words: list[int], w: Weights, *, hard: bool = False
) -> tuple[Tensor, Tensor]:
    """Xu et al. 2015, sections 3.1 and 4.2: logits (T, V) and attention (T, L)."""
    h_i = encoded(image, w)
    mean = sum(h_i, torch.zeros(8, dtype=torch.float64)) / len(h_i)
    s, c = torch.tanh(w["bridge.W.weight"] @ mean + w["bridge.W.bias"]).chunk(2)
    W, U, v = (w[f"decoder.attention.score.{letter}.weight"] for letter in "WUv")
    logits, attention = [], []
    for word in words:
        y = w["source_words.weight"][word]
        e = torch.stack([v[0] @ torch.tanh(W @ s + U @ h) for h in h_i])
        alpha = e.exp() / e.exp().sum()
        if hard:
            alpha = (torch.arange(len(e)) == e.argmax()).double()
        beta = (w["decoder.gate.weight"][0] @ s + w["decoder.gate.bias"][0]).sigmoid()
        z = beta * torch.stack([a * h for a, h in zip(alpha, h_i, strict=True)]).sum(dim=0)
        s, c = lstm(torch.cat([y, z]), s, c, w)
        t = torch.tanh(w["decoder.readout.W.weight"] @ torch.cat([s, y, z]) + w["decoder.readout.W.bias"])
        logits.append(w["source_words.weight"] @ t + w["vocabulary.bias"])  # the words of the output layer
        attention.append(alpha)
    return torch.stack(logits), torch.stack(attention)


PAPERS: dict[str, Any] = {
    "vinyals2015": show_and_tell,
    "vinyals2015 input": partial(show_and_tell, contrast=False),
    "xu2015": show_attend_and_tell,
    "xu2015 hard": partial(show_attend_and_tell, hard=True),
}


@pytest.mark.parametrize("network", ["strided", "pooled"])
@pytest.mark.parametrize("name", PAPERS)
def test_a_model_computes_what_its_paper_says(name: str, network: str) -> None:
    switches: dict[str, Any] = {"hard": {"hard_attention": True}, "input": {"initial_state": "input"}}
    preset, _, switch = name.partition(" ")
    config = settings(preset, image_network=network, **switches.get(switch, {}))
    model, images = build(config), pixels(2)
    given = batch([[4, 5, 6], [7, 8, 9]], images)
    features, attention = model.decode(model.encode(given.source, given.source_lengths), given.target_inputs)
    logits = model.project(features)
    w = weights_of(model)
    for row in range(2):
        expected, alpha = PAPERS[name](given.source[row], given.target_inputs[row].tolist(), w)
        assert_close(logits[row], expected, rtol=0, atol=1e-12)
        if alpha is not None:
            assert attention is not None
            assert_close(attention[row], alpha, rtol=0, atol=1e-12)


@pytest.mark.parametrize("network", ["strided", "pooled"])
@pytest.mark.parametrize("name", CAPTION_PRESETS)
def test_the_gradient_is_that_of_the_papers_loss(name: str, network: str) -> None:
    """-Σ log p(y_t) + λ Σ_i (1 - Σ_t α_ti)²"""
    model = build(settings(name, image_network=network), training=True)
    model.doubly_stochastic_weight = weight = 0.5 if name == "xu2015" else 0.0
    given = batch([[4, 5, 6]])
    loss = model.loss(given)
    loss.total.backward()  # type: ignore[no-untyped-call]
    w = weights_of(model)
    logits, alpha = PAPERS[name](given.source[0], given.target_inputs[0].tolist(), w)
    log_p = logits.log_softmax(dim=-1)
    expected = -sum(log_p[t, label] for t, label in enumerate(given.labels.tolist()))
    if alpha is not None:
        expected = expected + weight * (1 - alpha.sum(dim=0)).square().sum()
    expected.backward()
    assert float(loss.total.detach()) == pytest.approx(
        float(expected.detach()), abs=1e-6
    )  # summed in float32
    for key, parameter in model.named_parameters():
        assert_close(parameter.grad, w[key].grad, rtol=0, atol=1e-12, msg=key)


# ------------------------------------------------------------------------------------------------------------
# Hard attention over an image, and the losses.


def force(choices: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the attention of step t choose position choices[t]."""
    left = list(choices)

    def pick(alpha: Tensor, *, draw: bool) -> Tensor:
        assert draw
        return torch.zeros_like(alpha).index_fill(-1, torch.tensor(left.pop(0)), 1.0)

    monkeypatch.setattr(attention_module, "pick", pick)


def test_the_expected_gradient_of_reinforce_is_that_of_the_expected_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By enumeration: four cells, two steps, so sixteen ways to look."""
    model = build(settings(hard_attention=True, doubly_stochastic=0.0, entropy_weight=0.0), training=True)
    given, weights = batch([[4]]), list(model.parameters())
    estimate = [torch.zeros_like(weight) for weight in weights]
    expected = torch.zeros((), dtype=torch.float64)
    for choices in itertools.product(range(GRID**2), repeat=2):
        force(choices, monkeypatch)
        gradients = torch.autograd.grad(model.loss(given).total, weights, allow_unused=True)
        force(choices, monkeypatch)
        decoded = model._decode(
            model.encode(given.source, given.source_lengths), given.target_inputs, attention=True
        )
        assert decoded.probabilities is not None
        p = decoded.probabilities[0, 0, choices[0]] * decoded.probabilities[0, 1, choices[1]]
        logits = model.project(decoded.features[0])
        expected = expected + p * torch.nn.functional.cross_entropy(logits, given.labels, reduction="sum")
        for total, gradient in zip(estimate, gradients, strict=True):
            total += 0 if gradient is None else float(p.detach()) * gradient
    exact = torch.autograd.grad(expected, weights)
    assert_close(
        estimate, list(exact), rtol=1e-5, atol=1e-6
    )  # the losses of single words are kept in float32
    assert any(bool(gradient.any()) for gradient in exact)


def test_hard_attention_that_always_uses_the_expectation_has_the_gradient_of_soft_attention() -> None:
    losses = []
    always: dict[str, Any] = {"hard_attention": True, "expected_context": 1.0, "entropy_weight": 0.0}
    for overrides in ({}, always):
        model = build(settings(**overrides), training=True)
        loss = model.loss(batch())
        loss.total.backward()  # type: ignore[no-untyped-call]
        losses.append((loss.total.detach(), [parameter.grad for parameter in model.parameters()]))
    assert_close(losses[0], losses[1])


def test_half_of_the_sentences_get_the_expected_context(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(settings(hard_attention=True, expected_context=0.5), training=True)
    monkeypatch.setattr(torch, "rand", lambda count, device: torch.tensor([0.2, 0.7, 0.4]))
    given = batch()
    decoded = model._decode(
        model.encode(given.source, given.source_lengths), given.target_inputs, attention=True
    )
    assert decoded.attention is not None
    is_one_hot = (decoded.attention.amax(dim=-1) == 1).all(dim=1)
    assert is_one_hot.tolist() == [False, True, False]


def test_a_soft_start_is_soft_in_training_only() -> None:
    hard, soft = build(settings(hard_attention=True), training=True), build(settings(), training=True)
    hard.start_softly(True)
    assert_close(hard.loss(batch()).total, soft.loss(batch()).total)
    hard.eval()
    _, attention = hard.decode(hard.encode(batch().source, batch().source_lengths), batch().target_inputs)
    assert attention is not None
    assert set(attention.flatten().tolist()) == {0.0, 1.0}
    hard.train().start_softly(False)
    assert hard.loss(batch()).total != soft.loss(batch()).total


def test_the_doubly_stochastic_loss_counts_real_words_and_positions_only() -> None:
    alpha = torch.tensor([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], [[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    positions = torch.tensor([0, 1, 2])  # the second sentence has one word
    expected = (1 - 1.5) ** 2 + (1 - 0.5) ** 2 + (1 - 0.2) ** 2 + (1 - 0.3) ** 2 + (1 - 0.5) ** 2
    assert float(doubly_stochastic_loss(alpha, positions, mask)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"bidirectional": "all"}, "model.bidirectional = all is incompatible with model.source = image"),
        ({"initial_state": "copy"}, "model.initial_state = copy is incompatible with model.source = image"),
        ({"reverse_source": True}, "model.reverse_source"),
        ({"encoder_layers": 0}, "model.encoder_layers = 0"),
        ({"initial_state": "input"}, "model.initial_state = input is incompatible with model.attention"),
        ({"query": "after", "readout": "attentional"}, "model.context_gate = true is incompatible with"),
        ({"expected_context": 0.5}, "model.expected_context = 0.5 is incompatible with model.hard_attention"),
        ({"source": "features", "image_grid": 3, "feature_shape": (2, 3)}, "model.image_grid = 3"),
        ({"source": "features", "feature_shape": (2,)}, "model.feature_shape"),
        (
            {"preset": "vinyals2015", "source": "features", "feature_shape": (1, 3)},
            "model.initial_state = contrast is incompatible with model.feature_shape",
        ),
        (
            {"preset": "vinyals2015", "image_grid": 1},
            "model.initial_state = contrast is incompatible with model.image_grid = 1",
        ),
        ({"source": "text"}, "model.image_grid"),
        ({"source": "text"}, "model.image_network = pooled is incompatible with model.source = text"),
    ],
)
def test_contradictory_settings_of_an_image_model_are_rejected(
    overrides: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        settings(overrides.get("preset", "xu2015"), **{"image_grid": GRID, **overrides})
