"""Gettext PO: the one tokenizer of its entries, and the pairs that they contain.

An entry is a block of lines: comments, `msgctxt`, `msgid`, `msgid_plural` and `msgstr`, each followed by quoted
strings. `read_entries` returns them with the lines of every part, so that a writer can replace a part and leave
everything else as it is.
"""

import codecs
import gettext
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from nmt_cli.corpus.block import FUZZY, OBSOLETE, OTHER_LANGUAGE, UNTRANSLATED, Unit
from nmt_cli.errors import CorpusError
from nmt_cli.files.languages import matches
from nmt_cli.files.line_reader import LineReader

_KEYWORD = re.compile(r"(msgctxt|msgid|msgid_plural|msgstr(?:\[(\d{1,3})\])?)\s*(?=\"|$)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CHARSET = re.compile(rb"charset=([A-Za-z0-9_.:-]+)")
_SAMPLE_BYTES = 1 << 16
_PLURAL_FORMS = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+)")


@dataclass
class Part:
    """A keyword and its string; lines `first` to `last`, counted from 1."""

    text: str
    first: int
    last: int


@dataclass
class Entry:
    """One entry, translated or not. The header is the entry with an empty `msgid` and no context."""

    line: int  # of its first keyword
    context: Part | None = None
    source: Part | None = None
    plural: Part | None = None
    targets: dict[int, Part] = field(default_factory=dict)  # a message without plural has number 0
    flags: frozenset[str] = frozenset()
    obsolete: bool = False
    first: int = 0  # of its lines, comments included
    damaged: bool = False

    @property
    def is_header(self) -> bool:
        """Whether it is the entry with the metadata of the file."""
        return self.source is not None and not self.source.text and self.context is None and not self.obsolete

    @property
    def is_fuzzy(self) -> bool:
        """Whether its translation needs work."""
        return "fuzzy" in self.flags


def encoding_of(start: bytes) -> str:
    """The Python name of the charset that the header of a file declares; UTF-8 if it declares none that exists."""
    found = _CHARSET.search(start)
    try:
        return codecs.lookup(found[1].decode()).name if found else "utf-8"
    except LookupError:  # such as the CHARSET of a template
        return "utf-8"


def read_entries(lines: Iterable[str], name: str) -> Iterator[Entry]:
    """The entries of a file, given its lines without line ends; a line that is not PO is a CorpusError."""
    entry = Entry(0)
    part: Part | None = None
    first, flags = 0, set[str]()  # of the comments before the next entry

    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        obsolete = line.startswith("#~")
        if obsolete:
            line = line[2:].lstrip()
        if not line or line.startswith("#") or (obsolete and line.startswith("|")):
            part = None
            if line.startswith("#") and not obsolete:
                first = first or number
            if line.startswith("#,"):
                flags.update(flag.strip() for flag in line[2:].split(","))
            continue
        if keyword := _KEYWORD.match(line):
            if _starts_entry(entry, keyword[1]):
                if entry.line:
                    yield _finished(entry, name)
                entry = Entry(number, flags=frozenset(flags), obsolete=obsolete, first=first or number)
                first, flags = 0, set()
            part = Part("", number, number)
            _add_part(entry, keyword, part, name, number)
            line = line[keyword.end() :]
        if part is None:
            raise _syntax(name, number, f"{line[:60]!r} is neither a keyword nor a comment")
        part.text += _unquoted(line, name, number)
        part.last = number
    if entry.line:
        yield _finished(entry, name)


def _starts_entry(entry: Entry, keyword: str) -> bool:
    """An entry starts with `msgctxt`, or with a `msgid` that has none before it."""
    awaits_source = entry.context is not None and entry.source is None and not entry.targets
    return not entry.line or keyword == "msgctxt" or (keyword == "msgid" and not awaits_source)


def _add_part(entry: Entry, keyword: re.Match[str], part: Part, name: str, number: int) -> None:
    slot = {"msgctxt": "context", "msgid": "source", "msgid_plural": "plural"}.get(keyword[1])
    if slot is None:
        index = int(keyword[2] or 0)
        if index in entry.targets:
            raise _syntax(name, number, f"{keyword[1]} occurs twice in one entry")
        entry.targets[index] = part
    elif getattr(entry, slot) is not None:
        raise _syntax(name, number, f"{keyword[1]} occurs twice in one entry")
    else:
        setattr(entry, slot, part)


def _finished(entry: Entry, name: str) -> Entry:
    for keyword, missing in (("msgid", entry.source is None), ("msgstr", not entry.targets)):
        if missing:
            raise _syntax(name, entry.line, f"the entry has no {keyword}")
    return entry


def _unquoted(line: str, name: str, number: int) -> str:
    """The text of the strings on a line."""
    parts, position = [], 0
    while position < len(line):
        string = _STRING.match(line, position)
        if string is None:
            raise _syntax(name, number, "a string is not closed, or text follows it")
        parts.append(string[1])
        position = string.end()
    text = "".join(parts)
    return unescaped(text) if "\\" in text else text


def unescaped(text: str) -> str:
    r"""A string without its escapes: `\n`, `\t`, `\"`, `\\`, octal and hexadecimal numbers."""

    def character(escape: re.Match[str]) -> str:
        octal, hexadecimal, other = escape.groups()
        if octal or hexadecimal:
            return chr(int(octal, 8) if octal else int(hexadecimal, 16))
        return _ESCAPED.get(other, other)

    return _ESCAPE.sub(character, text)


def _syntax(name: str, number: int, what: str) -> CorpusError:
    return CorpusError(
        f"{name}, line {number}: {what}", hint="repair the file; msgfmt --check shows the same place"
    )


# ------------------------------------------------------------------------------------------------------------
# Metadata of the header.


@dataclass(frozen=True)
class Header:
    """What the header says about languages and plural forms."""

    language: str = ""
    source_language: str = ""
    plural_count: int = 2
    singular: int = 0  # the form for n = 1

    @classmethod
    def parse(cls, text: str) -> "Header":
        """The header in the translation of the empty message."""
        fields = {}
        for line in text.split("\n"):
            key, colon, value = line.partition(":")
            if colon:
                fields[key.strip().lower()] = value.strip()
        count, singular = plural_forms(fields.get("plural-forms", ""))
        return cls(fields.get("language", ""), fields.get("x-source-language", ""), count, singular)


def plural_forms(rule: str) -> tuple[int, int]:
    """The number of plural forms, and the form for n = 1; two and the first for a rule that cannot be read."""
    found = _PLURAL_FORMS.search(rule)
    if found is None:
        return 2, 0
    try:
        singular = int(gettext.c2py(found[2].strip())(1))
    except (ValueError, ArithmeticError, RecursionError):
        return 2, 0
    return int(found[1]), singular


# ------------------------------------------------------------------------------------------------------------
# Pairs.


def po_units(name: str, chunks: Iterable[bytes], source_lang: str, target_lang: str) -> Iterator[Unit]:
    """The pairs of a PO file; one that translates the target into the source language is read backwards.

    The singular pairs with the form for n = 1, the plural with every other form.
    """
    reader = po_lines(name, chunks)
    header = Header()
    backwards = other = False
    for entry in read_entries(reader, name):
        if entry.is_header:
            header = Header.parse(entry.targets[0].text if 0 in entry.targets else "")
            header = replace(header, language=header.language or _language_of_folder(Path(name)))
            backwards, other = _direction(header, source_lang, target_lang)
            continue
        damaged = _damaged(entry, reader)
        for source, target in _pairs(entry, header):
            reason = _reason(entry, source, target)
            if backwards:
                source, target = target, source
            codes = (header.source_language, header.language)[:: -1 if backwards else 1]
            context = entry.context.text if entry.context else ""
            yield Unit(
                entry.line,
                source,
                target,
                OTHER_LANGUAGE if other else reason,
                context,
                codes[0],
                codes[1],
                damaged=damaged,
            )


def _language_of_folder(path: Path) -> str:
    """The language of a file in the layout of gettext: `de/LC_MESSAGES/domain.po`."""
    return path.parent.parent.name if path.parent.name == "LC_MESSAGES" else ""


def po_lines(name: str, chunks: Iterable[bytes]) -> LineReader:
    """The lines of a PO file in the encoding that it declares."""
    stream = iter(chunks)
    start = b""
    while len(start) < _SAMPLE_BYTES and (chunk := next(stream, b"")):
        start += chunk
    encoding = encoding_of(start)
    stream = chain([start], stream)
    return LineReader(name, stream if encoding == "utf-8" else _transcoded(stream, encoding))


def _transcoded(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode(errors="replace")
    yield decoder.decode(b"", final=True).encode(errors="replace")


def _damaged(entry: Entry, reader: LineReader) -> bool:
    last = max(part.last for part in entry.targets.values())
    bad = [number for number in reader.undecodable if number <= last]
    for number in bad:
        del reader.undecodable[number]
    return any(number >= entry.line for number in bad)


def _direction(header: Header, source_lang: str, target_lang: str) -> tuple[bool, bool]:
    """Whether the file is to be read backwards, and whether it is a translation into another language."""
    source, target = header.source_language, header.language
    if not target or matches(target, target_lang):
        return False, bool(source) and not matches(source, source_lang)
    if matches(target, source_lang):
        return True, bool(source) and not matches(source, target_lang)
    return False, True


def _pairs(entry: Entry, header: Header) -> Iterator[tuple[str, str]]:
    assert entry.source is not None
    if entry.plural is None:
        yield entry.source.text, "".join(part.text for part in entry.targets.values())
        return
    for index, part in sorted(entry.targets.items()):
        is_singular = index == header.singular and len(entry.targets) > 1
        yield (entry.source if is_singular else entry.plural).text, part.text


def _reason(entry: Entry, source: str, target: str) -> str:
    if entry.obsolete:
        return OBSOLETE
    if not target.strip() or not source.strip():
        return UNTRANSLATED
    return FUZZY if entry.is_fuzzy else ""
