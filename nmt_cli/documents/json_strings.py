"""JSON with messages, as i18next, vue-i18n, Flutter (ARB) and Chrome extensions use it: string values are translated.

Keys are not translated, nor are metadata: keys that start with `@` or `$`, and what accompanies a `message`.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

from nmt_cli.documents.document import (
    Document,
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
from nmt_cli.documents.options import DocumentOptions
from nmt_cli.errors import CorpusError

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
