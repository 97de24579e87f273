"""Markup languages: tags with their positions, and text with its entities.

XML is checked by expat, which rejects what is not well-formed; entity declarations and external entities are refused.
After that, and for HTML, a tokenizer notes where each tag and text is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from nmt_cli.documents.document import Decoded, Markup, Parts, broken, decode, merged

_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_DECLARED_WIDE = re.compile(r"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_DEEPEST = 500

_TOKEN = re.compile(
    r"<!--.*?(?:-->|$)|<!\[CDATA\[.*?(?:\]\]>|$)|<\?.*?(?:\?>|$)|<!DOCTYPE[^\[>]*+(?:\[.*?\]\s*)?>"
    r"|</(?P<close>[A-Za-z_][^\s<>/]*+)[^<>]*+>"
    r"""|<(?P<open>[A-Za-z_][^\s<>/]*+)(?P<attributes>(?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>"""
    r"|[^<]++|<",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"""(?P<name>[^\s"'<>/=]++)(?:\s*+=\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^\s"'<>=`]++)))?"""
)
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_TYPOGRAPHIC = "'\"&<>-–—‘’‚“”„«»‹›…"


class Token(NamedTuple):
    """A tag, or a text, a comment and so on, if it has no name."""

    start: int
    end: int
    kind: str  # open, close, empty, text, cdata, other
    name: str
    attributes_at: int  # where they start, for tags that open


class Attribute(NamedTuple):
    """An attribute of a tag, with the position of its value, without quotation marks."""

    name: str
    value: str  # decoded
    start: int
    end: int
    quoted: bool


def decode_xml(data: bytes, path: Path) -> Decoded:
    """The text of an XML file that is well-formed and declares no entities."""
    declared = _DECLARED.search(data[:1000])
    name = declared[1].decode() if declared else None
    if name is None and data[:2] in (b"<\0", b"\0<"):
        wide = _DECLARED_WIDE.search(
            data[:2000].decode("utf-16-le" if data[1] == 0 else "utf-16-be", "replace")
        )
        name = wide[1] if wide else "utf-16"
    decoded = decode(data, path, name)
    _check(decoded.text, path)
    return decoded


def _check(text: str, path: Path) -> None:
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=None)
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise broken(path, where(), f"elements are nested more than {_DEEPEST} deep", "is it a text?")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def where() -> str:
        return f"line {parser.CurrentLineNumber}"

    def refuse(*_: object) -> None:
        raise broken(
            path, where(), "it declares entities, which are not expanded", "remove the <!ENTITY> declarations"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = None
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        problem = expat.errors.messages.get(error.code, str(error))
        place = f"line {error.lineno}, column {error.offset + 1}"
        raise broken(
            path, place, f"the XML is not well-formed: {problem}", "correct it; xmllint shows more"
        ) from error


def tokens(text: str, position: int = 0) -> Iterator[Token]:
    """All tokens in order; together they are the text."""
    while match := _TOKEN.match(text, position):
        start, end = match.span()
        if start == end:
            return
        if match["close"]:
            yield Token(start, end, "close", match["close"], end)
        elif match["open"]:
            kind = "empty" if text[end - 2] == "/" else "open"
            yield Token(start, end, kind, match["open"], match.start("attributes"))
        elif text.startswith("<![CDATA[", start):
            yield Token(start, end, "cdata", "", end)
        elif text[start] == "<" and end - start > 1:
            yield Token(start, end, "other", "", end)
        else:
            yield Token(start, end, "text", "", end)
        position = end


def attributes(text: str, token: Token) -> dict[str, Attribute]:
    """The attributes of a tag by name; of two with the same name the first counts."""
    found: dict[str, Attribute] = {}
    for match in _ATTRIBUTE.finditer(text, token.attributes_at, token.end - 1):
        group = next((name for name in ("double", "single", "bare") if match[name] is not None), "name")
        value = html.unescape(match[group]) if group != "name" else ""
        span = match.span(group)
        found.setdefault(
            match["name"], Attribute(match["name"], value, *span, quoted=group in ("double", "single"))
        )
    return found


def text_parts(raw: str) -> Parts:
    """Text with letters and punctuation decoded; other entities, such as &nbsp;, are markup."""
    parts: list[str | Markup] = []
    position = 0
    for match in _ENTITY.finditer(raw):
        character = html.unescape(match[0])
        parts.append(raw[position : match.start()])
        is_text = len(character) == 1 and (character.isalnum() or character in _TYPOGRAPHIC)
        parts.append(character if is_text else Markup(match[0], "point", kind="entity"))
        position = match.end()
    return merged([*parts, raw[position:]])


def escaped(text: str) -> str:
    """Text of an element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escaped_attribute(text: str) -> str:
    """The value of an attribute, in quotation marks of either kind."""
    return escaped(text).replace('"', "&quot;").replace("'", "&#39;")


def character_reference(character: str) -> str:
    """A character that the encoding lacks."""
    return "\ufffd" if "\ud800" <= character <= "\udfff" else f"&#{ord(character)};"


def rendered(parts: Parts) -> str:
    """Text escaped, markup as it is."""
    return "".join(escaped(part) if isinstance(part, str) else part.raw for part in parts)


def local_name(token: Token) -> str:
    """The name of a tag without its namespace prefix."""
    return token.name.rsplit(":", 1)[-1]


def closing(found: Sequence[Token], index: int) -> int:
    """The index of the tag that closes the element that opens at `index`, in well-formed XML."""
    if found[index].kind == "empty":
        return index
    depth = 0
    for at in range(index, len(found)):
        depth += {"open": 1, "close": -1}.get(found[at].kind, 0)
        if not depth:
            return at
    raise AssertionError("not well-formed")


def with_attributes(text: str, token: Token, values: Mapping[str, str]) -> str:
    """A tag with attributes replaced or added."""
    tag, shift, missing = text[token.start : token.end], -token.start, dict(values)
    for name, attribute in sorted(attributes(text, token).items(), key=lambda item: item[1].start):
        if name in missing:
            value = escaped_attribute(missing.pop(name))
            tag = tag[: attribute.start + shift] + value + tag[attribute.end + shift :]
            shift += len(value) - (attribute.end - attribute.start)
    at = len(tag) - (2 if token.kind == "empty" else 1)
    added = "".join(f' {name}="{escaped_attribute(value)}"' for name, value in missing.items())
    return tag[:at].rstrip() + added + tag[at:]
