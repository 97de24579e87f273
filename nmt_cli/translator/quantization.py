"""Matrix products in 8-bit integers on a CPU, for what search spends most of its time on: the vocabulary."""

from __future__ import annotations

import warnings
from typing import Any, Self

import torch
from torch import Tensor, nn

from nmt_cli.errors import UsageError

_SMALLEST = 1 << 14  # weights below which a product is not worth it
# Without VNNI the sum of two products of 8 bits can overflow 16 bits; 7 bits for the input cannot.
_STEPS, _ZERO = 63, 64


class Int8Linear(nn.Linear):
    """y = W x + b with W in 8 bits, a scale for each row of W, and x in 7 bits, a scale for each x.

    A scale for each x, not for the whole batch: neighbours change nothing. Sums of integers are exact, so neither
    does the shape of the batch. The weights are kept in full as well, for those who read them.
    """

    _packed: Any

    @classmethod
    def of(cls, linear: nn.Linear) -> Self:
        """The same layer, its weights shared."""
        with torch.device("meta"):
            layer = cls(linear.in_features, linear.out_features, bias=linear.bias is not None)
        layer.weight = linear.weight
        layer.bias = linear.bias
        layer._packed = _pack(linear.weight)
        return layer.eval()

    def forward(self, x: Tensor) -> Tensor:
        """x (…, I) → y (…, O)"""
        scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12)  # (…, 1)
        y: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            x / scale, 1.0 / _STEPS, _ZERO, self._packed
        )
        return y * scale if self.bias is None else torch.addcmul(self.bias, y, scale)  # (…, O)


def quantize(model: nn.Module) -> list[str]:
    """Replace the linear layers that are called as modules; gives their names.

    What uses weights directly stays as it is: recurrent layers, embeddings.
    """
    if torch.backends.quantized.engine not in ("x86", "fbgemm") or not _has_operation():
        raise UsageError(
            "this build of torch has no 8-bit products", hint="leave --int8 out; they are for x86 processors"
        )
    found = [
        (name, module)
        for name, module in model.named_modules()
        if type(module) is nn.Linear and module.weight.numel() >= _SMALLEST
    ]
    for name, module in found:
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent) if parent else model, child, Int8Linear.of(module))
    return [name for name, _ in found]


def _has_operation() -> bool:
    return hasattr(torch.ops.quantized, "linear_with_input_q_dq_qweight_dq_output_fp32")


@torch.no_grad()
def _pack(weight: Tensor) -> Any:
    scales = weight.abs().amax(dim=1).clamp(min=1e-12) / 127  # (O,)
    zeros = torch.zeros_like(scales, dtype=torch.long)
    with warnings.catch_warnings():  # torch announces that it will move this elsewhere
        warnings.simplefilter("ignore", UserWarning)
        quantized = torch.quantize_per_channel(weight.detach(), scales, zeros, 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(quantized, None)
