"""What resume needs. A checkpoint is a set of files that becomes current by a single rename.

    state/current.json                       position, validation history, SHA-256 of the files
    state/update-NNNNNNNN.safetensors        optimizer, loss scale, moving average
    checkpoints/update-NNNNNNNN.safetensors  inference weights of this and the best updates

New files have new names, so renaming current.json is the only step that matters: before it, the previous checkpoint
is complete; after it, the new one is. Files that it does not name are removed afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import FileFacts, cannot_write
from nmt_cli.files.guarded import JSON_LIMIT, GuardedDirectory, parse_json
from nmt_cli.files.manifest import file_facts
from nmt_cli.run.facts import TensorInfo, read_header
from nmt_cli.run.weights import infos_of, read_tensors, tensor_bytes

FORMAT = 1
STATE, WEIGHTS = "state", "checkpoints"
CURRENT = f"{STATE}/current.json"
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """Everything that determines how training continues."""

    update: int
    progress: Mapping[str, Any]  # `RunState` as JSON
    state: Mapping[str, Tensor]
    weights: Mapping[str, Tensor]


class Checkpoints:
    """The checkpoints of a run directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._directory = GuardedDirectory(folder)
        self._hint = f"copy {folder} again, or train a new model"

    def weights_path(self, update: int) -> Path:
        """Path of the inference weights of an update."""
        return self.folder / WEIGHTS / _name(update)

    def commit(self, checkpoint: Checkpoint, keep: Callable[[int], bool]) -> None:
        """Write a checkpoint, make it current, then remove weights that neither it nor `keep` needs."""
        name = _name(checkpoint.update)
        previous = self._read() if self._directory.exists(CURRENT) else None
        try:
            for part in (STATE, WEIGHTS):
                self._directory.make_folder(part)
            before: dict[str, FileFacts] = previous["files"] if previous else {}
            if previous and previous["update"] == checkpoint.update:  # only the run state has changed
                files = {f"{part}/{name}": before[f"{part}/{name}"] for part in (STATE, WEIGHTS)}
            else:
                parts = ((WEIGHTS, checkpoint.weights), (STATE, checkpoint.state))
                files = {
                    f"{part}/{name}": self._directory.write(f"{part}/{name}", tensor_bytes(tensors))
                    for part, tensors in parts
                }
            kept = {
                file: facts
                for file, facts in before.items()
                if file.startswith(WEIGHTS) and keep(_update(file))
            }
            content = {
                "format": FORMAT,
                "update": checkpoint.update,
                "progress": dict(checkpoint.progress),
                "files": {**kept, **files},
            }
            self._directory.write_json(CURRENT, content)
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        self.remove_unused()

    def load(self) -> Checkpoint:
        """The current checkpoint; raises an error if a file does not match its SHA-256."""
        content = self._read()
        name = _name(content["update"])
        tensors = {
            part: read_tensors(
                self._directory, f"{part}/{name}", content["files"][f"{part}/{name}"], hint=self._hint
            )
            for part in (STATE, WEIGHTS)
        }
        return Checkpoint(content["update"], content["progress"], tensors[STATE], tensors[WEIGHTS])

    def load_weights(self, update: int) -> dict[str, Tensor]:
        """The inference weights of a kept update."""
        name = f"{WEIGHTS}/{_name(update)}"
        facts = self._read()["files"].get(name)
        if facts is None:
            raise DirectoryError(f"{self.folder / CURRENT} does not list {name}", hint=self._hint)
        tensors = read_tensors(self._directory, name, facts, hint=self._hint)
        if infos_of(tensors) != self.header():
            raise DirectoryError(
                f"{self.folder / name} has other weights than the current checkpoint", hint=self._hint
            )
        return tensors

    def header(self) -> dict[str, TensorInfo]:
        """Shapes and types of the current inference weights, without reading the weights."""
        name = f"{WEIGHTS}/{_name(self._read()['update'])}"
        try:
            with self._directory.open(name) as descriptor:
                return read_header(descriptor, self.folder / name, hint=self._hint)
        except OSError as error:
            raise DirectoryError(
                f"cannot read {self.folder / name}: {error.strerror}", hint=self._hint
            ) from error

    def updates(self) -> list[int]:
        """All updates whose weights are kept, oldest first."""
        return sorted(_update(name) for name in self._read()["files"] if name.startswith(WEIGHTS))

    def remove_unused(self) -> None:
        """Remove files that the current checkpoint does not name, and temporary files of killed processes."""
        used = set(self._read()["files"]) | {CURRENT}
        for part in (STATE, WEIGHTS):
            self._directory.remove_partial_files(part)
            for name in self._directory.names(part):
                if name.endswith(SUFFIX) and f"{part}/{name}" not in used:
                    self._directory.remove(f"{part}/{name}")

    def _read(self) -> dict[str, Any]:
        path = self.folder / CURRENT
        try:
            if not self._directory.exists(CURRENT):
                raise DirectoryError(
                    f"{self.folder} has no state to resume from",
                    hint="start a new run from its model with `nmt train --init`",
                )
            content = parse_json(self._directory.read(CURRENT, limit=JSON_LIMIT))
            version = content["format"]
            if type(version) is not int:
                raise ValueError("format")
            if version > FORMAT:
                raise DirectoryError(
                    f"{path} has format {version}, this version of nmt reads up to {FORMAT}",
                    hint="upgrade nmt-cli",
                )
            _check(content)
        except OSError as error:
            raise DirectoryError(
                f"cannot read {path}: {error.strerror}", hint="check its permissions"
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DirectoryError(f"{path} is damaged", hint=self._hint) from error
        assert isinstance(content, dict)
        return content


def has_state(folder: Path) -> bool:
    """Whether `folder` is a run that training can continue."""
    return folder.is_dir() and GuardedDirectory(folder).exists(CURRENT)


def _check(content: Mapping[str, Any]) -> None:
    """Raise a ValueError or similar unless the content is well-formed."""
    if (
        type(content["update"]) is not int
        or content["update"] < 0
        or not isinstance(content["progress"], dict)
    ):
        raise ValueError("update or progress")
    for name, facts in content["files"].items():
        part, _, file = name.partition("/")
        # Untrusted names must not lead out of the directory.
        if part not in (STATE, WEIGHTS) or os.sep in file or _name(_update(name)) != file:
            raise ValueError(name)
        file_facts(facts)
    for part in (STATE, WEIGHTS):
        content["files"][f"{part}/{_name(content['update'])}"]


def _name(update: int) -> str:
    return f"update-{update:08d}{SUFFIX}"


def _update(name: str) -> int:
    return int(name.rpartition("-")[2].removesuffix(SUFFIX))
