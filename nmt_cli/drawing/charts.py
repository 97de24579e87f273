"""The charts of the evaluation report. The style sheet of the page colors them by their classes: c0, c1 and so on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.drawing.svg import Axes, element, label, polyline, ticks, tooltip

WIDTH, HEIGHT = 480, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 16, 12, 46
_NAMES = 170  # width of the names beside a whisker chart
_ROW = 24  # height of one of its rows
_LONGEST_NAME = 22

TitledPoint = tuple[float, float, str]  # x, y, text of the tooltip


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
