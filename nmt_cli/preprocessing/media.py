"""From media with texts to a data directory: the same stages as for text, with a number as the source of each pair.

Media are images with captions (`captions`) or recordings with transcripts (`transcripts`). Their texts are cleaned as
monolingual text is. Every item is decoded once and stored once; a pair has its number. A training item that cannot be
decoded is reported and dropped with its texts; one of a validation or test set is an error, because those sets are
never changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config.data import DEFAULT_SIZE
from nmt_cli.corpus.block import Block
from nmt_cli.corpus.captions import MediaItem, MediaSpec, parse_caption_spec
from nmt_cli.corpus.cleaning import Cleaner, Dropped, Normalization, read_replacements
from nmt_cli.corpus.transcripts import parse_transcript_spec
from nmt_cli.data.directory import CorpusRows, SplitWriter
from nmt_cli.data.images import Boxes, ImageWriter, write_objects
from nmt_cli.errors import CorpusError, DataWarning
from nmt_cli.files.byte_stream import Progress
from nmt_cli.files.languages import text_names
from nmt_cli.preprocessing.card import DataCard, finish_directory
from nmt_cli.preprocessing.encoding import Page, PageEncoder, SplitStatistics
from nmt_cli.preprocessing.request import PreprocessRequest, Reporter
from nmt_cli.preprocessing.splits import FROM_TRAIN, DropLog
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import Ragged

HELD_OUT = ("valid", "test")
_AT_ONCE = 256  # images that are decoded together
_MOST_WARNINGS = 10  # about single items of a split
_MOST_HELD_OUT = 0.05  # of the training images
_CHARACTERS_PER_PIECE = 100


@dataclass
class MediaSet:
    """The images of a split with their captions, or its recordings with their transcripts."""

    name: str
    origin: str = ""
    images: list[MediaItem] = field(default_factory=list)
    corpora: list[int] = field(default_factory=list)  # of each image: which of the --train corpora


class StoredItem(NamedTuple):
    """An image or recording as it is stored."""

    image: MediaItem
    corpus: int
    content: NDArray[np.generic]
    boxes: Boxes


def parse_specs(request: PreprocessRequest) -> dict[str, list[MediaSpec]]:
    """The corpora of each split; mistakes in their names are found before any work."""
    splits = {"train": request.train, "valid": request.valid, "test": request.test}
    return {
        name: [
            parse_transcript_spec(text)
            if request.has_audio
            else parse_caption_spec(text, request.target_lang)
            for text in texts
        ]
        for name, texts in splits.items()
    }


class MediaRun(ABC):
    """One run of the pipeline, with the state that its stages share."""

    noun: str  # as messages call an item, its text, and the stage in which items are decoded
    text_noun: str
    stage: str
    bad: str  # why one that cannot be decoded is dropped

    def __init__(
        self, request: PreprocessRequest, report: Reporter, directory: Path, drop_log: DropLog
    ) -> None:
        self.request, self.report, self.directory, self.drop_log = request, report, directory, drop_log
        self.config = request.settings.config.data
        table = self.config.normalization
        self.normalization = Normalization(self.config.lowercase, read_replacements(table) if table else ())
        self.warnings: list[DataWarning] = []
        self.media: dict[str, tuple[str, ...]] = {}  # of each split, the figures that the card shows

    @abstractmethod
    def items(self, spec: MediaSpec) -> Iterator[MediaItem]:
        """All items of a corpus."""

    @abstractmethod
    def read(self, item: MediaItem) -> tuple[NDArray[Any], Boxes] | CorpusError:
        """An item as it is stored and the objects in it, or what is wrong with it."""

    @abstractmethod
    def writer(self, split: str) -> ImageWriter:
        """Stores the items of a split."""

    @abstractmethod
    def figures(self, items: int, pairs: int, writer: ImageWriter) -> tuple[str, ...]:
        """The row of the card for a split."""

    def is_too_long(self, content: NDArray[Any]) -> bool:
        """Whether a training item is too long."""
        return False

    def converted(self, block: list[StoredItem], pool: ThreadPoolExecutor) -> list[StoredItem]:
        """A block as it is stored, if items are converted together after they were decoded."""
        return block

    def execute(self, vocabularies: Vocabularies | None) -> DataCard:
        """All stages in order."""
        specs = parse_specs(self.request)
        heldout = [self._read_heldout(name, specs[name]) for name in HELD_OUT if specs[name]]
        train, read = self._read_train(specs["train"], {one.name for each in heldout for one in each.images})
        missing = [name for name in HELD_OUT if name not in {each.name for each in heldout}]
        heldout = sorted(heldout + self._hold_out(train, missing), key=lambda each: HELD_OUT.index(each.name))
        if vocabularies is None:
            vocabularies = self._train_vocabularies(train)
        splits = {}
        for each in (train, *heldout):
            splits[each.name], kept = self._write(each, vocabularies)
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
            media=self.media,
        )
        finish_directory(card, self.directory, self.normalization)
        return card

    def _read_heldout(self, name: str, specs: Sequence[MediaSpec]) -> MediaSet:
        images: list[MediaItem] = []
        for spec in specs:
            # An item of a held-out set is stored once, with all its texts next to each other.
            found: dict[str, MediaItem] = {}
            for image in self.items(spec):
                first = found.get(image.name)
                found[image.name] = first._replace(texts=first.texts + image.texts) if first else image
            twice = next((image.name for image in images if image.name in found), None)
            if twice is not None:
                raise CorpusError(
                    f"{twice} is in two corpora of the {name} set", hint="remove it from one of them"
                )
            images += found.values()
        for image in images:
            if not any(caption.strip() for caption in image.texts):
                raise CorpusError(
                    f"{image.name} has no {self.text_noun}",
                    hint=f"add a {self.text_noun}, or remove the {self.noun} from the {name} set",
                )
        if not images:
            raise CorpusError(
                f"the {name} set is empty",
                hint=f"leave out --{name}, or give {self.text_noun}s of {self.noun}s",
            )
        return MediaSet(name, " + ".join(spec.text for spec in specs), images, [0] * len(images))

    def _read_train(self, specs: Sequence[MediaSpec], known: set[str]) -> tuple[MediaSet, list[int]]:
        """The training images with the captions that pass the filters, and how many captions were read."""
        cleaner = Cleaner(self.config, self.normalization, monolingual=True)
        train, read = MediaSet("train"), [0] * len(specs)
        for number, spec in enumerate(specs):
            for image in self.items(spec):
                read[number] += len(image.texts)
                self.report(Progress("reading and cleaning", sum(read)))
                if image.name in known and self.config.in_heldout:
                    self._drop(number, image, "in_heldout")
                    continue
                lines = [image.line] * len(image.texts)
                names = [image.name] * len(image.texts)
                cleaned = cleaner.clean(number, Block(1, names, list(image.texts), {}, numbers=lines))
                self.drop_log.add(cleaned.dropped)
                captions = cleaned.target
                if self.config.duplicate:
                    captions = list(dict.fromkeys(captions))
                    self.drop_log.add(
                        Dropped(number, image.line, "duplicate", image.name, "")
                        for _ in range(len(cleaned.target) - len(captions))
                    )
                if captions:
                    train.images.append(image._replace(texts=tuple(captions)))
                    train.corpora.append(number)
        if not train.images:
            raise self._nothing_left()
        return train, read

    def _hold_out(self, train: MediaSet, missing: Sequence[str]) -> list[MediaSet]:
        """Draw whole images, with all their captions, for the sets that were not given."""
        found: list[MediaSet] = []
        order = list(range(len(train.images)))
        Random(f"held-out images {self.config.seed}").shuffle(order)
        for name in missing:
            wanted = min(getattr(self.config, f"{name}_size"), int(_MOST_HELD_OUT * len(train.images)))
            if getattr(self.config, f"{name}_size") and not wanted:
                self._warn(
                    f"no-{name}",
                    f"there are too few training {self.noun}s to hold out a {name} set",
                    f"give --{name} SPEC",
                )
            rows, order = sorted(order[:wanted]), order[wanted:]
            images = [train.images[row] for row in rows]
            found += [MediaSet(name, FROM_TRAIN, images, [0] * wanted)] if wanted else []
        rows = sorted(order)
        train.images = [train.images[row] for row in rows]
        train.corpora = [train.corpora[row] for row in rows]
        return found

    def _train_vocabularies(self, train: MediaSet) -> Vocabularies:
        self.report(Progress("building the vocabulary", 0))
        captions = [self.normalization(text) for image in train.images for text in image.texts]
        length, characters = sum(map(len, captions)), set("".join(captions))
        most = min(DEFAULT_SIZE, 4 + 256 + len(characters) + length // _CHARACTERS_PER_PIECE)
        settings = self.request.settings.config.vocabulary
        share = settings.sample / max(1, len(captions))
        random = Random(f"vocabulary {self.config.seed}")
        drawn = [text for text in captions if share >= 1 or random.random() < share]
        return Vocabularies.train(lambda sides: iter(drawn), settings, most=most)

    def _write(self, part: MediaSet, vocabularies: Vocabularies) -> tuple[SplitStatistics, list[int]]:
        """Write the images and the pairs of a split; its statistics, and the corpus of each pair."""
        is_train = part.name == "train"
        encoder = PageEncoder(vocabularies, self.config if is_train else None)
        statistics, kept, objects, names = SplitStatistics(), list[int](), list[Boxes](), list[str]()
        captions: list[str] = []
        sizes = max(1, len(part.images)), len(vocabularies.target)
        with (
            self.writer(part.name) as images,
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
        self.media[part.name] = self.figures(len(objects), statistics.pairs, images)
        return statistics, kept

    def _decoded(self, part: MediaSet) -> Iterator[list[StoredItem]]:
        """Blocks of images with their content; those that cannot be decoded are left out."""
        refused = 0
        with ThreadPoolExecutor(self.request.workers) as pool:
            for first in range(0, len(part.images), _AT_ONCE):
                images = part.images[first : first + _AT_ONCE]
                block: list[StoredItem] = []
                for number, found in enumerate(pool.map(self.read, images), start=first):
                    image, corpus = part.images[number], part.corpora[number]
                    if isinstance(found, CorpusError):
                        refused += 1
                        self._refuse(part, image, corpus, found, warn=refused <= _MOST_WARNINGS)
                    elif part.name == "train" and self.is_too_long(found[0]):
                        self._drop(corpus, image, "too_long")
                    else:
                        block.append(StoredItem(image, corpus, *found))
                block = self.converted(block, pool)
                done = Progress(
                    f"{self.stage} {part.name} {self.noun}s", first + len(images), len(part.images)
                )
                self.report(done)
                yield block
        if refused > _MOST_WARNINGS:
            self._warn(
                self.bad.replace("_", "-"),
                f"{refused - _MOST_WARNINGS:,} more training {self.noun}s could not be read",
                "list them with --dropped FILE",
            )

    def _refuse(
        self, part: MediaSet, image: MediaItem, corpus: int, error: CorpusError, *, warn: bool
    ) -> None:
        if part.name != "train":
            raise CorpusError(
                error.message, hint=f"every {self.noun} of the {part.name} set is needed: {error.hint}"
            )
        self._drop(corpus, image, self.bad)
        if warn:
            hint = f"its {self.text_noun}s are not trained on; {error.hint}"
            self._warn(self.bad.replace("_", "-"), error.message, hint)

    def _page(self, block: Sequence[StoredItem]) -> Page:
        """One row for each caption."""
        rows = [(each, text) for each in block for text in each.image.texts]
        return Page(
            0,
            np.array([each.corpus for each, _ in rows], np.uint16),
            np.array([each.image.line for each, _ in rows], np.int64),
            [each.image.name for each, _ in rows],
            [text for _, text in rows],
        )

    def _drop(self, corpus: int, image: MediaItem, reason: str) -> None:
        self.drop_log.add(Dropped(corpus, image.line, reason, image.name, text) for text in image.texts)

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
            f"all training {self.text_noun}s were dropped: {self.drop_log.summary() or 'there are none'}",
            hint=f"list all dropped {self.text_noun}s with --dropped FILE; --keep-all disables the filters",
        )
