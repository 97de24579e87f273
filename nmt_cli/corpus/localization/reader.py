"""Localization files: the units of a TMX, PO or XLIFF file, and those of one file or many as blocks of pairs.

Units come one after the other: memory does not grow with the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmt_cli.corpus.block import (
    INNER_NEWLINE,
    MISSING_LANGUAGE,
    OTHER_LANGUAGE,
    SEVERAL_VARIANTS,
    UNDECODABLE,
    Block,
    Skipped,
    Unit,
    remove_newlines,
)
from nmt_cli.corpus.localization.po import po_units
from nmt_cli.corpus.localization.tmx import TmxUnits
from nmt_cli.corpus.localization.xliff import XliffUnits
from nmt_cli.corpus.localization.xml_stream import parse_xml
from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import read_chunks, uncompressed_name

if TYPE_CHECKING:
    from nmt_cli.corpus.spec import Spec  # which needs the formats


LocalizationFormat = Literal["tmx", "po", "xliff"]

SUFFIXES: dict[str, LocalizationFormat] = {
    ".tmx": "tmx",
    ".po": "po",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".sdlxliff": "xliff",
    ".mqxliff": "xliff",
    ".mxliff": "xliff",
}


def localization_format(name: str) -> LocalizationFormat | None:
    """The format of a localization file by its name, compressed or not."""
    return SUFFIXES.get(Path(uncompressed_name(name.lower())).suffix)


def read_units(kind: LocalizationFormat, path: Path, *, source_lang: str, target_lang: str) -> Iterator[Unit]:
    """All units of a file in order, those that are skipped included; a broken file is a CorpusError."""
    name, chunks = str(path), read_chunks(path)
    if kind == "po":
        return po_units(name, chunks, source_lang, target_lang)
    handler = TmxUnits(source_lang, target_lang) if kind == "tmx" else XliffUnits(source_lang, target_lang)
    return _xml_units(name, chunks, handler, kind)


def _xml_units(
    name: str, chunks: Iterable[bytes], handler: TmxUnits | XliffUnits, root: str
) -> Iterator[Unit]:
    yield from parse_xml(name, chunks, handler)
    if handler.root != root:
        raise CorpusError(
            f"{name} is not {root.upper()}: its root element is <{handler.root}>",
            hint="the extension of a file tells its format; give the file its right name",
        )


_SHOWN_LANGUAGES = 8


def read_localization(spec: Spec, kind: LocalizationFormat, block_pairs: int) -> Iterator[Block]:
    """The finished translations of all files of a corpus; a block never spans two files."""
    first = 1
    lines_before = 0
    reasons: Counter[str] = Counter()
    languages: dict[str, None] = {}  # of skipped units, in order
    for path in spec.paths:
        last_line = 0
        for units in _batches(spec, kind, path, block_pairs):
            last_line = units[-1].line
            for unit in units:
                if unit.skipped:
                    reasons[unit.skipped] += 1
                if unit.skipped in (MISSING_LANGUAGE, OTHER_LANGUAGE) and len(languages) < _SHOWN_LANGUAGES:
                    codes = f"{unit.source_code}, {unit.target_code}".split(", ")
                    languages.update(dict.fromkeys(filter(None, codes)))
            block = _block(units, first, lines_before)
            yield block._replace(file=(str(path), lines_before)) if len(spec.paths) > 1 else block
            first += len(block.source)
        lines_before += last_line
    if first == 1:
        raise _no_pairs(spec, reasons, list(languages))


def _batches(spec: Spec, kind: LocalizationFormat, path: Path, size: int) -> Iterator[list[Unit]]:
    batch: list[Unit] = []
    for unit in read_units(kind, path, source_lang=spec.source_lang, target_lang=spec.target_lang):
        batch.append(unit)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _block(units: list[Unit], first: int, lines_before: int) -> Block:
    kept = [unit for unit in units if not unit.skipped]
    source, target = [unit.source for unit in kept], [unit.target for unit in kept]
    removed = {}
    if newlines := remove_newlines(source) + remove_newlines(target):
        removed[INNER_NEWLINE] = newlines
    if several := sum(unit.several for unit in kept):
        removed[SEVERAL_VARIANTS] = several
    variants: Counter[str] = Counter()
    for unit in kept:
        variants[f"source {unit.source_code}"] += 1
        variants[f"target {unit.target_code}"] += 1
    return Block(
        first,
        source,
        target,
        {row: UNDECODABLE for row, unit in enumerate(kept) if unit.damaged},
        removed,
        [lines_before + unit.line for unit in kept],
        [
            Skipped(lines_before + unit.line, unit.skipped, unit.source, unit.target)
            for unit in units
            if unit.skipped
        ],
        variants=dict(variants),
    )


def _no_pairs(spec: Spec, reasons: Counter[str], languages: list[str]) -> CorpusError:
    if not reasons:
        return CorpusError(f"{spec.text} has no translations", hint="use a corpus that is not empty")
    wanted = f"{spec.source_lang} and {spec.target_lang}"
    if reasons[MISSING_LANGUAGE] + reasons[OTHER_LANGUAGE] > 0.5 * reasons.total():
        return CorpusError(
            f"{spec.text} has no pairs of {wanted}",
            hint=f"it has {', '.join(languages)}; give these codes with -s and -t"
            if languages
            else "its texts do not tell their languages",
        )
    counts = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
    return CorpusError(
        f"{spec.text} has no finished translations ({counts})",
        hint="fuzzy, untranslated and obsolete entries are not used; give files with finished translations",
    )
