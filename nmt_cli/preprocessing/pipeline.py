"""From parallel text to a data directory: read, clean, compare, build the vocabulary, encode, describe.

Training text is processed block by block and spooled to disk in between, so memory does not grow with the corpus.
Randomness depends on `data.seed` only, and workers return results in order, so the same input gives the same bytes
with any number of workers.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from nmt_cli.config.data import DEFAULT_SIZE
from nmt_cli.corpus import Spec, parse_spec
from nmt_cli.corpus.checks.inspector import Inspector, compare_sets
from nmt_cli.corpus.cleaning import Cleaner, normalization_of
from nmt_cli.corpus.workers import WorkerPool
from nmt_cli.data.directory import CorpusRows, SplitWriter
from nmt_cli.errors import CorpusError, DataWarning, UsageError
from nmt_cli.files.atomic import MANIFEST, new_directory, new_file
from nmt_cli.files.byte_stream import Progress
from nmt_cli.files.languages import AUDIO, IMAGE, check_language
from nmt_cli.files.manifest import Manifest, data_refusal
from nmt_cli.preprocessing.alignments import AlignmentFile, check_alignments
from nmt_cli.preprocessing.captions import ImageRun
from nmt_cli.preprocessing.card import DataCard, finish_directory
from nmt_cli.preprocessing.encoding import LinkStatistics, PageEncoder, SplitStatistics, SpoolEncoder
from nmt_cli.preprocessing.media import parse_specs
from nmt_cli.preprocessing.request import (
    PreprocessRequest,
    Reporter,
    for_monolingual_text,
    for_recordings,
    with_backbone_default,
    with_vocabulary,
)
from nmt_cli.preprocessing.splits import DropLog, HeldOutFingerprints, HeldOutSet, TrainingText, read_heldout
from nmt_cli.preprocessing.tags import (
    check_only_train_is_tagged,
    check_tags_are_pieces,
    check_tags_stay,
    few_tagged_pairs,
)
from nmt_cli.preprocessing.token_links import MOST_TOKEN_PAIRS
from nmt_cli.preprocessing.transcripts import RecordingRun
from nmt_cli.runtime.placeholders import SYMBOLS
from nmt_cli.vocabulary import Vocabularies

HELD_OUT = ("valid", "test")
# Text needed per piece of the vocabulary; Multi30k has 400 characters for each of its 8000 pieces.
_CHARACTERS_PER_PIECE = 100


def preprocess(request: PreprocessRequest, report: Reporter = lambda report: None) -> DataCard:
    """Write the data directory `request.out` and return its data card."""
    if request.has_media:
        request = replace(request, source_lang=IMAGE if request.has_images else AUDIO)
    for language in (request.source_lang, request.target_lang)[request.is_monolingual :]:
        check_language(language)
    if not request.train:
        raise UsageError("there is no training corpus", hint="give at least one with --train SPEC")
    if request.settings.config.data.backbone is not None and not request.has_images:
        raise UsageError(
            "data.backbone needs images", hint="give their folder with --images, or leave it out"
        )
    if request.is_monolingual:
        request = replace(request, settings=for_monolingual_text(request.settings))
    if request.has_media:
        what = "images" if request.has_images else "recordings"
        if request.alignments:
            raise UsageError(
                f"--alignments cannot be used together with --{'images' if request.has_images else 'audio'}",
                hint=f"leave it out: it links words, and the sources are {what}",
            )
        settings = for_monolingual_text(request.settings, what=f"the sources are {what}")
        if request.has_audio and request.vocabulary is None:
            settings = for_recordings(settings)
        if request.has_images and settings.config.data.backbone is not None:
            from nmt_cli.data.backbone import default_image_size  # imports torch

            size = default_image_size(settings.config.data.backbone)
            settings = with_backbone_default(settings, "image_size", size)
        request = replace(request, settings=settings)
        specs, paths = (
            {},
            [spec.path for group in parse_specs(request).values() for spec in group if spec.path],
        )
    else:
        specs = {name: _parse(request, getattr(request, name)) for name in ("train", *HELD_OUT)}
        check_only_train_is_tagged(specs)
        paths = [file for group in specs.values() for spec in group for file in spec.paths]
        check_alignments(request.alignments, specs["train"])
        paths += request.alignments
    _check_dropped(request, paths)
    vocabularies = None
    if request.vocabulary is not None:
        vocabularies = given_vocabularies(request.vocabulary)
        request = replace(request, settings=with_vocabulary(request.settings, vocabularies))
        check_tags_are_pieces(specs.get("train", ()), vocabularies)
    with (
        new_directory(request.out, overwrite=request.overwrite, refusal=data_refusal) as directory,
        _drop_log(request) as drop_log,
        WorkerPool(request.workers) as pool,
    ):
        if request.has_media:
            run = ImageRun if request.has_images else RecordingRun
            return run(request, report, directory, drop_log).execute(vocabularies)
        return _Run(request, report, directory, drop_log, pool).execute(specs, vocabularies)


def given_vocabularies(path: Path) -> Vocabularies:
    """The vocabularies of a data or run directory, compared with its manifest, or of any other directory."""
    listed = (path / MANIFEST).exists()
    kind = "run" if (path / "run.json").exists() else "data"
    return Vocabularies.load(path, Manifest.open(path, kind) if listed else None)


def _parse(request: PreprocessRequest, texts: Sequence[str]) -> list[Spec]:
    return [
        parse_spec(text, source_lang=request.source_lang, target_lang=request.target_lang) for text in texts
    ]


def _check_dropped(request: PreprocessRequest, corpora: Sequence[Path]) -> None:
    """The list of dropped pairs must neither replace an input file nor be inside the output directory."""
    if request.dropped is None:
        return
    path, out = request.dropped.resolve(), request.out.resolve()
    if path in {file.resolve() for file in corpora}:
        raise UsageError(
            f"--dropped {request.dropped} is one of the input files", hint="choose another file name"
        )
    if path == out or out in path.parents:
        raise UsageError(
            f"--dropped {request.dropped} is inside --out {request.out}",
            hint="put the list outside that directory",
        )


@contextmanager
def _drop_log(request: PreprocessRequest) -> Iterator[DropLog]:
    names = list(request.train)
    if request.dropped is None:
        yield DropLog(names)
        return
    with new_file(request.dropped) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        yield DropLog(names, file)


def _too_few(name: str) -> DataWarning:
    return DataWarning(
        f"no-{name}",
        f"there is too little training text to hold out a {name} set",
        hint=f"give one with --{name} SPEC",
    )


class _Run:
    """One run of the pipeline, with the state that its stages share."""

    def __init__(
        self,
        request: PreprocessRequest,
        report: Reporter,
        directory: Path,
        drop_log: DropLog,
        pool: WorkerPool,
    ) -> None:
        self.request = request
        self.pool = pool
        self.report = report
        self.directory = directory
        self.drop_log = drop_log
        self.config = request.settings.config
        self.normalization = normalization_of(self.config.data)
        self.symbols: tuple[str, ...] = SYMBOLS if self.config.data.placeholders else ()
        self.tags: list[str] = []  # of the training corpora, "" for none
        self.inspectors: dict[str, list[Inspector]] = {}
        self.alignments: list[AlignmentFile] = []

    def execute(self, specs: dict[str, list[Spec]], vocabularies: Vocabularies | None) -> DataCard:
        """All stages in order."""
        scratch = self.directory / "scratch"
        scratch.mkdir()
        given = [name for name in HELD_OUT if specs[name]]
        heldout = [read_heldout(name, specs[name], partial(self._inspector, name)) for name in given]
        text = self._read_train(specs["train"], scratch)
        warnings = self._warn()
        heldout = self._separate(text, heldout)
        if vocabularies is None:
            vocabularies = self._train_vocabularies(text)
        corpora, statistics, links = self._write_train(specs["train"], text, vocabularies)
        if self.alignments:
            warnings += self._unused_links(links)
        pairs_read = text.pairs_read
        for warning in few_tagged_pairs(specs["train"], pairs_read, corpora):
            self.report(warning)
            warnings.append(warning)
        del text  # closes the memory-mapped file
        shutil.rmtree(scratch)

        splits = {"train": statistics}
        languages = (self.request.source_lang, self.request.target_lang)
        for split in heldout:
            splits[split.name] = split.write(self.directory, vocabularies, self.normalization, languages)
        card = DataCard(
            request=self.request,
            pairs_read=pairs_read,
            corpora=corpora,
            origins={split.name: split.origin for split in heldout},
            splits=splits,
            drop_log=self.drop_log,
            warnings=warnings,
            vocabularies=vocabularies,
            links=links if self.alignments else None,
        )
        finish_directory(card, self.directory, self.normalization)
        return card

    def _inspector(self, split: str, spec: Spec) -> Inspector:
        inspector = Inspector(
            spec.text, source_lang=self.request.source_lang, target_lang=self.request.target_lang
        )
        self.inspectors.setdefault(split, []).append(inspector)
        return inspector

    def _read_train(self, specs: list[Spec], scratch: Path) -> TrainingText:
        text = TrainingText(scratch, len(specs))
        if self.request.alignments:
            self.alignments = [
                AlignmentFile(path, spec) for path, spec in zip(self.request.alignments, specs, strict=True)
            ]
        self.tags = [spec.tag for spec in specs]
        check_tags_stay(self.tags, self.normalization)
        self.symbols += tuple(dict.fromkeys(filter(None, self.tags)))
        text.fill(
            specs,
            Cleaner(self.config.data, self.normalization, self.request.is_monolingual, self.tags),
            partial(self._inspector, "train"),
            self.drop_log,
            lambda done: self.report(Progress("reading and cleaning", done)),
            self.pool,
            self.alignments,
        )
        return text

    def _warn(self) -> list[DataWarning]:
        warnings = [
            warning for group in self.inspectors.values() for each in group for warning in each.warnings()
        ]
        warnings += compare_sets(self.inspectors)
        warnings += [warning for file in self.alignments for warning in file.warnings()]
        for warning in warnings:
            self.report(warning)
        return warnings

    def _separate(self, text: TrainingText, heldout: list[HeldOutSet]) -> list[HeldOutSet]:
        """Remove duplicates and held-out pairs from train; hold out the sets that were not given."""
        data = self.config.data
        known = HeldOutFingerprints.joined([split.fingerprints(self.normalization) for split in heldout])
        text.mark_known(data, known, self.tags)
        missing = [name for name in HELD_OUT if name not in {split.name for split in heldout}]
        heldout = heldout + text.hold_out(data, missing, self.tags)
        for name in missing:
            if getattr(data, f"{name}_size") and name not in {split.name for split in heldout}:
                self.report(_too_few(name))
        self.drop_log.add(text.dropped())
        if not text.count_kept():
            raise self._nothing_left(text)
        return sorted(heldout, key=lambda split: HELD_OUT.index(split.name))

    def _train_vocabularies(self, text: TrainingText) -> Vocabularies:
        settings = self.config.vocabulary
        settings = settings.model_copy(
            update={"symbols": tuple(dict.fromkeys((*settings.symbols, *self.symbols)))}
        )
        share = settings.sample / text.count_kept()
        self.report(Progress("building the vocabulary", 0))

        def lines(sides: tuple[str, ...]) -> Iterator[str]:
            random = np.random.default_rng(self.config.data.seed)
            for page, rows in text.kept():
                drawn = page.read(text.path, rows[random.random(len(rows)) < share])
                for side in sides:
                    yield from getattr(drawn.normalized(self.normalization), side)

        return Vocabularies.train(lines, settings, most=self._sensible_size(text))

    def _sensible_size(self, text: TrainingText) -> int:
        """The default size, or fewer pieces for a small corpus, where rare pieces would not be learned."""
        characters: set[str] = set()
        length = 0
        for page, rows in text.kept():
            pairs = page.read(text.path, rows)
            joined = "".join(pairs.source) + "".join(pairs.target)
            characters.update(joined)
            length += len(joined)
            if length > DEFAULT_SIZE * _CHARACTERS_PER_PIECE:
                return DEFAULT_SIZE
        return 4 + 256 + len(self.symbols) + len(characters) + length // _CHARACTERS_PER_PIECE

    def _write_train(
        self, specs: list[Spec], text: TrainingText, vocabularies: Vocabularies
    ) -> tuple[list[CorpusRows], SplitStatistics, list[LinkStatistics]]:
        encoder = PageEncoder(vocabularies, self.config.data)
        encode = SpoolEncoder(text.path, self.normalization, encoder)
        statistics, links = SplitStatistics(), [LinkStatistics() for _ in specs]
        kept = np.zeros(len(specs), dtype=np.int64)
        done, total = 0, text.count_kept()
        sizes = len(vocabularies.source), len(vocabularies.target)
        path = self.directory / "train.arrow"
        with SplitWriter(path, *sizes, links=bool(self.alignments)) as writer:
            for (page, rows), encoded in self.pool.map(encode, text.kept()):
                self.drop_log.add(encoded.dropped)
                writer.write(
                    encoded.source_text,
                    encoded.target_text,
                    encoded.source_ids,
                    encoded.target_ids,
                    encoded.links,
                )
                statistics.add(encoded.statistics)
                links[page.corpus].add(encoded.link_statistics)
                kept[page.corpus] += encoded.statistics.pairs
                done += len(rows)
                self.report(Progress("encoding", done, total))
        if not statistics.pairs:
            raise self._nothing_left(text)
        ends = np.cumsum(kept)
        ranges = zip(specs, ends - kept, ends, strict=True)
        corpora = [CorpusRows(spec.text, int(a), int(b), spec.weight) for spec, a, b in ranges]
        return corpora, statistics, links

    def _unused_links(self, statistics: list[LinkStatistics]) -> list[DataWarning]:
        warnings = []
        for path, links in zip(self.request.alignments, statistics, strict=True):
            if links.left_out:
                warnings.append(
                    DataWarning(
                        "changed-words",
                        f"{path}: {links.left_out:,} links of {links.pairs_changed:,} pairs are not used, because "
                        "normalization or the vocabulary changed their words",
                        hint="align the text after normalization, and preprocess that text",
                    )
                )
            if links.too_many_tokens:
                warnings.append(
                    DataWarning(
                        "long-words",
                        f"{path}: {links.too_many_tokens:,} links of {links.pairs_too_many:,} pairs are not used, "
                        f"because their words have more than {MOST_TOKEN_PAIRS:,} pairs of tokens",
                        hint="segment text in a script without spaces into words before aligning it",
                    )
                )
        for warning in warnings:
            self.report(warning)
        return warnings

    def _nothing_left(self, text: TrainingText) -> CorpusError:
        known = self.drop_log.counts.get("in_heldout", 0)
        unit = "lines" if self.request.is_monolingual else "pairs"
        hint = f"list all dropped {unit} with --dropped FILE; --keep-all disables the filters"
        if 2 * known > self.drop_log.total:
            hint = (
                f"the training corpus is the validation or test set: use other {unit}, or leave that set out"
            )
        return CorpusError(
            f"all {sum(text.pairs_read)} training {unit} were dropped: {self.drop_log.summary()}", hint=hint
        )
