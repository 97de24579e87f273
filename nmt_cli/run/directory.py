"""The run directory and its layout. It is self-contained and can be copied anywhere.

    manifest.json            format version, size and SHA-256 of every file in this group
    run.json                 languages, and the location of the training data
    config.json              resolved settings, with the layer of each
    model.safetensors        the model: the best checkpoint, or the average of the best
    shared.model             the vocabulary, or source.model and target.model
    normalization.tsv        replacements to apply to text, if any
    backbone.safetensors     the network that computes the features of images, if any
    valid.*, test.*          raw text; also the images of captions, or the frames of recordings

    README.md                model card
    metrics.jsonl            one line per report of training, drawn in curves.svg
    samples.json             the sample translations of the last validation, with attention
    confidence.json          the confidence of the model on the validation set
    tensorboard/             events for TensorBoard, if asked for
    scores.jsonl             results of `nmt evaluate`
    checkpoints/             inference weights of the last and the best updates
    state/                   what resume needs; current.json names the files and their SHA-256
    lock                     held by the training process

The second group changes during training, so the manifest does not list it. A better model replaces the old one
while others translate with it; `files.manifest` says how.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import torch

from nmt_cli.config import Config, Resolved
from nmt_cli.corpus.cleaning import Normalization, parse_replacements, placeholder_symbols
from nmt_cli.data.images import Boxes, Images, read_objects
from nmt_cli.data.recordings import Recordings
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.files.atomic import FileFacts, cannot_write, new_directory
from nmt_cli.files.guarded import GuardedDirectory, read_all
from nmt_cli.files.languages import (
    BACKBONE,
    frame_ends_name,
    frames_name,
    images_name,
    objects_name,
    text_names,
)
from nmt_cli.files.manifest import Manifest, run_refusal, write_manifest
from nmt_cli.model import Seq2Seq
from nmt_cli.model.seq2seq import blank_model, expected_weights
from nmt_cli.run.facts import CONFIG, FACTS, KIND, MODEL, RunFacts, TensorInfo, parse_settings, read_header
from nmt_cli.run.weights import check_header, load_weights, parse_tensors
from nmt_cli.vocabulary import Vocabularies

if TYPE_CHECKING:
    from nmt_cli.data.backbone import Backbone
    from nmt_cli.data.directory import DataDirectory

NORMALIZATION = "normalization.tsv"
HELD_OUT = ("valid", "test")
Reads = Literal["text", "image", "audio"]  # what the sources of a model are
_RECOPY = "copy the whole directory again, or train a new model"


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
        """Check the manifest, and read facts and settings. All other files are checked when they are used.

        `hashes`: check all of them now.
        """
        files = Manifest.open(path, KIND)
        for name in list(files.files) if hashes else ():
            files.read(name)
        return cls(path, *parse_settings(files))

    @cached_property
    def files(self) -> Manifest:
        """The files that the manifest lists."""
        return Manifest.open(self.path, KIND)

    @property
    def config(self) -> Config:
        """The settings of the run."""
        return self.resolved.config

    @cached_property
    def vocabularies(self) -> Vocabularies:
        """The vocabularies of both sides."""
        return Vocabularies.load(self.path, self.files)

    @cached_property
    def normalization(self) -> Normalization:
        """The normalization of text before tokenization."""
        table: tuple[tuple[str, str], ...] = ()
        if NORMALIZATION in self.files:
            table = parse_replacements(self.files.read(NORMALIZATION), self.path / NORMALIZATION)
        return Normalization(self.config.data.lowercase, table, placeholder_symbols(self.config.data))

    def held_out(self, split: str) -> tuple[list[str], list[str]] | None:
        """Raw lines of the validation or test set, source and target, or None.

        The source lines of monolingual text are empty.
        """
        names = text_names(split, self.facts.source_lang, self.facts.target_lang)
        if not all(name in self.files for name in names):
            return None
        target = self._lines(names[-1])
        source = self._lines(names[0]) if self.facts.source_lang else [""] * len(target)
        if len(source) != len(target):
            one, other = (self.path / name for name in names)
            raise DirectoryError(f"{one} and {other} have different numbers of lines", hint=_RECOPY)
        return source, target

    def recordings(self, split: str) -> Recordings | None:
        """The recordings of the validation or test set, in the order of their numbers, if there are any."""
        return Recordings.open_verified(self.files, split) if frames_name(split) in self.files else None

    def images(self, split: str) -> Images | None:
        """The images of the validation or test set, in the order of their numbers, if the sources are images."""
        return Images.open_verified(self.files, split) if images_name(split) in self.files else None

    def objects(self, split: str) -> list[Boxes] | None:
        """The objects in each of these images, if they are known."""
        images = self.images(split)
        return None if images is None else read_objects(self.files, split, len(images))

    @cached_property
    def backbone(self) -> Backbone | None:
        """The network that computes the features of images for this model, if it reads such features."""
        if self.config.data.backbone is None or self.config.model.source != "features":
            return None
        from nmt_cli.data.backbone import Backbone  # imports torchvision

        backbone = Backbone.open_verified(self.files, self.config.data)
        if backbone.shape != self.config.model.feature_shape:
            raise DirectoryError(
                f"the backbone of {self.path} computes other features than the model reads", hint=_RECOPY
            )
        return backbone

    @property
    def image_input(self) -> tuple[object, ...]:
        """What an image becomes before the model reads it: models for which this is equal read the same."""
        data, weights = self.config.data, self.files.files.get(BACKBONE)
        return data.image_size, data.backbone, data.backbone_layer, weights and weights["sha256"]

    @property
    def frame_input(self) -> tuple[int, int]:
        """What determines the frames of a recording: models for which this is equal read the same."""
        return self.config.data.sample_rate, self.config.data.mel_bands

    @property
    def reads(self) -> Reads:
        """What the sources of the model are."""
        model = self.config.model
        return "image" if model.reads_images else "audio" if model.reads_frames else "text"

    def check_kind(self, *, language_model: bool = False, reads: Reads = "text") -> None:
        """Raise an error if this model is of another kind than the command needs: by default, one that translates."""
        model = self.config.model
        if model.is_language_model == language_model and self.reads == reads:
            return
        if model.reads_frames:
            raise UsageError(
                f"{self.path} is a speech recognition model, whose sources are recordings",
                hint=f"use nmt transcribe {self.path} FILE, nmt explain or nmt evaluate",
            )
        if model.reads_images:
            raise UsageError(
                f"{self.path} is a captioning model, whose sources are images",
                hint=f"use nmt caption {self.path} IMAGE, nmt explain or nmt evaluate",
            )
        if reads == "image":
            raise UsageError(
                f"{self.path} is not a captioning model: its sources are text",
                hint="train one on images: nmt preprocess --images, then nmt train --preset xu2015",
            )
        if reads == "audio":
            raise UsageError(
                f"{self.path} is not a speech recognition model: its sources are text",
                hint="train one on recordings: nmt preprocess --audio, then nmt train --preset chan2016",
            )
        if language_model:
            raise UsageError(
                f"{self.path} is a translation model, not a language model",
                hint=f"use nmt translate {self.path}, or nmt score with --source and --target",
            )
        raise UsageError(
            f"{self.path} is a language model and cannot translate",
            hint=f"continue text with nmt generate {self.path}; score it with nmt score {self.path} --target FILE",
        )

    def load_model(self, device: torch.device | str = "cpu") -> Seq2Seq:
        """The model of this run, ready to translate."""
        self.files.refresh()
        if MODEL not in self.files:
            raise DirectoryError(
                f"{self.path} has no model yet",
                hint=f"it is written after the first validation; continue with `nmt train --resume {self.path}`",
            )
        return self.files.use(MODEL, self._load).to(device).eval()

    def _load(self, descriptor: int, facts: FileFacts) -> Seq2Seq:
        """The model in an open file. It is built while the same bytes are hashed; hashing does not hold the GIL."""
        path = self.path / MODEL
        self.check_sizes(read_header(descriptor, path, hint=_RECOPY), path)
        content = read_all(descriptor)
        with ThreadPoolExecutor(1) as pool:
            verifying = pool.submit(self.files.verify, MODEL, content, facts)
            try:
                sizes = len(self.vocabularies.source), len(self.vocabularies.target)
                model = blank_model(self.config.model, *sizes, shared=self.vocabularies.joint)
                load_weights(model, parse_tensors(content, path, hint=_RECOPY), path)
            finally:
                verifying.result()  # that the file was changed is the better error
        return model

    def check_sizes(self, header: Mapping[str, TensorInfo], path: Path) -> None:
        """Raise an error unless the weights in a file are those of these settings, before memory is allocated."""
        config, vocabularies = self.config.model, self.vocabularies
        if max(config.encoder_layers, config.decoder_layers) > len(header):
            raise DirectoryError(f"{path} has fewer layers than {self.path / CONFIG} says", hint=_RECOPY)
        sizes = len(vocabularies.source), len(vocabularies.target)
        try:
            expected = expected_weights(config, *sizes, shared=vocabularies.joint)
        except (
            RuntimeError,
            OverflowError,
            TypeError,
            ValueError,
        ) as error:  # sizes beyond those of any tensor
            raise DirectoryError(
                f"{self.path / CONFIG} describes an impossible model", hint=_RECOPY
            ) from error
        check_header(header, expected, path)

    def publish(self, name: str, content: bytes) -> None:
        """Replace a file that the manifest lists; readers find the old or the new one at every moment."""
        self.files.publish(name, content)

    @property
    def model_sha256(self) -> str | None:
        """Identifies the model; None if there is none yet."""
        self.files.refresh()
        return self.files.files[MODEL]["sha256"] if MODEL in self.files else None

    def lock(self) -> Lock:
        """Lock the run for this process."""
        return Lock(self.path)

    def _lines(self, name: str) -> list[str]:
        try:
            # Not `splitlines`, which treats a carriage return as the end of a line.
            return self.files.read(name).decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise DirectoryError(f"{self.path / name} is not UTF-8", hint=_RECOPY) from error


@contextmanager
def new_run(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Like `new_directory`, but replaces only runs, and none that is in use."""
    is_run = path.is_dir() and run_refusal(path) is None
    replaced = Lock(path) if is_run and (path / LOCK).exists() else nullcontext()
    with replaced, new_directory(path, overwrite=overwrite, refusal=run_refusal) as temporary:
        yield temporary


def _fill(folder: Path, facts: RunFacts, resolved: Resolved, data: DataDirectory) -> None:
    (folder / FACTS).write_text(facts.to_json(), "utf-8")
    (folder / CONFIG).write_text(resolved.to_json(), "utf-8")
    data.vocabularies.save(folder)
    for name in _files_of(data):
        (folder / name).write_bytes(data.files.read(name))
    write_manifest(folder, KIND, listed(folder))


def _files_of(data: DataDirectory) -> list[str]:
    names = [name for split in HELD_OUT for name in text_names(split, data.source_lang, data.target_lang)]
    media = (images_name, objects_name, frames_name, frame_ends_name)
    names += [name(split) for split in HELD_OUT for name in media]
    names += [NORMALIZATION, BACKBONE]
    return [name for name in names if name in data.files]


def listed(folder: Path) -> list[str]:
    """The files in `folder` that the manifest lists."""
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise cannot_write(folder, error) from error
    always = {FACTS, CONFIG, MODEL, NORMALIZATION, BACKBONE}
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
            with GuardedDirectory(folder).open(LOCK, os.O_RDWR | os.O_CREAT) as descriptor:
                self._descriptor = os.dup(descriptor)
        except OSError as error:
            raise cannot_write(path, error) from error
        if os.fstat(self._descriptor).st_nlink > 1:  # it may be someone else's file
            os.close(self._descriptor)
            raise DirectoryError(f"{path} is a hard link to another file", hint="remove it")
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
