"""The weights of a model by name; a tensor that two layers share occurs once."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from nmt_cli.errors import StoreError


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, not copied."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy `tensors`, read from `origin`, into the model; names and shapes must match exactly."""
    own = weights_of(model)
    hint = "the weights belong to other model settings; use the complete run directory they came from"
    if missing := sorted(own.keys() - tensors.keys()):
        raise StoreError(f"{origin} lacks the weights {missing[0]}{_others(missing)}", hint=hint)
    if surplus := sorted(tensors.keys() - own.keys()):
        raise StoreError(f"{origin} has unexpected weights: {surplus[0]}{_others(surplus)}", hint=hint)
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            shapes = " instead of ".join(
                "×".join(map(str, shape)) for shape in (tensors[name].shape, tensor.shape)
            )
            raise StoreError(f"{origin}: {name} is {shapes}", hint=hint)
        tensor.copy_(tensors[name])


def mean_weights(many: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several models with the same shapes, summed in double precision, one model at a time."""
    total: dict[str, Tensor] = {}
    last: Mapping[str, Tensor] = {}
    count = 0
    for last in many:
        count += 1
        for name, tensor in last.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    assert count
    return {name: (tensor / count).to(last[name].dtype) for name, tensor in total.items()}


def _others(names: list[str]) -> str:
    return f" and {len(names) - 1} others" if len(names) > 1 else ""
