"""The header of a safetensors file: the shape and type of every tensor, read without torch and without the tensors."""

import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.errors import DirectoryError
from nmt_cli.files.guarded import parse_json

_LIMIT = 32 << 20  # bytes


class TensorInfo(NamedTuple):
    """Shape and type of a tensor, as the header of a safetensors file describes them."""

    shape: tuple[int, ...]
    dtype: str  # such as F32


def read_header(descriptor: int, path: Path, *, hint: str) -> dict[str, TensorInfo]:
    """Shape and type of every tensor in an open safetensors file, without reading the tensors."""
    try:
        (length,) = struct.unpack("<Q", os.pread(descriptor, 8, 0))
        if length > min(_LIMIT, os.fstat(descriptor).st_size):
            raise ValueError("the header is too long")
        content = parse_json(os.pread(descriptor, length, 8))
        content.pop("__metadata__", None)
        return {name: _tensor_info(entry) for name, entry in content.items()}
    except (ValueError, TypeError, KeyError, AttributeError, struct.error) as error:
        raise DirectoryError(f"{path} is not a safetensors file: {error}", hint=hint) from error


def _tensor_info(entry: Any) -> TensorInfo:
    shape, dtype = tuple(entry["shape"]), entry["dtype"]
    if not isinstance(dtype, str) or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("a tensor without shape or type")
    return TensorInfo(shape, dtype)
