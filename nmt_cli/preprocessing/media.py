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
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config.data import DEFAULT_SIZE
from nmt_cli.corpus.block import Block
from nmt_cli.corpus.captions import MediaItem, MediaSpec, parse_caption_spec
from nmt_cli.corpus.cleaning import Cleaner, Dropped, normalization_of
from nmt_cli.corpus.transcripts import parse_transcript_spec
from nmt_cli.data.directory import CorpusRows, SplitWriter
from nmt_cli.data.images import Boxes, ImageWriter, write_objects
from nmt_cli.errors import CorpusError, DataWarning, UsageError
from nmt_cli.files.byte_stream import Progress
from nmt_cli.files.languages import text_names
from nmt_cli.preprocessing.card import DataCard, finish_directory
from nmt_cli.preprocessing.encoding import Page, PageEncoder, SplitStatistics
from nmt_cli.preprocessing.request import PreprocessRequest, Reporter
from nmt_cli.preprocessing.splits import FROM_TRAIN, DropLog
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import Ragged

HELD_OUT = ("valid", "test")
_AT_ONCE = 256  # items that are decoded together
_MOST_WARNINGS = 10  # about single items of a split
_MOST_HELD_OUT = 0.05  # of the training items
_CHARACTERS_PER_PIECE = 100


@dataclass
class MediaSet:
    """The images of a split with their captions, or its recordings with their transcripts."""

    name: str
    origin: str = ""
    items: list[MediaItem] = field(default_factory=list)
    corpora: list[int] = field(default_factory=list)  # of each item: which of the --train corpora


class StoredItem(NamedTuple):
    """An image or recording as it is stored."""

    item: MediaItem
    corpus: int
    content: NDArray[np.generic]
    boxes: Boxes


def parse_specs(request: PreprocessRequest) -> dict[str, list[MediaSpec]]:
    """The corpora of each split; mistakes in their names are found before any work."""
    splits = {"train": request.train, "valid": request.valid, "test": request.test}
    for text in chain.from_iterable(splits.values()):
        if "@tag=" in text:
            raise UsageError(
                f"{text}: @tag applies to source sentences; here, the sources are not text",
                hint="leave it out",
            )
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
        self.normalization = normalization_of(self.config)
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
        train, read = self._read_train(specs["train"], {one.name for each in heldout for one in each.items})
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
        items: list[MediaItem] = []
        for spec in specs:
            # An item of a held-out set is stored once, with all its texts next to each other.
            found: dict[str, MediaItem] = {}
            for item in self.items(spec):
                first = found.get(item.name)
                found[item.name] = _merged([first, item]) if first else item
            twice = next((item.name for item in items if item.name in found), None)
            if twice is not None:
                raise CorpusError(
                    f"{twice} is in two corpora of the {name} set", hint="remove it from one of them"
                )
            items += found.values()
        for item in items:
            if not any(text.strip() for text in item.texts):
                raise CorpusError(
                    f"{item.name} has no {self.text_noun}",
                    hint=f"add a {self.text_noun}, or remove the {self.noun} from the {name} set",
                )
        if not items:
            raise CorpusError(
                f"the {name} set is empty",
                hint=f"leave out --{name}, or give {self.text_noun}s of {self.noun}s",
            )
        return MediaSet(name, " + ".join(spec.text for spec in specs), items, [0] * len(items))

    def _read_train(self, specs: Sequence[MediaSpec], known: set[str]) -> tuple[MediaSet, list[int]]:
        """The training items with the texts that pass the filters, and how many texts were read."""
        cleaner = Cleaner(self.config, self.normalization, monolingual=True)
        train, read = MediaSet("train"), [0] * len(specs)
        for number, spec in enumerate(specs):
            for item in self.items(spec):
                read[number] += len(item.texts)
                self.report(Progress("reading and cleaning", sum(read)))
                if item.name in known and self.config.in_heldout:
                    self._drop(number, item, "in_heldout")
                    continue
                lines = [item.line] * len(item.texts)
                names = [item.name] * len(item.texts)
                cleaned = cleaner.clean(number, Block(1, names, list(item.texts), {}, numbers=lines))
                self.drop_log.add(cleaned.dropped)
                texts = cleaned.target
                if self.config.duplicate:
                    texts = list(dict.fromkeys(texts))
                    self.drop_log.add(
                        Dropped(number, item.line, "duplicate", item.name, "")
                        for _ in range(len(cleaned.target) - len(texts))
                    )
                if texts:
                    train.items.append(item._replace(texts=tuple(texts)))
                    train.corpora.append(number)
        if not train.items:
            raise self._nothing_left()
        return train, read

    def _hold_out(self, train: MediaSet, missing: Sequence[str]) -> list[MediaSet]:
        """Draw whole items, with all their texts, for the sets that were not given."""
        found: list[MediaSet] = []
        rows: dict[str, list[int]] = {}  # of each item, which may be in several corpora
        for row, item in enumerate(train.items):
            rows.setdefault(item.name, []).append(row)
        order = list(rows)
        Random(f"held-out images {self.config.seed}").shuffle(order)
        for name in missing:
            wanted = min(getattr(self.config, f"{name}_size"), int(_MOST_HELD_OUT * len(rows)))
            if getattr(self.config, f"{name}_size") and not wanted:
                self._warn(
                    f"no-{name}",
                    f"there are too few training {self.noun}s to hold out a {name} set",
                    f"give --{name} SPEC",
                )
            drawn, order = sorted(order[:wanted], key=rows.__getitem__), order[wanted:]
            items = [_merged([train.items[row] for row in rows[each]]) for each in drawn]
            found += [MediaSet(name, FROM_TRAIN, items, [0] * wanted)] if wanted else []
        kept = sorted(row for name in order for row in rows[name])
        train.items = [train.items[row] for row in kept]
        train.corpora = [train.corpora[row] for row in kept]
        return found

    def _train_vocabularies(self, train: MediaSet) -> Vocabularies:
        self.report(Progress("building the vocabulary", 0))
        texts = [self.normalization(text) for item in train.items for text in item.texts]
        length, characters = sum(map(len, texts)), set("".join(texts))
        most = min(DEFAULT_SIZE, 4 + 256 + len(characters) + length // _CHARACTERS_PER_PIECE)
        settings = self.request.settings.config.vocabulary
        share = settings.sample / max(1, len(texts))
        random = Random(f"vocabulary {self.config.seed}")
        drawn = [text for text in texts if share >= 1 or random.random() < share]
        return Vocabularies.train(lambda sides: iter(drawn), settings, most=most)

    def _write(self, part: MediaSet, vocabularies: Vocabularies) -> tuple[SplitStatistics, list[int]]:
        """Write the items and the pairs of a split; its statistics, and the corpus of each pair."""
        is_train = part.name == "train"
        encoder = PageEncoder(vocabularies, self.config if is_train else None)
        statistics, kept, objects, names = SplitStatistics(), list[int](), list[Boxes](), list[str]()
        texts: list[str] = []
        sizes = max(1, len(part.items)), len(vocabularies.target)
        with (
            self.writer(part.name) as items,
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
                    if each.item.name in set(rows.source) - numbers.keys():
                        numbers[each.item.name] = items.add(each.content)
                        objects.append(each.boxes)
                ids = np.array([numbers[name] for name in rows.source], np.int64)
                normalized = [self.normalization(text) for text in rows.target]
                writer.write(
                    rows.source, normalized, Ragged(ids, np.arange(len(ids) + 1)), encoded.target_ids
                )
                kept += rows.corpus.tolist()
                names += rows.source
                texts += rows.target
        if not statistics.pairs:
            raise self._nothing_left()
        if not is_train:
            self._write_text(part.name, names, texts)
            write_objects(self.directory, part.name, objects)
        self.media[part.name] = self.figures(len(objects), statistics.pairs, items)
        return statistics, kept

    def _decoded(self, part: MediaSet) -> Iterator[list[StoredItem]]:
        """Blocks of items with their content; those that cannot be decoded are left out."""
        refused = 0
        with ThreadPoolExecutor(self.request.workers) as pool:
            for first in range(0, len(part.items), _AT_ONCE):
                items = part.items[first : first + _AT_ONCE]
                block: list[StoredItem] = []
                for number, found in enumerate(pool.map(self.read, items), start=first):
                    item, corpus = part.items[number], part.corpora[number]
                    if isinstance(found, CorpusError):
                        refused += 1
                        self._refuse(part, item, corpus, found, warn=refused <= _MOST_WARNINGS)
                    elif part.name == "train" and self.is_too_long(found[0]):
                        self._drop(corpus, item, "too_long")
                    else:
                        block.append(StoredItem(item, corpus, *found))
                block = self.converted(block, pool)
                done = Progress(f"{self.stage} {part.name} {self.noun}s", first + len(items), len(part.items))
                self.report(done)
                yield block
        if refused > _MOST_WARNINGS:
            self._warn(
                self.bad.replace("_", "-"),
                f"{refused - _MOST_WARNINGS:,} more training {self.noun}s could not be read",
                "list them with --dropped FILE",
            )

    def _refuse(
        self, part: MediaSet, item: MediaItem, corpus: int, error: CorpusError, *, warn: bool
    ) -> None:
        if part.name != "train":
            raise CorpusError(
                error.message, hint=f"every {self.noun} of the {part.name} set is needed: {error.hint}"
            )
        self._drop(corpus, item, self.bad)
        if warn:
            hint = f"its {self.text_noun}s are not trained on; {error.hint}"
            self._warn(self.bad.replace("_", "-"), error.message, hint)

    def _page(self, block: Sequence[StoredItem]) -> Page:
        """One row for each text."""
        rows = [(each, text) for each in block for text in each.item.texts]
        return Page(
            0,
            np.array([each.corpus for each, _ in rows], np.uint16),
            np.array([each.item.line for each, _ in rows], np.int64),
            [each.item.name for each, _ in rows],
            [text for _, text in rows],
        )

    def _drop(self, corpus: int, item: MediaItem, reason: str) -> None:
        self.drop_log.add(Dropped(corpus, item.line, reason, item.name, text) for text in item.texts)

    def _warn(self, name: str, message: str, hint: str) -> None:
        self.warnings.append(DataWarning(name, message, hint))
        self.report(self.warnings[-1])

    def _write_text(self, split: str, names: Sequence[str], texts: Sequence[str]) -> None:
        files = text_names(split, self.request.source_lang, self.request.target_lang)
        for name, lines in zip(files, (names, texts), strict=True):
            with (self.directory / name).open("w", encoding="utf-8", newline="\n", errors="replace") as file:
                file.writelines(f"{line}\n" for line in lines)

    def _nothing_left(self) -> CorpusError:
        return CorpusError(
            f"all training {self.text_noun}s were dropped: {self.drop_log.summary() or 'there are none'}",
            hint=f"list all dropped {self.text_noun}s with --dropped FILE; --keep-all disables the filters",
        )


def _merged(items: Sequence[MediaItem]) -> MediaItem:
    """One item with the texts of all, which are the same image or recording."""
    return items[0]._replace(texts=tuple(text for item in items for text in item.texts))
