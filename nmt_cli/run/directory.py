"""The run directory and its layout. It is self-contained and can be copied anywhere.

    manifest.json            format version, size and SHA-256 of every file in this group
    run.json                 languages, and the location of the training data
    config.json              resolved settings, with the layer of each
    model.safetensors        the model: the best checkpoint, or the average of the best
    shared.model             the vocabulary, or source.model and target.model
    normalization.tsv        replacements to apply to text, if any
    valid.*, test.*          raw text

    README.md                model card
    metrics.jsonl            one line per report of training, drawn in curves.svg
    samples.json             the sample translations of the last validation, with attention
    scores.jsonl             results of `nmt evaluate`
    checkpoints/             inference weights of the last and the best updates
    state/                   what resume needs; current.json names the files and their SHA-256
    lock                     held by the training process

The second group changes during training, so the manifest does not list it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import torch

from nmt_cli.config import Config, Resolved, load_resolved
from nmt_cli.corpus.cleaning import Normalization, read_replacements
from nmt_cli.data.text_files import text_names
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.files import manifest
from nmt_cli.files.atomic import MANIFEST, FileFacts, cannot_write, new_directory, synchronize, write_bytes
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.run.weights import load_weights, read_tensors
from nmt_cli.vocabulary import Vocabularies

if TYPE_CHECKING:
    from nmt_cli.data.directory import DataDirectory

KIND = "run"
MODEL = "model.safetensors"
CONFIG = "config.json"
FACTS = "run.json"
NORMALIZATION = "normalization.tsv"
HELD_OUT = ("valid", "test")
_RECOPY = "copy the whole directory again, or train a new model"


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run, apart from its settings."""

    source_lang: str
    target_lang: str
    data: str  # path of the data directory, absolute
    data_sha256: str  # of its manifest: identifies the data wherever it is

    @classmethod
    def of(cls, data: DataDirectory) -> Self:
        """The facts of a run on this data."""
        return cls(data.source_lang, data.target_lang, str(data.path.resolve()), fingerprint(data.path))

    def to_json(self) -> str:
        """The content of run.json."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def fingerprint(data: Path) -> str:
    """Identifies a data directory: the hash of its manifest, which contains the hashes of all files."""
    return hashlib.sha256((data / MANIFEST).read_bytes()).hexdigest()


@dataclass(frozen=True)
class RunDirectory:
    """An open run directory."""

    path: Path
    facts: RunFacts
    resolved: Resolved

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        data: DataDirectory,
        resolved: Resolved,
        overwrite: bool,
        first_checkpoint: Callable[[Path], None],
    ) -> tuple[Self, Lock]:
        """Create the directory of a new run atomically; `first_checkpoint` writes into it before it appears."""
        facts = RunFacts.of(data)
        with new_run(path, overwrite=overwrite) as temporary:
            held = Lock(temporary)  # the lock belongs to the file, so it survives the renaming of the folder
            try:
                _fill(temporary, facts, resolved, data)
                first_checkpoint(temporary)
            except BaseException:
                held.release()
                raise
        return cls(path, facts, resolved), held

    @classmethod
    def open(cls, path: Path, *, hashes: bool = False) -> Self:
        """Check the manifest (with `hashes`, all contents) and read facts and settings."""
        manifest.check_manifest(path, KIND, hashes=hashes)
        try:
            facts = RunFacts(**json.loads((path / FACTS).read_text("utf-8")))
            resolved = load_resolved(path / CONFIG)
        except (OSError, ValueError, KeyError, TypeError) as error:  # pydantic's errors are ValueErrors
            raise DirectoryError(f"the settings in {path} cannot be read: {error}", hint=_RECOPY) from error
        return cls(path, facts, resolved)

    @property
    def config(self) -> Config:
        """The settings of the run."""
        return self.resolved.config

    @cached_property
    def vocabularies(self) -> Vocabularies:
        """The vocabularies of both sides."""
        return Vocabularies.load(self.path)

    @cached_property
    def normalization(self) -> Normalization:
        """The normalization of text before tokenization."""
        table = self.path / NORMALIZATION
        return Normalization(self.config.data.lowercase, read_replacements(table) if table.exists() else ())

    def held_out(self, split: str) -> tuple[list[str], list[str]] | None:
        """Raw lines of the validation or test set, source and target, or None.

        The source lines of monolingual text are empty.
        """
        names = text_names(split, self.facts.source_lang, self.facts.target_lang)
        files = [self.path / name for name in names]
        if not all(file.exists() for file in files):
            return None
        target = _lines(files[-1])
        source = _lines(files[0]) if self.facts.source_lang else [""] * len(target)
        if len(source) != len(target):
            raise DirectoryError(f"{files[0]} and {files[1]} have different numbers of lines", hint=_RECOPY)
        return source, target

    def check_kind(self, *, language_model: bool) -> None:
        """Raise an error if this is a language model where a translation model is needed, or vice versa."""
        if self.config.model.is_language_model == language_model:
            return
        if language_model:
            raise UsageError(
                f"{self.path} is a translation model, not a language model",
                hint=f"use nmt translate {self.path}, or nmt score with --source and --target",
            )
        raise UsageError(
            f"{self.path} is a language model and cannot translate",
            hint=f"continue text with nmt generate {self.path}; score it with nmt score {self.path} --target FILE",
        )

    def new_model(self, generator: torch.Generator) -> Seq2Seq:
        """A newly initialized model with these settings."""
        source, target = self.vocabularies.source, self.vocabularies.target
        return build_model(
            self.config.model, len(source), len(target), shared=self.vocabularies.joint, generator=generator
        )

    def load_model(self, device: torch.device | str = "cpu") -> Seq2Seq:
        """The model of this run, ready to translate."""
        facts = self._listed_facts(MODEL)
        if facts is None:
            raise DirectoryError(
                f"{self.path} has no model yet",
                hint=f"it is written after the first validation; continue with `nmt train --resume {self.path}`",
            )
        model = self.new_model(torch.Generator())
        load_weights(model, read_tensors(self.path / MODEL, facts, hint=_RECOPY), self.path / MODEL)
        return model.to(device).eval()

    def publish(self, name: str, content: bytes) -> None:
        """Replace a file that the manifest lists; the manifest is correct at every moment."""
        current = self._listed_facts(name)
        if current is not None and current["sha256"] == hashlib.sha256(content).hexdigest():
            return
        names = listed(self.path)
        manifest.write_manifest(self.path, KIND, [other for other in names if other != name])
        synchronize(self.path)
        write_bytes(self.path / name, content)
        manifest.write_manifest(self.path, KIND, sorted({*names, name}))
        synchronize(self.path)

    @property
    def model_sha256(self) -> str | None:
        """Identifies the model; None if there is none yet."""
        facts = self._listed_facts(MODEL)
        return facts["sha256"] if facts is not None else None

    def lock(self) -> Lock:
        """Lock the run for this process."""
        return Lock(self.path)

    def _listed_facts(self, name: str) -> FileFacts | None:
        content = json.loads((self.path / MANIFEST).read_text("utf-8"))
        facts: FileFacts | None = content["files"].get(name)
        return facts


@contextmanager
def new_run(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Like `new_directory`, but replaces only runs, and none that is in use."""
    replaced = Lock(path) if _is_run(path) and (path / LOCK).exists() else nullcontext()
    with replaced, new_directory(path, overwrite=overwrite, ours=_is_run) as temporary:
        yield temporary


def _is_run(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / MANIFEST).read_text("utf-8"))["kind"] == KIND)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _fill(folder: Path, facts: RunFacts, resolved: Resolved, data: DataDirectory) -> None:
    (folder / FACTS).write_text(facts.to_json(), "utf-8")
    (folder / CONFIG).write_text(resolved.to_json(), "utf-8")
    data.vocabularies.save(folder)
    for name in _texts_of(data):
        shutil.copyfile(data.path / name, folder / name)
    manifest.write_manifest(folder, KIND, listed(folder))


def _texts_of(data: DataDirectory) -> list[str]:
    names = [name for split in HELD_OUT for name in text_names(split, data.source_lang, data.target_lang)]
    names.append(NORMALIZATION)
    return [name for name in names if (data.path / name).exists()]


def _lines(path: Path) -> list[str]:
    # Not `read_text`, which treats a carriage return as the end of a line.
    return path.read_bytes().decode().removesuffix("\n").split("\n")


def listed(folder: Path) -> list[str]:
    """The files in `folder` that the manifest lists."""
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise cannot_write(folder, error) from error
    always = {FACTS, CONFIG, MODEL, NORMALIZATION}
    return sorted(
        name
        for name in names
        if name in always
        or name.endswith(".model")
        or name.startswith(tuple(f"{split}." for split in HELD_OUT))
    )


# ------------------------------------------------------------------------------------------------------------
# A lock that allows one training process per run directory.


LOCK = "lock"


class Lock:
    """Held until `release`, or until the process ends in any way."""

    def __init__(self, folder: Path) -> None:
        """Acquire the lock of `folder`, or raise an error."""
        path = folder / LOCK
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(self._descriptor, 40).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise UsageError(
                f"{folder} is in use by another process" + (f" ({owner})" if owner else ""),
                hint="wait until it is finished, or choose another --out",
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"process {os.getpid()}\n".encode())

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
