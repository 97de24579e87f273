"""From captioned images to a data directory: the same stages as for text, with an image as the source of each pair.

The captions are cleaned as monolingual text is. Every image is decoded once and stored once; a pair has its number.
A training image that cannot be decoded is reported and dropped with its captions; one of a validation or test set is
an error, because those sets are never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config.data import DEFAULT_SIZE
from nmt_cli.corpus.block import Block
from nmt_cli.corpus.captions import CaptionedImage, CaptionSpec, parse_caption_spec, read_captions
from nmt_cli.corpus.cleaning import Cleaner, Dropped, Normalization, read_replacements
from nmt_cli.corpus.images import ImageReader
from nmt_cli.data.directory import CorpusRows, SplitWriter
from nmt_cli.data.images import Boxes, ImageWriter, write_objects
from nmt_cli.errors import CorpusError, DataWarning, UsageError
from nmt_cli.files.byte_stream import Progress
from nmt_cli.files.languages import images_name, text_names
from nmt_cli.preprocessing.card import DataCard, finish_directory
from nmt_cli.preprocessing.encoding import Page, PageEncoder, SplitStatistics
from nmt_cli.preprocessing.request import PreprocessRequest, Reporter, with_backbone_default
from nmt_cli.preprocessing.splits import FROM_TRAIN, DropLog
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import Ragged

if TYPE_CHECKING:
    from nmt_cli.data.backbone import Backbone

HELD_OUT = ("valid", "test")
BAD_IMAGE = "bad_image"
_AT_ONCE = 256  # images that are decoded together
_MOST_HELD_OUT = 0.05  # of the training images
_CHARACTERS_PER_PIECE = 100


@dataclass
class ImageSet:
    """The images of a split with their captions."""

    name: str
    origin: str = ""
    images: list[CaptionedImage] = field(default_factory=list)
    corpora: list[int] = field(default_factory=list)  # of each image: which of the --train corpora


class StoredImage(NamedTuple):
    """An image as it is stored."""

    image: CaptionedImage
    corpus: int
    content: NDArray[np.generic]
    boxes: Boxes


def preprocess_images(
    request: PreprocessRequest,
    report: Reporter,
    directory: Path,
    drop_log: DropLog,
    vocabularies: Vocabularies | None,
) -> DataCard:
    """Write the data directory and return its card; without `vocabularies`, one is trained on the captions."""
    return _Run(request, report, directory, drop_log).execute(vocabularies)


def parse_specs(request: PreprocessRequest) -> dict[str, list[CaptionSpec]]:
    """The corpora of each split; mistakes in their names are found before any work."""
    splits = {"train": request.train, "valid": request.valid, "test": request.test}
    return {
        name: [parse_caption_spec(text, request.target_lang) for text in texts]
        for name, texts in splits.items()
    }


class _Run:
    """One run of the pipeline, with the state that its stages share."""

    def __init__(
        self, request: PreprocessRequest, report: Reporter, directory: Path, drop_log: DropLog
    ) -> None:
        self.request, self.report, self.directory, self.drop_log = request, report, directory, drop_log
        self.config = request.settings.config.data
        table = self.config.normalization
        self.normalization = Normalization(self.config.lowercase, read_replacements(table) if table else ())
        self.reader = ImageReader(request.images, self.config.image_size)
        self.backbone = self._open_backbone()
        self.warnings: list[DataWarning] = []

    def execute(self, vocabularies: Vocabularies | None) -> DataCard:
        """All stages in order."""
        specs = parse_specs(self.request)
        heldout = [self._read_heldout(name, specs[name]) for name in HELD_OUT if specs[name]]
        train, read = self._read_train(specs["train"], {one.name for each in heldout for one in each.images})
        missing = [name for name in HELD_OUT if name not in {each.name for each in heldout}]
        heldout = sorted(heldout + self._hold_out(train, missing), key=lambda each: HELD_OUT.index(each.name))
        if vocabularies is None:
            vocabularies = self._train_vocabularies(train)
        splits, images = {}, {}
        for each in (train, *heldout):
            splits[each.name], kept, images[each.name] = self._write(each, vocabularies)
            if each is train:
                ends = np.cumsum(
                    [sum(corpus == number for corpus in kept) for number in range(len(specs["train"]))]
                )
        starts = [0, *ends.tolist()]
        corpora = [
            CorpusRows(spec.text, int(starts[number]), int(ends[number]), spec.weight)
            for number, spec in enumerate(specs["train"])
        ]
        card = DataCard(
            request=self.request,
            pairs_read=read,
            corpora=corpora,
            origins={each.name: each.origin for each in heldout},
            splits=splits,
            drop_log=self.drop_log,
            warnings=self.warnings,
            vocabularies=vocabularies,
            images=images,
        )
        finish_directory(card, self.directory, self.normalization)
        return card

    def _open_backbone(self) -> Backbone | None:
        """The network that computes features, with its weights in the directory, where runs find them."""
        if self.config.backbone is None:
            return None
        if self.reader.has_features:
            raise UsageError(
                "data.backbone computes features, but --images names a file that has them already",
                hint="leave out one or the other",
            )
        from nmt_cli.data.backbone import Backbone  # imports torch

        self.report(Progress("loading the backbone", 0))
        backbone = Backbone.read(self.config)
        backbone.save(self.directory)
        settings = with_backbone_default(self.request.settings, "backbone_layer", backbone.layer)
        self.request = replace(self.request, settings=settings)
        return backbone

    def _read_heldout(self, name: str, specs: Sequence[CaptionSpec]) -> ImageSet:
        images = [image for spec in specs for image in read_captions(spec)]
        for image in images:
            if not any(caption.strip() for caption in image.captions):
                raise CorpusError(
                    f"{image.name} has no caption", hint=f"every image of the {name} set needs one: remove it"
                )
        if not images:
            raise CorpusError(
                f"the {name} set is empty", hint=f"leave out --{name}, or give captions of images"
            )
        return ImageSet(name, " + ".join(spec.text for spec in specs), images, [0] * len(images))

    def _read_train(self, specs: Sequence[CaptionSpec], known: set[str]) -> tuple[ImageSet, list[int]]:
        """The training images with the captions that pass the filters, and how many captions were read."""
        cleaner = Cleaner(self.config, self.normalization, monolingual=True)
        train, read = ImageSet("train"), [0] * len(specs)
        for number, spec in enumerate(specs):
            for image in read_captions(spec):
                read[number] += len(image.captions)
                self.report(Progress("reading and cleaning", sum(read)))
                if image.name in known and self.config.in_heldout:
                    self._drop(number, image, "in_heldout")
                    continue
                lines = [image.line] * len(image.captions)
                names = [image.name] * len(image.captions)
                cleaned = cleaner.clean(number, Block(1, names, list(image.captions), {}, numbers=lines))
                self.drop_log.add(cleaned.dropped)
                captions = cleaned.target
                if self.config.duplicate:
                    captions = list(dict.fromkeys(captions))
                    self.drop_log.add(
                        Dropped(number, image.line, "duplicate", image.name, "")
                        for _ in range(len(cleaned.target) - len(captions))
                    )
                if captions:
                    train.images.append(image._replace(captions=tuple(captions)))
                    train.corpora.append(number)
        if not train.images:
            raise self._nothing_left()
        return train, read

    def _hold_out(self, train: ImageSet, missing: Sequence[str]) -> list[ImageSet]:
        """Draw whole images, with all their captions, for the sets that were not given."""
        found: list[ImageSet] = []
        order = list(range(len(train.images)))
        Random(f"held-out images {self.config.seed}").shuffle(order)
        for name in missing:
            wanted = min(getattr(self.config, f"{name}_size"), int(_MOST_HELD_OUT * len(train.images)))
            if getattr(self.config, f"{name}_size") and not wanted:
                self._warn(
                    f"no-{name}",
                    f"there are too few training images to hold out a {name} set",
                    f"give --{name} SPEC",
                )
            rows, order = sorted(order[:wanted]), order[wanted:]
            images = [train.images[row] for row in rows]
            found += [ImageSet(name, FROM_TRAIN, images, [0] * wanted)] if wanted else []
        rows = sorted(order)
        train.images = [train.images[row] for row in rows]
        train.corpora = [train.corpora[row] for row in rows]
        return found

    def _train_vocabularies(self, train: ImageSet) -> Vocabularies:
        self.report(Progress("building the vocabulary", 0))
        captions = [self.normalization(text) for image in train.images for text in image.captions]
        length, characters = sum(map(len, captions)), set("".join(captions))
        most = min(DEFAULT_SIZE, 4 + 256 + len(characters) + length // _CHARACTERS_PER_PIECE)
        settings = self.request.settings.config.vocabulary
        share = settings.sample / max(1, len(captions))
        random = Random(f"vocabulary {self.config.seed}")
        drawn = [text for text in captions if share >= 1 or random.random() < share]
        return Vocabularies.train(lambda sides: iter(drawn), settings, most=most)

    def _write(self, part: ImageSet, vocabularies: Vocabularies) -> tuple[SplitStatistics, list[int], int]:
        """Write the images and the pairs of a split; its statistics, the corpus of each pair, the number of images."""
        is_train = part.name == "train"
        encoder = PageEncoder(vocabularies, self.config if is_train else None)
        statistics, kept, objects, names = SplitStatistics(), list[int](), list[Boxes](), list[str]()
        captions: list[str] = []
        sizes = max(1, len(part.images)), len(vocabularies.target)
        with (
            ImageWriter(self.directory / images_name(part.name), *self._layout) as images,
            SplitWriter(self.directory / f"{part.name}.arrow", *sizes) as writer,
        ):
            for block in self._decoded(part):
                page = self._page(block)
                encoded = encoder(
                    page.normalized(self.normalization)._replace(source=[""] * len(page.source))
                )
                self.drop_log.add(page.dropped(row, reason) for row, reason in encoded.dropped)
                statistics.add(encoded.statistics)
                rows = page.take(encoded.rows)
                numbers: dict[str, int] = {}
                for each in block:
                    if each.image.name in set(rows.source) - numbers.keys():
                        numbers[each.image.name] = images.add(each.content)
                        objects.append(each.boxes)
                ids = np.array([numbers[name] for name in rows.source], np.int64)
                texts = [self.normalization(text) for text in rows.target]
                writer.write(rows.source, texts, Ragged(ids, np.arange(len(ids) + 1)), encoded.target_ids)
                kept += rows.corpus.tolist()
                names += rows.source
                captions += rows.target
        if not statistics.pairs:
            raise self._nothing_left()
        if not is_train:
            self._write_text(part.name, names, captions)
            write_objects(self.directory, part.name, objects)
        return statistics, kept, images.count

    @property
    def _layout(self) -> tuple[tuple[int, ...], type[np.generic]]:
        """The shape and type of a stored image."""
        return self.reader.layout if self.backbone is None else (self.backbone.shape, np.float32)

    def _decoded(self, part: ImageSet) -> Iterator[list[StoredImage]]:
        """Blocks of images with their content; those that cannot be decoded are left out."""
        with ThreadPoolExecutor(self.request.workers) as pool:
            for first in range(0, len(part.images), _AT_ONCE):
                images = part.images[first : first + _AT_ONCE]
                block: list[StoredImage] = []
                for number, found in enumerate(pool.map(self.reader, images), start=first):
                    image, corpus = part.images[number], part.corpora[number]
                    if isinstance(found, CorpusError):
                        self._refuse(part, image, corpus, found)
                    else:
                        block.append(StoredImage(image, corpus, *found))
                if self.backbone is not None and block:
                    block = self._with_features(block, self.backbone, pool)
                self.report(Progress(f"decoding {part.name} images", first + len(images), len(part.images)))
                yield block

    def _with_features(
        self, block: list[StoredImage], backbone: Backbone, pool: ThreadPoolExecutor
    ) -> list[StoredImage]:
        """Features in place of pixels. The batches are the same with any number of workers, and so are the bytes."""
        pixels = np.stack([each.content for each in block])
        batches = [
            pixels[first : first + backbone.at_once] for first in range(0, len(pixels), backbone.at_once)
        ]
        features = np.concatenate(list(pool.map(backbone, batches)))
        return [each._replace(content=row) for each, row in zip(block, features, strict=True)]

    def _refuse(self, part: ImageSet, image: CaptionedImage, corpus: int, error: CorpusError) -> None:
        if part.name != "train":
            raise CorpusError(
                error.message, hint=f"every image of the {part.name} set is needed: {error.hint}"
            )
        self._drop(corpus, image, BAD_IMAGE)
        self._warn("bad-image", error.message, "its captions are not trained on; " + error.hint)

    def _page(self, block: Sequence[StoredImage]) -> Page:
        """One row for each caption."""
        rows = [(each, text) for each in block for text in each.image.captions]
        return Page(
            0,
            np.array([each.corpus for each, _ in rows], np.uint16),
            np.array([each.image.line for each, _ in rows], np.int64),
            [each.image.name for each, _ in rows],
            [text for _, text in rows],
        )

    def _drop(self, corpus: int, image: CaptionedImage, reason: str) -> None:
        self.drop_log.add(Dropped(corpus, image.line, reason, image.name, text) for text in image.captions)

    def _warn(self, name: str, message: str, hint: str) -> None:
        self.warnings.append(DataWarning(name, message, hint))
        self.report(self.warnings[-1])

    def _write_text(self, split: str, names: Sequence[str], captions: Sequence[str]) -> None:
        files = text_names(split, self.request.source_lang, self.request.target_lang)
        for name, texts in zip(files, (names, captions), strict=True):
            with (self.directory / name).open("w", encoding="utf-8", newline="\n", errors="replace") as file:
                file.writelines(f"{text}\n" for text in texts)

    def _nothing_left(self) -> CorpusError:
        return CorpusError(
            f"all training captions were dropped: {self.drop_log.summary() or 'there are none'}",
            hint="list all dropped captions with --dropped FILE; --keep-all disables the filters",
        )
