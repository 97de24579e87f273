"""Hard attention learns where to look: the estimator, its baseline, its entropy term."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model import attention as attention_module

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
ORDERS: list[dict[str, Any]] = [
    {"input_feeding": True},
    {"input_feeding": False, "readout": "tanh"},
    {"input_feeding": False, "query": "before"},
    {"input_feeding": True, "attention": "additive", "coverage": True},
]


def hard(**settings: Any) -> ModelConfig:
    return ModelConfig(
        **{"embedding_size": 4, "hidden_size": 4, "cell": "gru", "hard_attention": True, "dropout": 0.0}
        | settings
    )


def force(choices: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the attention of step t choose position choices[t]."""
    left = list(choices)

    def pick(alpha: Tensor, *, draw: bool) -> Tensor:
        assert draw
        chosen = torch.zeros_like(alpha)
        for t in range(alpha.shape[1]):
            chosen[:, t, left.pop(0)] = 1.0
        return chosen

    monkeypatch.setattr(attention_module, "pick", pick)


@pytest.mark.parametrize("share", [1.0, 0.5, "one word"])
@pytest.mark.parametrize("settings", ORDERS)
def test_the_mean_of_the_estimator_is_the_exact_gradient(
    settings: dict[str, Any], share: float | str, build: Build, pad: Pad, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By enumeration: three source positions, two steps, so nine ways to look."""
    model = build(hard(**settings), training=True)
    model.entropy_weight = 0.0
    batch, weights = pad([([4, 5], [6])]), list(model.parameters())
    counted = torch.tensor([0, 1] if share == 1 else [1])
    subset: dict[str, Any] = {"token_fraction": share} if share != "one word" else {"tokens_per_sentence": 1}
    drawn = counted, torch.tensor([2.0])
    monkeypatch.setattr("nmt_cli.model.seq2seq.draw_words", lambda lengths, count: drawn)
    monkeypatch.setattr("nmt_cli.model.seq2seq.draw_share", lambda lengths, token_fraction: counted)
    estimate = [torch.zeros_like(weight) for weight in weights]
    expected_loss = torch.zeros((), dtype=torch.float64)
    for choices in itertools.product(range(3), repeat=2):
        force(choices, monkeypatch)
        loss = model.loss(batch, label_smoothing=0.1, **subset)
        gradients = torch.autograd.grad(loss.total, weights, allow_unused=True)
        force(choices, monkeypatch)
        memory = model.encode(batch.source, batch.source_lengths)
        decoded = model._decode(memory, batch.target_inputs, attention=True)
        assert decoded.probabilities is not None
        p = decoded.probabilities[0, 0, choices[0]] * decoded.probabilities[0, 1, choices[1]]
        losses = torch.nn.functional.cross_entropy(
            model.project(decoded.features[0, counted]),
            batch.labels[counted],
            reduction="sum",
            label_smoothing=0.1,
        )
        expected_loss = expected_loss + p * losses * (2 / len(counted))
        for total, gradient in zip(estimate, gradients, strict=True):
            total += 0 if gradient is None else float(p.detach()) * gradient
    exact = torch.autograd.grad(expected_loss, weights)
    # The losses of single words are kept in float32.
    assert_close(estimate, list(exact), rtol=1e-5, atol=1e-6)
    assert any(bool(gradient.any()) for gradient in exact)


def test_probabilities_sum_to_one_and_only_the_total_includes_the_extra_terms(
    build: Build, pad: Pad, pairs: Pairs
) -> None:
    model, batch = build(hard(), training=True), pad(pairs)
    torch.manual_seed(1)
    memory = model.encode(batch.source, batch.source_lengths)
    decoded = model._decode(memory, batch.target_inputs, attention=True)
    assert decoded.probabilities is not None
    assert_close(decoded.probabilities.sum(dim=-1), torch.ones(3, 6, dtype=torch.float64))
    torch.manual_seed(1)
    loss = model.loss(batch)
    logits = model.project(decoded.features.flatten(0, 1)[batch.positions])
    plain = torch.nn.functional.cross_entropy(logits, batch.labels, reduction="sum")
    assert_close(loss.cross_entropy, plain.detach())
    assert float(loss.total.detach()) != pytest.approx(float(plain.detach()))
    evaluated = model.eval().loss(batch)
    assert_close(evaluated.total, evaluated.cross_entropy)


def test_more_entropy_means_less_loss(build: Build, pad: Pad, pairs: Pairs) -> None:
    model, batch, totals = build(hard(), training=True), pad(pairs), []
    for weight in (0.0, 1.0):
        model.entropy_weight = weight
        torch.manual_seed(1)
        totals.append(float(model.loss(batch).total.detach()))
    assert totals[1] < totals[0]


def test_the_baseline_is_a_moving_average_that_only_learning_changes(
    build: Build, pad: Pad, pairs: Pairs
) -> None:
    model, batch = build(hard(), training=True), pad(pairs)
    assert model.baseline is not None
    first = float(model.baseline)
    assert first == pytest.approx(-2.3979, abs=1e-4)  # log 1/11
    loss = model.loss(batch)
    assert float(model.baseline) == first
    model.learn_baseline(loss)
    mean = -float(loss.cross_entropy) / loss.tokens
    assert float(model.baseline) == pytest.approx(0.9 * first + 0.1 * mean)
    assert "baseline" in model.state_dict()
    soft = build(ModelConfig(embedding_size=4, hidden_size=4))
    soft.learn_baseline(loss)
    assert soft.baseline is None
    assert "baseline" not in soft.state_dict()


def test_a_good_baseline_reduces_the_variance_of_the_estimator(build: Build, pad: Pad, pairs: Pairs) -> None:
    model, batch = build(hard(), training=True), pad(pairs)
    assert model.baseline is not None
    W = model.get_parameter("decoder.attention.score.W.weight")
    variances = []
    for baseline in (0.0, -2.4):
        model.baseline.fill_(baseline)
        gradients = []
        for seed in range(60):
            torch.manual_seed(seed)
            gradients.append(torch.autograd.grad(model.loss(batch).total, W)[0])
        variances.append(float(torch.stack(gradients).var(dim=0).sum()))
    assert variances[1] < 0.5 * variances[0], variances
