"""The images of a split in one NumPy file, memory-mapped: each image once, however many captions it has.

`train.images.npy` is (N, side, side, 3) bytes, or (N, L, D) floats if the images were given as features. The source
of a pair is a single id: the number of its image.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.media import AGAIN, MediaRows, map_array
from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import FileFacts
from nmt_cli.files.guarded import parse_json
from nmt_cli.files.languages import images_name, objects_name
from nmt_cli.files.manifest import Manifest
from nmt_cli.files.verified import is_verified

if TYPE_CHECKING:  # it imports Arrow, which translating text does not need
    from torch import Tensor

    from nmt_cli.data.split import MappedFile


class ImageWriter:
    """Writes images one by one; the number of images, which is part of the header, is known in the end."""

    def __init__(self, path: Path, shape: Sequence[int], dtype: type[np.generic]) -> None:
        from nmt_cli.data.split import writing

        self._writing = writing
        self._path, self._shape, self._dtype = path, tuple(shape), np.dtype(dtype)
        self.count = 0
        with self._writing(path):
            self._stream = path.open("wb")
            self._stream.write(self._header())

    def add(self, item: NDArray[Any]) -> int:
        """Append an image and return its number."""
        assert item.shape == self._shape
        with self._writing(self._path):
            self._stream.write(item.astype(self._dtype, copy=False).tobytes())
        self.count += 1
        return self.count - 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stream:
            if kind is None:
                with self._writing(self._path):
                    self._stream.seek(0)
                    self._stream.write(self._header())
                    self._stream.flush()
                    os.fsync(self._stream.fileno())

    def _header(self) -> bytes:
        """Of the same length for any number of images: NumPy leaves room for it."""
        header = io.BytesIO()
        description = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.count, *self._shape),
        }
        np.lib.format.write_array_header_1_0(header, description)
        return header.getvalue()


class Images:
    """The images of a split: only those that are used are read."""

    def __init__(self, values: NDArray[Any], mapped: MappedFile | None = None) -> None:
        """Pixels (N, side, side, 3), or features (N, L, D)."""
        self.values = values
        self._mapped = mapped

    @classmethod
    def open_verified(cls, files: Manifest, split: str) -> Images:
        """Map the file of a data or run directory; it is hashed only when it has changed."""
        name = images_name(split)
        path = files.directory.path / name

        def verified(descriptor: int, facts: FileFacts) -> Images:
            images = cls._map(descriptor, path)
            if not is_verified(path, descriptor, facts["sha256"], purpose="images", check=lambda: None):
                raise files.changed(name)
            return images

        return files.use(name, verified)

    @classmethod
    def _map(cls, descriptor: int, path: Path) -> Self:
        values, mapped = map_array(descriptor, path, {4: ("|u1",), 3: ("<f4",)}, "images")
        if values.ndim == 4 and values.shape[3] != 3:
            raise DirectoryError(f"{path} is damaged: not an array of images", hint=AGAIN)
        return cls(values, mapped)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def kind(self) -> Literal["image", "features"]:
        """What they are, as in `model.source`."""
        return "image" if self.values.ndim == 4 else "features"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one image: (side, side, 3) or (L, D)."""
        return tuple(self.values.shape[1:])

    def take(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """A copy of some images, in that order."""
        if self._mapped is not None:
            self._mapped.check_size()
        taken: NDArray[Any] = self.values[numbers]
        return taken

    def rows(self, numbers: NDArray[Any] | None = None) -> ImageRows:
        """Images as the sources of a batch; all of them by default."""
        if numbers is None:
            return ImageRows(self, np.arange(len(self)))
        return ImageRows(self, np.asarray(numbers, np.int64))


@dataclass(frozen=True, eq=False)
class ImageRows(MediaRows):
    """The sources of some pairs: which image belongs to each row."""

    images: Images
    numbers: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """All the same: the length of its caption alone decides how much work a pair is."""
        return np.ones(len(self.numbers), np.int64)

    def take(self, rows: NDArray[np.int64]) -> ImageRows:
        """Some of the rows, in that order."""
        return ImageRows(self.images, self.numbers[rows])

    def content(self) -> NDArray[Any]:
        """The images (B, side, side, 3), or their features (B, L, D)."""
        return self.images.take(self.numbers)

    def padded(self) -> tuple[Tensor, Tensor]:
        """The images, none of which is padded."""
        import torch

        return torch.from_numpy(self.content()), torch.from_numpy(self.lengths)


def group_captions(numbers: NDArray[np.int64], captions: Sequence[str]) -> list[tuple[list[int], list[str]]]:
    """For each image, in the order of their first captions: the rows of its captions, and the captions."""
    groups: dict[int, tuple[list[int], list[str]]] = {}
    for row, (number, caption) in enumerate(zip(numbers.tolist(), captions, strict=True)):
        rows, texts = groups.setdefault(number, ([], []))
        rows.append(row)
        texts.append(caption)
    return list(groups.values())


def reference_columns(captions: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The captions of each image as several references for it: first captions, second captions, …; None if missing."""
    most = max(map(len, captions), default=1)
    return [[texts[k] if k < len(texts) else None for texts in captions] for k in range(most)]


Boxes = tuple[tuple[str, float, float, float, float], ...]
"""The objects of an image: a word, and left, top, right and bottom in fractions of its width and height."""


def write_objects(directory: Path, split: str, objects: Sequence[Boxes]) -> None:
    """Write the objects of all images of a split, if there are any."""
    from nmt_cli.data.split import writing

    if any(objects):
        with writing(directory / objects_name(split)):
            text = json.dumps(objects, ensure_ascii=False, separators=(",", ":"))
            (directory / objects_name(split)).write_text(text + "\n", "utf-8")


def read_objects(files: Manifest, split: str, images: int) -> list[Boxes] | None:
    """The objects of all images of a split, or None if they are not known."""
    name = objects_name(split)
    if name not in files:
        return None
    try:
        content = parse_json(files.read(name))
        found = [tuple((str(word), *map(float, edges)) for word, *edges in image) for image in content]
        if len(found) != images or any(len(box) != 5 for image in found for box in image):
            raise ValueError("not the objects of the images")
    except (ValueError, TypeError) as error:
        path = files.directory.path / name
        raise DirectoryError(f"{path} is damaged: {error}", hint=AGAIN) from error
    return found  # type: ignore[return-value]
