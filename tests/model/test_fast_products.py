"""Matrix products by oneDNN, where it is faster than torch's default, are as exact as those."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq, attention, device
from nmt_cli.model.attention import fused_attention, join_heads
from nmt_cli.model.device import choose_device, has_fast_products, onednn_is_faster, prepare_device

ZEN_4 = "vendor_id : AuthenticAMD\nflags : sse avx2 avx512f avx512_bf16"


@pytest.fixture
def onednn() -> None:
    """Products by oneDNN; skipped on CPUs that are not faster with them."""
    processor = Path("/proc/cpuinfo")
    if not processor.exists() or not onednn_is_faster(processor.read_text("utf-8").partition("\n\n")[0]):
        pytest.skip("products by oneDNN are for AMD CPUs with AVX-512")
    prepare_device("cpu")


@pytest.mark.parametrize(
    ("processor", "chosen"),
    [
        (ZEN_4, True),
        (ZEN_4.replace("avx512f", ""), False),
        (ZEN_4.replace("AuthenticAMD", "GenuineIntel"), False),
        (f"{ZEN_4} amx_bf16 amx_tile", False),  # here the switch would really mean bf16
        ("", False),
    ],
)
def test_it_is_for_amd_cpus_with_avx512_and_without_amx(processor: str, chosen: bool) -> None:
    assert onednn_is_faster(processor) is chosen


@pytest.mark.usefixtures("onednn")
def test_they_can_be_switched_on_and_off() -> None:
    assert has_fast_products()
    prepare_device("cpu", fast_products=False)
    assert not has_fast_products()


def test_a_program_that_sets_the_precision_by_the_newer_api_is_left_alone() -> None:
    """torch raises an error when both are used."""
    script = """
import torch
from nmt_cli.model.device import has_fast_products, prepare_device, products_restored

torch.backends.cuda.matmul.fp32_precision = "tf32"
with products_restored():
    prepare_device("cpu")
    assert not has_fast_products()
assert torch.backends.cuda.matmul.fp32_precision == "tf32"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_choosing_a_device_from_python_changes_no_setting_of_torch() -> None:
    choose_device("cpu")
    assert torch.get_float32_matmul_precision() == "highest"


def test_products_that_are_not_exact_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "onednn_is_faster", lambda processor: True)
    monkeypatch.setattr(device, "_products_are_exact", lambda: False)
    device.use_fast_products()
    assert not has_fast_products()


@pytest.mark.parametrize(
    ("queries", "causal"), [(1, False), (70, False), (200, False), (70, True), (200, True)]
)
def test_attention_without_its_kernel_is_the_same(
    queries: int, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    length = queries if causal else 200
    random = torch.Generator().manual_seed(1)
    q = torch.randn(2, 3, queries, 64, generator=random, requires_grad=True)
    k, v = (torch.randn(2, 3, length, 64, generator=random, requires_grad=True) for _ in range(2))
    mask = None if causal else torch.arange(length).expand(2, -1) < torch.tensor([[3], [0]])
    seen = None if mask is None else mask[:, None, None]
    expected = join_heads(scaled_dot_product_attention(q, k, v, seen, is_causal=causal))
    monkeypatch.setattr(attention, "has_fast_products", lambda: True)
    monkeypatch.setattr(attention, "scaled_dot_product_attention", None)
    found = fused_attention(q, k, v, mask, causal=causal)
    torch.testing.assert_close(found, expected)
    direction = torch.randn(found.shape, generator=random)
    for mine, kernel in zip(
        *(torch.autograd.grad(x, (q, k, v), direction) for x in (found, expected)), strict=True
    ):
        torch.testing.assert_close(mine, kernel, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        ((16, 4, 1, 300, 64), True),
        ((8, 4, 130, 130, 64), True),
        ((1, 4, 2000, 2000, 64), False),
        ((8, 4, 1, 8, 64), False),
    ],
)
def test_attention_is_computed_by_its_kernel_if_tiny_or_huge(
    shape: tuple[int, ...], fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    B, n, Q, S, d = shape
    calls: list[Tensor] = []

    def kernel(queries: Tensor, *arguments: Any, **options: Any) -> Tensor:
        calls.append(queries)
        return scaled_dot_product_attention(queries, *arguments, **options)

    monkeypatch.setattr(attention, "has_fast_products", lambda: True)
    monkeypatch.setattr(attention, "scaled_dot_product_attention", kernel)
    fused_attention(torch.zeros(B, n, Q, d), torch.zeros(B, n, S, d), torch.zeros(B, n, S, d), None)
    assert (not calls) is fits


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize("shape", [(1, 512, 2048), (64, 1024, 64), (500, 256, 8000)])
def test_products_are_exact_in_float32(shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    random = torch.Generator().manual_seed(1)
    one, two = (torch.randn(size, generator=random) for size in ((rows, inner), (inner, columns)))
    exact = one.double() @ two.double()
    assert ((one @ two).double() - exact).abs().max() < 4e-6 * exact.abs().max()  # bf16: 4e-3
    batched = torch.bmm(one.view(1, rows, inner), two.view(1, inner, columns))
    assert (batched[0].double() - exact).abs().max() < 4e-6 * exact.abs().max()


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize("preset", ["bahdanau2015", "vaswani2017"])
def test_a_model_has_the_same_loss_and_gradients(
    preset: str, build: Callable[..., Seq2Seq], pad: Callable[..., Batch]
) -> None:
    config = ModelConfig.from_preset(preset, embedding_size=64, hidden_size=64)
    batch = pad([([5, 6, 7, 8], [9, 8, 7]), ([6, 5], [8, 9, 7, 6, 5])])
    found = []
    for dtype in (torch.float32, torch.float64):  # in float64, products are never those of oneDNN
        model = build(config, dtype=dtype)
        loss = model.loss(batch).total
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        found.append([tensor.double() for tensor in (loss, *gradients)])
    for mine, exact in zip(*found, strict=True):
        torch.testing.assert_close(mine, exact, rtol=1e-3, atol=1e-5)
