"""The chunked loss is torch's cross-entropy, in value and gradient."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model.fast.cross_entropy import chunked_cross_entropy

N, F, V = 7, 5, 9


def arguments(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    features, weight, bias = (
        torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()
        for shape in ((N, F), (V, F), (V,))
    )
    return features, weight, bias, torch.randint(V, (N,), generator=generator)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("chunk_tokens", [1, 3, 7, 100])
def test_it_equals_cross_entropy_in_value_and_gradient(label_smoothing: float, chunk_tokens: int) -> None:
    features, weight, bias, labels = arguments()
    loss = chunked_cross_entropy(
        features, weight, bias, labels, label_smoothing=label_smoothing, chunk_tokens=chunk_tokens
    )
    logits = linear(features, weight, bias)
    plain = cross_entropy(logits, labels, reduction="sum", label_smoothing=label_smoothing)
    assert_close(loss.total, plain)
    assert_close(loss.cross_entropy, cross_entropy(logits, labels, reduction="sum"))
    assert loss.tokens == N
    assert not loss.cross_entropy.requires_grad
    scaled = torch.autograd.grad(loss.total * 0.37, (features, weight, bias))
    assert_close(scaled, torch.autograd.grad(plain * 0.37, (features, weight, bias)))


def test_it_passes_a_gradient_check() -> None:
    features, weight, bias, labels = arguments()

    def total(*inputs: Tensor) -> Tensor:
        f, W, b = inputs
        return chunked_cross_entropy(f, W, b, labels, label_smoothing=0.1, chunk_tokens=3).total

    assert torch.autograd.gradcheck(total, (features, weight, bias))


def test_it_needs_no_gradient_in_evaluation() -> None:
    with torch.no_grad():
        loss = chunked_cross_entropy(*arguments(), label_smoothing=0.0, chunk_tokens=3)
    assert not loss.total.requires_grad


def test_no_tokens_give_no_loss() -> None:
    features, weight, bias, labels = arguments()
    loss = chunked_cross_entropy(features[:0], weight, bias, labels[:0], label_smoothing=0.1, chunk_tokens=3)
    assert (float(loss.total.detach()), loss.tokens) == (0.0, 0)


def test_huge_logits_do_not_overflow() -> None:
    features, weight, bias, labels = arguments(torch.float32)
    loss = chunked_cross_entropy(features * 1e4, weight, bias, labels, label_smoothing=0.1, chunk_tokens=3)
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert bool(loss.total.isfinite())
    assert weight.grad is not None
    assert bool(weight.grad.isfinite().all())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_sums_in_float32(dtype: torch.dtype) -> None:
    features, weight, bias, labels = arguments(torch.float32)
    with torch.autocast("cpu", dtype):
        loss = chunked_cross_entropy(
            features.to(dtype), weight, bias, labels, label_smoothing=0.1, chunk_tokens=3
        )
    assert loss.total.dtype == torch.float32
    plain = cross_entropy(linear(features, weight, bias), labels, reduction="sum", label_smoothing=0.1)
    assert_close(loss.total, plain, rtol=2e-2, atol=2e-2)
    gradients = torch.autograd.grad(loss.total, (features, weight, bias))
    assert [gradient.dtype for gradient in gradients] == [torch.float32] * 3
    assert_close(gradients, torch.autograd.grad(plain, (features, weight, bias)), rtol=5e-2, atol=5e-2)


class Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The most elements that any result had."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.elements = max(self.elements, result.numel())
        return result


def test_logits_are_bounded_by_the_setting_and_not_by_the_batch() -> None:
    features = torch.randn(64, F, requires_grad=True)
    weight, bias = torch.randn(1000, F, requires_grad=True), torch.randn(1000, requires_grad=True)
    with Largest() as largest:
        loss = chunked_cross_entropy(
            features, weight, bias, torch.zeros(64, dtype=torch.long), label_smoothing=0.1, chunk_tokens=8
        )
        loss.total.backward()  # type: ignore[no-untyped-call]
    assert largest.elements == 8 * 1000


def test_two_halves_of_a_batch_have_the_gradient_of_the_whole(
    preset: ModelConfig,
    build: Callable[..., Seq2Seq],
    pad: Callable[..., Batch],
    pairs: list[tuple[list[int], list[int]]],
) -> None:
    model = build(preset)
    whole = model.loss(pad(pairs), label_smoothing=0.1)
    gradients = torch.autograd.grad(whole.total / whole.tokens, list(model.parameters()))
    for half in (pairs[:1], pairs[1:]):
        loss = model.loss(pad(half), label_smoothing=0.1)
        (loss.total / whole.tokens).backward()  # type: ignore[no-untyped-call]
    assert_close([parameter.grad for parameter in model.parameters()], list(gradients))


def test_the_loss_of_a_model_is_cross_entropy_of_its_logits_on_real_tokens(
    preset: ModelConfig,
    build: Callable[..., Seq2Seq],
    pad: Callable[..., Batch],
    pairs: list[tuple[list[int], list[int]]],
) -> None:
    model, batch = build(preset), pad(pairs, extra_target=2)
    features, _ = model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)
    logits = model.project(features)
    expected = sum(
        cross_entropy(
            logits[row, : len(target) + 1], torch.tensor([*target, 3]), reduction="sum", label_smoothing=0.1
        )
        for row, (_, target) in enumerate(pairs)
    )
    loss = model(batch, label_smoothing=0.1)
    assert_close(loss.total, expected)
    assert loss.tokens == sum(len(target) + 1 for _, target in pairs)
