"""manifest.json: the kind and format version of a directory, and the size and SHA-256 of each file in it.

Only files that the manifest lists are used, and each is compared with its hash when it is used.

A file is replaced while others read it, in an order that leaves the old or the new one readable at every moment:

    1. the new content is written to a file named after it, such as model-1a2b3c4d.safetensors
    2. the manifest is replaced by one with the new hash: this rename is the switch
    3. the new file is renamed to its usual name, model.safetensors

A reader looks for the file named after the hash in its manifest, then for the usual name. If neither matches, it reads
the manifest again: it had the old one, and the switch is over.

The manifest also tells which directories `--overwrite` may replace: those of the same kind that only nmt wrote to, and
that are not in use.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Self, TypeVar

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import MANIFEST, PARTIAL_FILE, FileFacts, new_file
from nmt_cli.files.guarded import JSON_LIMIT, GuardedDirectory, parse_json, read_all

FORMAT = 1

SHA256 = re.compile(r"[0-9a-f]{64}")
_Result = TypeVar("_Result")
# What training and evaluation add to a run after its manifest was written.
_RUN_FILES = re.compile(
    r"README\.md|metrics\.jsonl|scores\.jsonl|samples\.json|confidence\.json|curves\.svg|lock|state/current\.json"
    r"|(state|checkpoints)/update-\d+\.safetensors|(model|config)-[0-9a-f]{8}\.(safetensors|json)"
    r"|tensorboard/events\.out\.tfevents\.\d+\.nmt"
)


class MismatchError(DirectoryError):
    """A file is not the one that the manifest describes."""


class Manifest:
    """The files that a directory lists, each checked when it is used."""

    def __init__(self, directory: GuardedDirectory, kind: str, again: str) -> None:
        """`again`: how to make such a directory, for the hints of errors."""
        self.directory, self.kind, self._again = directory, kind, again
        self.sha256 = ""  # of the manifest itself, which identifies the contents of all files
        self.files: Mapping[str, FileFacts] = {}
        self.refresh()

    @classmethod
    def open(cls, path: Path, kind: str) -> Self:
        """Read the manifest, and compare the names, types and sizes of all files.

        Raises an error if the directory is of another kind or a newer format, contains links or devices, or was
        changed after it was written.
        """
        again = creates(kind)
        if not path.is_dir():
            raise DirectoryError(f"there is no directory {path}", hint=f"check the name; {again}")
        directory = GuardedDirectory(path)
        manifest = cls(directory, kind, again)
        directory.check()
        for name in list(manifest.files):
            manifest.use(name, lambda descriptor, facts: None)
        return manifest

    def refresh(self) -> bool:
        """Read the manifest again; whether it has changed."""
        content = self._read()
        digest = hashlib.sha256(content).hexdigest()
        changed = digest != self.sha256
        if changed:
            self.files = self._parse(content)
            self.sha256 = digest
        return changed

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def read(self, name: str) -> bytes:
        """The content of a file, compared with its hash."""

        def verified(descriptor: int, facts: FileFacts) -> bytes:
            content = read_all(descriptor)
            self.verify(name, content, facts)
            return content

        return self.use(name, verified)

    def use(self, name: str, function: Callable[[int, FileFacts], _Result]) -> _Result:
        """`function` of a descriptor of the file and its facts; called again if another process replaces the file."""
        if name not in self.files:
            raise DirectoryError(
                f"{self.directory.path / name} is missing", hint=f"copy the whole directory; {self._again}"
            )
        while True:
            try:
                with self._open(name) as descriptor:
                    return function(descriptor, self.files[name])
            except MismatchError:
                if not self.refresh() or name not in self.files:
                    raise

    def verify(self, name: str, content: bytes, facts: FileFacts) -> None:
        """Raise an error unless the content has the right hash."""
        if hashlib.sha256(content).hexdigest() != facts["sha256"]:
            raise self.changed(name)

    def changed(self, name: str) -> MismatchError:
        """The error for a file whose content is not the one that was written."""
        return MismatchError(
            f"{self.directory.path / name} was changed after it was written",
            hint=f"copy the whole directory again; {self._again}",
        )

    def publish(self, name: str, content: bytes) -> None:
        """Replace or add a file; readers find the old or the new one at every moment."""
        self.refresh()
        facts = FileFacts(size=len(content), sha256=hashlib.sha256(content).hexdigest())
        if self.files.get(name) != facts:
            new = _content_name(name, facts)
            self.directory.write(new, content)
            try:
                files = {**self.files, name: facts}
                self.directory.write_text(MANIFEST, _dump(self.kind, files))
            except BaseException:
                self.directory.remove(new)
                raise
            self.refresh()
        self._settle(name)

    def _settle(self, name: str) -> None:
        """Give the current file its usual name, and remove those that killed processes left."""
        current = _content_name(name, self.files[name])
        if self.directory.exists(current):
            self.directory.rename(current, name)
        leftover = re.compile(re.escape(_content_name(name, None)).replace("HASH", "[0-9a-f]{8}"))
        for other in self.directory.names():
            if leftover.fullmatch(other):
                self.directory.remove(other)

    @contextmanager
    def _open(self, name: str) -> Iterator[int]:
        """The file named after its content, if publishing is not over, or else the file of this name."""
        path, facts = self.directory.path / name, self.files[name]
        try:
            with self._either(_content_name(name, facts), name) as descriptor:
                size = os.fstat(descriptor).st_size
                if size < facts["size"]:
                    raise MismatchError(
                        f"{path} is truncated: {size} of {facts['size']} bytes",
                        hint=f"copy it again; {self._again}",
                    )
                if size > facts["size"]:
                    raise self.changed(name)
                yield descriptor
        except FileNotFoundError as error:
            raise MismatchError(
                f"{path} is missing", hint=f"copy the whole directory; {self._again}"
            ) from error
        except OSError as error:
            raise DirectoryError(
                f"cannot read {path}: {error.strerror or error}", hint="check its permissions"
            ) from error

    @contextmanager
    def _either(self, first: str, second: str) -> Iterator[int]:
        with ExitStack() as stack:
            try:
                descriptor = stack.enter_context(self.directory.open(first))
            except FileNotFoundError:
                descriptor = stack.enter_context(self.directory.open(second))
            yield descriptor

    def _read(self) -> bytes:
        path = self.directory.path
        try:
            if not self.directory.exists(MANIFEST):
                raise DirectoryError(
                    f"{path} has no {MANIFEST}", hint=f"give a {self.kind} directory; {self._again}"
                )
        except OSError as error:
            raise DirectoryError(
                f"cannot read {path}: {error.strerror}", hint="check its permissions"
            ) from error
        return self.directory.read(MANIFEST, limit=JSON_LIMIT)

    def _parse(self, content: bytes) -> dict[str, FileFacts]:
        path = self.directory.path
        try:
            document = parse_json(content)
            version, kind = document["format"], document["kind"]
            if type(version) is not int or type(kind) is not str:
                raise ValueError("format or kind")
            if version > FORMAT:
                raise DirectoryError(
                    f"{path} has format {version}, but this version of nmt reads formats up to {FORMAT}",
                    hint="upgrade nmt-cli",
                )
            files = {name: file_facts(facts) for name, facts in document["files"].items()}
            for name in files:
                parts = PurePosixPath(name).parts
                # A manifest from an untrusted source must not refer to files outside the directory.
                if not parts or parts[0] == "/" or ".." in parts or "\0" in name:
                    raise ValueError(name)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DirectoryError(f"{path / MANIFEST} is damaged", hint=self._again) from error
        if kind != self.kind:
            raise DirectoryError(f"{path} is {a_directory(kind)}", hint=f"give {a_directory(self.kind)}")
        return files


def creates(kind: str) -> str:
    """How to make a new directory of this kind, for hints."""
    commands = {"data": "preprocess", "demo": "demo-data", "export": "export"}
    return f"`nmt {commands.get(kind, 'train')}` creates a new one"


def a_directory(kind: str) -> str:
    """Such as "a run directory", for messages."""
    return "an exported model" if kind == "export" else f"a {kind} directory"


def file_facts(content: Any) -> FileFacts:
    """Size and hash of a file from JSON; a ValueError or TypeError if that is not what it is."""
    size, sha256 = content["size"], content["sha256"]
    if type(size) is not int or size < 0 or not SHA256.fullmatch(sha256):
        raise ValueError(content)
    return FileFacts(size=size, sha256=sha256)


def write_manifest(directory: Path, kind: str, files: Iterable[str] | None = None) -> None:
    """Write manifest.json for `files` (default: all in `directory`), as the last step of writing a directory.

    `kind` is the kind of directory, such as `data` or `run`.
    """
    names = _all_files(directory) if files is None else files
    with new_file(directory / MANIFEST) as path:
        path.write_text(_dump(kind, {name: _describe(directory / name) for name in names}), "utf-8")


def check_manifest(directory: Path, kind: str, *, hashes: bool = False) -> None:
    """Raise an error if a directory is of another kind, of a newer format, or was changed after it was written.

    Sizes are always compared; with `hashes`, the contents too, which reads every file.
    """
    manifest = Manifest.open(directory, kind)
    for name in list(manifest.files) if hashes else ():
        manifest.read(name)


def _content_name(name: str, facts: FileFacts | None) -> str:
    """Such as model-1a2b3c4d.safetensors; with HASH for any hash."""
    path = PurePosixPath(name)
    return str(path.with_name(f"{path.stem}-{facts['sha256'][:8] if facts else 'HASH'}{path.suffix}"))


def _dump(kind: str, files: Mapping[str, FileFacts]) -> str:
    content = {"format": FORMAT, "kind": kind, "files": dict(sorted(files.items()))}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _all_files(directory: Path) -> list[str]:
    names = (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    return sorted(name for name in names if name != MANIFEST)


def _describe(path: Path) -> FileFacts:
    with path.open("rb") as stream:
        return FileFacts(size=path.stat().st_size, sha256=hashlib.file_digest(stream, "sha256").hexdigest())


def data_refusal(path: Path) -> str | None:
    """Why a directory must not be replaced by a data directory; None if it may be."""
    return _refusal(path, "data")


def run_refusal(path: Path) -> str | None:
    """Why a directory must not be replaced by a run directory; None if it may be, once it is locked."""
    return _refusal(path, "run")


def demo_refusal(path: Path) -> str | None:
    """Why a directory must not be replaced by a demo corpus; None if it may be."""
    return _refusal(path, "demo")


def export_refusal(path: Path) -> str | None:
    """Why a directory must not be replaced by an exported model; None if it may be."""
    return _refusal(path, "export")


def _refusal(path: Path, kind: str) -> str | None:
    directory = GuardedDirectory(path)
    if MANIFEST not in directory.names():
        return "contains other files"
    try:
        directory.check()
        manifest = Manifest(directory, kind, "")
    except DirectoryError as error:
        return f"is not {a_directory(kind)} that nmt wrote ({error.message})"
    for name in _files(path):
        ours = name == MANIFEST or name in manifest or PARTIAL_FILE.fullmatch(Path(name).name)
        if not ours and not (kind == "run" and _RUN_FILES.fullmatch(name)):
            return f"contains {name}, which nmt did not write"
    if any(_is_locked(directory, name) for name in manifest.files if name.endswith(".arrow")):
        return "is in use by another process"
    return None


def _files(path: Path) -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(folder, name), path)  # noqa: PTH118 - names may be any bytes
        for folder, _, files in os.walk(path)
        for name in files
    )


def _is_locked(directory: GuardedDirectory, name: str) -> bool:
    with suppress(FileNotFoundError), directory.open(name) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return False
    return False
