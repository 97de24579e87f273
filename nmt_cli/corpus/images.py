"""The images of a corpus as they are stored: squares of pixels, decoded from files, or rows of features.

Images are files in one of the folders of `--images`, or rows of a file of features, `--images features.npy`; then
the name of an image is the number of a row, from 0.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.captions import Box, MediaItem
from nmt_cli.errors import CorpusError, UsageError

MAX_PIXELS = 80_000_000
"""An image with more pixels is refused: decoding it would take gigabytes."""
_FORMATS = (
    "PNG",
    "JPEG",
    "GIF",
    "BMP",
    "WEBP",
    "TIFF",
    "PPM",
)  # none that runs another program, as EPS would


class Decoded(NamedTuple):
    """An image as the model sees it."""

    pixels: NDArray[np.uint8]  # (side, side, 3)
    width: int  # of the original
    height: int

    def relative(self, box: Box) -> Box | None:
        """A box of the original in fractions of the square that was cut out of it; None if it is outside."""
        side = min(self.width, self.height)
        left, top = (self.width - side) / 2, (self.height - side) / 2
        edges = [
            min(max((edge - start) / side, 0.0), 1.0)
            for edge, start in zip(box[1:], (left, top, left, top), strict=True)
        ]
        return Box(box.word, *edges) if edges[0] < edges[2] and edges[1] < edges[3] else None


def find_image(name: str, folders: Sequence[Path]) -> Path:
    """The file of an image, in the folder that has it."""
    found = [folder for folder in folders if (folder / name).is_file()]
    if len({(folder / name).resolve() for folder in found}) > 1:
        raise UsageError(
            f"{name} is in both {found[0]} and {found[1]}",
            hint="give paths relative to a common parent folder",
        )
    if found:
        return found[0] / name
    raise CorpusError(
        f"{name} is not in {' or '.join(map(str, folders))}",
        hint="give the folder of the images with --images",
    )


def decode_image(content: Path | bytes, name: str, side: int) -> Decoded:
    """An image file scaled and cropped to a square, or an error that names it and says what is wrong.

    It is turned as its EXIF data says; an animation is its first frame; transparent pixels are white; 16 bits become
    8; CMYK and palettes become RGB.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    warnings.filterwarnings(
        "ignore", category=Image.DecompressionBombWarning
    )  # reported below, for this image
    try:
        with Image.open(
            io.BytesIO(content) if isinstance(content, bytes) else content, formats=_FORMATS
        ) as image:
            if image.width * image.height > MAX_PIXELS:
                raise _bad(name, f"has {image.width:,} × {image.height:,} pixels, more than {MAX_PIXELS:,}")
            size = _displayed_size(image)
            image.draft("RGB", (2 * side, 2 * side))  # JPEG: decode no more than is needed
            upright = ImageOps.exif_transpose(image)
            square = ImageOps.fit(_to_rgb(upright), (side, side), method=Image.Resampling.BICUBIC)
        return Decoded(np.asarray(square), *size)
    except Image.DecompressionBombError as error:
        raise _bad(name, f"has more than {MAX_PIXELS:,} pixels") from error
    except FileNotFoundError as error:
        raise _bad(name, "does not exist") from error
    except IsADirectoryError as error:
        raise _bad(name, "is a folder") from error
    except UnidentifiedImageError as error:
        raise _bad(name, f"is not an image in a known format ({', '.join(_FORMATS)})") from error
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        KeyError,
        IndexError,
        TypeError,
        MemoryError,
    ) as error:
        # What Pillow's decoders raise for damaged files.
        raise _bad(name, f"cannot be decoded: {str(error) or type(error).__name__}") from error


def _displayed_size(image: Any) -> tuple[int, int]:
    turned = image.getexif().get(0x0112) in (5, 6, 7, 8)  # orientation: on its side
    return (image.height, image.width) if turned else (image.width, image.height)


def _to_rgb(image: Any) -> Any:
    from PIL import Image

    if image.mode.startswith(("I", "F")):  # 16 or 32 bits of gray
        values = np.asarray(image, np.float64)
        values = np.nan_to_num(values / 256 if values.max(initial=0) > 255 else values)
        image = Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        layer = image.convert("RGBA")
        ground = Image.new("RGBA", layer.size, "white")
        image = Image.alpha_composite(ground, layer)
    return image.convert("RGB")


def _bad(name: str, problem: str) -> CorpusError:
    return CorpusError(f"{name} {problem}", hint="replace the image, or remove it from the captions")


class FeatureFile:
    """Features of images in one array: (N, L, D), or (N, D) for one position per image."""

    def __init__(self, path: Path) -> None:
        try:
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise CorpusError(
                f"{path} is not a NumPy array: {error}", hint="write it with numpy.save"
            ) from error
        if not isinstance(values, np.ndarray) or values.ndim not in (2, 3) or values.dtype.kind != "f":
            raise CorpusError(
                f"{path} is not an array of numbers (images, positions, size)",
                hint="write it with numpy.save, in float32 or float16",
            )
        if not values.size:
            raise CorpusError(f"{path} is empty", hint="write it with numpy.save, one row per image")
        self._path = path
        self._values = values[:, None] if values.ndim == 2 else values

    def __len__(self) -> int:
        return len(self._values)

    @property
    def shape(self) -> tuple[int, int]:
        """L and D."""
        return self._values.shape[1], self._values.shape[2]

    def row(self, name: str) -> NDArray[np.float32]:
        """The features (L, D) of one image."""
        number = int(name) if name.isdecimal() else -1
        if not 0 <= number < len(self._values):
            raise CorpusError(
                f"{name!r} is not a row of {self._path}, which has {len(self._values):,}",
                hint='with features, "image" is the number of a row, from 0',
            )
        values = np.asarray(self._values[number], np.float32)
        if not np.isfinite(values).all():
            raise CorpusError(
                f"row {number} of {self._path} has values that are not finite",
                hint="compute the features again",
            )
        return values


class ImageReader:
    """Reads images as they are stored: squares of pixels, or rows of features."""

    def __init__(self, places: Sequence[Path], side: int) -> None:
        arrays = [path for path in places if path.suffix == ".npy"]
        if arrays and len(places) > 1:
            raise UsageError(
                "--images names features and other places", hint="give one file of features, or only folders"
            )
        for path in places:
            if not path.is_dir() and path not in arrays:
                raise UsageError(
                    f"{path} is not a folder", hint="--images names a folder, or features in a .npy file"
                )
        self._features = FeatureFile(arrays[0]) if arrays else None
        self._folders, self._side = places, side

    @property
    def has_features(self) -> bool:
        """Whether images are rows of features."""
        return self._features is not None

    @property
    def layout(self) -> tuple[tuple[int, ...], type[np.generic]]:
        """The shape and type of a stored image."""
        if self._features is not None:
            return self._features.shape, np.float32
        return (self._side, self._side, 3), np.uint8

    def __call__(self, image: MediaItem) -> tuple[NDArray[np.generic], tuple[Box, ...]] | CorpusError:
        """The image and its objects, or what is wrong with it."""
        try:
            if self._features is not None:
                return self._features.row(image.name), ()
            content = image.content if image.content is not None else find_image(image.name, self._folders)
            decoded = decode_image(
                content, str(content) if isinstance(content, Path) else image.name, self._side
            )
        except CorpusError as error:
            return error
        return decoded.pixels, tuple(filter(None, map(decoded.relative, image.objects)))
