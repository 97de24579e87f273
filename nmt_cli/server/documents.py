"""Texts, HTML and files: what of them is translated, and how the translations are put back.

Everything else stays as it is, byte for byte: line breaks, indentation, tags, keys and time codes. Lines of text go
straight to the models. HTML and files are documents (`nmt_cli.documents`), whose segments, with their tags and
placeholders, are handled by a thread that asks the models for lines of text.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from nmt_cli.documents.document import Decoded, Document, DocumentOptions, Untouched, decode
from nmt_cli.documents.driver import rendered
from nmt_cli.documents.formats import FORMATS, format_of, reader
from nmt_cli.documents.placeholders import Recognizer
from nmt_cli.documents.segment_translation import Result, SegmentTranslator, Translated, TranslateLines
from nmt_cli.documents.web_page import html_document
from nmt_cli.server.batcher import Batcher
from nmt_cli.server.requests import Upload, invalid
from nmt_cli.server.routing import translate_lines

LINES_OF_TEXT = ".txt"
FILE_FORMATS = (
    LINES_OF_TEXT,
    *(name for one in FORMATS.values() for name in (*one.suffixes, *one.files)),
)
_LINE_END = re.compile(r"(\r?\n)")
_DOWNLOAD_SECONDS = 600.0
_DOWNLOAD_BYTES = 64 << 20  # of all files that wait


class TextLines:
    """A text, line by line: those that are not blank are translated, without the white space around them."""

    def __init__(self, text: str) -> None:
        self._pieces: list[str] = []
        self._rows: list[int] = []  # indices of the pieces to be translated
        for index, part in enumerate(_LINE_END.split(text)):
            core = part.strip()
            if index % 2 or not core:
                self._pieces.append(part)
            else:
                start = len(part) - len(part.lstrip())
                self._rows.append(len(self._pieces) + 1)
                self._pieces += [part[:start], core, part[start + len(core) :]]

    @property
    def texts(self) -> list[str]:
        """What is to be translated."""
        return [self._pieces[row] for row in self._rows]

    def filled(self, translations: Sequence[str]) -> str:
        """The text with its translations."""
        pieces = list(self._pieces)
        for row, translation in zip(self._rows, translations, strict=True):
            pieces[row] = translation
        return "".join(pieces)


class TextFile(NamedTuple):
    """A file of plain text, line by line."""

    decoded: Decoded
    lines: TextLines

    def filled(self, translations: Sequence[str]) -> bytes:
        """The file with its translations."""
        return self.decoded.mark + self.lines.filled(translations).encode(self.decoded.encoding, "replace")


def read_file(upload: Upload, target: str) -> TextFile | Document:
    """The content of a file, according to its name. The name is used for nothing else, and never as a path."""
    path = Path(PurePosixPath(upload.name.replace("\\", "/")).name)
    if path.suffix.lower() == LINES_OF_TEXT:
        decoded = decode(upload.content, path)
        return TextFile(decoded, TextLines(decoded.text))
    found = format_of(path)
    if found is None:
        raise invalid("file format not supported")
    return reader(found.name)(upload.content, path, DocumentOptions(target_language=target))


def read_html(text: str) -> Document:
    """A text with tags, which need not be a whole page."""
    return html_document(text)


def size_of(document: Document) -> tuple[int, int]:
    """The number of characters and of segments to be translated."""
    segments = [segment for entry in document.entries for segment in entry.segments]
    return sum(segment.size for segment in segments), len(segments)


def text_of(document: Document) -> str:
    """What is to be translated, for detecting its language."""
    return "\n".join(
        part
        for entry in document.entries
        for segment in entry.segments
        for part in segment.parts
        if isinstance(part, str)
    )


class Finished(NamedTuple):
    """A translated document, and the entries that were left as they are."""

    content: bytes
    untouched: Sequence[Untouched]


async def translate_document(document: Document, chain: Sequence[Batcher]) -> Finished:
    """Translate all segments, in a thread that waits for the models. Cancelling it takes its lines out of the queue."""
    loop = asyncio.get_running_loop()
    running: list[Future[Sequence[Translated]]] = []
    cancelled = False

    def translate(texts: Sequence[str], align: bool) -> Sequence[Translated]:
        if cancelled:
            raise CancelledError
        future = asyncio.run_coroutine_threadsafe(_translations(chain, texts, align), loop)
        running.append(future)
        return future.result()

    def work() -> Finished:
        segments = list(dict.fromkeys(s for entry in document.entries for s in entry.segments))
        results = (
            _segments(chain, translate).translate(segments) if chain else [Result(s.parts) for s in segments]
        )
        content, _, _, untouched = rendered(document, dict(zip(segments, results, strict=True)))
        return Finished(content, untouched)

    try:
        return await asyncio.to_thread(work)
    finally:  # if it was cancelled, the thread is still waiting
        cancelled = True
        for future in running:
            future.cancel()


def _segments(chain: Sequence[Batcher], translate: TranslateLines) -> SegmentTranslator:
    """One that shows a single model the symbols it has learned; of several, each replaces placeholders on its own."""
    symbols = chain[0].model.placeholders if len(chain) == 1 else None
    patterns = symbols.patterns if symbols else ()
    return SegmentTranslator(translate, Recognizer(patterns), symbols=symbols is not None)


class Unaligned(NamedTuple):
    """What several models have translated one after the other: there is no attention from one end to the other."""

    text: str
    source_pieces: tuple[str, ...] = ()
    target_pieces: tuple[str, ...] = ()
    attention: Any = None
    whole_words: tuple[bool, bool] = (False, False)
    reached_limit: bool = False


async def _translations(chain: Sequence[Batcher], texts: Sequence[str], align: bool) -> Sequence[Translated]:
    if len(chain) == 1:
        return await chain[0].translations(texts, attention=align)
    return [Unaligned(best[0]) for best in await translate_lines(chain, texts)]


class Download(NamedTuple):
    """A translated file."""

    name: str
    content: bytes
    expires: float


class Downloads:
    """Translated files that wait to be fetched: in memory, for a while, under names that cannot be guessed.

    The oldest are dropped when there are too many.
    """

    def __init__(self, max_bytes: int = _DOWNLOAD_BYTES) -> None:
        self._files: dict[str, Download] = {}
        self._max_bytes = max_bytes

    def add(self, name: str, content: bytes, now: float | None = None) -> str:
        """Keep a file; the result is what to ask for."""
        now = time.monotonic() if now is None else now
        self._drop_expired(now)
        while self._files and len(content) + self._bytes() > self._max_bytes:
            del self._files[next(iter(self._files))]
        suffix = next((one for one in FILE_FORMATS if name.lower().endswith(one)), "")
        token = f"{secrets.token_urlsafe(24)}{suffix if suffix.startswith('.') else '.xml'}"
        self._files[token] = Download(name, content, now + _DOWNLOAD_SECONDS)
        return token

    def get(self, token: str, now: float | None = None) -> Download | None:
        """A file that is still there."""
        self._drop_expired(time.monotonic() if now is None else now)
        return self._files.get(token)

    def _drop_expired(self, now: float) -> None:
        self._files = {token: file for token, file in self._files.items() if file.expires > now}

    def _bytes(self) -> int:
        return sum(len(file.content) for file in self._files.values())
