"""From gradients to new weights, without the host having to wait for the device.

Scaling, clipping and skipping are folded into the fused step of the optimizer: it divides gradients by one
number on the device and does nothing at all if another one is 1. So a NaN never reaches the weights, and
nobody has to look.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt_cli.config import TrainConfig
from nmt_cli.errors import StoreError, UsageError
from nmt_cli.model import Seq2Seq

FIRST_SCALE = 2.0**16
GROWTH_UPDATES = 2000  # updates without an overflow until the loss scale doubles


class Optimization:
    """Optimizer, gradient clipping, loss scale and the count of skipped updates."""

    def __init__(self, model: nn.Module, config: TrainConfig, *, scaled: bool) -> None:
        self._names = [name for name, _ in model.named_parameters()]
        self._parameters = [parameter for _, parameter in model.named_parameters()]
        self._clip_norm = config.clip_norm
        self._scaled = scaled
        self._optimizer = _build(self._parameters, config)
        device = self._parameters[0].device
        self._scale = torch.full((), FIRST_SCALE if scaled else 1.0, device=device)
        self._growth = torch.zeros((), device=device)  # updates since the scale changed
        self.norm = torch.zeros((), device=device)  # of the last gradient
        self.skipped = torch.zeros((), device=device)  # updates whose gradient was not finite
        self.skipped_in_a_row = torch.zeros((), device=device)

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss to differentiate."""
        return loss * self._scale if self._scaled else loss

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Change the weights by the gradients, unless one of them is not finite; forget the gradients."""
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
        # What torch's GradScaler hands to a fused optimizer.
        self._optimizer.grad_scale = divisor  # type: ignore[attr-defined]
        self._optimizer.found_inf = overflow  # type: ignore[attr-defined]
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.skipped += overflow
        self.skipped_in_a_row = (self.skipped_in_a_row + 1) * overflow
        if self._scaled:
            self._update_scale(overflow)

    def _update_scale(self, overflow: Tensor) -> None:
        """Halve the loss scale after an overflow, double it after a long time without one."""
        self._growth = (self._growth + 1) * (1 - overflow)
        grow = (self._growth >= GROWTH_UPDATES).to(overflow.dtype)
        self._scale = self._scale * (1 + grow) * (1 - overflow / 2)
        self._growth = self._growth * (1 - grow)

    def state(self) -> dict[str, Tensor]:
        """Everything that the next step depends on."""
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
        """Go on from what `state` gave."""
        parameters = dict(zip(self._names, self._parameters, strict=True))
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            if part != "optimizer":
                continue
            key, _, parameter_name = rest.partition(".")
            if parameter_name not in parameters:
                raise StoreError(
                    f"the optimizer state has unknown weights {parameter_name}", hint="train a new model"
                )
            parameter = parameters[parameter_name]
            # Fused optimizers keep their step counts beside the weights.
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
            if config.momentum:  # from the beginning, so that a skipped first update leaves no garbage there
                for parameter in parameters:
                    sgd.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
            return sgd


# Number formats: which one a device is good at, and the loss scale that fp16 needs.


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


# The moving average of the weights over updates.


class MovingAverage:
    """θ̄ ← d θ̄ + (1 - d) θ after every update, with d = min(decay, (1 + u) / (10 + u)) after u updates.

    The first updates would otherwise stay in the average for long.
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.model = deepcopy(model).eval().requires_grad_(False)  # has the averaged weights
        self._decay = decay
        self._mean = _tensors(self.model)
        self._current = _tensors(model)

    @torch.no_grad()
    def update(self, updates: int) -> None:
        """Take in the weights after `updates` updates."""
        decay = min(self._decay, (1 + updates) / (10 + updates))
        torch._foreach_lerp_(self._mean, self._current, 1 - decay)


def _tensors(model: Seq2Seq) -> list[Tensor]:
    return list(model.parameters())
