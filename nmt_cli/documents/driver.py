"""Files to translated files: all documents are read first, share batches, and are written when they are complete.

Job(paths, …)       where each document goes; nothing is overwritten that should not be
translate_documents segments of all documents in windows, with a journal to continue after an interruption
Summary             what was translated, and what was left as it is
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt_cli.documents.document import (
    MAX_DOCUMENT_BYTES,
    Document,
    DocumentOptions,
    Entry,
    Origin,
    Parts,
    Segment,
    Untouched,
)
from nmt_cli.documents.formats import FORMATS, Format, format_of, reader
from nmt_cli.documents.journal import Journal
from nmt_cli.documents.segment_translation import Result, SegmentTranslator, Terms
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.atomic import new_file
from nmt_cli.files.byte_stream import cannot_read, check_readable, standard_input

if TYPE_CHECKING:
    from nmt_cli.documents.memory import MemorySegments

STANDARD_STREAM = Path("-")


@dataclass(frozen=True)
class Job:
    """A document and where its translation goes; None is standard output."""

    source: Path
    format: Format
    target: Path | None


@dataclass(frozen=True)
class Opened:
    """A document that was read."""

    job: Job
    document: Document


@dataclass(frozen=True)
class Finished:
    """A document that was written: numbers of entries, and those that were left as they are."""

    job: Job
    translated: int
    skipped: int  # they have a translation already
    untouched: tuple[Untouched, ...]
    origins: Mapping[Origin, int]  # of the translated entries
    terms: Terms  # of the translated entries


def plan_jobs(
    sources: Sequence[Path], *, output: Path | None, in_place: bool, format_name: str | None
) -> list[Job]:
    """Where each document goes. Several go to a directory; the input is overwritten only if asked."""
    if in_place and output is not None:
        raise UsageError("--in-place contradicts --output", hint="give only one of them")
    for source in sources:
        if source != STANDARD_STREAM:
            check_readable(source)
        elif in_place:
            raise UsageError("--in-place needs a file, not standard input", hint="omit --in-place")
    jobs = []
    into_directory = output is not None and (output.is_dir() or len(sources) > 1 or str(output).endswith("/"))
    if len(sources) > 1 and output is None and not in_place:
        raise UsageError("several documents need a directory", hint="add --output DIR, or --in-place")
    if output is not None and into_directory and output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file", hint="several documents need --output DIR")
    for source in sources:
        chosen = FORMATS[format_name] if format_name else format_of(source)
        if chosen is None:
            raise UsageError(
                f"the format of {source} cannot be told from its name",
                hint=f"add --format, which is one of {', '.join(FORMATS)}",
            )
        target = source if in_place else output / source.name if output and into_directory else output
        jobs.append(Job(source, chosen, target))
    _refuse_targets(jobs, in_place=in_place)
    return jobs


def _refuse_targets(jobs: Sequence[Job], *, in_place: bool) -> None:
    sources = {job.source.resolve() for job in jobs}
    seen: dict[Path, Path] = {}
    for job in jobs:
        if job.target is None:
            continue
        target = job.target.resolve()
        if target in sources and not in_place:
            raise UsageError(
                f"{job.target} is the document itself", hint="choose another --output, or use --in-place"
            )
        if target in seen:
            raise UsageError(
                f"{seen[target]} and {job.source} would both be written to {job.target}",
                hint="translate them with two commands, into two directories",
            )
        seen[target] = job.source


def open_documents(jobs: Sequence[Job], options: DocumentOptions) -> list[Opened]:
    """Read all documents, so that an error is reported before any work is done."""
    return [Opened(job, reader(job.format.name)(_bytes(job.source), job.source, options)) for job in jobs]


def _bytes(path: Path) -> bytes:
    if path == STANDARD_STREAM:
        return b"".join(standard_input("a document", "cat document"))
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise CorpusError(
                f"{path} has more than {MAX_DOCUMENT_BYTES >> 20} MB", hint="split it into several documents"
            )
        return path.read_bytes()
    except OSError as error:
        raise cannot_read(path, error) from error


def translate_documents(
    opened: Sequence[Opened],
    translator: SegmentTranslator | MemorySegments,
    *,
    window: int,
    facts: Mapping[str, Any],
    progress: Callable[[int], None],
    write: Callable[[bytes], None],
    resumed: Callable[[int], None] = lambda segments: None,
) -> Iterator[Finished]:
    """Translate and write all documents; each is written as soon as it is complete.

    window    lines that are sorted by length together
    facts     what the translations depend on: a journal of an interrupted job with the same facts is continued
    progress  called with the number of segments that are done
    write     for documents that go to standard output
    resumed   called with the number of segments in the journal
    """
    with Journal(next((one.job.target for one in opened), None), facts) as journal:
        resumed(len(journal))
        waiting = [(one, list(dict.fromkeys(_segments(one.document.entries)))) for one in opened]
        todo = [segment for _, segments in waiting for segment in segments]
        done = _translated(dict.fromkeys(todo), translator, window, journal, progress)
        results: dict[Segment, Result] = {}
        for one, segments in waiting:
            while any(segment not in results for segment in segments):
                results.update(next(done))
            yield _write(one, results, write)
        journal.remove()


def _segments(entries: Sequence[Entry]) -> Iterator[Segment]:
    return (segment for entry in entries for segment in entry.segments)


def _translated(
    segments: Mapping[Segment, object],
    translator: SegmentTranslator | MemorySegments,
    window: int,
    journal: Journal,
    progress: Callable[[int], None],
) -> Iterator[dict[Segment, Result]]:
    """Results in windows; those in the journal come with the first one."""
    known = {segment: result for segment in segments if (result := journal.get(segment)) is not None}
    progress(len(known))
    yield known
    batch: list[Segment] = []
    size = 0
    for segment in segments:
        if segment in known:
            continue
        batch.append(segment)
        size += translator.line_count(segment)
        if size >= window:
            yield _window(batch, translator, journal, progress)
            batch, size = [], 0
    yield _window(batch, translator, journal, progress)


def _window(
    batch: Sequence[Segment],
    translator: SegmentTranslator | MemorySegments,
    journal: Journal,
    progress: Callable[[int], None],
) -> dict[Segment, Result]:
    results = dict(zip(batch, translator.translate(batch), strict=True))
    journal.add(results)
    progress(len(batch))
    return results


class Rendered(NamedTuple):
    """A document with its translations: its bytes, and what became of its entries."""

    data: bytes
    origins: Mapping[Origin, int]  # of the translated entries
    terms: Terms
    untouched: tuple[Untouched, ...]


def rendered(document: Document, results: Mapping[Segment, Result]) -> Rendered:
    """Put the translations of all segments into the document; an entry without one is left as it is."""
    translations: list[tuple[Parts, ...] | None] = []
    origins: list[Origin] = []
    counts, terms = Counter[Origin](), Terms()
    untouched = list(document.untouched)
    for entry in document.entries:
        found = [results[segment] for segment in entry.segments]
        parts = tuple(result.parts for result in found if result.parts is not None)
        reason = next((result.reason for result in found if result.parts is None), "")
        origins.append(_common_origin([result.origin for result in found]))
        if not reason and not _is_encodable(document, entry, parts):
            reason = f"its translation cannot be written in {document.encoding.upper()}"
        if reason:
            untouched.append(Untouched(entry.where, reason))
        else:
            counts[origins[-1]] += 1
            for result in found:
                terms = terms.plus(result.terms)
        translations.append(None if reason else parts)
    return Rendered(document.write(translations, origins), counts, terms, tuple(untouched))


def _common_origin(origins: Sequence[Origin]) -> Origin:
    """That of an entry with several segments: what needs most attention counts."""
    return next((origin for origin in ("similar", "machine") if origin in origins), "memory")


def _write(opened: Opened, results: Mapping[Segment, Result], write: Callable[[bytes], None]) -> Finished:
    job = opened.job
    data, origins, terms, untouched = rendered(opened.document, results)
    if job.target is None:
        write(data)
    else:
        job.target.parent.mkdir(parents=True, exist_ok=True)
        with new_file(job.target) as temporary:
            temporary.write_bytes(data)
    count = sum(origins.values())
    return Finished(job, count, opened.document.skipped, untouched, origins, terms)


def _is_encodable(document: Document, entry: Entry, parts: tuple[Parts, ...]) -> bool:
    try:
        for edit in entry.edits(parts, "machine"):
            document.encode(edit.text)
    except UnicodeEncodeError:
        return False
    return True
