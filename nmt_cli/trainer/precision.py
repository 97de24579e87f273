"""Number formats: which one a device is good at, and the loss scale that fp16 needs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from nmt_cli.config import TrainConfig
from nmt_cli.errors import UsageError


@dataclass(frozen=True)
class Precision:
    """The format of matrix products; sums, softmax and weights stay in fp32."""

    name: str  # fp32, bf16 or fp16
    device: str  # type of the device

    @property
    def scaled(self) -> bool:
        """Whether gradients need a loss scale, because small ones would become 0."""
        return self.name == "fp16"

    def autocast(self) -> AbstractContextManager[object]:
        """The context of a forward pass."""
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self.device, torch.bfloat16 if self.name == "bf16" else torch.float16)


def choose_precision(config: TrainConfig, device: torch.device) -> Precision:
    """The format that `train.precision` names; `auto` is the fastest one that the device is good at."""
    good = _good_formats(device)
    name = good[0] if config.precision == "auto" else config.precision
    if name not in good:
        raise UsageError(
            f"train.precision = {name} is not supported by {_describe(device)}",
            hint=f"set train.precision to {' or '.join(reversed(good))}, or auto",
        )
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high" if config.tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = config.tf32
    return Precision(name, device.type)


def _good_formats(device: torch.device) -> list[str]:
    """Best first. A CPU without units for bf16 is many times slower with it, and its LSTM fails."""
    if device.type == "cuda":
        return (
            ["bf16", "fp16", "fp32"]
            if torch.cuda.is_bf16_supported(including_emulation=False)
            else ["fp16", "fp32"]
        )
    if device.type == "cpu" and _cpu_has_bf16():
        return ["bf16", "fp32"]
    return ["fp32"]


def _cpu_has_bf16() -> bool:
    has_units = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return bool(has_units is not None and has_units() and torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _describe(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return "this CPU" if device.type == "cpu" else f"the device {device.type}"
