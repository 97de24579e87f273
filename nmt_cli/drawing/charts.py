"""SVG: elements, text of any script, round tick values, a pair of axes, and the charts of the evaluation report.

Any text may become a label: what would be markup is escaped, and what XML cannot hold is replaced. The style sheet of a
page colors its charts by their classes: c0, c1 and so on.
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
WIDTH, HEIGHT = 480, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 16, 12, 46
_NAMES = 170  # width of the names beside a whisker chart
_ROW = 24  # height of one of its rows
_LONGEST_NAME = 22
TitledPoint = tuple[float, float, str]  # x, y, text of the tooltip


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


@dataclass(frozen=True)
class Series:
    """The values of one system, one for each category; None where it has none."""

    name: str
    color: int
    values: Sequence[float | None]


@dataclass(frozen=True)
class Whisker:
    """A score with its interval."""

    name: str
    color: int
    value: float
    low: float
    high: float


def category_chart(
    name: str, categories: Sequence[str], below: Sequence[str], series: Sequence[Series], *, unit: str = ""
) -> str:
    """Values by category: bars for one system, lines for several. `below` is a second label for each category."""
    values = [value for one in series for value in one.values if value is not None]
    axes, parts = _axes(values, columns=max(1, len(categories)), unit=unit)
    for index, (category, second) in enumerate(zip(categories, below, strict=True)):
        parts.append(axes.x_label(index + 0.5, category, class_="strong"))
        parts.append(axes.x_label(index + 0.5, second, line=2))
    for one in series:
        points = [
            (axes.x(index + 0.5), axes.y(value), f"{one.name}, {categories[index]}: {value:.1f}{unit}")
            for index, value in enumerate(one.values)
            if value is not None
        ]
        if len(series) == 1:
            parts += _bars(points, one.color, axes, width=0.6 * (axes.x(1) - axes.x(0)))
        else:
            parts += _line(points, one.color)
    return _chart(name, HEIGHT, parts)


def histogram(name: str, series: Sequence[Series]) -> str:
    """The share of sentences in each of several equal ranges of chrF from 0 to 100, in percent."""
    bins = len(series[0].values)
    axes, parts = _axes([value or 0.0 for one in series for value in one.values], columns=bins, unit=" %")
    for tick in range(0, 101, 20):
        parts.append(axes.x_label(bins * tick / 100, str(tick), class_="strong"))
    parts.append(label(axes.x(bins / 2), axes.bottom + 34, "sentence-level chrF", anchor="middle"))
    for one in series:
        points = []
        for index, value in enumerate(one.values):
            low, high = 100 * index // bins, 100 * (index + 1) // bins
            shown = f"{one.name}, chrF {low}–{high}: {value or 0:.1f} %"
            points.append((axes.x(index + 0.5), axes.y(value or 0.0), shown))
        if len(series) == 1:
            parts += _bars(points, one.color, axes, width=0.9 * (axes.x(1) - axes.x(0)))
        else:
            parts += _line(points, one.color, dots=False)
    return _chart(name, HEIGHT, parts)


def whisker_chart(name: str, rows: Sequence[Whisker]) -> str:
    """Scores with intervals, one below the other."""
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    margin = 0.08 * (high - low) or 1.0
    low, high = low - margin, high + margin
    height = _ROW * len(rows) + 44
    axes = Axes(_NAMES, WIDTH - RIGHT, 8, height - 28, x_range=(low, high))
    parts = axes.x_grid(tick for tick in ticks(low, high) if low <= tick <= high)
    for index, row in enumerate(rows):
        y = 8 + _ROW * (index + 0.5)
        shown = row.name if len(row.name) <= _LONGEST_NAME else row.name[: _LONGEST_NAME - 1] + "…"
        parts.append(label(_NAMES - 10, y + 4, shown, anchor="end", class_="strong"))
        parts.append(
            element(
                "g",
                tooltip(f"{row.name}: {row.value:.2f}, 95 % interval {row.low:.2f} to {row.high:.2f}"),
                element("line", x1=axes.x(row.low), x2=axes.x(row.high), y1=y, y2=y, class_="whisker"),
                element("circle", cx=axes.x(row.value), cy=y, r=5, class_="dot"),
                class_=f"c{row.color}",
            )
        )
    return _chart(name, height, parts)


def _axes(values: Sequence[float], *, columns: int, unit: str) -> tuple[Axes, list[str]]:
    """Axes from 0 to a round number above all values, `columns` wide, and the grid."""
    y_ticks = ticks(0.0, max(values, default=0.0) or 1.0)
    axes = Axes(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, x_range=(0, columns), y_range=(0, y_ticks[-1]))
    return axes, axes.y_grid(y_ticks, unit)


def _bars(points: Sequence[TitledPoint], color: int, axes: Axes, *, width: float) -> list[str]:
    return [
        element(
            "rect",
            tooltip(shown),
            x=x - width / 2,
            y=y,
            width=width,
            height=max(0.0, axes.bottom - y),
            rx=2,
            class_=f"bar c{color}",
        )
        for x, y, shown in points
    ]


def _line(points: Sequence[TitledPoint], color: int, *, dots: bool = True) -> list[str]:
    line = polyline([(x, y) for x, y, _ in points], class_=f"line c{color}")
    kind = "dot" if dots else "dot invisible"  # it still shows its tooltip
    circles = (
        element("circle", tooltip(shown), cx=x, cy=y, r=4 if dots else 5, class_=f"{kind} c{color}")
        for x, y, shown in points
    )
    return [line, *circles]


def _chart(name: str, height: float, parts: Sequence[str]) -> str:
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {height:g}", role="img", aria_label=name)
