"""What is known of a run without torch: run.json, config.json, and the tensors that a safetensors file declares."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from nmt_cli.config import Resolved, load_resolved
from nmt_cli.errors import DirectoryError
from nmt_cli.files.guarded import parse_json
from nmt_cli.files.languages import is_language
from nmt_cli.files.manifest import SHA256, Manifest

if TYPE_CHECKING:
    from nmt_cli.data.directory import DataDirectory
import os
import struct
from pathlib import Path
from typing import NamedTuple

KIND = "run"
MODEL = "model.safetensors"
CONFIG = "config.json"
FACTS = "run.json"
_HEADER_LIMIT = 32 << 20  # bytes


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run, apart from its settings."""

    source_lang: str
    target_lang: str
    data: str  # path of the data directory, absolute
    data_sha256: str  # of its manifest: identifies the data wherever it is

    @classmethod
    def of(cls, data: DataDirectory) -> Self:
        """The facts of a run on this data."""
        return cls(data.source_lang, data.target_lang, str(data.path.resolve()), data.fingerprint)

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """The facts in run.json; a ValueError or TypeError if it was not written by nmt."""
        facts = cls(**content)
        if not (facts.source_lang == "" or is_language(facts.source_lang)) or not is_language(
            facts.target_lang
        ):
            raise ValueError("a language is not a language code")
        if not isinstance(facts.data, str) or "\0" in facts.data:
            raise ValueError("data is not a path")
        if not SHA256.fullmatch(facts.data_sha256):
            raise ValueError("data_sha256 is not a hash")
        return facts

    def to_json(self) -> str:
        """The content of run.json."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def parse_settings(files: Manifest) -> tuple[RunFacts, Resolved]:
    """The facts and settings of a run; an error if they are not well-formed or not those that were written."""
    try:
        return RunFacts.from_json(parse_json(files.read(FACTS))), load_resolved(files.read(CONFIG))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DirectoryError(
            f"the settings in {files.directory.path} cannot be read: {error}",
            hint="copy the whole directory again, or train a new model",
        ) from error


class TensorInfo(NamedTuple):
    """Shape and type of a tensor, as the header of a safetensors file describes them."""

    shape: tuple[int, ...]
    dtype: str  # such as F32


def read_header(descriptor: int, path: Path, *, hint: str) -> dict[str, TensorInfo]:
    """Shape and type of every tensor in an open safetensors file, without reading the tensors."""
    try:
        (length,) = struct.unpack("<Q", os.pread(descriptor, 8, 0))
        if length > min(_HEADER_LIMIT, os.fstat(descriptor).st_size):
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
