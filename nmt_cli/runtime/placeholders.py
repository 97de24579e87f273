"""Placeholders: what a translation must contain exactly as it is, and the numbered symbols that stand for it.

Recognized are format strings (`%s`, `%1$d`, `%(name)s`, `{0}`, `{name}`, `${x}`, `$x`), ICU messages, template tags,
XML tags and entities, URLs, e-mail addresses, file paths, command-line options, inline code, and own patterns.

A model that was trained with `data.placeholders = true` sees `⟦1⟧`, `⟦2⟧` … instead, which are symbols of its
vocabulary. They are numbered in the order of the source; the originals are put back into the translation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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
    r"\.[A-Za-z][a-z0-9]{0,4}\b|(?<![\w/.])(?:\*|[\w-]{2,60})\.(?:txt|conf|cfg|ini|json|xml|ya?ml|toml|html?|csv|tsv"
    r"|py|sh|js|ts|c|h|cc|cpp|rs|go|java|rb|pl|po|pot|mo|xlf|srt|md|rst|log|zip|gz|tar|pdf|png|jpe?g|svg|so|exe|dll)\b",
    "option": r"(?<![\w-])--[A-Za-z0-9][\w-]{0,60}(?:=[A-Z][A-Z_-]{0,30}\b)?|(?<![\w-])-[A-Za-z0-9](?![\w-])",
}
# Literal symbols in a text are placeholders, too: they would be taken for those of others.
_SYMBOL_NUMBERS = r"⟦(?:[1-9]|1[0-9]|20)⟧"
SYMBOLS = tuple(f"⟦{number}⟧" for number in range(1, 21))
"""What stands for the placeholders of a text; if it has more, the others stay as they are."""
_SYMBOL = re.compile(rf"( ?)({_SYMBOL_NUMBERS})")
_SYMBOL_PARTS = re.compile(f"({_SYMBOL_NUMBERS})")
_BRACE = re.compile("[{}]")
_ICU_CHARACTERS = 20_000
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


class Found(NamedTuple):
    """A placeholder: text[start:end]."""

    start: int
    end: int
    kind: str  # printf, braces, url …


class PlaceholderPatterns:
    """Finds the placeholders of a text. The patterns of a project come before all others."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """`patterns` are regular expressions; a ValueError for one that is none, or that matches no text at all."""
        named = {f"own{i}": _checked_pattern(pattern) for i, pattern in enumerate(patterns)}
        symbol = {"symbol": _SYMBOL_NUMBERS}
        self._patterns = [
            _alternatives({**symbol, **named, **_PATTERNS}),
            _alternatives({**symbol, **named, **_STRICT}),
        ]

    def find(self, text: str, syntax: str = "") -> Iterator[Found]:
        """The placeholders in order; `syntax` names the format strings that a text is known to contain."""
        pattern = self._patterns[syntax in _PERCENT_SYNTAX]
        position = unbalanced = 0
        while match := pattern.search(text, position):
            start, end, kind = match.start(), match.end(), match.lastgroup or ""
            if kind == "icu":
                end = _icu_end(text, start) if start >= unbalanced else 0
                if not end:  # the braces do not match, and those within it need not be counted again
                    unbalanced = max(unbalanced, start + _ICU_CHARACTERS)
                    position = start + 1
                    continue
            yield Found(start, end, kind)
            position = end


class Masked(NamedTuple):
    """A text with symbols, and what they stand for: the n-th symbol for the n-th original."""

    text: str
    originals: tuple[str, ...]


@dataclass(frozen=True)
class PlaceholderSymbols:
    """Placeholders to symbols, and back."""

    patterns: tuple[str, ...] = ()  # own regular expressions

    @cached_property
    def _finder(self) -> PlaceholderPatterns:
        return PlaceholderPatterns(self.patterns)

    def mask(self, text: str) -> Masked:
        """The text with its placeholders replaced; `restore` is the inverse."""
        found = list(self._finder.find(text))[: len(SYMBOLS)]
        originals = tuple(text[one.start : one.end] for one in found)
        return Masked(_replaced(text, zip(found, SYMBOLS, strict=False)), originals)

    def mask_pair(self, source: str, target: str) -> tuple[str, str]:
        """A pair of the corpus, with the same symbols on both sides.

        Only what occurs equally often on both sides is replaced: if the translation has another path than the source,
        or leaves it out, both are ordinary text, and the pair is kept.
        """
        found = list(self._finder.find(source))
        texts = [source[one.start : one.end] for one in found]
        theirs = [target[one.start : one.end] for one in self._finder.find(target)]
        ours, shared = Counter(texts), Counter(theirs)
        rows = [row for row, text in enumerate(texts) if ours[text] == shared[text]][: len(SYMBOLS)]
        masked = _replaced(source, ((found[row], symbol) for row, symbol in zip(rows, SYMBOLS, strict=False)))
        return masked, self.mask_target(target, [texts[row] for row in rows])

    def mask_target(self, target: str, originals: Sequence[str]) -> str:
        """A translation with the symbols of its source; of equal placeholders, the first is the first of the source."""
        symbols: dict[str, list[str]] = {}
        for original, symbol in zip(originals, SYMBOLS, strict=False):
            symbols.setdefault(original, []).append(symbol)
        chosen = []
        for one in self._finder.find(target):
            waiting = symbols.get(target[one.start : one.end])
            if waiting:
                chosen.append((one, waiting.pop(0)))
        return _replaced(target, chosen)


def renumbered(text: str, originals: Sequence[str]) -> Masked:
    """A stretch of a masked text as a masked text of its own, whose symbols are numbered from 1."""
    numbers = [int(match[2][1:-1]) for match in _SYMBOL.finditer(text)]
    symbols = iter(SYMBOLS)
    masked = _SYMBOL.sub(lambda match: match[1] + next(symbols, match[2]), text)
    return Masked(masked, tuple(originals[number - 1] for number in numbers if number <= len(originals)))


def restore(text: str, originals: Sequence[str]) -> str:
    """A translation with the originals: each exactly once.

    A symbol that the source did not have, or a second one, is removed; what the model left out follows at the end.
    """
    left = dict(zip(SYMBOLS, originals, strict=False))

    is_changed = False

    def original(match: re.Match[str]) -> str:
        nonlocal is_changed
        is_changed = is_changed or match[2] not in left
        return match[1] + left.pop(match[2]) if match[2] in left else ""

    restored = _SYMBOL.sub(original, text)
    restored = restored.strip() if is_changed else restored
    return " ".join([*([restored] if restored else []), *left.values()])


def outside_symbols(text: str, change: Callable[[str], str]) -> str:
    """A masked text with everything but its symbols changed."""
    parts = _SYMBOL_PARTS.split(text)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def _replaced(text: str, replacements: Iterable[tuple[Found, str]]) -> str:
    parts, position = list[str](), 0
    for found, symbol in replacements:
        parts += [text[position : found.start], symbol]
        position = found.end
    return "".join([*parts, text[position:]])


def _checked_pattern(pattern: str) -> str:
    try:
        if re.compile(pattern).match(""):
            raise ValueError(f"the pattern {pattern!r} matches the empty string")
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
    return pattern


def _alternatives(patterns: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns.items()))


def _icu_end(text: str, start: int) -> int:
    """The end of the ICU message that starts here; 0 if there is none."""
    depth = 0
    for match in _BRACE.finditer(text, start, start + _ICU_CHARACTERS):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.end()
    return 0
