"""Sources that are not text: images or recordings, stored once in a NumPy file; the source of a pair is a number."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import DirectoryError

if TYPE_CHECKING:  # they import Arrow and torch, which translating text with an exported model does not need
    from torch import Tensor

    from nmt_cli.data.split import MappedFile

AGAIN = "`nmt preprocess` creates a new data directory"
_MAX_HEADER = 1024


class MediaRows(ABC):
    """The sources of some pairs, as `Ragged` is for text: which image or recording belongs to each row."""

    numbers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    @abstractmethod
    def lengths(self) -> NDArray[np.int64]:
        """How much work each row is, in source tokens: the batch budget counts them."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64]) -> Self:
        """Some of the rows, in that order."""

    @abstractmethod
    def padded(self) -> tuple[Tensor, Tensor]:
        """What the encoder reads, and the length of each row (B,)."""


def map_array(
    descriptor: int, path: Path, types: dict[int, tuple[str, ...]], what: str
) -> tuple[NDArray[Any], MappedFile]:
    """Map a NumPy file; `types` are the types it may have, by the number of dimensions."""
    from nmt_cli.data.split import MappedFile

    try:
        mapped = MappedFile(descriptor, path)
        header = io.BytesIO(mapped.content[:_MAX_HEADER])
        if np.lib.format.read_magic(header) != (1, 0):
            raise ValueError("another version of the format")
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(header)
        if fortran_order or dtype.str not in types.get(len(shape), ()) or 0 in shape[1:]:
            raise ValueError(f"not an array of {what}")
        values = np.frombuffer(mapped.content, dtype, offset=header.tell())
        return values.reshape(shape), mapped
    except (ValueError, OSError, OverflowError, TypeError, SyntaxError) as error:
        raise DirectoryError(f"{path} is damaged: {error}", hint=AGAIN) from error
