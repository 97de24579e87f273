"""Placeholders of a segment: what must arrive in its translation exactly as it is, and exactly once; accelerators.

What is recognized stands in `nmt_cli/runtime/placeholders.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from nmt_cli.documents.document import Markup, Parts, Role, Segment, merged
from nmt_cli.errors import UsageError
from nmt_cli.runtime.placeholders import PlaceholderPatterns

_HIDDEN = {"tag", "entity"}
_ORDERED = re.compile(r"%(?![(\d%{<]|\d{1,2}\$).+|\{(?:![rsa])?(?::[^{}]*)?\}|%\d{1,2}[a-zA-Z]", re.DOTALL)
_VOID = re.compile(r"</?(?:br|hr|img|input|wbr|area|base|col|embed|link|meta|source|track)\b", re.IGNORECASE)


class Recognizer:
    """Finds the placeholders of a text. The patterns of a project come before all others."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """`patterns` are regular expressions."""
        try:
            self._patterns = PlaceholderPatterns(patterns)
        except ValueError as error:
            raise UsageError(
                f"a placeholder pattern is not usable: {error}",
                hint="write a regular expression that matches some text; see https://docs.python.org/3/library/re.html",
            ) from error

    def split(self, parts: Parts, syntax: str = "") -> Parts:
        """The parts with placeholders taken out of the texts."""
        result: list[str | Markup] = []
        for part in parts:
            if isinstance(part, str):
                result += self._split(part, syntax)
            else:
                result.append(part)
        return merged(result)

    def placeholders(self, parts: Parts, syntax: str = "") -> list[Markup]:
        """The markup of the parts, and the placeholders in their texts, in order."""
        return [part for part in self.split(parts, syntax) if not isinstance(part, str)]

    def problem(self, source: Segment, target: Parts) -> str:
        """Why a translation must not be used; "" if every placeholder is in it exactly once, and in a valid place.

        This looks at the finished translation alone, and does not trust whatever produced it.
        """
        before = self.placeholders(source.parts, source.syntax)
        after = self.placeholders(target, source.syntax)
        wanted, found = Counter(map(_identity, before)), Counter(map(_identity, after))
        for (raw, _), count in (wanted - found).items():
            return (
                f"{raw} is missing"
                if not found[raw, True] + found[raw, False]
                else f"{raw} {count} × too few"
            )
        for raw, _ in found - wanted:
            return f"{raw} is not in the source, or too often in the translation"
        if [one.raw for one in before if one.ordered] != [one.raw for one in after if one.ordered]:
            return "format arguments changed their order"
        if _is_nested(before) and not _is_nested(after):
            return "tags are not nested"
        return ""

    def _split(self, text: str, syntax: str) -> Iterable[str | Markup]:
        position = 0
        for start, end, kind in self._patterns.find(text, syntax):
            yield text[position:start]
            yield _markup(text[start:end], kind)
            position = end
        yield text[position:]


def _markup(raw: str, kind: str) -> Markup:
    role: Role = "word"
    if kind == "tag":
        paired = not (raw.endswith("/>") or raw.startswith(("<!", "]")) or _VOID.match(raw))
        role = ("close" if raw.startswith("</") else "open") if paired else "point"
    elif kind == "entity":
        role = "point"
    shown = raw if kind not in _HIDDEN else ""
    ordered = kind in ("printf", "braces") and bool(_ORDERED.fullmatch(raw))
    return Markup(raw, role, shown, kind, ordered, literal=True)


def _identity(markup: Markup) -> tuple[str, bool]:
    return markup.raw, markup.literal


def _is_nested(markup: Sequence[Markup]) -> bool:
    """Whether tags open and close in the order of a tree."""
    depth: list[str] = []
    for one in markup:
        if one.role == "open":
            depth.append(_name(one.raw))
        elif one.role == "close" and (not depth or depth.pop() != _name(one.raw)):
            return False
    return not depth


def _name(raw: str) -> str:
    """The name of a tag; other markup has none."""
    match = re.match(r"</?([A-Za-z][\w:.-]*)", raw)
    return match[1].lower() if match else ""


# ------------------------------------------------------------------------------------------------------------
# Accelerators: `_File` and `&File` mark the key that opens a menu entry. The model sees the text without the mark;
# in the translation it goes in front of the same letter if there is one.

_LONGEST = 80  # characters of a text that may be a menu entry
_MARK = re.compile(
    r"(?<![\w&])&(?=[^\W_])(?!\w{1,30};)|(?<=[A-Za-z])&(?=[a-z])(?!\w{1,30};)"
    r"|(?<![\w./-])_(?=[^\W_])(?![^\W_]*[_.(])|(?<=\b[A-Z])_(?=[a-z]{2,})(?![a-z]*[_.(])"
    r"|(?<=\b[A-Z][a-z])_(?=[a-z]+\b)(?![a-z]*[_.(])"
)
_LATIN = re.compile(r"[A-Za-zÀ-ɏͰ-ӿ]")
_TAIL = re.compile(r"[\s.:…]*$")


def remove_accelerator(parts: Parts) -> tuple[Parts, str]:
    """The parts without their accelerator, and the accelerator, such as `_F`; "" if there is none."""
    texts = [part for part in parts if isinstance(part, str)]
    found = [match for text in texts if len(text) <= _LONGEST for match in _MARK.finditer(text)]
    if len(found) != 1 or sum(text.count(found[0][0]) for text in texts) != 1:
        return parts, ""
    mark = found[0]
    at = mark.start()
    text = mark.string
    changed = [text[:at] + text[at + 1 :] if part is text else part for part in parts]
    return merged(changed), text[at : at + 2]


def insert_accelerator(parts: Parts, accelerator: str) -> Parts | None:
    """The translation with the accelerator; None if it has such a mark already, or no place for one."""
    mark, key = accelerator[0], accelerator[1]
    texts = [(index, part) for index, part in enumerate(parts) if isinstance(part, str)]
    if any(mark in text for _, text in texts):
        return None
    for pattern in (rf"(?<!\w){re.escape(key)}", re.escape(key), r"(?<!\w)[^\W\d_]"):
        for index, text in texts:
            match = re.search(pattern, text, re.IGNORECASE)
            if match and _LATIN.match(text, match.start()):
                return _inserted(parts, index, match.start(), mark)
    if not texts:
        return None
    # Scripts without such keys: 文件(_F)
    index, text = texts[-1]
    match = _TAIL.search(text)
    assert match
    return _inserted(parts, index, match.start(), f"({mark}{key.upper()})")


def _inserted(parts: Parts, index: int, at: int, text: str) -> Parts:
    changed: list[str | Markup] = list(parts)
    part = changed[index]
    assert isinstance(part, str)
    changed[index] = part[:at] + text + part[at:]
    return tuple(changed)
