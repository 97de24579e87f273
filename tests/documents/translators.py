"""Translators of lines for tests: no model is needed to test documents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.documents.document import Document, DocumentOptions, Parts, plain
from nmt_cli.documents.formats import reader
from nmt_cli.documents.placeholders import Recognizer
from nmt_cli.documents.segment_translation import SegmentTranslator


@dataclass(frozen=True)
class Line:
    """A translated line without attention."""

    text: str
    source_pieces: tuple[str, ...] = ()
    target_pieces: tuple[str, ...] = ()
    attention: Any = None
    whole_words: tuple[bool, bool] = (False, False)
    reached_limit: bool = False


def by_line(translate: Callable[[str], str], recognizer: Recognizer | None = None) -> SegmentTranslator:
    """A translator that treats each line alone."""

    def lines(texts: Sequence[str], align: bool) -> list[Line]:
        return [Line(translate(text)) for text in texts]

    return SegmentTranslator(lines, recognizer)


IDENTITY = by_line(lambda text: text)
SWAPPED = by_line(str.swapcase)
"""Changes every text, and copies placeholders without letters; the others are inserted again."""


def read(data: bytes | str, name: str, **options: Any) -> Document:
    content = data.encode() if isinstance(data, str) else data
    return reader(name)(content, Path(f"file.{name}"), DocumentOptions(**options))


def translate(
    data: bytes | str, name: str, translator: SegmentTranslator = IDENTITY, **options: Any
) -> bytes:
    """The translated document; entries without a translation are left as they are."""
    document = read(data, name, **options)
    translations: list[tuple[Parts, ...] | None] = []
    for entry in document.entries:
        found = translator.translate(entry.segments)
        parts = tuple(result.parts for result in found if result.parts is not None)
        translations.append(parts if len(parts) == len(entry.segments) else None)
    return document.write(translations)


def texts(data: bytes | str, name: str, **options: Any) -> list[str]:
    """The segments of a document, with their markup."""
    document = read(data, name, **options)
    return [plain(segment.parts) for entry in document.entries for segment in entry.segments]
