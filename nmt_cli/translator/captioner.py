"""`Captioner`: images in, captions out. Search is that of the translator; only the sources are images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isqrt
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.corpus.images import FeatureFile, decode_image
from nmt_cli.data.batch_plan import cut_in_order
from nmt_cli.data.batches import pad_source
from nmt_cli.data.images import ImageRows
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.model.image_encoder import ImageEncoder
from nmt_cli.run import RunDirectory
from nmt_cli.translator.segmentation import Segment, check_prefixes
from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import MAX_LOGITS, Translator
from nmt_cli.vocabulary.token_ids import Ragged

_AT_ONCE = 64  # images in a batch


class Captioner(Translator):
    """A model that reads images, or an ensemble of such models.

    The `source` of a caption is the name of its image, its source pieces are the positions of the image.
    """

    reads_images = True
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

    def caption(
        self,
        images: ImageRows,
        names: Sequence[str] | None = None,
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        prefixes: Sequence[str] | None = None,
    ) -> list[Translation]:
        """One caption for each image, in the order of the images; `prefixes` is what each of them starts with."""
        results: dict[int, Translation] = {}
        for rows, captions in self.caption_batches(images, names, details=details, prefixes=prefixes):
            results.update(zip(rows.tolist(), captions, strict=True))
        return [results[row] for row in range(len(images))]

    def caption_batches(
        self,
        images: ImageRows,
        names: Sequence[str] | None = None,
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        prefixes: Sequence[str] | None = None,
    ) -> Iterator[tuple[NDArray[np.int64], list[Translation]]]:
        """`caption` batch by batch: captions with the indices of their images."""
        labels = names if names is not None else [""] * len(images)
        starts = check_prefixes(prefixes, len(images), reverse_target=self.reverse_target)
        segments = [Segment(*pair, number) for number, pair in enumerate(zip(labels, starts, strict=True))]
        logits = self.config.width * len(self.vocabularies.target)  # of an image
        load = np.full(len(images), max(MAX_LOGITS // _AT_ONCE, logits))
        for run in cut_in_order(load, MAX_LOGITS):
            rows = np.arange(len(images))[run]
            yield rows, self._search_batch([segments[row] for row in rows], images.take(rows), details)

    @property
    def positions(self) -> int:
        """L, the number of positions of an image that attention can look at."""
        encoder = self.models[0].encoder
        assert isinstance(encoder, ImageEncoder)
        return encoder.positions.num_embeddings

    def _pad(self, sources: Ragged | ImageRows) -> tuple[Tensor, Tensor]:
        images, _ = pad_source(sources)
        return images, torch.full((len(images),), self.positions)

    def _search_batch(
        self, segments: Sequence[Segment], sources: Ragged | ImageRows, details: Details
    ) -> list[Translation]:
        pieces = position_names(self.positions)
        return [_with_pieces(each, pieces) for each in super()._search_batch(segments, sources, details)]


def position_names(positions: int) -> tuple[str, ...]:
    """Row and column of each cell of a square grid, from 1; the numbers of the positions if they are not a square."""
    side = isqrt(positions)
    if side * side != positions:
        return tuple(str(number + 1) for number in range(positions))
    return tuple(f"{number // side + 1},{number % side + 1}" for number in range(positions))


def _with_pieces(caption: Translation, pieces: tuple[str, ...]) -> Translation:
    n_best = None if caption.n_best is None else tuple(_with_pieces(each, pieces) for each in caption.n_best)
    return replace(caption, source_pieces=pieces, n_best=n_best)
