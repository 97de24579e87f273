"""The data directory that `nmt preprocess` writes and `nmt train` reads.

    manifest.json                   format version, size and SHA-256 of every file below
    config.json                     resolved settings
    corpora.json                    languages; the training rows of each corpus, and its weight
    shared.model                    the vocabulary, or source.model and target.model
    train.arrow, valid.arrow, test.arrow      columns source, target (ids), source_text, target_text; train.arrow has
                                              a column links as well if word alignments were given
    train.images.npy, …                       the images, if the sources are images: see `images`
    train.frames.npy, …                       the frames, if the sources are recordings: see `recordings`

Monolingual text has no source language, and the source of every row is empty.
The splits are Arrow streams, which `datasets.Dataset.from_file` can open too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from nmt_cli.config import Config, Resolved, load_resolved
from nmt_cli.config.presets import CAPTION_PRESET, MONOLINGUAL_PRESET, SPEECH_PRESET
from nmt_cli.data.images import Images
from nmt_cli.data.recordings import Recordings
from nmt_cli.data.split import Side, Split, SplitWriter, writing
from nmt_cli.errors import DirectoryError
from nmt_cli.files.guarded import GuardedDirectory, parse_json
from nmt_cli.files.languages import AUDIO, IMAGE, is_language
from nmt_cli.files.manifest import Manifest, write_manifest
from nmt_cli.vocabulary import Vocabularies

__all__ = ["SPLITS", "CorpusRows", "DataDirectory", "Side", "Split", "SplitWriter"]

KIND = "data"
SPLITS = ("train", "valid", "test")
CORPORA, CONFIG = "corpora.json", "config.json"

_AGAIN = "`nmt preprocess` creates a new data directory"


@dataclass(frozen=True)
class CorpusRows:
    """The training rows [start, stop) of one corpus; an epoch contains each pair `weight` times."""

    name: str
    start: int
    stop: int
    weight: float = 1.0

    @classmethod
    def from_json(cls, content: Any, rows: int) -> Self:
        """The inverse of `asdict`; a ValueError or TypeError unless it describes some of `rows` training rows."""
        corpus = cls(**content)
        numbers_are_valid = type(corpus.start) is int and type(corpus.stop) is int
        if not numbers_are_valid or not 0 <= corpus.start <= corpus.stop <= rows:
            raise ValueError("the rows of a corpus are not in train.arrow")
        if not isinstance(corpus.name, str) or isinstance(corpus.weight, bool | str):
            raise TypeError("a corpus has no name or no weight")
        if not (math.isfinite(corpus.weight) and corpus.weight > 0):
            raise ValueError("the weight of a corpus is not positive")
        return corpus


def preset_for(path: Path) -> tuple[str, str] | None:
    """The preset to use for a data directory if none is given, and why; None for the default preset."""
    try:
        source_lang = GuardedDirectory(path).read_json(CORPORA)["source_lang"]
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        DirectoryError,
    ):  # `DataDirectory.open` reports the problem
        return None
    if source_lang == IMAGE:
        return CAPTION_PRESET, "captioned images"
    if source_lang == AUDIO:
        return SPEECH_PRESET, "recordings"
    return None if source_lang else (MONOLINGUAL_PRESET, "monolingual text")


@dataclass(frozen=True)
class DataDirectory:
    """An open data directory, its splits memory-mapped."""

    path: Path
    source_lang: str
    target_lang: str
    vocabularies: Vocabularies
    resolved: Resolved
    corpora: tuple[CorpusRows, ...]
    train: Split
    valid: Split | None
    test: Split | None
    files: Manifest

    @property
    def fingerprint(self) -> str:
        """Identifies the data wherever it is: the hash of the manifest, which has the hashes of all files."""
        return self.files.sha256

    @property
    def is_monolingual(self) -> bool:
        """Whether the text is monolingual: the source of every pair is empty."""
        return not self.source_lang

    @property
    def images(self) -> Images | None:
        """The training images, if the sources are images."""
        return self.train.images

    @property
    def recordings(self) -> Recordings | None:
        """The training recordings, if the sources are recordings."""
        return self.train.media if isinstance(self.train.media, Recordings) else None

    @property
    def config(self) -> Config:
        """The settings it was created with."""
        return self.resolved.config

    @classmethod
    def finish(
        cls,
        path: Path,
        *,
        source_lang: str,
        target_lang: str,
        vocabularies: Vocabularies,
        resolved: Resolved,
        corpora: Iterable[CorpusRows],
    ) -> None:
        """Write everything but the splits, which exist already, and finally the manifest."""
        content = {
            "source_lang": source_lang,
            "target_lang": target_lang,
            "corpora": [asdict(corpus) for corpus in corpora],
        }
        with writing(path):
            # File names may have bytes that are not UTF-8, which are written as escapes.
            (path / CORPORA).write_text(
                json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8", errors="backslashreplace"
            )
            (path / CONFIG).write_text(resolved.to_json(), "utf-8")
        vocabularies.save(path)
        write_manifest(path, KIND)

    @classmethod
    def open(cls, path: Path, *, hashes: bool = False) -> Self:
        """Check the manifest and all files that are used, and map the splits; with `hashes`, check the others too.

        The splits are large: they are hashed again only when they have changed.
        """
        files = Manifest.open(path, KIND)
        for name in list(files.files) if hashes else ():
            files.read(name)
        if "train.arrow" not in files:
            raise DirectoryError(f"{path} has no training data", hint=_AGAIN)
        vocabularies = Vocabularies.load(path, files)
        try:
            content = parse_json(files.read(CORPORA))
            source_lang = content["source_lang"]
        except (ValueError, KeyError, TypeError) as error:
            raise DirectoryError(f"the settings in {path} cannot be read: {error}", hint=_AGAIN) from error
        found = {
            name: _open_split(files, name, vocabularies, source_lang) if f"{name}.arrow" in files else None
            for name in SPLITS
        }
        train = found["train"]
        assert train is not None
        try:
            corpora = tuple(CorpusRows.from_json(corpus, len(train)) for corpus in content["corpora"])
            languages = content["source_lang"], content["target_lang"]
            if not (languages[0] == "" or is_language(languages[0])) or not is_language(languages[1]):
                raise ValueError("a language is not a language code")
            resolved = load_resolved(files.read(CONFIG))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DirectoryError(f"the settings in {path} cannot be read: {error}", hint=_AGAIN) from error
        return cls(
            path,
            *languages,
            vocabularies=vocabularies,
            resolved=resolved,
            corpora=corpora,
            train=train,
            valid=found["valid"],
            test=found["test"],
            files=files,
        )


def _open_split(files: Manifest, name: str, vocabularies: Vocabularies, source_lang: str) -> Split:
    target = len(vocabularies.target)
    if source_lang not in (IMAGE, AUDIO):
        return Split.open_verified(files, f"{name}.arrow", (len(vocabularies.source), target))
    kind: type[Images | Recordings] = Images if source_lang == IMAGE else Recordings
    media = kind.open_verified(files, name)
    split = Split.open_verified(files, f"{name}.arrow", (len(media), target), one_id=True)
    split.media = media
    return split
