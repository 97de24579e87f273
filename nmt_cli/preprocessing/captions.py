"""Captioned images: the pixels of each image are stored, or the features that a backbone computes from them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.captions import MediaItem, MediaSpec, read_captions
from nmt_cli.corpus.images import ImageReader
from nmt_cli.data.images import Boxes, ImageWriter
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.byte_stream import Progress
from nmt_cli.files.languages import images_name
from nmt_cli.preprocessing.media import MediaRun, StoredItem
from nmt_cli.preprocessing.request import PreprocessRequest, Reporter, with_backbone_default
from nmt_cli.preprocessing.splits import DropLog

if TYPE_CHECKING:
    from nmt_cli.data.backbone import Backbone


class ImageRun(MediaRun):
    """Captioned images; without a given vocabulary, one is trained on the captions."""

    noun, text_noun, stage = "image", "caption", "decoding"
    bad = "bad_image"

    def __init__(
        self, request: PreprocessRequest, report: Reporter, directory: Path, drop_log: DropLog
    ) -> None:
        super().__init__(request, report, directory, drop_log)
        self.reader = ImageReader(request.images, self.config.image_size)
        self.backbone = self._open_backbone()

    def items(self, spec: MediaSpec) -> Iterator[MediaItem]:
        """See MediaRun."""
        return read_captions(spec)

    def read(self, item: MediaItem) -> tuple[NDArray[Any], Boxes] | CorpusError:
        """See MediaRun."""
        return self.reader(item)

    def writer(self, split: str) -> ImageWriter:
        """See MediaRun."""
        layout = self.reader.layout if self.backbone is None else (self.backbone.shape, np.float32)
        return ImageWriter(self.directory / images_name(split), *layout)

    def figures(self, items: int, pairs: int, writer: ImageWriter) -> tuple[str, ...]:
        """See MediaRun."""
        return f"{items:,}", f"{pairs / max(1, items):.2f}"

    def converted(self, block: list[StoredItem], pool: ThreadPoolExecutor) -> list[StoredItem]:
        """Features in place of pixels. The batches are the same with any number of workers, and so are the bytes."""
        if self.backbone is None or not block:
            return block
        pixels = np.stack([each.content for each in block])
        batches = [
            pixels[first : first + self.backbone.at_once]
            for first in range(0, len(pixels), self.backbone.at_once)
        ]
        features = np.concatenate(list(pool.map(self.backbone, batches)))
        return [each._replace(content=row) for each, row in zip(block, features, strict=True)]

    def _open_backbone(self) -> Backbone | None:
        """The network that computes features, with its weights in the directory, where runs find them."""
        if self.config.backbone is None:
            return None
        if self.reader.has_features:
            raise UsageError(
                "data.backbone computes features, but --images names a file that has them already",
                hint="leave out one or the other",
            )
        from nmt_cli.data.backbone import Backbone, use_one_thread  # imports torch

        # Workers compute features in parallel. With more threads, rounding could depend on their number.
        use_one_thread()
        self.report(Progress("loading the backbone", 0))
        backbone = Backbone.read(self.config)
        backbone.save(self.directory)
        settings = with_backbone_default(self.request.settings, "backbone_layer", backbone.layer)
        self.request = replace(self.request, settings=settings)
        return backbone
