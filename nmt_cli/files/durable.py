"""Files that appear whole or not at all, and survive a power cut: temporary name, fsync, rename."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from nmt_cli.errors import StoreError
from nmt_cli.files.atomic import new_file

_PARTIAL = re.compile(r"\..+\.partial-\d+")


class FileFacts(TypedDict):
    """What a file must be to be used."""

    size: int
    sha256: str


def write_bytes(path: Path, content: bytes) -> FileFacts:
    """Put `content` in place of `path` in one rename."""
    with new_file(path) as temporary:
        temporary.write_bytes(content)
    synchronize_folder(path.parent)
    return FileFacts(size=len(content), sha256=hashlib.sha256(content).hexdigest())


def write_text(path: Path, content: str) -> FileFacts:
    """Put text in place of `path` in one rename."""
    return write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> FileFacts:
    """Put a JSON document in place of `path` in one rename."""
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> FileFacts:
    """Put tensors in place of `path` in one rename; the same tensors give the same bytes."""
    return write_bytes(path, tensor_bytes(tensors))


def tensor_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Tensors from any device as a safetensors document."""
    # Through memory and not by `save_file`, whose errors do not tell a full disk from a wrong tensor.
    cpu = {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}
    return safetensors.torch.save(cpu, metadata={"format": "pt"})


def read_tensors(path: Path, facts: FileFacts | None, *, hint: str) -> dict[str, Tensor]:
    """Read tensors and refuse a file that is not as it was written."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    if facts is not None and hashlib.sha256(content).hexdigest() != facts["sha256"]:
        what = "is truncated" if len(content) < facts["size"] else "was changed after it was written"
        raise StoreError(f"{path} {what}", hint=hint)
    try:
        return safetensors.torch.load(content)
    except SafetensorError as error:
        raise StoreError(f"{path} is no safetensors file: {error}", hint=hint) from error


def synchronize_folder(path: Path) -> None:
    """Make the renames in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial(folder: Path) -> None:
    """Remove what a killed process left under a temporary name; call it under the lock."""
    for path in folder.iterdir():
        if path.is_file() and _PARTIAL.fullmatch(path.name):
            path.unlink(missing_ok=True)


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a log, one a line; a line that a killed process left unfinished is not there."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records
