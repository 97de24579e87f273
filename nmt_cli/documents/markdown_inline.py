"""The inline syntax of Markdown: emphasis, links, images, code, HTML."""

from __future__ import annotations

import re

from nmt_cli.documents.document import Markup, Parts, merged
from nmt_cli.documents.tokens import text_parts

_DEFINITION = re.compile(r"^[ ]{0,3}\[(?!\^)([^\]\n]{1,999})\]:[ \t]*\S", re.MULTILINE)
_TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)"
    r"|(?P<break>(?: {2,}|\\)\n)"
    r"|(?P<auto><(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{1,2000}|[^\s<>@]{1,64}@[^\s<>@]{1,255})>)"
    r"|(?P<html></?[A-Za-z][\w-]{0,40}(?:\s[^<>]{0,1000})?/?>|<!--[^<>]{0,1000}-->)"
    r"|(?P<footnote>\[\^[^\]\n]{1,99}\])"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\])"
    r"|(?P<emphasis>\*{1,3}|_{1,3}|~~)"
)
_TARGET = re.compile(
    r"""\((?:[^()\s"'<>\\]|\\.|\([^()\s]{0,1000}\)|<[^<>\n]{0,2000}>){0,2000}(?:\s+(?:"[^"]{0,1000}"|'[^']{0,1000}'))?\s*\)"""
    r"(?:\{[^{}\n]{0,200}\})?"
)
_LABEL = re.compile(r"\[([^\[\]\n]{0,999})\]")
_VOID = re.compile(r"</?(?:br|hr|img|input|wbr)\b", re.IGNORECASE)


def definitions(text: str) -> frozenset[str]:
    """The labels of link definitions, normalized."""
    return frozenset(_normalized(match[1]) for match in _DEFINITION.finditer(text))


def _normalized(label: str) -> str:
    return " ".join(label.split()).casefold()


def inline_parts(text: str, known: frozenset[str]) -> Parts:
    """Text and markup of a paragraph; `known` are the labels that are defined."""
    parts: list[str | Markup] = []
    brackets: list[int] = []  # indices in `parts` of brackets that may start a link
    emphasis: list[tuple[str, int]] = []
    unclosed: set[int] = set()  # lengths of backticks that do not occur again
    position = 0
    while match := _TOKEN.search(text, position):
        parts += text_parts(text[position : match.start()])
        position = match.end()
        raw, kind = match[0], _kind(match)
        if kind == "open":
            brackets.append(len(parts))
            parts.append(raw)  # text, until it turns out to be a link
        elif kind == "close":
            position = _close(text, position, parts, brackets, known)
            emphasis = [one for one in emphasis if one[1] < len(parts) and isinstance(parts[one[1]], str)]
        elif kind == "emphasis":
            opened = _emphasize(text, match, parts, emphasis)
            brackets = [index for index in brackets if index < opened]
        elif kind == "ticks":
            code = _code_end(text, match, unclosed)
            parts.append(
                Markup(text[match.start() : code], "word", text[match.start() : code], "code")
                if code
                else raw
            )
            position = code or position
        elif kind == "auto":
            parts.append(Markup(raw, "word", raw, kind))
        elif kind == "html":
            paired = not (raw.endswith("/>") or raw.startswith("<!") or _VOID.match(raw))
            parts.append(Markup(raw, ("close" if raw[1] == "/" else "open") if paired else "point"))
        else:
            parts.append(Markup(raw, "point"))
    return merged(_without_lone_tags([*parts, *text_parts(text[position:])]))


def _kind(match: re.Match[str]) -> str:
    names = ("escape", "ticks", "break", "auto", "html", "footnote", "open", "close", "emphasis")
    return next(name for name in names if match[name] is not None)


def _close(
    text: str, position: int, parts: list[str | Markup], brackets: list[int], known: frozenset[str]
) -> int:
    """A closing bracket: the end of a link if there is a target, or a label that is defined."""
    if not brackets:
        parts.append("]")
        return position
    index = brackets.pop()
    opening = parts[index]
    assert isinstance(opening, str)
    target = _TARGET.match(text, position)
    label = None if target else _LABEL.match(text, position)
    inside = _source(parts[index + 1 :])
    if target or (label and _normalized(label[1] or inside) in known and label[1]):
        end = (target or label).end()  # type: ignore[union-attr]
        parts[index] = Markup(opening, "open", kind="link")
        parts.append(Markup("]" + text[position:end], "close", kind="link"))
        return end
    if _normalized(inside) in known:  # the text is the label, and must stay as it is
        end = label.end() if label and not label[1] else position
        parts[index:] = [Markup(f"{opening}{inside}]{text[position:end]}", "word", inside, "link")]
        return end
    parts.append("]")
    return position


def _code_end(text: str, match: re.Match[str], unclosed: set[int]) -> int:
    """The end of the code span that starts with these backticks; 0 if there is none."""
    length = len(match[0])
    if length in unclosed:
        return 0
    closing = re.compile(rf"(?<!`)`{{{length}}}(?!`)").search(text, match.end())
    if not closing:
        unclosed.add(length)
        return 0
    return closing.end()


def _source(parts: list[str | Markup]) -> str:
    return "".join(part if isinstance(part, str) else part.raw for part in parts)


def _emphasize(
    text: str, match: re.Match[str], parts: list[str | Markup], emphasis: list[tuple[str, int]]
) -> int:
    """Pair delimiters: one opens in front of a word and closes behind one; `_` does not within a word.

    Returns the index of the opening delimiter if this one closes it, else the number of parts.
    """
    raw = match[0]
    before, after = (
        text[match.start() - 1 : match.start()] if match.start() else " ",
        text[match.end() : match.end() + 1] or " ",
    )
    opens, closes = not after.isspace(), not before.isspace()
    if raw[0] == "_":
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    found = next((i for i in range(len(emphasis) - 1, -1, -1) if emphasis[i][0] == raw), None)
    if closes and found is not None:
        _, index = emphasis[found]
        del emphasis[found:]
        parts[index] = Markup(raw, "open", kind="emphasis")
        parts.append(Markup(raw, "close", kind="emphasis"))
        return index
    if opens:
        emphasis.append((raw, len(parts)))
    parts.append(raw)
    return len(parts)


def _without_lone_tags(parts: list[str | Markup]) -> list[str | Markup]:
    """A tag without its partner, or one that crosses another pair, is a point."""
    stack: list[int] = []
    paired: set[int] = set()
    for index, part in enumerate(parts):
        if isinstance(part, str) or part.role not in ("open", "close"):
            continue
        if part.role == "open":
            stack.append(index)
        elif stack:
            paired |= {stack.pop(), index}
    return [
        part
        if isinstance(part, str) or part.role not in ("open", "close") or index in paired
        else Markup(part.raw, "point", kind=part.kind)
        for index, part in enumerate(parts)
    ]
