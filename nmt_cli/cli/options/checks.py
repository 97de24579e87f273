"""Arguments checked before torch is imported: a mistake on the command line is reported at once.

The library checks everything again. What is checked here costs a few file lookups.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from nmt_cli.documents.formats import format_of
from nmt_cli.errors import NmtError, OutputError, UsageError, closest
from nmt_cli.export.opening import check_export, is_export
from nmt_cli.files.atomic import MANIFEST
from nmt_cli.files.manifest import check_manifest

STANDARD_STREAM = Path("-")


def check_device(name: str) -> str:
    """Reject what cannot be the name of a device; whether the device exists is for torch to say."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", name):
        raise UsageError(f"no such device: {name}", hint="use auto, cpu, cuda, cuda:N or mps")
    return name


def check_runs(runs: Iterable[Path], *, text_hint: str, exported: bool = False) -> None:
    """Each must be a run directory, or an exported model if `exported`.

    A file is probably the text, which `text_hint` says how to pass.
    """
    for path in runs:
        if path.is_file():
            check_lines_of_text(path)
            hint = _hint_for_file_in_directory(path, "run") or text_hint.format(path=path)
            raise UsageError(f"{path} is a file, not a run directory", hint=hint)
        if exported and is_export(path):
            check_export(path)
        else:
            check_manifest(path, "run")


def exported_model(runs: Sequence[Path], *, device: str, int8: bool) -> Path | None:
    """The exported model among `runs`, if there is one, which then must be the only one."""
    folder = next((path for path in runs if is_export(path)), None)
    if folder is None:
        return None
    if len(runs) > 1:
        raise UsageError(
            f"{folder} is an exported model, which cannot be part of an ensemble",
            hint="give run directories, or a single exported model",
        )
    if int8:
        raise UsageError(
            "int8 arithmetic is chosen when a model is exported",
            hint="omit --int8, or export the model again with --int8",
        )
    if device not in ("auto", "cpu"):
        raise UsageError(
            f"an exported model runs on the CPU, not on {device}",
            hint="omit --device, or use the run directory",
        )
    return folder


def refuse_for_export(folder: Path | None, options: Mapping[str, bool]) -> None:
    """Reject options that an exported model does not support, if they are given."""
    option = next((name for name, is_given in options.items() if is_given), None)
    if folder is not None and option is not None:
        raise UsageError(
            f"an exported model does not support {option}", hint=f"omit {option}, or use the run directory"
        )


def split_arguments(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Run directories and sentences. The first argument is a run, and so are those after it that look like one."""
    count = next(
        (index for index, argument in enumerate(arguments) if index and not _looks_like_a_path(argument)),
        len(arguments),
    )
    return [Path(argument) for argument in arguments[:count]], list(arguments[count:])


def _looks_like_a_path(argument: str) -> bool:
    """Whether it exists, or is a single word that contains a separator or is almost the name of a run."""
    if os.path.lexists(argument):
        return True
    if not argument or any(character.isspace() for character in argument):
        return False
    if os.sep in argument:
        return True
    runs = [path.parent.name for path in Path().glob(f"*/{MANIFEST}")]
    return bool(closest(argument, runs, cutoff=0.8))


def as_text(argument: str) -> str:
    """An argument with invalid UTF-8 replaced by U+FFFD."""
    return argument.encode(errors="surrogateescape").decode(errors="replace")


def check_data(path: Path) -> None:
    """It must be a data directory."""
    if path.is_file():
        raise UsageError(
            f"{path} is a file, not a data directory",
            hint=_hint_for_file_in_directory(path, "data")
            or "`nmt preprocess` turns text into a data directory",
        )
    check_manifest(path, "data")


def _hint_for_file_in_directory(path: Path, kind: str) -> str:
    """The hint if a file in such a directory is given instead of the directory, else ""."""
    folder = path.absolute().parent
    try:
        check_manifest(folder, kind)
    except NmtError:
        return ""
    return f"give the {kind} directory itself: {folder}"


def check_texts(paths: Iterable[Path | None]) -> None:
    """Each must be a file that can be read, or standard input."""
    from nmt_cli.files.byte_stream import check_readable

    for path in paths:
        if path is not None and path != STANDARD_STREAM:
            check_readable(path)


# Suffixes of files that are more than lines of text: what they are, and how to get at the text.
_SAVE_AS_TEXT = "save it as HTML, which is translated as a whole, or as plain text, one sentence per line"
_NOT_LINES = {
    ".tmx": (
        "a translation memory",
        "`nmt preprocess` reads it; to translate, give text, one sentence per line",
    ),
    **dict.fromkeys(
        (".docx", ".doc", ".odt", ".odp", ".ods", ".pptx", ".xlsx", ".rtf"),
        ("an office document", _SAVE_AS_TEXT),
    ),
    **dict.fromkeys(
        (".pdf", ".epub"), ("a PDF file or an e-book", "extract its text, one sentence per line")
    ),
    **dict.fromkeys((".zip", ".tar", ".tgz"), ("an archive", "unpack it first")),
}
_ZIP = b"PK\x03\x04"


def check_lines_of_text(path: Path | None) -> None:
    """Reject files in formats whose markup would be translated like text. None is standard input."""
    from nmt_cli.files.byte_stream import STANDARD_INPUT, uncompressed_name

    if path is not None:
        plain = uncompressed_name(path.name.lower())
        what, remedy = _NOT_LINES.get(Path(plain).suffix, ("", ""))
        if what:
            raise UsageError(f"{path} is {what}, not lines of text", hint=remedy)
        if plain != path.name.lower() and (found := format_of(Path(plain))) and found.name != "json":
            raise UsageError(
                f"{path} is a compressed document ({found.title}), not lines of text", hint="unpack it first"
            )
    try:
        with nullcontext(0) if path is None else path.open("rb", buffering=0) as file:
            descriptor = file if isinstance(file, int) else file.fileno()
            start = os.pread(descriptor, len(_ZIP), os.lseek(descriptor, 0, os.SEEK_CUR))
    except OSError:  # a pipe, or a file that cannot be read, which is reported when it is read
        return
    if start == _ZIP:
        raise UsageError(
            f"{path or STANDARD_INPUT} is a ZIP archive or an office document, not lines of text",
            hint=f"unpack it, or {_SAVE_AS_TEXT}",
        )


def check_systems(paths: Iterable[Path]) -> None:
    """Each must be a run directory, an exported model, a file that can be read, or standard input."""
    for path in paths:
        if path.is_dir():
            if is_export(path):
                check_export(path)
            else:
                check_manifest(path, "run")
        else:
            check_texts([path])


def check_writable(paths: Iterable[Path | None]) -> None:
    """Find out before the work, not after it, that a file cannot be written."""
    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise OutputError(
                f"cannot write {path}: {path.parent} is not a directory",
                hint="create it first, or choose another location",
            )


def choose_one(names: Sequence[str], chosen: Sequence[bool], default: str) -> str:
    """The output format whose flag is given; two of them cannot be used together."""
    given = [name for name, is_given in zip(names, chosen, strict=True) if is_given]
    if len(given) > 1:
        raise UsageError(
            f"--{given[0]} and --{given[1]} cannot be used together", hint="choose one output format"
        )
    return given[0] if given else default
