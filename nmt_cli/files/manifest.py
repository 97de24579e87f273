"""What a directory must contain to be used: format version, and size and SHA-256 of each file."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from nmt_cli.errors import StoreError
from nmt_cli.files.atomic import MANIFEST, new_file

FORMAT = 1


def write_manifest(directory: Path, kind: str, files: Iterable[str] | None = None) -> None:
    """Describe `files` (default: every file under `directory`) in manifest.json, as the last step of writing.

    `kind` says what the directory is, such as `data` or `run`.
    """
    names = _all_files(directory) if files is None else sorted(files)
    content = {"format": FORMAT, "kind": kind, "files": {name: _describe(directory / name) for name in names}}
    with new_file(directory / MANIFEST) as path:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def check_manifest(directory: Path, kind: str, *, hashes: bool = False) -> None:
    """Refuse a directory that is not of this kind, of a newer format, or not as it was written.

    Sizes are compared always; with `hashes`, the content as well, which reads every file.
    """
    again = f"`nmt {'preprocess' if kind == 'data' else 'train'}` writes a new one"
    if not directory.is_dir():
        raise StoreError(f"there is no directory {directory}", hint=f"check the name; {again}")
    content = _read(directory / MANIFEST, kind, again)
    if content["kind"] != kind:
        raise StoreError(
            f"{directory} is a {content['kind']} directory", hint=f"give a {kind} directory here"
        )
    for name, expected in content["files"].items():
        path = directory / name
        if not path.is_file():
            raise StoreError(f"{path} is missing", hint=f"copy the whole directory; {again}")
        size = path.stat().st_size
        if size < expected["size"]:
            raise StoreError(
                f"{path} is truncated: {size} of {expected['size']} bytes", hint=f"copy it again; {again}"
            )
        if size > expected["size"] or (hashes and _sha256(path) != expected["sha256"]):
            raise StoreError(f"{path} was changed after it was written", hint=f"restore it; {again}")


def _read(path: Path, kind: str, again: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version, _, files = int(content["format"]), str(content["kind"]), dict(content["files"])
        if version > FORMAT:
            raise StoreError(
                f"{path.parent} has format {version}, this version of nmt reads up to {FORMAT}",
                hint="upgrade nmt-cli",
            )
        for name, expected in files.items():
            # A name from a stranger must not lead out of the directory.
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(name)
            int(expected["size"]), str(expected["sha256"])
    except FileNotFoundError as error:
        hint = f"give a {kind} directory; {again}"
        raise StoreError(f"{path.parent} has no {MANIFEST}", hint=hint) from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path} is damaged", hint=again) from error
    assert isinstance(content, dict)
    return content


def _all_files(directory: Path) -> list[str]:
    names = (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    return sorted(name for name in names if name != MANIFEST)


def _describe(path: Path) -> dict[str, int | str]:
    return {"size": path.stat().st_size, "sha256": _sha256(path)}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
