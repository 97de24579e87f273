"""Matrix products in 8-bit integers on a CPU: a step of search spends most of its time reading weights."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from functools import cache
from typing import Any, Self

import torch
from torch import Tensor, nn

from nmt_cli.errors import UsageError

_SMALLEST = 1 << 14  # weights; smaller products are not worth it


class Int8Linear(nn.Linear):
    """y = W x + b with W in 8 bits, a scale for each row of W, and x in 8 bits, a scale for each x.

    Each x has its own scale, so that the rest of the batch has no influence; if |x| ≤ 1, the scale is 1. Integer sums
    are exact, so the shape of the batch has no influence either. The full-precision weights are kept as well, for code
    that reads them.
    """

    _packed: Any
    _bounded: bool

    @classmethod
    def of(cls, linear: nn.Linear, *, bounded: bool = False) -> Self:
        """The same layer with shared weights; `bounded`: all inputs are within ±1."""
        with torch.device("meta"):
            layer = cls(linear.in_features, linear.out_features, bias=linear.bias is not None)
        layer.weight = linear.weight
        layer.bias = linear.bias
        layer._bounded = bounded
        layer._packed = _pack(linear.weight, linear.bias if bounded else None)
        return layer.eval()

    def forward(self, x: Tensor) -> Tensor:
        """x (…, I) → y (…, O)"""
        if self._bounded:
            return self._product(x)
        scale = x.abs().amax(dim=-1, keepdim=True).clamp_(min=1e-12)  # (…, 1)
        y = self._product(x / scale)
        return y * scale if self.bias is None else torch.addcmul(self.bias, y, scale)  # (…, O)

    def _product(self, x: Tensor) -> Tensor:
        """W x for |x| ≤ 1, with b if the layer is bounded."""
        steps = _steps()
        y: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            x, 1.0 / steps, steps + 1, self._packed
        )
        return y


def quantize(
    model: nn.Module, *, bounded: Collection[nn.Module] = (), kept: Collection[nn.Module] = ()
) -> list[str]:
    """Replace the linear layers that are called as modules; returns their names.

    bounded   layers whose inputs are within ±1
    kept      modules to leave as they are, with everything inside

    Code that uses weights directly is unaffected: recurrent layers over whole sentences, embeddings.
    """
    if torch.backends.quantized.engine not in ("x86", "fbgemm") or not _has_operation():
        raise UsageError(
            "this build of torch does not support int8", hint="leave out --int8; it needs an x86 processor"
        )
    untouched = {inner for module in kept for inner in module.modules()}
    found = [
        (name, module)
        for name, module in model.named_modules()
        if type(module) is nn.Linear and module.weight.numel() >= _SMALLEST and module not in untouched
    ]
    for name, module in found:
        parent, _, child = name.rpartition(".")
        layer = Int8Linear.of(module, bounded=any(module is other for other in bounded))
        setattr(model.get_submodule(parent) if parent else model, child, layer)
    return [name for name, _ in found]


def _has_operation() -> bool:
    return hasattr(torch.ops.quantized, "linear_with_input_q_dq_qweight_dq_output_fp32")


@cache
def _steps() -> int:
    """The largest quantized input: without VNNI, the sum of two 8-bit products can overflow 16 bits."""
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)()
    return 127 if has_vnni else 63


@torch.no_grad()
def _pack(weight: Tensor, bias: Tensor | None) -> Any:
    scales = weight.abs().amax(dim=1).clamp(min=1e-12) / 127  # (O,)
    zeros = torch.zeros_like(scales, dtype=torch.long)
    with warnings.catch_warnings():  # torch announces that this API will move
        warnings.simplefilter("ignore", UserWarning)
        quantized = torch.quantize_per_channel(weight.detach(), scales, zeros, 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(quantized, None if bias is None else bias.detach())
