"""manifest.json: the kind and format version of a directory, and the size and SHA-256 of each file in it."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import MANIFEST, FileFacts, new_file

FORMAT = 1


def write_manifest(directory: Path, kind: str, files: Iterable[str] | None = None) -> None:
    """Write manifest.json for `files` (default: all in `directory`), as the last step of writing a directory.

    `kind` is the kind of directory, such as `data` or `run`.
    """
    names = _all_files(directory) if files is None else sorted(files)
    content = {"format": FORMAT, "kind": kind, "files": {name: _describe(directory / name) for name in names}}
    with new_file(directory / MANIFEST) as path:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def check_manifest(directory: Path, kind: str, *, hashes: bool = False) -> None:
    """Raise an error if a directory is of another kind, of a newer format, or was changed after it was written.

    Sizes are always compared; with `hashes`, the contents too, which reads every file.
    """
    again = f"`nmt {'preprocess' if kind == 'data' else 'train'}` creates a new one"
    if not directory.is_dir():
        raise DirectoryError(f"there is no directory {directory}", hint=f"check the name; {again}")
    content = _read(directory / MANIFEST, kind, again)
    if content["kind"] != kind:
        raise DirectoryError(f"{directory} is a {content['kind']} directory", hint=f"give a {kind} directory")
    for name, expected in content["files"].items():
        path = directory / name
        if not path.is_file():
            raise DirectoryError(f"{path} is missing", hint=f"copy the whole directory; {again}")
        size = path.stat().st_size
        if size < expected["size"]:
            raise DirectoryError(
                f"{path} is truncated: {size} of {expected['size']} bytes", hint=f"copy it again; {again}"
            )
        if size > expected["size"] or (hashes and _sha256(path) != expected["sha256"]):
            raise DirectoryError(f"{path} was changed after it was written", hint=f"restore it; {again}")


def _read(path: Path, kind: str, again: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version, _, files = int(content["format"]), str(content["kind"]), dict(content["files"])
        if version > FORMAT:
            raise DirectoryError(
                f"{path.parent} has format {version}, but this version of nmt reads formats up to {FORMAT}",
                hint="upgrade nmt-cli",
            )
        for name, expected in files.items():
            # A manifest from an untrusted source must not refer to files outside the directory.
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(name)
            int(expected["size"]), str(expected["sha256"])
    except FileNotFoundError as error:
        hint = f"give a {kind} directory; {again}"
        raise DirectoryError(f"{path.parent} has no {MANIFEST}", hint=hint) from error
    except OSError as error:
        raise DirectoryError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DirectoryError(f"{path} is damaged", hint=again) from error
    assert isinstance(content, dict)
    return content


def _all_files(directory: Path) -> list[str]:
    names = (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    return sorted(name for name in names if name != MANIFEST)


def _describe(path: Path) -> FileFacts:
    return FileFacts(size=path.stat().st_size, sha256=_sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
