"""gettext PO and POT files: the empty translations are filled in.

Each translation is marked `fuzzy` and gets a comment, `# nmt: machine translation 1a2b3c4d`, whose number is a hash of
the translation and of its mark. So `--all` can tell what nmt wrote from what someone changed or approved. A translation
from the memory has neither; that of a similar text is always fuzzy, and its comment says where it comes from.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from nmt_cli.documents.document import (
    Document,
    DocumentOptions,
    Edit,
    Entry,
    Origin,
    Parts,
    Segment,
    broken,
    decode,
    plain,
)
from nmt_cli.documents.placeholders import Recognizer
from nmt_cli.documents.plural_forms import PluralForms, plural_forms, rule_of_language

_CHARSET = re.compile(rb"[Cc]ontent-[Tt]ype:\s*text/plain;\s*charset=([\w.:-]{1,40})")
_STRING = r'"(?:[^"\\\r\n]++|\\[^\r\n])*+"'
_LINE = re.compile(
    rf"[ \t]*(?:(?P<blank>\r?$)|(?P<comment>#[^\n]*)|(?P<keyword>msgctxt|msgid_plural|msgid|msgstr|domain)"
    rf"[ \t]*(?:\[(?P<index>\d{{1,2}})\])?[ \t]*(?P<value>{_STRING}(?:[ \t]*{_STRING})*)[ \t\f]*\r?$"
    rf"|(?P<more>{_STRING}(?:[ \t]*{_STRING})*)[ \t\f]*\r?$)",
)
_STRINGS = re.compile(_STRING)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = {**{value: f"\\{key}" for key, value in _SIMPLE.items()}, '"': '\\"', "\\": "\\\\"}
_NOTES: dict[Origin, str] = {
    "machine": "machine translation",
    "memory": "translation from the memory",
    "similar": "translation of a similar text",
}
_MACHINE = re.compile(rf"# nmt: (?:{'|'.join(_NOTES.values())}) ([0-9a-f]{{8}})\s*")
_WIDTH = 79  # as gettext wraps
_BREAK = re.compile(r"[^ ]* +|[^ ]+|(?<=[\u2e80-\ufaff])(?=[\u2e80-\ufaff])")


@dataclass
class _Field:
    start: int  # of the keyword
    end: int  # of the last string
    value: str
    line: int


@dataclass
class _Message:
    """An entry of the file."""

    start: int
    line: int
    comments: list[tuple[int, str]] = field(default_factory=list)  # position and text
    fields: dict[str, _Field] = field(default_factory=dict)  # by keyword, such as msgstr[0]

    @property
    def flags(self) -> list[str]:
        lines = (text[2:] for _, text in self.comments if text.startswith("#,"))
        return [flag.strip() for line in lines for flag in line.split(",")]

    @property
    def translations(self) -> list[_Field]:
        return [found for keyword, found in self.fields.items() if keyword.startswith("msgstr")]

    @property
    def is_header(self) -> bool:
        return "msgctxt" not in self.fields and not self.fields["msgid"].value


def read_po(data: bytes, path: Path, options: DocumentOptions) -> Document:
    """The messages without a translation; with `options.redo` also those that nmt translated."""
    declared = _CHARSET.search(data[: 1 << 16])
    charset = declared[1].decode() if declared and declared[1] != b"CHARSET" else None
    text, encoding, mark = decode(data, path, charset)
    messages = list(_messages(text, path))
    if not messages and text.strip():
        raise broken(path, "line 1", "there is no message", "is it a PO file?")
    _check_duplicates(messages, path)
    header = messages[0] if messages and messages[0].is_header else None
    style = _Style(text)
    values = header.fields["msgstr"].value if header and "msgstr" in header.fields else ""
    forms = plural_forms(values) or _forms_of(messages, options)
    entries, skipped = list[Entry](), 0
    for message in messages:
        if message is header:
            continue
        if _is_open(message) or (options.redo and _is_ours(message)):
            entries.append(_entry(message, forms, style, options, _header_edits(header, style, options)))
        else:
            skipped += 1
    return Document(text, entries, skipped=skipped, encoding=encoding, mark=mark)


def _messages(text: str, path: Path) -> Iterator[_Message]:
    message, last = _Message(0, 1), None
    position, number = 0, 0
    while position < len(text):
        number += 1
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        match = _LINE.fullmatch(text, position, end)
        if not match:
            raise broken(path, f"line {number}", "this is not PO syntax", _hint(text[position:end]))
        if match["comment"] is not None or match["keyword"]:
            keyword = match["keyword"]
            starts = keyword in ("msgctxt", "msgid") or not keyword
            if starts and message.translations:
                yield _checked(message, path)
                message, last = _Message(position, number), None
            if not message.comments and not message.fields:
                message.start, message.line = position, number
        if match["comment"] is not None:
            if message.fields:
                raise broken(
                    path, f"line {number}", "a comment within a message", "move it in front of msgid"
                )
            message.comments.append((position, text[position:end].strip()))
        elif match["keyword"]:
            name = match["keyword"] + (f"[{match['index']}]" if match["index"] else "")
            if name in message.fields:
                raise broken(path, f"line {number}", f"{name} occurs twice", "remove one of the two")
            last = _Field(match.start("keyword"), match.end("value"), _value(match["value"]), number)
            message.fields[name] = last
        elif match["more"] is not None:
            if last is None:
                raise broken(
                    path, f"line {number}", "a string without keyword", "put msgid or msgstr in front of it"
                )
            last.value += _value(match["more"])
            last.end = match.end("more")
        elif not message.fields and message.comments:
            message, last = _Message(end, number + 1), None  # comments apart, such as obsolete messages
        position = end + 1
    if message.fields:
        yield _checked(message, path)


def _hint(line: str) -> str:
    if line.count('"') % 2:
        return "a quotation mark is missing, or one within the text lacks its backslash"
    return "a line is a comment (#), a keyword with a string in quotation marks, or such a string"


def _checked(message: _Message, path: Path) -> _Message:
    where = f"line {message.line}"
    if "msgid" not in message.fields:
        raise broken(path, where, "a message has no msgid", "each message is msgid and msgstr")
    if not message.translations:
        raise broken(path, where, "a message has no msgstr", "each message is msgid and msgstr")
    return message


def _check_duplicates(messages: Sequence[_Message], path: Path) -> None:
    seen: dict[tuple[str | None, str], int] = {}
    for message in messages:
        context = message.fields.get("msgctxt")
        key = (context.value if context else None, message.fields["msgid"].value)
        if key in seen:
            raise broken(
                path,
                f"line {message.fields['msgid'].line}",
                f"the message of line {seen[key]} is defined again",
                "msguniq merges messages that are defined twice",
            )
        seen[key] = message.fields["msgid"].line


def _value(strings: str) -> str:
    raw = "".join(string[1:-1] for string in _STRINGS.findall(strings))
    return _ESCAPE.sub(_character, raw) if "\\" in raw else raw


def _character(match: re.Match[str]) -> str:
    octal, hexadecimal, letter = match.groups()
    if letter is None:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return _SIMPLE.get(letter, letter)


def _is_open(message: _Message) -> bool:
    return not any(translation.value for translation in message.translations)


def _is_ours(message: _Message) -> bool:
    """Whether nmt wrote the translation, and neither text nor mark has been changed since."""
    hashes = [match[1] for _, comment in message.comments if (match := _MACHINE.fullmatch(comment))]
    return hashes == [_hash([one.value for one in message.translations], fuzzy="fuzzy" in message.flags)]


def _hash(values: Sequence[str], *, fuzzy: bool) -> str:
    return hashlib.sha256("\0".join([*values, "fuzzy" * fuzzy]).encode()).hexdigest()[:8]


def _forms_of(messages: Sequence[_Message], options: DocumentOptions) -> PluralForms | None:
    rule = rule_of_language(options.target_language or "")
    forms = plural_forms(rule) if rule else None
    counts = {len(one.translations) for one in messages if "msgid_plural" in one.fields}
    return forms if forms else plural_forms("nplurals=2; plural=(n != 1);") if counts == {2} else None


def _entry(
    message: _Message,
    forms: PluralForms | None,
    style: _Style,
    options: DocumentOptions,
    always: list[Edit],
) -> Entry:
    """The entry of a message. `always` are the edits of the header, which every translation needs."""
    syntax = next((flag[:-7] for flag in message.flags if flag.endswith("-format") and flag[:3] != "no-"), "")
    sources = [message.fields[name].value for name in ("msgid", "msgid_plural") if name in message.fields]
    context = message.fields["msgctxt"].value if "msgctxt" in message.fields else ""
    segments = [
        Segment((source,), syntax, accelerators=True, hard_breaks=True, context=context, can_be_marked=True)
        for source in sources
    ]
    chosen = _plural_sources(message, sources, forms, syntax)

    def edits(translations: tuple[Parts, ...], origin: Origin) -> list[Edit]:
        values = [_like(sources[source], plain(translations[source])) for source in chosen]
        names = [f"msgstr[{form}]" for form in range(len(chosen))] if len(sources) > 1 else ["msgstr"]
        fields = message.translations
        strings = [style.string(name, value) for name, value in zip(names, values, strict=True)]
        written = Edit(fields[0].start, fields[-1].end, style.newline.join(strings))
        return [*always, written, *_marks(message, values, style, options, origin)]

    return Entry(f"line {message.fields['msgid'].line}", tuple(segments), edits)


def _plural_sources(
    message: _Message, sources: Sequence[str], forms: PluralForms | None, syntax: str
) -> list[int]:
    """For each plural form the source to translate: 0 is the singular, 1 the plural."""
    if len(sources) == 1:
        return [0]
    if forms is None:
        return [int(form > 0) for form in range(len(message.translations))]
    recognizer = Recognizer()
    singular, plural = ([one.raw for one in recognizer.placeholders((s,), syntax)] for s in sources)
    same = sorted(singular) == sorted(plural)
    return [
        0 if forms.is_singular(form) or (same and forms.includes_one(form)) else 1
        for form in range(forms.size)
    ]


def _like(source: str, text: str) -> str:
    """msgfmt requires line breaks at both ends as in the source."""
    start, end = source.startswith("\n"), source.endswith("\n")
    text = text if text.startswith("\n") == start else ("\n" + text if start else text.lstrip("\n"))
    return text if text.endswith("\n") == end else (text + "\n" if end else text.rstrip("\n"))


def _marks(
    message: _Message, values: Sequence[str], style: _Style, options: DocumentOptions, origin: Origin
) -> list[Edit]:
    """The comment that nmt made the translation, and the flag that someone should look at it."""
    edits, comments = list[Edit](), message.comments
    if origin == "memory" and not any(_MACHINE.fullmatch(text) for _, text in comments):
        return []
    was_fuzzy = "fuzzy" in message.flags
    wants_review = options.fuzzy or origin == "similar"
    note = f"# nmt: {_NOTES[origin]} {_hash(values, fuzzy=wants_review or was_fuzzy)}"
    old = next(((at, text) for at, text in comments if _MACHINE.fullmatch(text)), None)
    first = min(found.start for found in message.fields.values())
    if old:
        edits.append(Edit(old[0], old[0] + len(old[1]), note))
    insert = style.newline.join([note, ""])
    flag = ""
    if wants_review and not was_fuzzy:
        existing = next((at for at, text in comments if text.startswith("#,")), None)
        if existing is not None:
            edits.append(Edit(existing + 2, existing + 2, " fuzzy,"))
        else:
            flag = f"#, fuzzy{style.newline}"
    at_note = next((at for at, text in comments if text[1:2] in (".", ":", ",", "|")), first)
    at_flag = next((at for at, text in comments if text[1:2] == "|"), first)
    if not old and flag and at_note == at_flag:
        return [*edits, Edit(at_note, at_note, insert + flag)]
    edits += [] if old else [Edit(at_note, at_note, insert)]
    return [*edits, Edit(at_flag, at_flag, flag)] if flag else edits


def _header_edits(header: _Message | None, style: _Style, options: DocumentOptions) -> list[Edit]:
    """A template leaves encoding, language and plural forms open, without which a translation is invalid."""
    if header is None or "msgstr" not in header.fields:
        return []
    found = header.fields["msgstr"]
    value = found.value.replace("charset=CHARSET", "charset=UTF-8")
    if language := options.target_language:
        value = re.sub(r"^Language:[ ]*$", f"Language: {language}", value, flags=re.MULTILINE)
        if rule := rule_of_language(language):
            value = value.replace(
                "Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;", f"Plural-Forms: {rule}"
            )
    return [] if value == found.value else [Edit(found.start, found.end, style.string("msgstr", value))]


class _Style:
    """How a file breaks its lines and strings."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text[: 1 << 16] else "\n"
        # A string beyond the width that could have been broken was not wrapped, and none is.
        longest = chain(*(re.finditer(r'^"[^"\n]{90,}', text, re.MULTILINE) for text in [text]))
        self.wraps = not any(" " in match[0][:_WIDTH] for match in longest)

    def string(self, keyword: str, value: str) -> str:
        """A keyword with its string, wrapped as gettext does it."""
        escaped = "".join(_ESCAPES.get(character, character) for character in value)
        inner_break = "\\n" in escaped[:-2] and "\n" in value[:-1]
        if not inner_break and (not self.wraps or _columns(f'{keyword} "{escaped}"') <= _WIDTH):
            return f'{keyword} "{escaped}"'
        lines = [
            f'"{line}"' for part in re.findall(r"(?s)[^\n]*\n|[^\n]+", value) for line in self._wrapped(part)
        ]
        return self.newline.join([f'{keyword} ""', *lines])

    def _wrapped(self, text: str) -> list[str]:
        escaped = "".join(_ESCAPES.get(character, character) for character in text)
        if not self.wraps:
            return [escaped]
        lines, line, width = list[str](), "", 0
        for match in _BREAK.finditer(escaped):
            word = match[0]
            columns = _columns(word)
            if line and width + _columns(word.rstrip(" ")) > _WIDTH - 2:
                lines.append(line)
                line, width = "", 0
            line += word
            width += columns
        return [*lines, line] if line else lines


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
