"""From gradients to new weights, without the host having to wait for the device.

Scaling, clipping and skipping are folded into the fused step of the optimizer: it divides gradients by one
number on the device and does nothing at all if another one is 1. So a NaN never reaches the weights, and
nobody has to look.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from nmt_cli.config import TrainConfig
from nmt_cli.errors import StoreError

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
