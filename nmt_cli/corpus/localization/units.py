"""The units of a TMX, PO or XLIFF file, one after the other: memory does not grow with the file."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from nmt_cli.corpus.localization.po import po_units
from nmt_cli.corpus.localization.tmx import TmxUnits
from nmt_cli.corpus.localization.unit import Unit
from nmt_cli.corpus.localization.xliff import XliffUnits
from nmt_cli.corpus.localization.xml_stream import parse_xml
from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import read_chunks, uncompressed_name

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
