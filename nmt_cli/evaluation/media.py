"""Test sets whose sources are not text: images with several captions each, or recordings with transcripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nmt_cli.corpus.captions import MediaItem, parse_caption_spec, read_captions
from nmt_cli.corpus.images import ImageReader
from nmt_cli.corpus.transcripts import parse_transcript_spec, read_transcripts
from nmt_cli.data.audio import AudioReader
from nmt_cli.data.images import Boxes, Images, group_captions, reference_columns
from nmt_cli.data.recordings import Recordings
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.evaluation.captions import caption_result
from nmt_cli.evaluation.request import EvaluateRequest, TestSet
from nmt_cli.evaluation.systems import System, load_model, run_details
from nmt_cli.evaluation.texts import Text
from nmt_cli.files.byte_stream import Progress
from nmt_cli.translator import Captioner, Details, MediaTranslator, Transcriber, Translation

if TYPE_CHECKING:
    from nmt_cli.run import RunDirectory

# How messages speak of models that read images and of those that read recordings.
_VERBS = {"image": "describes images", "audio": "transcribes recordings"}
_KINDS = {"image": "captioning", "audio": "speech recognition"}
_SOURCES = {
    "image": "images with captions: --source captions.jsonl",
    "audio": "recordings with transcripts: --source test.jsonl",
}


@dataclass(frozen=True)
class MediaTestSet(TestSet):
    """Images or recordings, each with one or more texts; the objects in images, where they are known."""

    name: str
    item_names: Sequence[str]
    texts: Sequence[Sequence[str]]
    media: Images | Recordings
    objects: Sequence[Boxes] | None

    def references(self) -> list[Text]:
        """First texts, second texts, …; blank where an image has fewer."""
        columns = reference_columns(self.texts)
        names = [self.name, *(f"{self.name} ({number})" for number in range(2, len(columns) + 1))]
        return [
            Text.of_lines(name, [text or "" for text in column])
            for name, column in zip(names, columns, strict=True)
        ]

    def source(self) -> None:
        """There is no source text."""


def find_media_test_set(request: EvaluateRequest, systems: Sequence[System]) -> MediaTestSet | None:
    """The test set if the systems read images or recordings: that of `--source`, or the one stored in the runs."""
    reading = [system for system in systems if system.run is not None and system.run.reads != "text"]
    if not reading:
        return None
    runs = [system.run for system in reading if system.run is not None]
    kind = runs[0].reads
    if len(reading) < len(systems) or any(run.reads != kind for run in runs):
        raise UsageError(
            f"{reading[0].path} {_VERBS[kind]}, but other systems do not",
            hint=f"compare {_KINDS[kind]} runs only, or save their output with --save-hypotheses and give --reference",
        )
    if request.references:
        raise UsageError(f"{_KINDS[kind]} models take no --reference", hint=f"give {_SOURCES[kind]}")
    if kind == "audio" or request.source is None:
        check_same_input(runs)
    if request.source is not None:
        return _images_of(request.source, runs) if kind == "image" else _recordings_of(request.source, runs)
    found = [_stored(system) for system in reading]
    for system, other in zip(reading[1:], found[1:], strict=True):
        if (other.item_names, other.texts) != (found[0].item_names, found[0].texts):
            raise UsageError(
                f"{system.path} and {reading[0].path} have different test sets",
                hint=f"choose one for all: {_SOURCES[kind].partition(': ')[2]}",
            )
    return found[0]


def describe(
    system: System,
    test_set: MediaTestSet,
    *,
    search: Mapping[str, Any],
    device: str,
    report: Callable[[Progress], None],
) -> None:
    """Caption all images, or transcribe all recordings, with a run; `search` overrides its settings."""
    assert system.run is not None
    run = system.run
    translator, model = load_model(run, search, device, Captioner if run.reads == "image" else Transcriber)
    assert isinstance(translator, MediaTranslator)
    media = test_set.media
    details = Details(attention=test_set.objects is not None and translator.has_attention)
    began, done = time.monotonic(), 0
    stage = f"{'describing images' if run.reads == 'image' else 'transcribing'} with {system.name}"
    found: dict[int, Translation] = {}
    report(Progress(stage, 0, len(media)))
    for rows, texts in translator.describe_batches(media.rows(), test_set.item_names, details=details):
        found.update(zip(rows.tolist(), texts, strict=True))
        done += len(rows)
        report(Progress(stage, done, len(media)))
    in_order = [found[row] for row in range(len(media))]
    system.translator, system.hypotheses = translator, [each.text for each in in_order]
    system.details = run_details(run, model, translator.config, time.monotonic() - began)
    if run.reads == "image":
        objects = test_set.objects if details.attention else None
        system.captions = caption_result(in_order, test_set.texts, objects)


def _stored(system: System) -> MediaTestSet:
    run = system.run
    assert run is not None
    texts = run.held_out("test")
    media = run.images("test") if run.reads == "image" else run.recordings("test")
    if texts is None or media is None:
        choice = _SOURCES[run.reads].partition(": ")[2]
        raise UsageError(f"{system.path} has no test set", hint=f"choose one: {choice}")
    names, captions = texts
    # The pairs of an image follow each other, and images are numbered in this order.
    changes = [row == 0 or names[row] != names[row - 1] for row in range(len(names))]
    groups = group_captions(np.cumsum(changes) - 1, captions)
    first = [names[rows[0]] for rows, _ in groups]
    name = f"{system.name}/test.{run.facts.target_lang}"
    objects = run.objects("test") if run.reads == "image" else None
    return MediaTestSet((), None, None, name, first, [found for _, found in groups], media, objects)


def check_same_input(runs: Sequence[RunDirectory]) -> None:
    """Raise an error unless all models read the same pixels, features or frames of an item."""
    first = runs[0]
    for run in runs[1:]:
        if run.reads == "image":
            same = run.image_input == first.image_input
            problem = "use different image sizes or backbones"
        else:
            same = run.frame_input == first.frame_input
            problem = "read different frames: data.sample_rate or data.mel_bands differ"
        if not same:
            raise UsageError(f"{run.path} and {first.path} {problem}", hint="evaluate them one at a time")


def _images_of(path: Path, runs: Sequence[RunDirectory]) -> MediaTestSet:
    """Images with captions in a file; the images are in its folder."""
    first = runs[0].config
    if any(run.config.model.source == "features" and not run.config.data.backbone for run in runs):
        raise UsageError(
            "a model that reads features without a backbone can be evaluated only on the test set of its run",
            hint="omit --source",
        )
    for run in runs[1:]:
        if run.image_input != runs[0].image_input:
            raise UsageError(
                f"{run.path} and {runs[0].path} read images of different sizes, or with different backbones",
                hint="evaluate them one at a time",
            )
    found: list[MediaItem] = list(read_captions(parse_caption_spec(str(path), "")))
    if not found:
        raise UsageError(f"{path} has no images", hint="give images with captions, such as captions.jsonl")
    reader, backbone = ImageReader([path.parent], first.data.image_size), runs[0].backbone
    at_once = len(found) if backbone is None else backbone.at_once
    blocks, objects = [], list[Boxes]()
    for start in range(0, len(found), at_once):
        pixels = []
        for image in found[start : start + at_once]:
            read = reader(image)
            if isinstance(read, CorpusError):
                raise read
            pixels.append(read[0])
            objects.append(read[1])
        blocks.append(np.stack(pixels) if backbone is None else backbone(np.stack(pixels)))
    media = Images(blocks[0] if len(blocks) == 1 else np.concatenate(blocks))
    return _of_items(path, found, media, objects if any(objects) else None)


def _recordings_of(path: Path, runs: Sequence[RunDirectory]) -> MediaTestSet:
    """Recordings with transcripts in a file; their paths are relative to its folder."""
    first = runs[0].config.data
    found = list(read_transcripts(parse_transcript_spec(str(path))))
    if not found:
        raise UsageError(f"{path} has no recordings", hint="give recordings with transcripts: test.jsonl")
    reader = AudioReader(
        [path.parent],
        first.sample_rate,
        first.mel_bands,
        missing=f"paths are relative to the folder of {path}",
    )
    frames = [reader.read(item.path or reader.find(item.name)) for item in found]
    return _of_items(path, found, Recordings.of(frames), None)


def _of_items(
    path: Path, items: Sequence[MediaItem], media: Images | Recordings, objects: Sequence[Boxes] | None
) -> MediaTestSet:
    names, texts = [item.name for item in items], [item.texts for item in items]
    return MediaTestSet((), None, None, str(path), names, texts, media, objects)
