"""Placeholders in a text: what must arrive in the translation exactly as it is, and exactly once.

Recognized are format strings (`%s`, `%1$d`, `%(name)s`, `{0}`, `{name}`, `${x}`, `$x`), ICU messages, template tags,
XML tags and entities, URLs, e-mail addresses, file paths, command-line options, inline code, and own patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from nmt_cli.documents.document import Markup, Parts, Role, Segment, merged
from nmt_cli.errors import UsageError

_CONVERSION = r"(?:hh|h|ll|l|q|j|z|t|L)?[diouxXeEfFgGaAcspn@]"
_FLAGS = r"[-+#0']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?"

# Every repetition is bounded or excludes what ends it, so that matching takes linear time.
_PATTERNS = {
    "icu": r"\{\s{0,9}\w{1,60}\s{0,9},\s{0,9}(?:plural|select|selectordinal|number|date|time|choice)\b",
    "code": r"(?::[a-z][a-z0-9:+-]{0,30}:)?(?P<ticks>`{1,3})(?=[^`\s])[^`\n]{1,300}(?<=[^\s`])(?P=ticks)_{0,2}(?!`)",
    "template": r"\{\{[^{}\n]{0,300}\}\}|\{%[^{}\n]{1,300}%\}|\{#[^{}\n]{1,300}#\}|<%[^%>\n]{1,300}%>"
    r"|\[%[^%\]\n]{1,300}%\]",
    "shell": r"\$\{[^{}\n]{1,100}\}|\$\([^()\n]{1,100}\)|#\{[^{}\n]{1,100}\}|\$[A-Za-z_]\w{0,60}",
    "printf": rf"%\([^()\n]{{1,100}}\){_FLAGS}{_CONVERSION}|%\d{{1,2}}\${_FLAGS}{_CONVERSION}|%\{{[^{{}}\n]{{1,100}}\}}"
    rf"|%<PRI[A-Za-z0-9]{{1,10}}>|%{_FLAGS}{_CONVERSION}(?![A-Za-z])|%%|%L?\d{{1,2}}(?![\d%])|(?<![\d\s])%[sdiufxc]",
    "braces": r"\{[A-Za-z0-9_.\[\]]{0,60}(?:![rsa])?(?::[^{}\n]{0,40})?\}|\{\w{1,60}\s?,[^{}\n]{0,60}\}",
    "tag": r"</?[A-Za-z][\w:.-]{0,40}(?:\s[^<>\n]{0,500})?/?>|<!--[^<>]{0,500}-->|<!\[CDATA\[|\]\]>",
    "entity": r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});",
    "url": r"\b(?:https?|ftp|file|git|ssh)://[^\s<>\"'`{}|\\^]{1,2000}(?<![.,;:!?)\]])|\bwww\.[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
    r"|\bmailto:[^\s<>\"'`]{1,300}(?<![.,;:!?)])",
    "email": r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}",
    "path": r"(?<![\w/.~\\])(?:~|\.{1,2})?/[\w.+@-]{1,100}(?:/[\w.+@*-]{0,100}){0,30}(?<![.\\])"
    r"|(?<![\w\\])[A-Za-z]:\\[\w.\\ +-]{1,200}(?<![. ])|(?<![\w/.])[\w.+-]{1,60}(?:/[\w.+-]{1,60}){1,10}"
    r"\.[A-Za-z][a-z0-9]{0,4}\b|(?<![\w/.])(?:\*|[\w-]{1,60})\.(?:txt|conf|cfg|ini|json|xml|ya?ml|toml|html?|csv|tsv"
    r"|py|sh|js|ts|c|h|cc|cpp|rs|go|java|rb|pl|po|pot|mo|xlf|srt|md|rst|log|zip|gz|tar|pdf|png|jpe?g|svg|so|exe|dll)\b",
    "option": r"(?<![\w-])--[A-Za-z0-9][\w-]{0,60}(?:=[A-Z][A-Z_-]{0,30}\b)?|(?<![\w-])-[A-Za-z0-9](?![\w-])",
}
_BRACE = re.compile("[{}]")
_ICU_CHARACTERS = 20_000
_HIDDEN = {"tag", "entity"}
_ORDERED = re.compile(r"%(?![(\d%{<]|\d{1,2}\$).+|\{(?:![rsa])?(?::[^{}]*)?\}|%\d{1,2}[a-zA-Z]", re.DOTALL)
_VOID = re.compile(r"</?(?:br|hr|img|input|wbr|area|base|col|embed|link|meta|source|track)\b", re.IGNORECASE)
_PERCENT_SYNTAX = (
    "c",
    "objc",
    "python",
    "php",
    "perl",
    "sh",
    "lua",
    "pascal",
    "gcc-internal",
    "awk",
    "boost",
)
# In a string that is known to be a format string, every % counts.
_PERCENT = (
    r"%(?:\([^()\n]{1,100}\)|\d{1,2}\$)?[-+# 0'I]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?"
    rf"{_CONVERSION}|%<PRI[A-Za-z0-9]{{1,10}}>|%%|%"
)
_STRICT = {**{kind: pattern for kind, pattern in _PATTERNS.items() if kind != "code"}, "printf": _PERCENT}


class Recognizer:
    """Finds the placeholders of a text. The patterns of a project come before all others."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """`patterns` are regular expressions."""
        own = [_checked(pattern) for pattern in patterns]
        named = {f"own{i}": pattern for i, pattern in enumerate(own)}
        self._patterns = [_compiled({**named, **_PATTERNS}), _compiled({**named, **_STRICT})]

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
        pattern = self._patterns[syntax in _PERCENT_SYNTAX]
        position = kept = unbalanced = 0
        while match := pattern.search(text, position):
            start, end, kind = match.start(), match.end(), match.lastgroup or ""
            if kind == "icu":
                end = _icu_end(text, start) if start >= unbalanced else 0
                if not end:  # the braces do not match, and those within it need not be counted again
                    unbalanced = max(unbalanced, start + _ICU_CHARACTERS)
                    position = start + 1
                    continue
            yield text[kept:start]
            yield _markup(text[start:end], kind)
            position = kept = end
        yield text[kept:]


def _checked(pattern: str) -> str:
    try:
        if re.compile(pattern).match(""):
            raise UsageError(
                f"the placeholder pattern {pattern!r} matches the empty string",
                hint="make it match some text",
            )
    except re.error as error:
        raise UsageError(
            f"the placeholder pattern {pattern!r} is not a regular expression: {error}",
            hint="see https://docs.python.org/3/library/re.html",
        ) from error
    return pattern


def _compiled(patterns: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns.items()))


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


def _icu_end(text: str, start: int) -> int:
    """The end of the ICU message that starts here; 0 if there is none."""
    depth = 0
    for match in _BRACE.finditer(text, start, start + _ICU_CHARACTERS):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.end()
    return 0
