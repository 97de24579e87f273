"""Recordings with transcripts: how users name them, and what is said in which recording.

    x.jsonl              {"audio": "a.wav", "text": "…"} on each line; NeMo's `audio_filepath` too
    x.tsv, x.csv         a table with a header: `path` and `sentence` as in Common Voice, or `audio` and `text`
    LibriSpeech/DIR/     a folder with *.trans.txt, whose lines are the name of a recording and what is said in it

`nmt_cli.data.audio` reads the recordings themselves.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.corpus.captions import MediaItem, MediaSpec, lines_of, one_line, read_table, split_weight
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.byte_stream import check_readable, uncompressed_name

FORMS = (
    "transcripts are x.jsonl with audio and text, a .tsv or .csv with the columns path and sentence, or a folder of "
    "LibriSpeech"
)
_RECORDINGS = ("audio", "audio_filepath", "path", "file", "filename", "file_name", "wav", "recording")
_TEXTS = ("text", "sentence", "transcript", "transcription", "normalized_text")


def parse_transcript_spec(text: str) -> MediaSpec:
    """Parse a SPEC and find its files."""
    if text.startswith("hf:"):
        raise UsageError(
            f"{text}: recordings are not read from the Hugging Face hub",
            hint=f"download them and convert them to WAV; {FORMS}",
        )
    name, weight = split_weight(text)
    if not name:
        raise UsageError(f"{text!r} does not name transcripts", hint=FORMS)
    path = Path(name)
    if not path.is_dir():
        check_readable(path)
        if Path(uncompressed_name(path.name)).suffix.lower() not in (".jsonl", ".tsv", ".csv"):
            raise UsageError(f"{path} is not a known format of transcripts", hint=FORMS)
    return MediaSpec(text, path, None, None, weight)


def read_transcripts(spec: MediaSpec) -> Iterator[MediaItem]:
    """All recordings with their transcripts, in the order of the corpus; a recording occurs once."""
    assert spec.path is not None
    seen: dict[str, int] = {}
    for item in _items(spec.path):
        if item.name in seen:
            raise CorpusError(
                f"{spec.path} has two transcripts of {item.name}, in lines {seen[item.name]} and {item.line}",
                hint="remove one of them",
            )
        seen[item.name] = item.line
        yield item


def _items(path: Path) -> Iterator[MediaItem]:
    if path.is_dir():
        return _from_librispeech(path)
    if Path(uncompressed_name(path.name)).suffix.lower() == ".jsonl":
        return _from_json_lines(path)
    # Common Voice does not quote.
    rows = read_table(path, (_RECORDINGS, _TEXTS), "recordings and transcripts", FORMS, unquoted="|\t")
    return _from_table(path, rows)


def _from_table(path: Path, rows: Iterator[tuple[str, str, int]]) -> Iterator[MediaItem]:
    for name, text, number in rows:
        if not name:
            raise CorpusError(f"{path} row {number} names no recording", hint="correct or remove it")
        yield MediaItem(one_line(name), (one_line(text),), number)


def _from_json_lines(path: Path) -> Iterator[MediaItem]:
    for number, line in enumerate(lines_of(path), start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
            name, text = (
                next(content[key] for key in known if key in content) for known in (_RECORDINGS, _TEXTS)
            )
            if not (isinstance(name, str) and isinstance(text, str) and name.strip()):
                raise ValueError
        except (ValueError, TypeError, StopIteration, RuntimeError) as error:
            raise CorpusError(
                f"{path} line {number} is not a recording with its transcript: {line[:60]!r}",
                hint='write {"audio": "a.wav", "text": "forty-two"} on each line',
            ) from error
        yield MediaItem(one_line(name), (one_line(text),), number)


def _from_librispeech(folder: Path) -> Iterator[MediaItem]:
    """`84-121123-0000 GO DO YOU HEAR` in 84/121123/84-121123.trans.txt, next to 84-121123-0000.wav."""
    files = sorted(folder.rglob("*.trans.txt"))
    if not files:
        raise CorpusError(f"{folder} has no *.trans.txt", hint=FORMS)
    number = 0
    for file in files:
        for line in lines_of(file):
            number += 1
            name, _, text = line.strip().partition(" ")
            if not name:
                continue
            paths = [file.parent / f"{name}.{kind}" for kind in ("wav", "flac")]
            # Unlike Path.is_file, os.path.isfile accepts names that no file can have.
            path = next((path for path in paths if os.path.isfile(path)), paths[0])  # noqa: PTH113
            yield MediaItem(name, (one_line(text),), number, path=path)
