"""The weights of a model by name, in memory and in safetensors files; a shared tensor is stored once."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import FileFacts, write_bytes


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> FileFacts:
    """Replace `path` by tensors in one rename; the same tensors give the same bytes."""
    return write_bytes(path, tensor_bytes(tensors))


def tensor_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Tensors from any device in the safetensors format."""
    # In memory, because errors of `save_file` do not distinguish a full disk from an invalid tensor.
    cpu = {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}
    return safetensors.torch.save(cpu, metadata={"format": "pt"})


def read_tensors(path: Path, facts: FileFacts | None, *, hint: str) -> dict[str, Tensor]:
    """Read tensors; a file that does not match `facts` is an error."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DirectoryError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    if facts is not None and hashlib.sha256(content).hexdigest() != facts["sha256"]:
        what = "is truncated" if len(content) < facts["size"] else "was changed after it was written"
        raise DirectoryError(f"{path} {what}", hint=hint)
    try:
        return safetensors.torch.load(content)
    except SafetensorError as error:
        raise DirectoryError(f"{path} is not a safetensors file: {error}", hint=hint) from error


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, not copied."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy `tensors`, read from `origin`, into the model; names and shapes must match exactly."""
    own = weights_of(model)
    hint = "the weights belong to other model settings; use the complete run directory they came from"
    if missing := sorted(own.keys() - tensors.keys()):
        raise DirectoryError(f"{origin} lacks the weights {missing[0]}{_others(missing)}", hint=hint)
    if surplus := sorted(tensors.keys() - own.keys()):
        raise DirectoryError(f"{origin} has unexpected weights: {surplus[0]}{_others(surplus)}", hint=hint)
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            shapes = " instead of ".join(
                "×".join(map(str, shape)) for shape in (tensors[name].shape, tensor.shape)
            )
            raise DirectoryError(f"{origin}: {name} is {shapes}", hint=hint)
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
