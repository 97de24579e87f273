"""Messages by key: JSON, as i18next, vue-i18n, Flutter (ARB) and Chrome extensions use it, and Java properties.

Keys are not translated, nor are metadata of JSON: keys that start with `@` or `$`, and what accompanies a `message`.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

from nmt_cli.documents.document import (
    Decoded,
    Document,
    DocumentOptions,
    Entry,
    Lines,
    Parts,
    Segment,
    Untouched,
    broken,
    decode,
    plain,
    replacement,
)
from nmt_cli.errors import CorpusError

# ------------------------------------------------------------------------------------------------------------
# JSON: string values

_TOKEN = re.compile(
    r'[ \t\r\n]*+("(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+"|[{}\[\],:]'
    r"|-?\d[\d.eE+-]{0,400}|true|false|null)"
)
_SPACE = " \t\r\n"
_DEEPEST = 200


def read_json(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The string values of a JSON document."""
    text, encoding, mark = decode(data, path)
    reader = _Reader(text, path)
    entries = reader.read()
    return Document(text, entries, reader.untouched, encoding=encoding, mark=mark, escape=_escaped)


class _Reader:
    """Reads a document by recursive descent, and notes where its strings are."""

    def __init__(self, text: str, path: Path) -> None:
        self.untouched: list[Untouched] = []
        self._text, self._path = text, path
        self._lines = Lines(text)
        self._ascii = text.isascii() and "\\u" in text
        self._position = 0

    def read(self) -> list[Entry]:
        """The entries of the whole document."""
        entries = self._value(self._next(), translated=True, depth=0)
        if self._text[self._position :].strip(_SPACE):
            raise self._error(self._position, "there is text after the end of the value")
        return entries

    def _next(self) -> tuple[str, int]:
        """The next token and its position."""
        match = _TOKEN.match(self._text, self._position)
        if not match:
            rest = self._text[self._position :].lstrip(_SPACE)
            at = len(self._text) - len(rest)
            raise self._error(
                at, f"this is not JSON: {rest.splitlines()[0][:20]}" if rest else "it ends too early"
            )
        self._position = match.end()
        token = match[1]
        return token, match.end() - len(token)

    def _value(self, token: tuple[str, int], *, translated: bool, depth: int) -> list[Entry]:
        text, start = token
        if text in ("{", "[") and depth >= _DEEPEST:
            raise self._error(start, f"there are more than {_DEEPEST} levels")
        if text == "{":
            return self._object(translated=translated, depth=depth + 1)
        if text == "[":
            return self._array(translated=translated, depth=depth + 1)
        if text in ("}", "]", ",", ":"):
            raise self._error(start, f"{text} instead of a value")
        if text[0] != '"' or not translated:
            return []
        segment = Segment((json.loads(text),), accelerators=True, hard_breaks=True)
        render = partial(_render, ascii_only=self._ascii)
        return [replacement(self._lines.at(start), segment, start + 1, start + len(text) - 1, render)]

    def _array(self, *, translated: bool, depth: int) -> list[Entry]:
        entries: list[Entry] = []
        token = self._next()
        if token[0] == "]":
            return entries
        while True:
            entries += self._value(token, translated=translated, depth=depth)
            if not self._continues("]"):
                return entries
            token = self._next()

    def _object(self, *, translated: bool, depth: int) -> list[Entry]:
        entries: dict[str, list[Entry]] = {}
        token = self._next()
        if token[0] == "}":
            return []
        while True:
            text, start = token
            if text[0] != '"':
                raise self._error(start, f"{text[:20]} instead of a key")
            key = json.loads(text)
            is_new = key not in entries
            if not is_new:
                self.untouched.append(Untouched(self._lines.at(start), f"the key {key} is defined twice"))
            colon, at = self._next()
            if colon != ":":
                raise self._error(at, f"{colon[:20]} instead of a colon")
            wanted = translated and is_new and key[:1] not in ("@", "$")
            found = self._value(self._next(), translated=wanted, depth=depth)
            entries.setdefault(key, found)
            if not self._continues("}"):
                break
            token = self._next()
        if "message" in entries and not {"description", "placeholders"}.isdisjoint(entries):
            return entries["message"]  # a Chrome extension describes its messages
        return [entry for found in entries.values() for entry in found]

    def _continues(self, end: str) -> bool:
        token, start = self._next()
        if token not in (",", end):
            raise self._error(start, f"{token[:20]} instead of a comma or {end}")
        return token == ","

    def _error(self, position: int, problem: str) -> CorpusError:
        column = position - self._text.rfind("\n", 0, position)
        where = f"{Lines(self._text).at(position)}, column {column}"
        return broken(self._path, where, problem, "correct the JSON syntax")


def _render(parts: Parts, *, ascii_only: bool) -> str:
    return json.dumps(plain(parts), ensure_ascii=ascii_only)[1:-1]


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]


# ------------------------------------------------------------------------------------------------------------
# Java properties

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
