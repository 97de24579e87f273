"""Finding the files of a corpus, and saying what was looked for when they are not there."""

import difflib
import errno
from pathlib import Path
from typing import Literal

from nmt_cli.errors import CorpusError, NmtError

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")

# What people have but what cannot be read line by line, and the way out.
_FOREIGN = {
    ".parquet": "read it with hf:parquet@data_files={path}",
    ".arrow": "read it with hf:arrow@data_files={path}",
    ".csv": "read it with hf:csv@data_files={path} (its columns named as the languages), or save it as .tsv",
    ".json": "one JSON object a line belongs in a .jsonl file; read one array with hf:json@data_files={path}",
    ".zip": "unpack it first: unzip {path}",
    ".tar": "unpack it first: tar xf {path}",
    ".tgz": "unpack it first: tar xf {path}",
    ".7z": "unpack it first",
    ".rar": "unpack it first",
    ".tmx": "convert it to .tsv or two text files first",
    ".po": "convert it to .tsv or two text files first",
    ".xlf": "convert it to .tsv or two text files first",
    ".xliff": "convert it to .tsv or two text files first",
    ".xlsx": "save it as tab-separated text (.tsv) first",
    ".ods": "save it as tab-separated text (.tsv) first",
    ".docx": "save it as plain text first",
    ".pdf": "extract its text first",
    ".lz4": "compress it with gzip, xz, bzip2 or zstd instead",
    ".z": "compress it with gzip, xz, bzip2 or zstd instead",
}


def cannot_read(path: Path | str, error: OSError) -> CorpusError:
    """The CorpusError for a failed read, or for a failed look at what is there, with a hint that fits its cause."""
    hints = {
        errno.EACCES: "ask for the permission to read it and the directories above it",
        errno.EPERM: "ask for the permission to read it and the directories above it",
        errno.ENAMETOOLONG: "no file can have this name; was text given instead of a path?",
        errno.ENOENT: "it was there a moment ago; check whether something moves it",
        errno.EIO: "the disk or the network failed; try again or copy the file elsewhere",
    }
    reason = error.strerror or str(error)
    return CorpusError(
        f"cannot read {path}: {reason}", hint=hints.get(error.errno or 0, "check the file and its disk")
    )


def table_kind(name: str) -> Literal["tsv", "jsonl"] | None:
    """Whether a file name says TSV or JSON lines, compressed or not."""
    lowered = name.lower()
    for suffix in COMPRESSIONS:
        lowered = lowered.removesuffix(suffix)
    if lowered.endswith(".tsv"):
        return "tsv"
    return "jsonl" if lowered.endswith((".jsonl", ".ndjson")) else None


def is_there(path: Path) -> bool:
    """Whether a path exists; one that is too long to exist is a part of a SPEC that was no name."""
    try:
        return path.exists()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


def find_side(prefix: str, lang: str) -> Path | None:
    """The file of one language for a prefix; of two candidates nobody can tell which is meant."""
    candidates = [Path(f"{prefix}.{lang}{suffix}") for suffix in ("", *COMPRESSIONS)]
    present = [path for path in candidates if is_there(path) and not path.is_dir()]
    if len(present) > 1:
        raise CorpusError(
            f"{prefix} is ambiguous: {' and '.join(map(str, present))} exist",
            hint=f"name a file instead of the prefix (two files for two languages: {present[0]},…), or remove one",
        )
    return present[0] if present else None


def check_readable(path: Path, hint_after: str = "") -> None:
    """Refuse what is missing or a directory, before any work is done."""
    if path.is_dir():
        raise CorpusError(f"{path} is a directory", hint="name a file in it")
    if not path.exists():
        raise CorpusError(f"{path} does not exist", hint=near_names(path) + hint_after)


def _directory_error(path: Path, source_lang: str, target_lang: str) -> CorpusError:
    """A directory is no corpus; name the prefixes that are in it."""
    names = {_uncompressed(child.name) for child in path.iterdir()}
    stems = {name.removesuffix(f".{source_lang}") for name in names if name.endswith(f".{source_lang}")}
    prefixes = sorted(stem for stem in stems if f"{stem}.{target_lang}" in names)
    if prefixes:
        hint = "give a prefix in it: " + ", ".join(str(path / stem) for stem in prefixes[:5])
    else:
        hint = f"give a prefix in it, such as {path / 'train'}, or two files"
    return CorpusError(f"{path} is a directory", hint=hint)


def describe_missing_prefix(
    prefix: str, source_lang: str, target_lang: str, sides: tuple[Path | None, Path | None], hint_after: str
) -> NmtError:
    """The error for a prefix that does not lead to two files."""
    path = Path(prefix)
    if not any(sides) and path.is_dir():
        return _directory_error(path, source_lang, target_lang)
    if not any(sides) and path.exists():
        stem = _uncompressed(path.name).removesuffix(f".{source_lang}").removesuffix(f".{target_lang}")
        return CorpusError(
            f"{path} is one file, and its name does not say which format it has",
            hint=f"give the prefix ({path.with_name(stem)}), two files ({path},…), "
            "or a file whose name ends in .tsv or .jsonl",
        )
    lang, missing = (source_lang, sides[0]) if sides[0] is None else (target_lang, sides[1])
    assert missing is None
    wanted = Path(f"{prefix}.{lang}")
    found = next((f" ({side} exists)" for side in sides if side), "")
    return CorpusError(
        f"{wanted}[{'|'.join(COMPRESSIONS)}] does not exist{found}", hint=near_names(wanted) + hint_after
    )


def refuse_foreign_format(path: Path) -> None:
    """Refuse a file whose name says that it is no text, with the way out."""
    if not path.is_file():
        return
    names = [path.suffix.lower(), Path(_uncompressed(path.name.lower())).suffix]
    for suffix in names:
        if suffix in _FOREIGN:
            raise CorpusError(
                f"{path}: {suffix} files are not read directly", hint=_FOREIGN[suffix].format(path=path)
            )


def near_names(path: Path) -> str:
    """A hint that names what is there instead of a missing file."""
    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir():
            folder = folder.parent
        return f"the directory {path.parent} does not exist either ({folder} does)"
    try:
        names = sorted(child.name for child in folder.iterdir())
    except OSError as error:
        return f"{folder} cannot be listed: {error.strerror}"
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    if near:
        return f"near names in {folder}: {', '.join(near)}"
    if not names:
        return f"{folder} is empty"
    return f"{folder} has {', '.join(names[:5])}{', …' if len(names) > 5 else ''}"


def _uncompressed(name: str) -> str:
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name
