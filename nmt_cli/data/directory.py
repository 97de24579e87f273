"""The data directory that `nmt preprocess` writes and `nmt train` reads.

    manifest.json                   format version, size and SHA-256 of every file below
    config.json                     resolved settings
    corpora.json                    languages; the training rows of each corpus, and its weight
    shared.model                    the vocabulary, or source.model and target.model
    train.arrow, valid.arrow, test.arrow      columns source, target (ids), source_text, target_text

Monolingual text has no source language, and the source of every row is empty.
The splits are Arrow streams, which `datasets.Dataset.from_file` can open too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from nmt_cli.config import Config, Resolved, load_resolved
from nmt_cli.config.presets import MONOLINGUAL_PRESET
from nmt_cli.data.split import Side, Split, SplitWriter, writing
from nmt_cli.errors import DirectoryError
from nmt_cli.files.manifest import check_manifest, write_manifest
from nmt_cli.vocabulary import Vocabularies

__all__ = ["SPLITS", "CorpusRows", "DataDirectory", "Side", "Split", "SplitWriter"]

SPLITS = ("train", "valid", "test")

_AGAIN = "`nmt preprocess` creates a new data directory"


@dataclass(frozen=True)
class CorpusRows:
    """The training rows [start, stop) of one corpus; an epoch contains each pair `weight` times."""

    name: str
    start: int
    stop: int
    weight: float = 1.0


def preset_for(path: Path) -> tuple[str, str] | None:
    """The preset to use for a data directory if none is given, and why; None for the default preset."""
    try:
        monolingual = not json.loads((path / "corpora.json").read_text("utf-8"))["source_lang"]
    except (OSError, ValueError, KeyError, TypeError):  # `DataDirectory.open` reports the problem
        return None
    return (MONOLINGUAL_PRESET, "monolingual text") if monolingual else None


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

    @property
    def is_monolingual(self) -> bool:
        """Whether the text is monolingual: the source of every pair is empty."""
        return not self.source_lang

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
            (path / "corpora.json").write_text(
                json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8", errors="backslashreplace"
            )
            (path / "config.json").write_text(resolved.to_json(), "utf-8")
        vocabularies.save(path)
        write_manifest(path, "data")

    @classmethod
    def open(cls, path: Path, *, hashes: bool = False) -> Self:
        """Check the manifest (with `hashes`, all contents) and map the splits."""
        check_manifest(path, "data", hashes=hashes)
        try:
            content = json.loads((path / "corpora.json").read_text("utf-8"))
            corpora = tuple(CorpusRows(**corpus) for corpus in content["corpora"])
            languages = str(content["source_lang"]), str(content["target_lang"])
            resolved = load_resolved(path / "config.json")
        except (OSError, ValueError, KeyError, TypeError) as error:  # pydantic's errors are ValueErrors
            raise DirectoryError(f"the settings in {path} cannot be read: {error}", hint=_AGAIN) from error
        splits = {name: path / f"{name}.arrow" for name in SPLITS}
        found = {name: Split.open(file) if file.exists() else None for name, file in splits.items()}
        if found["train"] is None:
            raise DirectoryError(f"{path} has no training data", hint=_AGAIN)
        return cls(
            path,
            *languages,
            vocabularies=Vocabularies.load(path),
            resolved=resolved,
            corpora=corpora,
            train=found["train"],
            valid=found["valid"],
            test=found["test"],
        )
