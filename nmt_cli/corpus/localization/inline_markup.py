"""The text of a segment with inline elements, as TMX and XLIFF share them.

| element | meaning | becomes |
| --- | --- | --- |
| `hi`, `g`, `pc`, `mrk` | formatted or annotated text | its text |
| `bpt`, `ept`, `it`, `ut`, `bx`, `ex`, `sc`, `ec`, `sm`, `em`, `cp` | code of the original format | nothing |
| `ph`, `x` | a placeholder or other code that stands alone | a placeholder such as `%s`: its text; else nothing |

A line break (type `lb`, or the code `<br>`) becomes a line break. Text inside code (`sub`) is dropped with the code.
"""

import re

from nmt_cli.corpus.localization.xml_stream import TextParts

_STANDALONE = frozenset({"ph", "x"})
_CODE = frozenset({"bpt", "ept", "it", "ut", "bx", "ex", "sc", "ec", "sm", "em", "cp"}) | _STANDALONE
_EQUIVALENTS = ("equiv-text", "equiv", "disp")
# What a translator would type: %s, %1$d, %(name)s, {0}, {{ name }}, ${name}, $name, %name%.
_PLACEHOLDER = re.compile(
    r"%(?:\d+\$|\(\w+\))?[-+ #0]*[\d.*]*[a-zA-Z@]{1,3}|\{\{?[^{}<>\\]*\}?\}|\$\{\w[\w.]*\}|\$\w+|%\w+%"
)
_BREAK = re.compile(r"<br\b", re.IGNORECASE)


class SegmentText:
    """Collects the text of one segment, element by element."""

    def __init__(self) -> None:
        self._text = TextParts()
        self._nested = 0  # elements of code that are open
        self._break = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An inline element starts."""
        if self._nested:
            self._nested += 1
        elif name in _CODE:
            self._nested = 1
            self._code = TextParts()
            self._break = "lb" in (attributes.get("ctype"), attributes.get("type")) or (
                attributes.get("subType") == "xlf:lb"
            )
            equivalent = next((attributes[key] for key in _EQUIVALENTS if attributes.get(key)), "")
            self._code.append(equivalent)

    def end(self, name: str) -> None:
        """An inline element ends."""
        if not self._nested:
            return
        self._nested -= 1
        if self._nested:
            return
        code = str(self._code).strip()
        if self._break or _BREAK.match(code):
            self._text.append("\n")
        elif name in _STANDALONE and _PLACEHOLDER.fullmatch(code):
            self._text.append(code)

    def text(self, data: str) -> None:
        """Text of the segment, or code."""
        (self._code if self._nested else self._text).append(data)

    def __str__(self) -> str:
        return str(self._text)
