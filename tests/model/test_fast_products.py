"""Matrix products by oneDNN, where it is faster than torch's default, are as exact as those."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq, device
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
def test_a_command_uses_them() -> None:
    assert has_fast_products()


def test_choosing_a_device_from_python_changes_no_setting_of_torch() -> None:
    choose_device("cpu")
    assert torch.get_float32_matmul_precision() == "highest"


def test_products_that_are_not_exact_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "onednn_is_faster", lambda processor: True)
    monkeypatch.setattr(device, "_products_are_exact", lambda: False)
    device.use_fast_products()
    assert not has_fast_products()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [70, 200])  # computed in three steps, and by the kernel
def test_attention_without_its_kernel_is_the_same(length: int, causal: bool) -> None:
    random = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 3, length, 8, generator=random) for _ in range(3))
    mask = None if causal else torch.arange(length).expand(2, -1) < torch.tensor([[3], [0]])
    seen = None if mask is None else mask[:, None, None]
    expected = join_heads(scaled_dot_product_attention(q, k, v, seen, is_causal=causal))
    torch.set_float32_matmul_precision("medium")
    torch.testing.assert_close(fused_attention(q, k, v, mask, causal=causal), expected)


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
