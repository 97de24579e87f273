"""`nmt translate` for documents: which arguments they are, and what is shown while they are translated."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nmt_cli.cli.display.console import messages, say
from nmt_cli.cli.display.lines import LineProgress
from nmt_cli.cli.loading import ModelLoader, TermFiles, open_memory
from nmt_cli.cli.options.checks import (
    STANDARD_STREAM,
    check_runs,
    exported_model,
    refuse_for_export,
    split_arguments,
)
from nmt_cli.documents.formats import FORMATS, format_of
from nmt_cli.errors import OutputError, UsageError, did_you_mean
from nmt_cli.files.atomic import MANIFEST

if TYPE_CHECKING:
    from nmt_cli.documents.document import DocumentOptions, Origin
    from nmt_cli.documents.driver import Finished, Job, Opened
    from nmt_cli.documents.memory import MemorySegments, TranslationMemory
    from nmt_cli.documents.segment_translation import SegmentTranslator, TranslateLines
    from nmt_cli.runtime.placeholders import PlaceholderSymbols

LINES = "lines"
_ORIGINS: tuple[tuple["Origin", str], ...] = (
    ("memory", "from the memory"),
    ("similar", "from a similar text in the memory"),
)


@dataclass(frozen=True)
class DocumentSettings:
    """The options that only documents have."""

    format: str | None
    in_place: bool
    redo: bool
    fuzzy: bool
    line_length: int | None
    placeholders: Sequence[str]

    def for_reading(self, target_language: str | None) -> "DocumentOptions":
        """What the formats need to know."""
        from nmt_cli.documents.document import DocumentOptions

        options = DocumentOptions(redo=self.redo, fuzzy=self.fuzzy, target_language=target_language)
        return options if self.line_length is None else replace(options, line_length=self.line_length)

    def check_unused(self) -> None:
        """Without a document, none of them makes sense."""
        given = {
            "--in-place": self.in_place,
            "--all": self.redo,
            "--no-fuzzy": not self.fuzzy,
            "--line-length": self.line_length is not None,
            "--placeholder": bool(self.placeholders),
        }
        if option := next((name for name, is_given in given.items() if is_given), None):
            raise UsageError(
                f"{option} is for documents, but there is none",
                hint="give a document after the run directory, such as messages.po, or add --format NAME",
            )


def split_documents(
    arguments: Sequence[str], source: Path | None, format_name: str | None
) -> tuple[list[str], list[Path]]:
    """Runs and sentences, and documents.

    An argument after the first is a document if it is the name of one, such as `messages.po`, or, with `--format`, if
    it is a file.
    """
    if format_name is not None and format_name not in (*FORMATS, LINES):
        raise UsageError(
            f"there is no format {format_name}{did_you_mean(format_name, FORMATS)}",
            hint=f"use one of {', '.join(FORMATS)}, or {LINES} to translate line by line",
        )
    documents, rest = list[Path](), list(arguments[:1])
    for argument in arguments[1:]:
        (documents.append(Path(argument)) if _is_document(argument, format_name) else rest.append(argument))
    if source is not None and format_name != LINES and (format_name or format_of(source)):
        documents.append(source)
    elif format_name not in (None, LINES) and not documents:
        documents.append(STANDARD_STREAM)
    return rest, documents


def _is_document(argument: str, format_name: str | None) -> bool:
    if format_name == LINES or not argument or any(character in argument for character in "\n\0"):
        return False
    path = Path(argument)
    if format_of(path) is not None:  # a sentence that ends like the name of a file is still a sentence
        return path.is_file() or not any(character.isspace() for character in argument)
    return format_name is not None and path.is_file()


def translate_documents(
    arguments: Sequence[str],
    documents: Sequence[Path],
    settings: DocumentSettings,
    loader: ModelLoader,
    search: dict[str, Any],
    *,
    terms: TermFiles,
    memory: tuple[Path | None, float | None],
    out: Path | None,
    window: int,
    progress: bool | None,
    refused: Mapping[str, bool],
) -> None:
    """Translate documents with a run or an exported model; entries that cannot be translated are listed.

    memory    file and threshold of a translation memory
    refused   options for lines of text only
    """
    from nmt_cli.documents.driver import open_documents, plan_jobs
    from nmt_cli.documents.placeholders import Recognizer
    from nmt_cli.documents.segment_translation import SegmentTranslator

    runs = _checked_runs(arguments, refused)
    folder = exported_model(runs, device=loader.device, int8=loader.int8)
    refuse_for_export(folder, terms.options())
    name = settings.format if settings.format != LINES else None
    output = None if out == STANDARD_STREAM else out
    jobs = plan_jobs(documents, output=output, in_place=settings.in_place, format_name=name)
    Recognizer(settings.placeholders)  # an error in a pattern is reported before the model is loaded
    opened = open_documents(jobs, settings.for_reading(_target_language(runs, folder)))
    found_memory = open_memory(*memory, runs, folder, {})
    lines, symbols, facts = _translator(runs, folder, search, loader, terms)
    recognizer = Recognizer([*settings.placeholders, *(symbols.patterns if symbols else ())])
    translator = SegmentTranslator(lines, recognizer, symbols=symbols is not None)
    facts["placeholders"] = list(settings.placeholders)
    if found_memory is not None:
        facts["memory"] = found_memory.digest()
    bar = LineProgress(messages(), out=output, wanted=progress, quiet=loader.quiet, unit="segment")
    _report(_translated(opened, _through(found_memory, translator), facts, bar, window), quiet=loader.quiet)


def _checked_runs(arguments: Sequence[str], refused: Mapping[str, bool]) -> list[Path]:
    if option := next((name for name, is_given in refused.items() if is_given), None):
        raise UsageError(f"{option} is for lines of text, not for documents", hint=f"omit {option}")
    runs, sentences = split_arguments(arguments)
    if sentences:
        raise UsageError(
            f"{sentences[0]!r} is neither a run directory nor a document",
            hint=f"documents end in {', '.join(s for one in FORMATS.values() for s in one.suffixes[:1])}, "
            "or need --format",
        )
    check_runs(runs, text_hint="nmt translate RUN_DIR {path}", exported=True)
    return runs


def _through(
    memory: "TranslationMemory | None", translator: "SegmentTranslator"
) -> "SegmentTranslator | MemorySegments":
    if memory is None:
        return translator
    from nmt_cli.documents.memory import MemorySegments

    return MemorySegments(memory, translator)


def _translated(
    opened: "Sequence[Opened]",
    translator: "SegmentTranslator | MemorySegments",
    facts: dict[str, Any],
    bar: LineProgress,
    window: int,
) -> "list[Finished]":
    """All documents, written, while progress is shown."""
    from nmt_cli.documents.driver import translate_documents as translate

    console = messages()
    bar.total = len(dict.fromkeys(s for one in opened for e in one.document.entries for s in e.segments))
    done = 0

    def advance(segments: int) -> None:
        nonlocal done
        done += segments
        bar.advance(segments)

    def resumed(segments: int) -> None:
        if segments:
            console.print(
                f"continuing after {segments:,} segments that an interrupted command has translated"
            )

    try:
        with bar:
            return list(
                translate(
                    opened,
                    translator,
                    window=window,
                    facts=facts,
                    progress=advance,
                    write=_write,
                    resumed=resumed,
                )
            )
    except BaseException:
        if done and opened[0].job.target is not None:
            console.print(f"{done:,} segments are done; to continue, run the same command again")
        raise


def _write(data: bytes) -> None:
    if sys.stdout is None:  # closed before Python started
        raise OutputError("standard output is closed", hint="write to a file with --output FILE")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _target_language(runs: Sequence[Path], folder: Path | None) -> str | None:
    if folder is not None:
        from nmt_cli.export.opening import language_of_export

        return language_of_export(folder)
    from nmt_cli.run import RunDirectory

    return RunDirectory.open(runs[0]).facts.target_lang


def _translator(
    runs: Sequence[Path],
    folder: Path | None,
    search: dict[str, Any],
    loader: ModelLoader,
    terms: TermFiles,
) -> "tuple[TranslateLines, PlaceholderSymbols | None, dict[str, Any]]":
    """A function that translates lines, the symbols for placeholders that it knows, and what its results depend on."""
    if folder is not None:
        exported = loader.load_exported(folder, search)
        if exported.config.n_best > 1:
            exported.config = exported.config.changed(n_best=1)
        digest = hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
        facts = {"models": [digest], "search": repr(exported.config), "max_tokens": exported.max_tokens}
        has_attention = exported.has_attention

        def exported_lines(texts: Sequence[str], align: bool) -> Any:
            return exported.translate(texts, attention=align and has_attention)

        return exported_lines, exported.placeholders, facts

    from nmt_cli.run import RunDirectory
    from nmt_cli.translator import Details

    translator = terms.add_to(loader.load_runs(runs, search).with_search(n_best=1))
    facts = {
        "models": [RunDirectory.open(run).model_sha256 for run in runs],
        "search": translator.config.model_dump(mode="json"),
        "terminology": translator.terminology.fingerprint(),
        "max_tokens": translator.max_tokens,
        "device": translator.device.type,
        "int8": loader.int8,
    }

    def lines(texts: Sequence[str], align: bool) -> Any:
        return translator.translate(texts, details=Details(attention=align and translator.has_attention))

    return lines, translator.normalization.placeholders, facts


def _report(finished: "Sequence[Finished]", *, quiet: bool) -> None:
    """What was left untranslated, entry by entry, and a line for each document."""
    console = messages()
    for one in finished:
        for where, reason in one.untouched:
            say(console, "warning", f"{_name(one.job)}, {where}: left as it is: {reason}")
        counts = [f"{one.translated:,} {'entry' if one.translated == 1 else 'entries'} translated"]
        reused = [f"{one.origins[origin]:,} {name}" for origin, name in _ORIGINS if origin in one.origins]
        counts[0] += f" ({', '.join(reused)})" if reused else ""
        counts += [f"{one.terms.met:,} of {one.terms.required:,} terms met"] if one.terms.required else []
        counts += [f"{one.skipped:,} had a translation already"] if one.skipped else []
        counts += [f"{len(one.untouched):,} left as they are"] if one.untouched else []
        target = f" → {one.job.target}" if one.job.target not in (None, one.job.source) else ""
        if not quiet or one.untouched:
            console.print(f"{_name(one.job)}{target}: {', '.join(counts)}")
    if any(one.untouched for one in finished):
        raise typer.Exit(1)


def _name(job: "Job") -> str:
    return "standard input" if job.source == STANDARD_STREAM else str(job.source)
