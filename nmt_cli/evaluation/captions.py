"""Evaluating captions: a test set of images with several references each, exact captions, and where attention looks.

An exact caption is equal to one of the references. Pointing: wherever a caption has the word of an object whose box is
known, is the position with the most attention at that word on the object? The grid is coarse, so a cell counts if any
part of it is on the object; chance is the share of such cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from nmt_cli.corpus.captions import CaptionedImage, parse_caption_spec, read_captions
from nmt_cli.corpus.images import ImageReader
from nmt_cli.data.images import Boxes, Images, group_captions, reference_columns
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.evaluation.request import EvaluateRequest, TestSet
from nmt_cli.evaluation.result import CaptionResult, Pointing
from nmt_cli.evaluation.systems import System, load_model, run_details
from nmt_cli.evaluation.texts import Text
from nmt_cli.files.byte_stream import Progress
from nmt_cli.translator import Captioner, Details, Translation
from nmt_cli.translator.translation import displayed_words, word_attention

if TYPE_CHECKING:
    from nmt_cli.run import RunDirectory


@dataclass(frozen=True)
class ImageTestSet(TestSet):
    """Images, each with one or more captions; the objects in them, where they are known."""

    name: str
    image_names: Sequence[str]
    captions: Sequence[Sequence[str]]
    images: Images
    objects: Sequence[Boxes] | None

    def references(self) -> list[Text]:
        """First captions, second captions, …; blank where an image has fewer."""
        columns = reference_columns(self.captions)
        names = [self.name, *(f"{self.name} ({number})" for number in range(2, len(columns) + 1))]
        return [
            Text.of_lines(name, [text or "" for text in column])
            for name, column in zip(names, columns, strict=True)
        ]

    def source(self) -> None:
        """There is no source text."""


def find_image_test_set(request: EvaluateRequest, systems: Sequence[System]) -> ImageTestSet | None:
    """The test set if the systems are captioning models: that of `--source`, or the one stored in the runs."""
    runs = [system for system in systems if system.run is not None]
    captioning = [
        system for system in runs if system.run is not None and system.run.config.model.reads_images
    ]
    if not captioning:
        return None
    if len(captioning) < len(systems):
        raise UsageError(
            f"{captioning[0].path} describes images, but other systems do not",
            hint="compare captioning runs only, or save captions with --save-hypotheses and give --reference",
        )
    if request.references:
        raise UsageError(
            "captioning models take no --reference", hint="give images with captions: --source captions.jsonl"
        )
    if request.source is not None:
        return _from_file(request.source, [system.run for system in captioning if system.run is not None])
    found = [_stored(system) for system in captioning]
    for system, other in zip(captioning[1:], found[1:], strict=True):
        if (other.image_names, other.captions) != (found[0].image_names, found[0].captions):
            raise UsageError(
                f"{system.path} and {captioning[0].path} have different test sets",
                hint="choose one for all: --source captions.jsonl",
            )
    return found[0]


def caption(
    system: System,
    test_set: ImageTestSet,
    *,
    search: Mapping[str, Any],
    device: str,
    report: Callable[[Progress], None],
) -> None:
    """Describe all images with a run, and measure what its attention points at; `search` overrides its settings."""
    assert system.run is not None
    run = system.run
    captioner, model = load_model(run, search, device, Captioner)
    assert isinstance(captioner, Captioner)
    images = test_set.images
    details = Details(attention=test_set.objects is not None and captioner.has_attention)
    began, stage = time.monotonic(), f"describing images with {system.name}"
    found: list[Translation] = []
    report(Progress(stage, 0, len(images)))
    for _, captions in captioner.caption_batches(images.rows(), test_set.image_names, details=details):
        found += captions
        report(Progress(stage, len(found), len(images)))
    system.translator, system.hypotheses = captioner, [each.text for each in found]
    system.details = run_details(run, model, captioner.config, time.monotonic() - began)
    exact = [each.text in captions for each, captions in zip(found, test_set.captions, strict=True)]
    system.captions = CaptionResult(
        images=len(images),
        exact=100 * float(np.mean(exact)),
        pointing=pointing(found, test_set.objects) if details.attention and test_set.objects else None,
    )


def pointing(captions: Sequence[Translation], objects: Sequence[Boxes]) -> Pointing | None:
    """How often the word for an object looks at the object; None if there is no such word."""
    hits: list[bool] = []
    chances: list[float] = []
    for translation, boxes in zip(captions, objects, strict=True):
        assert translation.attention is not None
        for word, weights in attended_words(translation):
            on_object = cells_on_object(word, boxes, len(weights))
            if any(on_object):
                hits.append(on_object[int(weights.argmax())])
                chances.append(float(np.mean(on_object)))
    if not hits:
        return None
    return Pointing(
        words=len(hits), accuracy=100 * float(np.mean(hits)), chance=100 * float(np.mean(chances))
    )


def attended_words(translation: Translation) -> list[tuple[str, Tensor]]:
    """The words of a caption, each with its attention to the positions of the image (L,)."""
    assert translation.attention is not None
    words, groups = displayed_words(translation.target_pieces, whole_words=translation.whole_words[1])
    cells = tuple((position,) for position in range(translation.attention.shape[1]))
    return list(zip(words, word_attention(translation.attention, cells, groups), strict=True))


def cells_on_object(word: str, boxes: Boxes, positions: int) -> list[bool]:
    """For each cell of a square grid, whether some of it is on an object that this word means."""
    side = isqrt(positions)
    meant = [box for box in boxes if box[0].casefold() == word.casefold()]
    if side * side != positions or not meant:
        return [False] * positions
    return [
        any(
            column / side < right
            and left < (column + 1) / side
            and row / side < bottom
            and top < (row + 1) / side
            for _, left, top, right, bottom in meant
        )
        for row in range(side)
        for column in range(side)
    ]


def _stored(system: System) -> ImageTestSet:
    run = system.run
    assert run is not None
    texts, images = run.held_out("test"), run.images("test")
    if texts is None or images is None:
        raise UsageError(f"{system.path} has no test set", hint="choose one: --source captions.jsonl")
    names, captions = texts
    # The pairs of an image follow each other, and images are numbered in this order.
    changes = [row == 0 or names[row] != names[row - 1] for row in range(len(names))]
    groups = group_captions(np.cumsum(changes) - 1, captions)
    first = [names[rows[0]] for rows, _ in groups]
    name = f"{system.name}/test.{run.facts.target_lang}"
    return ImageTestSet(
        (), None, None, name, first, [found for _, found in groups], images, run.objects("test")
    )


def _from_file(path: Path, runs: Sequence[RunDirectory]) -> ImageTestSet:
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
    found: list[CaptionedImage] = list(read_captions(parse_caption_spec(str(path), "")))
    if not found:
        raise UsageError(f"{path} has no images", hint="give images with captions, such as captions.jsonl")
    reader, backbone = ImageReader([path.parent], first.data.image_size), runs[0].backbone
    pixels, objects = [], []
    for image in found:
        read = reader(image)
        if isinstance(read, CorpusError):
            raise read
        pixels.append(read[0])
        objects.append(read[1])
    return ImageTestSet(
        (),
        None,
        None,
        str(path),
        [image.name for image in found],
        [image.captions for image in found],
        Images(np.stack(pixels) if backbone is None else backbone(np.stack(pixels))),
        objects if any(objects) else None,
    )
