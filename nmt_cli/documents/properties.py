"""Java `.properties`: the values are translated, with their escapes and continuation lines."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from nmt_cli.documents.document import (
    Decoded,
    Document,
    Entry,
    Parts,
    Segment,
    Untouched,
    decode,
    plain,
    replacement,
)
from nmt_cli.documents.options import DocumentOptions
from nmt_cli.errors import CorpusError

# A line ends in \r, \n or \r\n, unless a backslash precedes it; possessive, so that it takes linear time.
_LOGICAL = re.compile(r"[ \t\f]*+(?P<content>(?:[^\\\r\n]++|\\(?:\r\n|[\s\S]))*+\\?)(?:\r\n|\r|\n|$)")
_KEY = re.compile(r"(?P<key>(?:[^\\\s=:]++|\\(?:\r\n[ \t\f]*|\n[ \t\f]*|[\s\S]))*+)[ \t\f]*+[=:]?[ \t\f]*+")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(\r\n|[\r\n])[ \t\f]*|([\s\S]))")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
_MESSAGE_FORMAT = re.compile(r"\{\d")


def read_properties(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The values of a file in UTF-8 or, as Java used to read them, in Latin-1."""
    try:
        text, encoding, mark = decode(data, path)
    except CorpusError:
        text, encoding, mark = Decoded(data.decode("latin-1"), "latin-1", b"")
    ascii_only = text.isascii()
    entries, untouched = list[Entry](), list[Untouched]()
    seen: dict[str, int] = {}
    position, number = 0, 1
    while position < len(text):
        match = _LOGICAL.match(text, position)
        assert match
        start, end = match.span("content")
        content = match["content"]
        if content and content[0] not in "#!":
            key = _KEY.match(text, start, end)
            assert key
            name = _unescaped(key["key"])
            if name in seen:
                reason = f"the key {name} is defined in line {seen[name]} already"
                untouched.append(Untouched(f"line {number}", reason))
            elif key.end() < end:
                entries.append(_entry(text, key.end(), end, number, ascii_only=ascii_only))
            seen.setdefault(name, number)
        number += len(re.findall(r"\r\n|\r|\n", match[0])) if "\r" in match[0] else match[0].count("\n")
        position = match.end() if match.end() > position else position + 1
    escape = partial(_escaped_character, ascii_only=True)
    return Document(text, entries, untouched, encoding=encoding, mark=mark, escape=escape)


def _entry(text: str, start: int, end: int, number: int, *, ascii_only: bool) -> Entry:
    value = _unescaped(text[start:end])
    doubled = (
        bool(_MESSAGE_FORMAT.search(value)) and "''" in value
    )  # MessageFormat writes '' for an apostrophe
    segment = Segment((value.replace("''", "'") if doubled else value,), accelerators=True, hard_breaks=True)

    def render(parts: Parts) -> str:
        result = plain(parts)
        if _MESSAGE_FORMAT.search(value):
            result = result.replace("'", "''") if doubled or "'" not in value else result
        escaped = "".join(_escaped_character(character, ascii_only=ascii_only) for character in result)
        stripped = escaped.lstrip(" ")
        return "\\ " * (len(escaped) - len(stripped)) + stripped

    return replacement(f"line {number}", segment, start, end, render)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    units = _ESCAPE.sub(_character, text).encode("utf-16-be", "surrogatepass")
    return units.decode("utf-16-be", "surrogatepass")  # two \\u escapes may be one character


def _character(match: re.Match[str]) -> str:
    code, newline, letter = match.groups()
    if code:
        return chr(int(code, 16))
    return "" if newline else _SIMPLE.get(letter, letter)


def _escaped_character(character: str, *, ascii_only: bool) -> str:
    if ascii_only and not character.isascii():
        units = character.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[i : i + 2].hex().upper()}" for i in range(0, len(units), 2))
    return _ESCAPES.get(character, character)
