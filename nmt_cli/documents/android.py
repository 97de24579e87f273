"""Android `strings.xml`: strings, plurals and arrays, unless they are marked `translatable="false"`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nmt_cli.documents.document import (
    Document,
    DocumentOptions,
    Entry,
    Lines,
    Markup,
    Parts,
    Segment,
    Untouched,
    broken,
    merged,
    replacement,
)
from nmt_cli.documents.tokens import (
    Token,
    attributes,
    character_reference,
    closing,
    decode_xml,
    escaped,
    local_name,
    text_parts,
    tokens,
)

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([\s\S]))")
_SIMPLE = {"n": "\n", "t": "\t"}
_LINE_BREAK = re.compile(
    r"[ \t]*\r?\n[ \t\r\n]*"
)  # a line break in the file is a space, \n in the text is a break
_REFERENCE = re.compile(r"\s*[@?][\w.:+-]*/?[\w.:/]+\s*")


def read_android(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The strings of a resource file."""
    text, encoding, mark = decode_xml(data, path)
    found = list(tokens(text))
    root = next((token for token in found if token.kind in ("open", "empty")), None)
    if root is None or root.name != "resources":
        raise broken(path, "line 1", "the root element is not <resources>", "is it an Android strings.xml?")
    entries, untouched = list[Entry](), list[Untouched]()
    lines, names = Lines(text), set[str]()
    kept_until, is_kept = -1, False
    for index, token in enumerate(found):
        if token.kind != "open" or token.name not in ("string", "plurals", "string-array", "item"):
            continue
        values = attributes(text, token)
        if token.name != "item":
            where, name = lines.at(token.start), values["name"].value if "name" in values else ""
            is_kept = "translatable" in values and values["translatable"].value == "false"
            if name in names:
                untouched.append(Untouched(where, f"the name {name} is defined twice"))
                is_kept = True
            names.add(name)
            kept_until = closing(found, index)
        if token.name in ("string", "item") and not (is_kept and index <= kept_until):
            last = closing(found, index)
            found_entry = _entry(text, found[index : last + 1], lines.at(token.start))
            if isinstance(found_entry, Entry):
                entries.append(found_entry)
            elif found_entry is not None:
                untouched.append(found_entry)
    return Document(text, entries, untouched, encoding=encoding, mark=mark, escape=character_reference)


def _entry(text: str, element: Sequence[Token], where: str) -> Entry | Untouched | None:
    start, end = element[0].end, element[-1].start
    if _REFERENCE.fullmatch(text, start, end):
        return None
    inner = element[1:-1]
    if any(token.kind == "cdata" for token in inner):
        rest = [token for token in inner if token.kind != "text" or text[token.start : token.end].strip()]
        if len(rest) != 1:
            return Untouched(where, "only a part of it is a CDATA section")
        start, end = rest[0].start + 9, rest[0].end - 3
        segment = Segment(_unescaped(text[start:end]), hard_breaks=True)
        return replacement(where, segment, start, end, lambda parts: _rendered(parts, cdata=True))
    segment = Segment(_parts(text, inner), hard_breaks=True)
    return replacement(where, segment, start, end, lambda parts: _rendered(parts, cdata=False))


def _parts(text: str, inner: Sequence[Token]) -> Parts:
    parts: list[str | Markup] = []
    index = 0
    while index < len(inner):
        token = inner[index]
        raw = text[token.start : token.end]
        if token.kind == "text":
            for part in text_parts(_LINE_BREAK.sub(" ", raw)):
                parts += _unescaped(part) if isinstance(part, str) else [part]
        elif (
            token.kind == "open" and local_name(token) == "g" and ":" in token.name
        ):  # <xliff:g>: a placeholder
            last = closing(inner, index)
            parts.append(_placeholder(text, token, inner[last]))
            index = last
        elif token.kind in ("open", "close"):
            parts.append(Markup(raw, "open" if token.kind == "open" else "close"))
        else:
            parts.append(Markup(raw, "point"))
        index += 1
    return merged(parts)


def _placeholder(text: str, opening: Token, closing_tag: Token) -> Markup:
    inner = text[opening.end : closing_tag.start]
    whole = text[opening.start : closing_tag.end]
    return Markup(whole, "word", inner) if inner and "<" not in inner else Markup(whole, "point")


def _unescaped(text: str) -> Parts:
    r"""Text with \', \n and the like decoded; a quotation mark without backslash is markup."""
    parts: list[str | Markup] = []
    for piece in re.split(r"((?<!\\)(?:\\\\)*\")", text):
        if piece.endswith('"') and not piece.endswith('\\"'):
            parts += [_ESCAPE.sub(_character, piece[:-1]), Markup('"', "point")]
        elif "\\" in piece:
            parts.append(_ESCAPE.sub(_character, piece))
        else:
            parts.append(piece)
    return merged(parts)


def _character(match: re.Match[str]) -> str:
    code, letter = match.groups()
    return chr(int(code, 16)) if code else _SIMPLE.get(letter, letter)


def _rendered(parts: Parts, *, cdata: bool) -> str:
    quoted = any(isinstance(part, Markup) and part.raw == '"' for part in parts)
    pieces: list[str] = []
    for part in parts:
        if isinstance(part, Markup):
            pieces.append(part.raw)
            continue
        value = part.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        value = value if quoted else value.replace("'", "\\'")
        pieces.append(value.replace("]]>", "]] >") if cdata else escaped(value))
    text = "".join(pieces)
    return f"\\{text}" if text[:1] in ("@", "?") else text
