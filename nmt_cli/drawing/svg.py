"""What all pictures are drawn with: SVG elements, text of any script, round tick values, and a pair of axes.

Any text may become a label: what would be markup is escaped, and what XML cannot hold is replaced.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

Points = Sequence[tuple[float, float]]

_NARROW = frozenset("iIljtfr.,:;'!|()[]{}-‐‘’`/ ")
_BROAD = frozenset("mwMW@%&—…")
# Characters that neither XML 1.0 nor HTML can hold, escaped or not.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LABEL_GAP = 6.0  # between an axis and its labels
_DROP = 4.0  # from the middle of a line of text to its baseline


def legal_text(text: str) -> str:
    """The text with U+FFFD in place of every character that markup cannot hold."""
    return _ILLEGAL.sub("\ufffd", text)


def element(name: str, *children: str, **attributes: str | float | None) -> str:
    """An element; attributes are escaped, children are markup.

    `stroke_width=2` becomes stroke-width="2", `class_` becomes class; an attribute of None is left out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def tooltip(text: str) -> str:
    """What a browser shows when the pointer is over an element, as a child of that element."""
    return f"<title>{escape(legal_text(text))}</title>"


def label(
    x: float, y: float, text: str, *, anchor: str = "start", full: str = "", **attributes: str | float | None
) -> str:
    """A line of text at a point; `full` is the text that it was shortened from, shown as a tooltip."""
    if is_right_to_left(text):  # where "start" is on the right
        anchor = {"start": "end", "end": "start"}.get(anchor, anchor)
        attributes["direction"] = "rtl"
    children = [escape(legal_text(text))]
    if full and full != text:
        children.append(tooltip(full))
    return element("text", *children, x=x, y=y, text_anchor=anchor, **attributes)


def polyline(points: Points, **attributes: str | float | None) -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element("polyline", points=path, fill="none", **attributes)


def is_right_to_left(text: str) -> bool:
    """Whether the first character with a direction runs from right to left."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction != "L" for direction in directions if direction in ("L", "R", "AL")), False)


def width_in_ems(text: str) -> float:
    """The approximate width of text in a sans-serif font, in units of the font size; never too small by much."""
    return sum(map(_width, text))


def shortened(text: str, ems: float) -> str:
    """The text, or as much of its beginning as fits into that width, followed by an ellipsis."""
    if width_in_ems(text) <= ems:
        return text
    room = ems - _width("…")
    for at, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return text[:at] + "…"
    return text


def ticks(low: float, high: float) -> list[float]:
    """About five round numbers that cover low … high."""
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    # The tolerances absorb rounding errors: 0.3 / 0.1 is a little less than 3.
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 5.01)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


@dataclass(frozen=True)
class Axes:
    """The plotting area between four edges, and how values map to it."""

    left: float
    right: float
    top: float
    bottom: float
    x_range: tuple[float, float] = (0.0, 1.0)
    y_range: tuple[float, float] = (0.0, 1.0)

    def x(self, value: float) -> float:
        """The horizontal position of a value."""
        low, high = self.x_range
        return self.left + (self.right - self.left) * (value - low) / ((high - low) or 1.0)

    def y(self, value: float) -> float:
        """The vertical position of a value; larger values are higher up."""
        low, high = self.y_range
        return self.bottom - (self.bottom - self.top) * (value - low) / ((high - low) or 1.0)

    def y_grid(self, values: Iterable[float], unit: str = "") -> list[str]:
        """A horizontal line at each value, with the value on the left."""
        parts = []
        for value in values:
            y = self.y(value)
            kind = "grid" if value else "zero"
            parts.append(element("line", class_=kind, x1=self.left, x2=self.right, y1=y, y2=y))
            parts.append(label(self.left - _LABEL_GAP, y + _DROP, f"{value:g}{unit}", anchor="end"))
        return parts

    def x_grid(self, values: Iterable[float]) -> list[str]:
        """A vertical line at each value, with the value below."""
        parts = []
        for value in values:
            x = self.x(value)
            parts.append(element("line", class_="grid", x1=x, x2=x, y1=self.top, y2=self.bottom))
            parts.append(self.x_label(value, f"{value:g}"))
        return parts

    def x_label(self, value: float, text: str, *, line: int = 1, class_: str | None = None) -> str:
        """Text below a value, on the first or second line."""
        return label(self.x(value), self.bottom + 16 * line, text, anchor="middle", class_=class_)


def _attribute(value: str | float) -> str:
    return escape(legal_text(value)) if isinstance(value, str) else f"{round(value, 2):g}"


def _width(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character in _BROAD:
        return 1.0
    if character in _NARROW:
        return 0.36
    return 0.74 if character.isupper() else 0.6
