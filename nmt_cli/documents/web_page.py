"""HTML: the text of each block, with its inline elements, and the attributes that people read.

Scripts, styles, `<pre>`, and elements with `translate="no"` or the class `notranslate` are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nmt_cli.documents.document import (
    Document,
    DocumentOptions,
    Edit,
    Entry,
    Lines,
    Markup,
    Origin,
    Parts,
    Role,
    Segment,
    Untouched,
    broken,
    decode,
    merged,
)
from nmt_cli.documents.tokens import (
    Attribute,
    Token,
    attributes,
    character_reference,
    escaped,
    escaped_attribute,
    text_parts,
    tokens,
)

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite del dfn em font i img input ins label mark q s small span strike "  # noqa: SIM905
    "strong sub sup time tt u wbr code kbd samp var".split()
)
_WORDS = frozenset(["code", "kbd", "samp", "var"])  # their content is not translated
_SKIPPED = frozenset(
    "script style pre textarea svg math template noscript object iframe canvas audio video".split()  # noqa: SIM905
)
_RAW = frozenset(["script", "style", "textarea", "title"])  # contain no tags
_VOID = frozenset("area base br col embed hr img input link meta source track wbr param".split())  # noqa: SIM905
_ATTRIBUTES = ("alt", "title", "placeholder", "aria-label", "label", "summary")
_META = ("description", "keywords", "og:title", "og:description", "twitter:title", "twitter:description")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")


def read_html(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The blocks of a page."""
    declared = _CHARSET.search(data[:4096])
    text, encoding, mark = decode(data, path, declared[1].decode() if declared else None)
    if "<" not in text and text.strip():
        raise broken(path, "line 1", "there is no tag", "is it an HTML file?")
    return html_document(text, encoding, mark)


def html_document(text: str, encoding: str = "utf-8", mark: bytes = b"") -> Document:
    """The blocks of a page, or of a part of one."""
    reader = _Reader(text)
    reader.read()
    return Document(
        text, reader.entries, reader.untouched, encoding=encoding, mark=mark, escape=character_reference
    )


@dataclass
class _Block:
    """Text and inline tags that belong together."""

    start: int = -1
    end: int = -1
    parts: list[str | Markup] = field(default_factory=list)
    read: list[tuple[Token, Attribute]] = field(default_factory=list)  # attributes within the block


class _Reader:
    """Goes through the tokens of a page and collects its blocks."""

    def __init__(self, text: str) -> None:
        self.entries: list[Entry] = []
        self.untouched: list[Untouched] = []
        self._text = text
        self._lines = Lines(text)
        self._tokens = _with_raw_elements(text)
        self._block = _Block()

    def read(self) -> None:
        """Collect all entries."""
        index = 0
        while index < len(self._tokens):
            token = self._tokens[index]
            name = token.name.lower()
            if token.kind == "text":
                self._add(token, text_parts(self._text[token.start : token.end]))
            elif token.kind in ("other", "cdata") or token.kind == "close":
                self._add_or_finish(token, name)
            elif name in _SKIPPED or name in _WORDS or self._is_kept(token):
                index = self._keep(index, name)
            else:
                self._add_or_finish(token, name)
            index += 1
        self._finish()

    def _add(self, token: Token, parts: Sequence[str | Markup]) -> None:
        block = self._block
        block.start = token.start if block.start < 0 else block.start
        block.end = token.end
        block.parts += parts

    def _add_or_finish(self, token: Token, name: str) -> None:
        raw = self._text[token.start : token.end]
        if name in _INLINE:
            empty = token.kind == "empty" or name in _VOID
            role: Role = "point" if empty else "close" if token.kind == "close" else "open"
            self._add(token, [Markup(raw, role)])
            self._block.read += [(token, attribute) for attribute in self._attributes(token, name)]
        elif token.kind == "other" and self._block.parts:
            self._add(token, [Markup(raw, "point")])
        else:
            self._finish()
            for attribute in self._attributes(token, name):
                self.entries.append(self._attribute_entry(attribute))

    def _keep(self, index: int, name: str) -> int:
        """Go on after an element that is not translated; within a text it stands for a word."""
        token = self._tokens[index]
        last = index if token.kind == "empty" or name in _VOID else _end_of(self._tokens, index)
        raw = self._text[token.start : self._tokens[last].end]
        if name in _INLINE:
            inner = self._text[token.end : self._tokens[last].start] if last > index else ""
            shown = "" if "<" in inner or "&" in inner else inner.strip()
            whole = token._replace(end=self._tokens[last].end)
            self._add(whole, [Markup(raw, "word" if shown else "point", shown)])
        else:
            self._finish()
        return last

    def _is_kept(self, token: Token) -> bool:
        found = attributes(self._text, token)
        classes = found["class"].value.split() if "class" in found else []
        return ("translate" in found and found["translate"].value.lower() == "no") or "notranslate" in classes

    def _attributes(self, token: Token, name: str) -> list[Attribute]:
        if token.kind == "close" or not name:
            return []
        found = attributes(self._text, token)
        wanted = [found[key] for key in _ATTRIBUTES if key in found]
        if name == "meta" and "content" in found:
            label = found.get("name") or found.get("property")
            wanted = [found["content"]] if label and label.value.lower() in _META else []
        if name == "input" and "value" in found and "type" in found:
            wanted += [found["value"]] if found["type"].value.lower() in ("submit", "button", "reset") else []
        return [one for one in wanted if one.quoted and _LETTER.search(one.value)]

    def _attribute_entry(self, attribute: Attribute) -> Entry:
        segment = _attribute_segment(attribute)

        def edits(translations: tuple[Parts, ...], origin: Origin) -> list[Edit]:
            if translations == (segment.parts,):
                return []
            return [Edit(attribute.start, attribute.end, _attribute_value(translations[0]))]

        return Entry(self._lines.at(attribute.start), (segment,), edits)

    def _finish(self) -> None:
        """The block that ends here becomes an entry."""
        block, self._block = self._block, _Block()
        parts = merged(block.parts)
        has_text = any(isinstance(part, str) and _LETTER.search(part) for part in parts)
        if not has_text and not block.read:
            return
        where = self._lines.at(block.start)
        if not _is_balanced(parts):
            for _, attribute in block.read if not has_text else []:
                self.entries.append(self._attribute_entry(attribute))
            if has_text:
                self.untouched.append(Untouched(where, "its tags are not balanced"))
            return
        segments = (Segment(parts), *(_attribute_segment(attribute) for _, attribute in block.read))

        def edits(translations: tuple[Parts, ...], origin: Origin) -> list[Edit]:
            if translations == tuple(segment.parts for segment in segments):
                return []
            changed = dict(self._changed_tags(block, translations[1:]))
            pieces = (
                escaped(part) if isinstance(part, str) else changed.get(part.raw, part.raw)
                for part in translations[0]
            )
            return [Edit(block.start, block.end, "".join(pieces))]

        self.entries.append(Entry(where, segments, edits))

    def _changed_tags(self, block: _Block, translations: Sequence[Parts]) -> list[tuple[str, str]]:
        """Inline tags, before and after the translation of their attributes."""
        tags: dict[int, str] = {}
        shifts: dict[int, int] = {}
        for (token, attribute), parts in zip(block.read, translations, strict=True):
            raw = tags.get(token.start, self._text[token.start : token.end])
            shift = shifts.get(token.start, 0) - token.start
            value = _attribute_value(parts)
            tags[token.start] = raw[: attribute.start + shift] + value + raw[attribute.end + shift :]
            shifts[token.start] = shift + token.start + len(value) - (attribute.end - attribute.start)
        ends = {token.start: token.end for token, _ in block.read}
        return [(self._text[start : ends[start]], raw) for start, raw in tags.items()]


def _attribute_segment(attribute: Attribute) -> Segment:
    return Segment((attribute.value,))


def _attribute_value(parts: Parts) -> str:
    return "".join(escaped_attribute(part) if isinstance(part, str) else part.raw for part in parts)


def _with_raw_elements(text: str) -> list[Token]:
    """The tokens; what scripts and the like contain is one text."""
    found: list[Token] = []
    position = 0
    while position < len(text):
        token = next(tokens(text, position), None)
        if token is None:
            break
        found.append(token)
        position = token.end
        if token.kind == "open" and token.name.lower() in _RAW:
            closing = re.compile(f"</{token.name}", re.IGNORECASE | re.ASCII).search(text, position)
            end = closing.start() if closing else len(text)
            if end > position:
                found.append(Token(position, end, "text", "", end))
            position = end
    return found


def _end_of(found: Sequence[Token], index: int) -> int:
    """The tag that closes an element, or the end of the page."""
    name, depth = found[index].name.lower(), 0
    for at in range(index, len(found)):
        if found[at].name.lower() == name:
            depth += {"open": 1, "close": -1}.get(found[at].kind, 0)
            if not depth:
                return at
    return len(found) - 1


def _is_balanced(parts: Parts) -> bool:
    names: list[str] = []
    for part in parts:
        if isinstance(part, str) or part.role not in ("open", "close"):
            continue
        match = re.match(r"</?([A-Za-z][^\s<>/]*)", part.raw)
        name = match[1].lower() if match else ""
        if part.role == "open":
            names.append(name)
        elif not names or names.pop() != name:
            return False
    return not names
