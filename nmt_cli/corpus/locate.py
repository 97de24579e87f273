"""Finding the files of a SPEC, and explaining what was looked for if they are missing."""

import errno
import glob
from pathlib import Path
from typing import Literal

from nmt_cli.corpus.localization.reader import LocalizationFormat, localization_format
from nmt_cli.errors import CorpusError, NmtError
from nmt_cli.files.byte_stream import COMPRESSIONS, similar_files, uncompressed_name

# Formats that are not lines of text, and what to do where only lines can be read.
_UNSUPPORTED = {
    ".parquet": "read it with hf:parquet@data_files={path}",
    ".arrow": "read it with hf:arrow@data_files={path}",
    ".csv": "save the column as plain text",
    ".json": "one JSON object per line belongs in a .jsonl file; read an array with hf:json@data_files={path}",
    ".zip": "unpack it first: unzip {path}",
    ".tar": "unpack it first: tar xf {path}",
    ".tgz": "unpack it first: tar xf {path}",
    ".7z": "unpack it first",
    ".rar": "unpack it first",
    **dict.fromkeys((".tmx", ".po", ".xlf", ".xliff"), "save the text of one language as plain text"),
    ".xlsx": "save it as tab-separated text (.tsv) first",
    ".ods": "save it as tab-separated text (.tsv) first",
    ".docx": "save it as plain text first",
    ".pdf": "extract its text first",
    ".lz4": "compress it with gzip, xz, bzip2 or zstd instead",
    ".z": "compress it with gzip, xz, bzip2 or zstd instead",
}


def table_kind(name: str) -> Literal["tsv", "jsonl", "csv"] | None:
    """The format of a table by its file name, compressed or not; None for plain text."""
    name = uncompressed_name(name.lower())
    if name.endswith(".tsv"):
        return "tsv"
    if name.endswith(".csv"):
        return "csv"
    return "jsonl" if name.endswith((".jsonl", ".ndjson")) else None


def find_localization(body: str) -> tuple[LocalizationFormat, tuple[Path, ...]] | None:
    """The localization files that a SPEC names: one file, a directory of them, or a pattern such as `po/*.po`."""
    path, present = Path(body), exists(Path(body))
    if present and path.is_dir():
        return _one_format(sorted(child for child in path.rglob("*") if child.is_file()), body)
    if present or not glob.has_magic(body):
        kind = localization_format(body)
        return (kind, (path,)) if kind else None
    found = [Path(name) for name in sorted(glob.glob(body, recursive=True))]  # noqa: PTH207 - a relative pattern
    files = [each for each in found if each.is_file()]
    if not files and localization_format(body):
        raise CorpusError(f"no file matches {body}", hint=similar_files(path))
    return _one_format(files, body)


def _one_format(files: list[Path], body: str) -> tuple[LocalizationFormat, tuple[Path, ...]] | None:
    by_format: dict[LocalizationFormat, list[Path]] = {}
    for path in files:
        if kind := localization_format(path.name):
            by_format.setdefault(kind, []).append(path)
    if len(by_format) > 1:
        names = " and ".join(f"{len(paths)} {kind.upper()}" for kind, paths in by_format.items())
        raise CorpusError(
            f"{body} has files of several formats ({names})",
            hint="name the files of one format with a pattern in quotes, such as 'po/*.po'",
        )
    return next(((kind, tuple(paths)) for kind, paths in by_format.items()), None)


def exists(path: Path) -> bool:
    """Whether a path exists; one that is too long is part of a SPEC that was not meant as a file name."""
    try:
        return path.exists()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


def find_side(prefix: str, lang: str) -> Path | None:
    """The file of one language for a prefix; two candidates are ambiguous, which is an error."""
    candidates = [Path(f"{prefix}.{lang}{suffix}") for suffix in ("", *COMPRESSIONS)]
    present = [path for path in candidates if exists(path) and not path.is_dir()]
    if len(present) > 1:
        raise CorpusError(
            f"{prefix} is ambiguous: {' and '.join(map(str, present))} exist",
            hint=f"give a file instead of the prefix (for two languages: {present[0]},…), or remove one of them",
        )
    return present[0] if present else None


def refuse_unsupported_format(path: Path) -> None:
    """Raise a CorpusError if a file name says that it is not plain text, with what to do instead."""
    if not path.is_file():
        return
    for suffix in (path.suffix.lower(), Path(uncompressed_name(path.name.lower())).suffix):
        if suffix in _UNSUPPORTED:
            raise CorpusError(
                f"{path}: {suffix} files cannot be read directly", hint=_UNSUPPORTED[suffix].format(path=path)
            )


def missing_prefix(
    prefix: str, source_lang: str, target_lang: str, sides: tuple[Path | None, Path | None], hint_after: str
) -> NmtError:
    """The error for a prefix without files for both languages."""
    path = Path(prefix)
    if not any(sides) and path.is_dir():
        return _directory_error(path, source_lang, target_lang)
    if not any(sides) and path.exists():
        stem = uncompressed_name(path.name).removesuffix(f".{source_lang}").removesuffix(f".{target_lang}")
        return CorpusError(
            f"{path} is a single file whose name does not tell its format",
            hint=f"give the prefix ({path.with_name(stem)}), two files ({path},…), "
            "or a file whose name ends in .tsv or .jsonl",
        )
    lang, missing = (source_lang, sides[0]) if sides[0] is None else (target_lang, sides[1])
    assert missing is None
    wanted = Path(f"{prefix}.{lang}")
    found = next((f" ({side} exists)" for side in sides if side), "")
    return CorpusError(
        f"{wanted}[{'|'.join(COMPRESSIONS)}] does not exist{found}", hint=similar_files(wanted) + hint_after
    )


def _directory_error(path: Path, source_lang: str, target_lang: str) -> CorpusError:
    """A directory is not a corpus: suggest the prefixes in it."""
    names = {uncompressed_name(child.name) for child in path.iterdir()}
    stems = {name.removesuffix(f".{source_lang}") for name in names if name.endswith(f".{source_lang}")}
    prefixes = sorted(stem for stem in stems if f"{stem}.{target_lang}" in names)
    if prefixes:
        hint = "give a prefix in it: " + ", ".join(str(path / stem) for stem in prefixes[:5])
    else:
        hint = f"give a prefix in it, such as {path / 'train'}, or two files"
    return CorpusError(f"{path} is a directory", hint=hint)
