"""`Captioner`: images in, captions out. Search is that of the translator; only the sources are images."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.corpus.images import FeatureFile, decode_image
from nmt_cli.data.batches import pad_source
from nmt_cli.data.images import ImageRows, Images
from nmt_cli.data.media import MediaRows
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.model.image_encoder import ImageEncoder
from nmt_cli.run import RunDirectory
from nmt_cli.translator.media import MediaTranslator
from nmt_cli.vocabulary.token_ids import Ragged

_AT_ONCE = 64  # images in a batch


class Captioner(MediaTranslator):
    """A model that reads images, or an ensemble of such models. The source pieces of a caption are cells of a grid."""

    reads = "image"
    image_size: int  # in pixels
    feature_shape: tuple[int, ...] | None  # if the model reads features
    run: RunDirectory  # the first

    @classmethod
    def load(cls, *runs: Path | str, **options: Any) -> Self:
        """The captioning model of a run directory, or an ensemble; the options are those of `Translator.load`."""
        captioner = super().load(*runs, **options)
        opened = [RunDirectory.open(Path(run)) for run in runs]
        for other in opened[1:]:
            if other.image_input != opened[0].image_input:
                raise UsageError(
                    f"{other.path} and {opened[0].path} read images differently",
                    hint="the runs of an ensemble need the same data.image_size and the same backbone",
                )
        captioner.run = opened[0]
        captioner.image_size = captioner.run.config.data.image_size
        captioner.feature_shape = captioner.run.config.model.feature_shape
        return captioner

    @property
    def reads_files(self) -> bool:
        """Whether it can describe files of images, not only features that were computed elsewhere."""
        return self.feature_shape is None or self.run.config.data.backbone is not None

    def read(self, path: Path) -> list[tuple[str, NDArray[Any]]]:
        """The image in a file, with its name; or all rows of a file of features, if the model reads features."""
        if self.feature_shape is None or (self.reads_files and path.suffix != ".npy"):
            pixels = decode_image(path, str(path), self.image_size).pixels
            backbone = self.run.backbone
            return [(str(path), pixels if backbone is None else backbone(pixels[None])[0])]
        if path.suffix != ".npy":
            raise CorpusError(
                f"{path} is not a file of features",
                hint="this model reads features: give a .npy file of the same kind",
            )
        features = FeatureFile(path)
        if features.shape != self.feature_shape:
            raise CorpusError(
                f"the features in {path} have shape {features.shape}, not {self.feature_shape}",
                hint="compute them as those of the training data",
            )
        return [(f"{path}:{row}", features.row(str(row))) for row in range(len(features))]

    caption = MediaTranslator.describe
    caption_batches = MediaTranslator.describe_batches

    def rows_of(self, contents: Sequence[NDArray[Any]]) -> ImageRows:
        """Images as the sources of a batch."""
        return Images(np.stack(contents)).rows()

    def piece_names(self, sources: MediaRows) -> list[tuple[str, ...]]:
        """The cells of the grid, the same for all images."""
        return [position_names(self.positions)] * len(sources)

    def _loads(self, sources: MediaRows) -> tuple[NDArray[np.int64], int]:
        return np.ones(len(sources), np.int64), _AT_ONCE

    @property
    def positions(self) -> int:
        """L, the number of positions of an image that attention can look at."""
        encoder = self.models[0].encoder
        assert isinstance(encoder, ImageEncoder)
        return encoder.positions.num_embeddings

    def _pad(self, sources: Ragged | MediaRows) -> tuple[Tensor, Tensor]:
        images, _ = pad_source(sources)
        return images, torch.full((len(images),), self.positions)


def position_names(positions: int) -> tuple[str, ...]:
    """Row and column of each cell of a square grid, from 1; the numbers of the positions if they are not a square."""
    side = isqrt(positions)
    if side * side != positions:
        return tuple(str(number + 1) for number in range(positions))
    return tuple(f"{number // side + 1},{number % side + 1}" for number in range(positions))
