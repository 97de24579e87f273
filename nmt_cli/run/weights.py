"""The weights of a model by name, in memory and in safetensors files; a shared tensor is stored once."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import FileFacts
from nmt_cli.files.guarded import GuardedDirectory
from nmt_cli.run.facts import TensorInfo

_FLOATS = {"F32", "F16", "BF16"}
_DTYPES = {
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float64: "F64",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.bool: "BOOL",
}
_OTHER_SETTINGS = "the weights belong to other model settings; use the complete run directory they came from"


def tensor_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Tensors from any device in the safetensors format."""
    # In memory, because errors of `save_file` do not distinguish a full disk from an invalid tensor.
    cpu = {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}
    return safetensors.torch.save(cpu, metadata={"format": "pt"})


def read_tensors(directory: GuardedDirectory, name: str, facts: FileFacts, *, hint: str) -> dict[str, Tensor]:
    """Read tensors; a file that does not match `facts` is an error."""
    path = directory.path / name
    content = directory.read(name)
    if hashlib.sha256(content).hexdigest() != facts["sha256"]:
        what = "is truncated" if len(content) < facts["size"] else "was changed after it was written"
        raise DirectoryError(f"{path} {what}", hint=hint)
    return parse_tensors(content, path, hint=hint)


def parse_tensors(content: bytes, path: Path, *, hint: str) -> dict[str, Tensor]:
    """The tensors in the content of the safetensors file at `path`."""
    try:
        return safetensors.torch.load(content)
    except (
        SafetensorError,
        KeyError,
        ValueError,
        RuntimeError,
    ) as error:  # KeyError: a type torch does not have
        raise DirectoryError(f"{path} is not a safetensors file: {error}", hint=hint) from error


def check_header(header: Mapping[str, TensorInfo], expected: Mapping[str, Tensor], path: Path) -> None:
    """Raise an error unless a file has exactly the `expected` tensors, whose memory need not be allocated."""
    if missing := sorted(expected.keys() - header.keys()):
        raise DirectoryError(f"{path} lacks the weights {missing[0]}{_others(missing)}", hint=_OTHER_SETTINGS)
    if surplus := sorted(header.keys() - expected.keys()):
        raise DirectoryError(
            f"{path} has unexpected weights: {surplus[0]}{_others(surplus)}", hint=_OTHER_SETTINGS
        )
    for name, tensor in expected.items():
        _check_shape(name, tensor, header[name].shape, path)
        allowed = _FLOATS if tensor.is_floating_point() else {_DTYPES.get(tensor.dtype, "")}
        if header[name].dtype not in allowed:
            raise DirectoryError(
                f"{path}: {name} has type {header[name].dtype} instead of {_DTYPES.get(tensor.dtype, tensor.dtype)}",
                hint=_OTHER_SETTINGS,
            )


def infos_of(tensors: Mapping[str, Tensor]) -> dict[str, TensorInfo]:
    """Shapes and types of tensors in memory, as `read_header` returns those in a file."""
    return {
        name: TensorInfo(tuple(tensor.shape), _DTYPES.get(tensor.dtype, ""))
        for name, tensor in tensors.items()
    }


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, not copied."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy `tensors`, read from `origin`, into the model; names and shapes must match exactly."""
    own = weights_of(model)
    check_header(infos_of(tensors), own, origin)
    for name, tensor in own.items():
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


def _check_shape(name: str, tensor: Tensor, shape: tuple[int, ...], path: Path) -> None:
    if tuple(tensor.shape) != shape:
        shapes = " instead of ".join("×".join(map(str, sizes)) for sizes in (shape, tensor.shape))
        raise DirectoryError(f"{path}: {name} is {shapes}", hint=_OTHER_SETTINGS)


def _others(names: list[str]) -> str:
    return f" and {len(names) - 1} others" if len(names) > 1 else ""
