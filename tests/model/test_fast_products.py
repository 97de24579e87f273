"""Matrix products by oneDNN, where it is faster than torch's default, are as exact as those."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model.device import choose_device, has_fast_products, mkl_lacks_avx512

ZEN_4 = "vendor_id : AuthenticAMD\nflags : sse avx2 avx512f avx512_bf16"


@pytest.fixture
def onednn() -> Iterator[None]:
    """Products by oneDNN; skipped where a CPU or torch does not have them."""
    switch: Any = getattr(torch.backends.mkldnn, "matmul", None)
    if switch is None:
        pytest.skip("this torch cannot choose how products are computed")
    before = switch.fp32_precision
    switch.fp32_precision = "ieee"
    choose_device("cpu")
    try:
        if not has_fast_products():
            pytest.skip("products by oneDNN are for AMD CPUs with AVX-512")
        yield
    finally:
        switch.fp32_precision = before


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
    assert mkl_lacks_avx512(processor) is chosen


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
