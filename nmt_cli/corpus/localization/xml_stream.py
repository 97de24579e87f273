"""XML in bounded memory: a document of any size goes to a handler element by element.

The parser is expat. Entity declarations are an error, so nothing can expand; the DTD that a DOCTYPE names is never
opened, so nothing is read from the network or from another file. Limits on depth, on the length of a tag and on the
length of a text bound the memory that any document can use.

`SegmentText` collects the text of a segment with inline elements, as TMX and XLIFF share them:

| element | meaning | becomes |
| --- | --- | --- |
| `hi`, `g`, `pc`, `mrk` | formatted or annotated text | its text |
| `bpt`, `ept`, `it`, `ut`, `bx`, `ex`, `sc`, `ec`, `sm`, `em`, `cp` | code of the original format | nothing |
| `ph`, `x` | a placeholder or other code that stands alone | a placeholder such as `%s`: its text; else nothing |

A line break (type `lb`, or the code `<br>`) becomes a line break. Text inside code (`sub`) is dropped with the code.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NoReturn, Protocol
from xml.parsers import expat

from nmt_cli.corpus.block import Unit
from nmt_cli.errors import CorpusError

MAX_TEXT = 1 << 20  # characters of one segment
_MAX_DEPTH = 256
_MAX_TAG_BYTES = 1 << 22
_LANGUAGE_ATTRIBUTES = ("xml:lang", "lang")
_STANDALONE = frozenset({"ph", "x"})
_CODE = frozenset({"bpt", "ept", "it", "ut", "bx", "ex", "sc", "ec", "sm", "em", "cp"}) | _STANDALONE
_EQUIVALENTS = ("equiv-text", "equiv", "disp")
# What a translator would type: %s, %1$d, %(name)s, {0}, {{ name }}, ${name}, $name, %name%.
_PLACEHOLDER = re.compile(
    r"%(?:\d+\$|\(\w+\))?[-+ #0]*[\d.*]*[a-zA-Z@]{1,3}|\{\{?[^{}<>\\]*\}?\}|\$\{\w[\w.]*\}|\$\w+|%\w+%"
)
_BREAK = re.compile(r"<br\b", re.IGNORECASE)


class Handler(Protocol):
    """Receives the elements of a document and collects its units."""

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        """An element starts; its name has no namespace prefix."""
        ...

    def end(self, name: str) -> None:
        """An element ends."""
        ...

    def text(self, data: str) -> None:
        """Text between tags, possibly in several parts."""
        ...

    def take(self) -> list[Unit]:
        """The units that are complete, each returned once."""
        ...


def parse_xml(name: str, chunks: Iterable[bytes], handler: Handler) -> Iterator[Unit]:
    """The units that the handler collects from a document; `name` is for messages."""
    return _Parser(name, handler).parse(chunks)


class _Parser:
    def __init__(self, name: str, handler: Handler) -> None:
        self._name = name
        self._handler = handler
        self._depth = 0
        self._fed = 0  # bytes before the current chunk
        self._chunk = b""
        self._expat = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = handler.text
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._undefined

    def parse(self, chunks: Iterable[bytes]) -> Iterator[Unit]:
        for chunk in chunks:
            self._feed(chunk, final=False)
            yield from self._handler.take()
        self._feed(b"", final=True)
        yield from self._handler.take()

    def _feed(self, chunk: bytes, *, final: bool) -> None:
        self._chunk = chunk
        try:
            self._expat.Parse(chunk, final)
        except expat.ExpatError as error:
            self._malformed(error)
        except SegmentTooLongError:
            self._fail(f"a segment is longer than {MAX_TEXT:,} characters", "split it, or remove it")
        except (LookupError, ValueError) as error:  # an encoding that does not exist or has several bytes
            self._fail(f"the encoding cannot be read: {error}", "save the file as UTF-8")
        self._fed += len(chunk)
        if self._fed - self._expat.CurrentByteIndex > _MAX_TAG_BYTES:
            self._fail(f"a tag is longer than {_MAX_TAG_BYTES:,} bytes", "the file is damaged")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._fail(f"elements are nested more than {_MAX_DEPTH} deep", "the file is damaged")
        name = name.rpartition(":")[2] if ":" in name else name
        self._handler.start(name, attributes, self._expat.CurrentLineNumber)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._handler.end(name.rpartition(":")[2] if ":" in name else name)

    def _entity(self, name: str, *_: object) -> NoReturn:
        self._fail(
            f"the entity {name} is declared, and entities are not read",
            "replace &name; by the text it stands for, and remove the declaration",
        )

    def _undefined(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._fail(f"the entity &{name}; is not defined", "write the character itself instead")

    def _malformed(self, error: expat.ExpatError) -> NoReturn:
        what = expat.ErrorString(error.code) or "not well-formed"
        hint = "repair the file at that position; XML editors and xmllint show the same error"
        offset = self._expat.ErrorByteIndex - self._fed
        byte = self._chunk[offset : offset + 1] if offset >= 0 else b""
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN] and byte >= b"\x80":
            what = f"byte 0x{byte.hex().upper()} does not fit the encoding of the file"
            hint = 'save it as UTF-8, or declare its encoding in the first line: <?xml version="1.0" encoding="…"?>'
        elif error.code == expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS] and not self._fed:
            raise CorpusError(f"{self._name} is empty", hint="use a corpus that is not empty")
        raise CorpusError(f"{self._name}, line {error.lineno}, column {error.offset + 1}: {what}", hint=hint)

    def _fail(self, message: str, hint: str) -> NoReturn:
        parser = self._expat
        place = f"line {parser.CurrentLineNumber}, column {parser.CurrentColumnNumber + 1}"
        raise CorpusError(f"{self._name}, {place}: {message}", hint=hint)


class SegmentTooLongError(Exception):
    """A handler raises it when a segment exceeds `MAX_TEXT`."""


class TextParts:
    """The text of a segment in parts, of limited length."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def append(self, data: str) -> None:
        """Add a part."""
        self._length += len(data)
        if self._length > MAX_TEXT:
            raise SegmentTooLongError
        self._parts.append(data)

    def __str__(self) -> str:
        return "".join(self._parts)


def language_of(attributes: dict[str, str]) -> str:
    """The language of an element: `xml:lang`, or `lang` as in TMX 1.1."""
    return next((attributes[key] for key in _LANGUAGE_ATTRIBUTES if attributes.get(key)), "")


class SegmentText:
    """Collects the text of one segment, element by element."""

    def __init__(self) -> None:
        self._text = TextParts()
        self._nested = 0  # elements of code that are open
        self._break = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An inline element starts."""
        if self._nested:
            self._nested += 1
        elif name in _CODE:
            self._nested = 1
            self._code = TextParts()
            self._break = "lb" in (attributes.get("ctype"), attributes.get("type")) or (
                attributes.get("subType") == "xlf:lb"
            )
            equivalent = next((attributes[key] for key in _EQUIVALENTS if attributes.get(key)), "")
            self._code.append(equivalent)

    def end(self, name: str) -> None:
        """An inline element ends."""
        if not self._nested:
            return
        self._nested -= 1
        if self._nested:
            return
        code = str(self._code).strip()
        if self._break or _BREAK.match(code):
            self._text.append("\n")
        elif name in _STANDALONE and _PLACEHOLDER.fullmatch(code):
            self._text.append(code)

    def text(self, data: str) -> None:
        """Text of the segment, or code."""
        (self._code if self._nested else self._text).append(data)

    def __str__(self) -> str:
        return str(self._text)
