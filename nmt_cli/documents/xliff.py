"""XLIFF 1.2 and 2.x: targets that are missing or empty are filled in, and marked as machine translation.

1.2: `<target state="needs-review-translation" state-qualifier="leveraged-mt">`
2.x: `<segment state="translated" subState="nmt:machine">`

What comes from a translation memory is an exact-match (1.2), or, for a similar text, a fuzzy-match (2.x: nmt:fuzzy).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    Segment,
    Untouched,
    broken,
    merged,
)
from nmt_cli.documents.tokens import (
    Token,
    attributes,
    character_reference,
    closing,
    decode_xml,
    local_name,
    rendered,
    text_parts,
    tokens,
    with_attributes,
)

_PAIRED = {"g", "pc", "mrk"}
_OPENING, _CLOSING = {"bpt", "bx", "sc", "sm"}, {"ept", "ex", "ec", "em"}
_WAITING = {"new", "needs-translation", "initial"}  # the target is at most a copy of the source
_QUALIFIERS: dict[Origin, str] = {
    "machine": "leveraged-mt",
    "memory": "exact-match",
    "similar": "fuzzy-match",
}
_SUBSTATES: dict[Origin, str] = {"machine": "nmt:machine", "memory": "nmt:memory", "similar": "nmt:fuzzy"}
_OURS = (_QUALIFIERS["machine"], _SUBSTATES["machine"], _SUBSTATES["similar"])


@dataclass
class _Unit:
    """What belongs to one source: its tags, by index."""

    outer: int  # the <trans-unit> or <segment>
    source: int = -1
    target: int = -1
    is_segmented: bool = False


def read_xliff(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The units without a translation; with `options.redo` also those that nmt translated."""
    text, encoding, mark = decode_xml(data, path)
    found = list(tokens(text))
    root = next((token for token in found if token.kind in ("open", "empty")), None)
    if root is None or local_name(root) != "xliff":
        raise broken(path, "line 1", "the root element is not <xliff>", "is it an XLIFF file?")
    version = attributes(text, root).get("version")
    is_new = version is not None and version.value.startswith("2")
    reader = _Reader(text, found, options, is_new=is_new)
    entries, untouched, skipped = reader.read(root)
    return Document(
        text, entries, untouched, skipped=skipped, encoding=encoding, mark=mark, escape=character_reference
    )


class _Reader:
    """Finds the units of a file."""

    def __init__(self, text: str, found: Sequence[Token], options: DocumentOptions, *, is_new: bool) -> None:
        self._text, self._tokens, self._options, self._is_new = text, found, options, is_new

    def read(self, root: Token) -> tuple[list[Entry], list[Untouched], int]:
        """Entries, units that are left, and the number of units with a translation."""
        entries, untouched, skipped = list[Entry](), list[Untouched](), 0
        lines = Lines(self._text)
        header: list[Edit] = []
        for unit in self._units():
            where = lines.at(self._tokens[unit.source].start)
            source = self._content(unit.source)
            if unit.is_segmented:
                untouched.append(Untouched(where, "its source is segmented (<seg-source>)"))
            elif self._is_open(unit, source) or (self._options.redo and self._is_ours(unit)):
                entries.append(self._entry(unit, source, where, header))
            else:
                skipped += 1
        header += self._language(root) if entries else []
        return entries, untouched, skipped

    def _units(self) -> list[_Unit]:
        units: list[_Unit] = []
        stack: list[tuple[str, bool, _Unit | None]] = []  # name, translated, unit
        outer = "segment" if self._is_new else "trans-unit"
        inside = -1  # until here everything belongs to a source or target
        for index, token in enumerate(self._tokens):
            if token.kind == "close" and index > inside:
                stack.pop()
            if token.kind not in ("open", "empty") or index <= inside:
                continue
            name = local_name(token)
            translated = stack[-1][1] if stack else True
            if (flag := attributes(self._text, token).get("translate")) is not None:
                translated = flag.value != "no"
            unit = _Unit(index) if name == outer and translated else (stack[-1][2] if stack else None)
            if unit is not None and name in ("source", "target", "seg-source") and stack[-1][0] == outer:
                inside = closing(self._tokens, index)
                if name == "source":
                    unit.source = index
                    units.append(unit)
                elif name == "target":
                    unit.target = index
                else:
                    unit.is_segmented = True
            elif token.kind == "open":
                stack.append((name, translated, unit))
        return units

    def _content(self, index: int) -> Parts:
        """Text and inline elements of a source or target."""
        parts: list[str | Markup] = []
        end = closing(self._tokens, index)
        at = index + 1
        while at < end:
            token = self._tokens[at]
            raw = self._text[token.start : token.end]
            if token.kind == "text":
                parts += text_parts(raw)
            elif token.kind == "cdata":
                parts.append(raw[9:-3])
            elif token.kind == "close":
                parts.append(Markup(raw, "close"))
            elif token.kind == "open" and local_name(token) in _PAIRED and not self._is_protected(token):
                parts.append(Markup(raw, "open"))
            elif token.kind != "other":
                last = closing(self._tokens, at)
                whole = self._text[token.start : self._tokens[last].end]
                inner = self._text[token.end : self._tokens[last].start] if last > at else ""
                parts.append(_element(local_name(token), whole, inner))
                at = last
            at += 1
        return merged(parts)

    def _is_protected(self, token: Token) -> bool:
        found = attributes(self._text, token)
        return any(
            name in found and found[name].value == value
            for name, value in (("mtype", "protected"), ("translate", "no"))
        )

    def _state(self, unit: _Unit) -> tuple[str, str]:
        """The state of a translation, and what qualifies it."""
        index = unit.outer if self._is_new else unit.target
        if index < 0:
            return "", ""
        found = attributes(self._text, self._tokens[index])
        names = ("state", "subState") if self._is_new else ("state", "state-qualifier")
        first, second = (found[name].value if name in found else "" for name in names)
        return first, second

    def _is_open(self, unit: _Unit, source: Parts) -> bool:
        if not any(isinstance(part, str) and part.strip() for part in source):
            return False
        if unit.target < 0:
            return True
        target = self._content(unit.target)
        return not target or (target == source and self._state(unit)[0] in _WAITING)

    def _is_ours(self, unit: _Unit) -> bool:
        approved = attributes(self._text, self._tokens[unit.outer]).get("approved")
        state, qualifier = self._state(unit)
        return (
            qualifier in _OURS
            and state in ("needs-review-translation", "translated")
            and (approved is None or approved.value != "yes")
        )

    def _entry(self, unit: _Unit, source: Parts, where: str, header: list[Edit]) -> Entry:
        segment = Segment(source, accelerators=True, can_be_marked=True)

        def edits(translations: tuple[Parts, ...], origin: Origin) -> list[Edit]:
            return [*header, *self._edits(unit, rendered(translations[0]), origin)]

        return Entry(where, (segment,), edits)

    def _edits(self, unit: _Unit, content: str, origin: Origin) -> list[Edit]:
        text, found = self._text, self._tokens
        reviewed = origin == "memory" or (origin == "machine" and not self._options.fuzzy)
        state = "translated" if reviewed else "needs-review-translation"
        marks = {} if self._is_new else {"state": state, "state-qualifier": _QUALIFIERS[origin]}
        edits: list[Edit] = []
        if self._is_new:
            outer = found[unit.outer]
            tag = with_attributes(text, outer, {"state": "translated", "subState": _SUBSTATES[origin]})
            edits.append(Edit(outer.start, outer.end, tag))
        if unit.target >= 0:
            opening, last = found[unit.target], found[closing(found, unit.target)]
            tag = with_attributes(text, opening, marks)
            tag = tag[:-2].rstrip() + ">" if opening.kind == "empty" else tag
            edits.append(Edit(opening.start, last.end, f"{tag}{content}</{opening.name}>"))
            return edits
        source = found[unit.source]
        name = source.name.removesuffix("source") + "target"
        attribute_text = "".join(f' {key}="{value}"' for key, value in marks.items())
        end = found[closing(found, unit.source)].end
        line = text[text.rfind("\n", 0, source.start) + 1 : source.start]
        newline = "\r\n" if "\r\n" in text else "\n"
        indentation = newline + line if line and not line.strip() else ""
        edits.append(Edit(end, end, f"{indentation}<{name}{attribute_text}>{content}</{name}>"))
        return edits

    def _language(self, root: Token) -> list[Edit]:
        """Translations need a target language: `trgLang` of the root, `target-language` of each file."""
        if not self._options.target_language:
            return []
        name = "trgLang" if self._is_new else "target-language"
        holders = (
            [root]
            if self._is_new
            else [t for t in self._tokens if t.kind == "open" and local_name(t) == "file"]
        )
        return [
            Edit(tag.start, tag.end, with_attributes(self._text, tag, {name: self._options.target_language}))
            for tag in holders
            if name not in attributes(self._text, tag)
        ]


def _element(name: str, raw: str, inner: str) -> Markup:
    """An inline element that is kept as a whole."""
    if name in _OPENING:
        return Markup(raw, "open")
    if name in _CLOSING:
        return Markup(raw, "close")
    shown = "" if "<" in inner or name != "mrk" else inner.strip()
    return Markup(raw, "word" if shown else "point", shown)
