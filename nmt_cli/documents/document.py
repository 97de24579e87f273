"""A document: entries with text to translate, and the edits that put a translation in its place.

A format reads a file into a `Document`. Writing starts from the original text and replaces only what an entry asks
to replace, so whatever is not translated stays as it was, byte for byte.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Literal, NamedTuple

from nmt_cli.errors import CorpusError

MAX_DOCUMENT_BYTES = 1 << 29
"""A document is held in memory as a whole."""
MAX_SEGMENT_CHARACTERS = 1 << 20
"""A longer segment is left untranslated: it is not a text that someone wrote."""

Role = Literal["open", "close", "point", "word"]
Origin = Literal["machine", "memory", "similar"]
"""Where a translation comes from: the model, the memory, or a similar text in the memory, which needs a review."""


@dataclass(frozen=True)
class Markup:
    """Something within a text that is not translated.

    open, close   a pair of tags around words; the model does not see them
    point         an empty tag, an entity; the model does not see it
    word          a placeholder, inline code, a URL: it stands for a word, and the model sees `shown`
    """

    raw: str  # as it stands in the document
    role: Role
    shown: str = ""
    kind: str = "markup"  # of a placeholder: printf, braces, url …
    ordered: bool = False  # it refers to an argument by its position, such as %s
    literal: bool = False  # part of the text, to be escaped like it, rather than markup of the format


Parts = tuple[str | Markup, ...]
"""Text and markup in order."""


@dataclass(frozen=True)
class Segment:
    """One text to translate: a paragraph, a message, a cue."""

    parts: Parts
    syntax: str = ""  # format strings that it is known to contain: c, python, python-brace …
    accelerators: bool = False  # `_File` and `&File` mark the key of a menu entry
    hard_breaks: bool = False  # a line break within the text separates lines, rather than words
    context: str = ""  # what tells it from others with the same text
    can_be_marked: bool = False  # the format can mark its translation as one that needs a review

    @property
    def size(self) -> int:
        """Number of characters."""
        return sum(len(part) if isinstance(part, str) else len(part.raw) for part in self.parts)


class Edit(NamedTuple):
    """Replace text[start:end]."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Entry:
    """Segments that are translated together or not at all, such as singular and plural of a message."""

    where: str  # such as "line 12", for messages
    segments: tuple[Segment, ...]
    edits: Callable[[tuple[Parts, ...], Origin], Sequence[Edit]]  # from the translations of the segments


class Untouched(NamedTuple):
    """An entry that was left as it is, and why."""

    where: str
    reason: str


@dataclass(frozen=True)
class Document:
    """What a format found in a file."""

    text: str
    entries: Sequence[Entry]
    untouched: Sequence[Untouched] = ()  # entries that cannot be read
    skipped: int = 0  # entries that have a translation already
    encoding: str = "utf-8"
    mark: bytes = b""  # byte order mark
    escape: Callable[[str], str] | None = field(default=None)  # for characters that the encoding lacks
    pack: Callable[[str], bytes] | None = field(default=None)  # for formats that are archives

    def write(
        self, translations: Sequence[tuple[Parts, ...] | None], origins: Sequence[Origin] | None = None
    ) -> bytes:
        """The document with these translations; None leaves an entry as it is. They come from a model by default."""
        edits: set[Edit] = set()
        known: Iterable[Origin] = origins or repeat("machine")
        for entry, translated, origin in zip(self.entries, translations, known, strict=False):
            if translated is not None:
                edits.update(entry.edits(translated, origin))
        pieces: list[str] = []
        position = 0
        for edit in sorted(edits):
            assert edit.start >= position, "edits overlap"
            pieces += [self.text[position : edit.start], edit.text]
            position = edit.end
        text = "".join([*pieces, self.text[position:]])
        return self.pack(text) if self.pack else self.mark + self.encode(text)

    def encode(self, text: str) -> bytes:
        """The bytes of a text; characters that the encoding lacks are escaped, or a UnicodeEncodeError."""
        if self.escape is None:
            return text.encode(self.encoding)
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError:
            escape = self.escape
            return b"".join(_encode(character, self.encoding, escape) for character in text)


def _encode(character: str, encoding: str, escape: Callable[[str], str]) -> bytes:
    try:
        return character.encode(encoding)
    except UnicodeEncodeError:
        return escape(character).encode(encoding)


def replacement(where: str, segment: Segment, start: int, end: int, render: Callable[[Parts], str]) -> Entry:
    """An entry whose translation replaces text[start:end]; a translation equal to the source changes nothing."""

    def edits(translations: tuple[Parts, ...], origin: Origin) -> list[Edit]:
        return [] if translations == (segment.parts,) else [Edit(start, end, render(translations[0]))]

    return Entry(where, (segment,), edits)


def plain(parts: Parts) -> str:
    """Text and markup as they stand."""
    return "".join(part if isinstance(part, str) else part.raw for part in parts)


def merged(parts: Sequence[str | Markup]) -> Parts:
    """Parts with neighboring texts joined and empty ones removed."""
    result: list[str | Markup] = []
    for part in parts:
        if isinstance(part, str) and result and isinstance(result[-1], str):
            result[-1] += part
        elif part != "":
            result.append(part)
    return tuple(result)


@dataclass(frozen=True)
class DocumentOptions:
    """What a format may need to know to read and write a document."""

    redo: bool = False  # also entries that were translated by nmt, and not changed since
    fuzzy: bool = True  # mark translations as unreviewed, where a format can
    target_language: str | None = None
    line_length: int = 42  # of subtitles


# Encodings

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class Decoded(NamedTuple):
    """The text of a file, and how to get its bytes back."""

    text: str
    encoding: str
    mark: bytes


def decode(data: bytes, path: Path, declared: str | None = None) -> Decoded:
    """The text of a file in UTF-8, in UTF-16 with a byte order mark, or in the encoding it declares."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return Decoded(_decode(data[len(mark) :], encoding, path, len(mark)), encoding, mark)
    encoding = declared or "utf-8"
    try:
        encoding = codecs.lookup(encoding).name
        if encoding.startswith("utf-16"):  # without a mark it is big-endian, unless the zeros say otherwise
            encoding = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
        "".encode(encoding)
    except (LookupError, ValueError):
        raise broken(
            path, "line 1", f"declares the unknown encoding {encoding!r}", "convert it to UTF-8"
        ) from None
    return Decoded(_decode(data, encoding, path, 0), encoding, b"")


def _decode(data: bytes, encoding: str, path: Path, offset: int) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        name = encoding.upper()
        raise CorpusError(
            f"{path} is not valid {name}: line {line}, byte {offset + error.start + 1}",
            hint=f"convert it to UTF-8 first, for example: iconv -f WINDOWS-1252 -t UTF-8 {path} > NEW",
        ) from error
    if encoding not in ("utf-8", "latin-1") and text.encode(encoding) != data:
        raise CorpusError(
            f"{path} cannot be written back in {encoding.upper()} without changes",
            hint="convert it to UTF-8 first, with iconv",
        )
    return text


def broken(path: Path, where: str, problem: str, hint: str) -> CorpusError:
    """The error for a document that cannot be read: what is wrong, and where."""
    return CorpusError(f"{path}, {where}: {problem}", hint=hint)


class Lines:
    """Line numbers of positions in a text, which must be asked for in ascending order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position, self._line = 0, 1

    def at(self, position: int) -> str:
        """Such as "line 12"."""
        self._line += self._text.count("\n", self._position, position)
        self._position = position
        return f"line {self._line}"
