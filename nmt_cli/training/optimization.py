"""From gradients to new weights: optimizer, clipping, loss scale, precision, moving average.

Loss scale, clipping and the skipping of non-finite gradients are folded into the fused step of the optimizer, which
divides the gradients by a number on the device (`grad_scale`) and does nothing if another one is 1 (`found_inf`). So a
NaN never reaches the weights, and the host never waits for the device to find out.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt_cli.config import TrainConfig
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.model import Seq2Seq

FIRST_SCALE = 2.0**16
GROWTH_UPDATES = 2000  # updates without overflow before the loss scale is doubled


class Optimization:
    """Optimizer, gradient clipping, loss scale and the number of skipped updates."""

    def __init__(self, model: nn.Module, config: TrainConfig, *, scaled: bool) -> None:
        self._names = [name for name, _ in model.named_parameters()]
        self._parameters = [parameter for _, parameter in model.named_parameters()]
        self._clip_norm = config.clip_norm
        self._scaled = scaled
        self._optimizer = _build(self._parameters, config)
        device = self._parameters[0].device
        self._scale = torch.full((), FIRST_SCALE if scaled else 1.0, device=device)
        self._growth = torch.zeros((), device=device)  # updates since the scale last changed
        self.norm = torch.zeros((), device=device)  # of the last gradient
        self.skipped = torch.zeros((), device=device)  # updates whose gradient was not finite
        self.skipped_in_a_row = torch.zeros((), device=device)

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss times the loss scale, to call backward on."""
        return loss * self._scale if self._scaled else loss

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step of the optimizer, skipped if a gradient is not finite; then clears the gradients."""
        norm = nn.utils.get_total_norm(
            [parameter.grad for parameter in self._parameters if parameter.grad is not None], foreach=True
        )
        overflow = (~norm.isfinite()).to(norm.dtype)
        self.norm = norm / self._scale
        divisor = self._scale
        if self._clip_norm:
            divisor = divisor * (self.norm / self._clip_norm).clamp(min=1.0)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        # The same attributes as torch's GradScaler sets on a fused optimizer.
        self._optimizer.grad_scale = divisor  # type: ignore[attr-defined]
        self._optimizer.found_inf = overflow  # type: ignore[attr-defined]
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.skipped += overflow
        self.skipped_in_a_row = (self.skipped_in_a_row + 1) * overflow
        if self._scaled:
            self._update_scale(overflow)

    def _update_scale(self, overflow: Tensor) -> None:
        """Halve the loss scale after an overflow, double it after many updates without one."""
        self._growth = (self._growth + 1) * (1 - overflow)
        grow = (self._growth >= GROWTH_UPDATES).to(overflow.dtype)
        self._scale = self._scale * (1 + grow) * (1 - overflow / 2)
        self._growth = self._growth * (1 - grow)

    def state(self) -> dict[str, Tensor]:
        """Everything the next step depends on."""
        tensors = {
            f"optimizer.{key}.{name}": value
            for name, parameter in zip(self._names, self._parameters, strict=True)
            for key, value in self._optimizer.state[parameter].items()
        }
        counts = {
            "scale": self._scale,
            "growth": self._growth,
            "skipped": self.skipped,
            "in_a_row": self.skipped_in_a_row,
        }
        return {**tensors, **{f"scaler.{key}": value for key, value in counts.items()}}

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `state` returned."""
        parameters = dict(zip(self._names, self._parameters, strict=True))
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            if part != "optimizer":
                continue
            key, _, parameter_name = rest.partition(".")
            if parameter_name not in parameters:
                raise DirectoryError(
                    f"the optimizer state contains unknown weights {parameter_name}", hint="train a new model"
                )
            parameter = parameters[parameter_name]
            # Fused optimizers keep their step counts on the device of the weights.
            self._optimizer.state[parameter][key] = tensor.to(parameter.device).clone()
        device = self._scale.device
        self._scale, self._growth, self.skipped, self.skipped_in_a_row = (
            tensors[f"scaler.{key}"].to(device).clone() for key in ("scale", "growth", "skipped", "in_a_row")
        )


def _build(parameters: list[nn.Parameter], config: TrainConfig) -> torch.optim.Optimizer:
    decay, betas = config.weight_decay, (config.adam_beta1, config.adam_beta2)
    match config.optimizer:
        case "adam":
            return torch.optim.Adam(parameters, lr=0.0, betas=betas, weight_decay=decay, fused=True)
        case "adamw":
            return torch.optim.AdamW(parameters, lr=0.0, betas=betas, weight_decay=decay, fused=True)
        case _:
            sgd = torch.optim.SGD(
                parameters, lr=0.0, momentum=config.momentum, weight_decay=decay, fused=True
            )
            if config.momentum:  # from the start, so that a skipped first update leaves no garbage there
                for parameter in parameters:
                    sgd.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
            return sgd


@dataclass(frozen=True)
class Precision:
    """The precision of matrix products; sums, softmax and weights stay in fp32."""

    name: str  # fp32, bf16 or fp16
    device: str  # device type

    @property
    def scaled(self) -> bool:
        """Whether a loss scale is needed to keep small gradients from underflowing."""
        return self.name == "fp16"

    def autocast(self) -> AbstractContextManager[object]:
        """The context for the forward pass."""
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self.device, torch.bfloat16 if self.name == "bf16" else torch.float16)


def choose_precision(config: TrainConfig, device: torch.device) -> Precision:
    """The precision named by `train.precision`; `auto` is the fastest that the device supports well."""
    supported = _supported_formats(device)
    name = supported[0] if config.precision == "auto" else config.precision
    if name not in supported:
        raise UsageError(
            f"train.precision = {name} is not supported by {_describe(device)}",
            hint=f"set train.precision to {' or '.join(reversed(supported))}, or auto",
        )
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high" if config.tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = config.tf32
    return Precision(name, device.type)


def _supported_formats(device: torch.device) -> list[str]:
    """That of `auto` first. Without hardware support, bf16 is many times slower on a CPU, and its LSTM fails."""
    if device.type == "cuda":
        return (
            ["bf16", "fp16", "fp32"]
            if torch.cuda.is_bf16_supported(including_emulation=False)
            else ["fp16", "fp32"]
        )
    if device.type == "cpu" and torch.ops.mkldnn._is_mkldnn_bf16_supported():
        if _cpu_has("_is_amx_tile_supported"):
            return ["bf16", "fp32"]
        if _cpu_has("_is_avx512_bf16_supported"):
            return ["fp32", "bf16"]  # 1.2 to 1.5 times as fast, but by request only
    return ["fp32"]


def _cpu_has(name: str) -> bool:
    supported = getattr(torch.cpu, name, None)
    return bool(supported is not None and supported())


def _describe(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return "this CPU" if device.type == "cpu" else f"the device {device.type}"


class MovingAverage:
    """Exponential moving average of the weights: θ̄ ← d θ̄ + (1 - d) θ,  d = min(decay, (1 + u) / (10 + u))

    after update u. The smaller d at the start keeps the first updates from lingering in the average.
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.model = deepcopy(model).eval().requires_grad_(False)  # holds θ̄
        self._decay = decay
        self._mean = _tensors(self.model)
        self._current = _tensors(model)

    @torch.no_grad()
    def update(self, updates: int) -> None:
        """Add the weights after `updates` updates to the average."""
        decay = min(self._decay, (1 + updates) / (10 + updates))
        torch._foreach_lerp_(self._mean, self._current, 1 - decay)


def _tensors(model: Seq2Seq) -> list[Tensor]:
    return list(model.parameters())
