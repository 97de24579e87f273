"""Captioned images: how users name them, and which captions belong to which image.

    captions.jsonl                {"image": "a.jpg", "captions": ["…", "…"]} on each line
    captions_train2014.json       COCO: `images` with `file_name`, `annotations` with `caption`
    Flickr8k.token.txt            Flickr: a.jpg#0, a tab, a caption
    captions.txt, results.csv     a table with a header: image, caption (or image_name | comment)
    hf:ID[:CONFIG[:SPLIT]]        a dataset on the Hugging Face hub with the columns image and caption
    FILE#LIST                     only the images whose names are in the file LIST, one per line

A line of captions.jsonl may have `objects`, each with the `word` of a caption that means it and its `box` in pixels
(left, top, right, bottom), to measure where attention looks. `nmt_cli.corpus.images` reads the images themselves.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nmt_cli.corpus.spec import Spec, parse_spec
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.byte_stream import check_readable, read_chunks, uncompressed_name
from nmt_cli.files.line_reader import LineReader

FORMS = (
    "captions are captions.jsonl, COCO's annotations .json, Flickr's .token.txt, a .csv with the columns image and "
    "caption, or hf:ID[:CONFIG[:SPLIT]]"
)
_COLUMNS = (
    ("image", "image_name", "filename", "file_name", "img", "image_id"),
    ("caption", "captions", "comment", "text", "sentences", "caption_text", "raw"),
)  # names of the columns of images and of captions, the first that is there


class Box(NamedTuple):
    """Where an object is and the word for it; in fractions of the width and height of the stored square."""

    word: str
    left: float
    top: float
    right: float
    bottom: float


class MediaItem(NamedTuple):
    """One image of a corpus with all its captions, or a recording with its transcript."""

    name: str  # of the file, or the number of a row of features
    texts: tuple[str, ...]
    line: int  # where it is in the corpus, from 1
    objects: tuple[Box, ...] = ()  # in pixels of the original image
    content: bytes | None = None  # the encoded image, if it is not a file
    path: Path | None = None  # of the file, if it is known


@dataclass(frozen=True)
class MediaSpec:
    """A corpus of captioned images or of recordings as the user named it."""

    text: str
    path: Path | None  # None: on the hub
    chosen: Path | None  # a list of the images to use
    hub: Spec | None
    weight: float


def parse_caption_spec(text: str, target_lang: str) -> MediaSpec:
    """Parse a SPEC and find its files."""
    if text.startswith("hf:"):
        # Any two columns: those of captioned images are chosen when they are known.
        spec = parse_spec(text, source_lang="image", target_lang=target_lang)
        return MediaSpec(text, None, None, spec, spec.weight)
    body, weight = split_weight(text)
    name, _, chosen = body.partition("#")
    if not name:
        raise UsageError(f"{text!r} does not name captions", hint=FORMS)
    for path in filter(None, (name, chosen)):
        check_readable(Path(path))
    return MediaSpec(text, Path(name), Path(chosen) if chosen else None, None, weight)


def split_weight(text: str) -> tuple[str, float]:
    """A SPEC without its weight, and the weight, which is checked where all weights are."""
    body, at, weight = text.rpartition("@weight=")
    return (
        (body, parse_spec(f"-@weight={weight}", source_lang="a", target_lang="b").weight)
        if at
        else (text, 1.0)
    )


def read_captions(spec: MediaSpec) -> Iterator[MediaItem]:
    """All images with their captions, in the order of the corpus; an image occurs once."""
    found = _from_hub(spec) if spec.path is None else _from_file(spec.path)
    if spec.chosen is None:
        yield from found
        return
    wanted = {line.strip() for line in lines_of(spec.chosen)} - {""}
    for image in found:
        if image.name in wanted:
            wanted.discard(image.name)
            yield image
    if wanted:
        raise CorpusError(
            f"{spec.path} has no captions for {len(wanted):,} images of {spec.chosen}, such as {min(wanted)}",
            hint="the list must have the names of images that have captions",
        )


# ------------------------------------------------------------------------------------------------------------
# Captions in files.


def _from_file(path: Path) -> Iterator[MediaItem]:
    suffix = Path(uncompressed_name(path.name)).suffix.lower()
    if suffix == ".jsonl":
        return _from_json_lines(path)
    if suffix == ".json":
        return _grouped(_from_coco(path))
    if suffix in (".txt", ".token", ".csv", ".tsv"):
        lines = lines_of(path)
        first = next(lines, "")
        if "#" in first.partition("\t")[0] and "\t" in first:
            return _grouped(_from_tokens(path))
        return _grouped(read_table(path))
    raise UsageError(f"{path} is not a known format of captions", hint=FORMS)


def _from_json_lines(path: Path) -> Iterator[MediaItem]:
    for number, line in enumerate(lines_of(path), start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
            image, captions = content["image"], content.get("captions", content.get("caption"))
            captions = [captions] if isinstance(captions, str) else captions
            objects = tuple(_box(one) for one in content.get("objects", ()))
            is_name = isinstance(image, str) or (isinstance(image, int) and not isinstance(image, bool))
            if not (is_name and isinstance(captions, list) and all(isinstance(one, str) for one in captions)):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorpusError(
                f"{path} line {number} is not a captioned image: {line[:60]!r}",
                hint='write {"image": "a.jpg", "captions": ["a dog"]} on each line',
            ) from error
        yield MediaItem(one_line(str(image)), tuple(map(one_line, captions)), number, objects)


def _box(content: Any) -> Box:
    left, top, right, bottom = map(float, content["box"])
    if not isinstance(content["word"], str):
        raise TypeError
    return Box(content["word"], left, top, right, bottom)


def _from_coco(path: Path) -> Iterator[tuple[str, str, int]]:
    try:
        content = json.loads(b"".join(read_chunks(path)))
        names = {image["id"]: str(image["file_name"]) for image in content["images"]}
        for number, annotation in enumerate(content["annotations"], start=1):
            yield names[annotation["image_id"]], str(annotation["caption"]), number
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorpusError(
            f"{path} is not an annotation file of COCO captions: {type(error).__name__}: {error}"[:200],
            hint="it has `images` with id and file_name, and `annotations` with image_id and caption",
        ) from error


def _from_tokens(path: Path) -> Iterator[tuple[str, str, int]]:
    for number, line in enumerate(lines_of(path), start=1):
        name, tab, caption = line.partition("\t")
        if line.strip() and not tab:
            raise CorpusError(
                f"{path} line {number} has no tab: {line[:60]!r}", hint="write a.jpg#0, a tab, a caption"
            )
        if tab:
            yield name.rpartition("#")[0] or name, caption, number


def read_table(
    path: Path,
    known: Sequence[Sequence[str]] = _COLUMNS,
    what: str = "images and captions",
    forms: str = FORMS,
    unquoted: str = "|",
) -> Iterator[tuple[str, str, int]]:
    """Two columns of a table with a header, and the number of each row.

    known      names of the two columns, the first that is there
    unquoted   delimiters with which text is never quoted: Flickr30k separates columns by " | "
    """
    lines = lines_of(path)
    header = next(lines, None)
    if header is None:
        raise CorpusError(f"{path} is empty", hint=f"give a file with {what}")
    delimiter = max(",|\t;", key=header.count)
    names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter))]
    columns = [next((names.index(name) for name in some if name in names), None) for some in known]
    if columns[0] is None or columns[1] is None:
        raise CorpusError(
            f"{path} has no columns for {what}",
            hint=f"its columns are {', '.join(names[:20])}; {forms}",
        )
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter in unquoted else csv.QUOTE_MINIMAL
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, quoting=quoting)
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(row) <= max(columns[0], columns[1]):
            raise CorpusError(
                f"{path} row {number} has {len(row)} columns: {delimiter.join(row)[:60]!r}",
                hint=f"every row needs both columns, {what}; correct or remove it",
            )
        yield row[columns[0]].strip(), row[columns[1]], number


def _grouped(rows: Iterator[tuple[str, str, int]]) -> Iterator[MediaItem]:
    """The captions of each image together, in the order in which the images first occur."""
    captions: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for name, caption, number in rows:
        captions.setdefault(one_line(name), []).append(one_line(caption))
        lines.setdefault(one_line(name), number)
    for name, texts in captions.items():
        yield MediaItem(name, tuple(texts), lines[name])


def one_line(text: str) -> str:
    """The same text without line breaks and superfluous spaces."""
    return " ".join(text.split())


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file, which may be compressed."""
    return iter(LineReader(str(path), read_chunks(path)))


# ------------------------------------------------------------------------------------------------------------
# Captions on the hub.


def _from_hub(spec: MediaSpec) -> Iterator[MediaItem]:
    from nmt_cli.corpus.hub import load_rows

    assert spec.hub is not None
    hub, asked, number = spec.hub, spec.hub.fields, 0
    # Rows of different datasets and splits are different images, though their files may have the same names.
    origin = ":".join(filter(None, (hub.dataset, hub.config, hub.revision, *hub.data_files, hub.split)))
    for table in load_rows(hub, 256):
        names = table.column_names
        chosen = asked or tuple(next((name for name in known if name in names), "") for known in _COLUMNS)
        if not set(chosen) <= set(names):
            raise CorpusError(
                f"{spec.text} has no columns for images and captions",
                hint=f"its columns are {', '.join(names)}; choose two with hf:…#IMAGE,CAPTION",
            )
        for image, texts in zip(*(table.column(name).to_pylist() for name in chosen), strict=True):
            number += 1
            content = image.get("bytes") if isinstance(image, dict) else image
            if not isinstance(content, bytes):
                raise CorpusError(
                    f"{spec.text}: row {number} of column {chosen[0]} has no image",
                    hint="choose the columns with hf:…#IMAGE,CAPTION",
                )
            file = image.get("path") if isinstance(image, dict) else None
            captions = [texts] if isinstance(texts, str) else texts or []
            yield MediaItem(
                one_line(f"{origin} row {number}" + (f" ({file})" if file else "")),
                tuple(one_line(str(text)) for text in captions),
                number,
                content=content,
            )
