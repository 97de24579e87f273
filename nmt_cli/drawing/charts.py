"""Charts as SVG that follows the colors of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 480, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 16, 12, 46


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


def legend(series: Sequence[Series]) -> str:
    """Which color is which system; one system needs none."""
    if len(series) < 2:
        return ""
    items = (
        f'<span><i style="background:var(--c{one.color})"></i>{escape(one.name)}</span>' for one in series
    )
    return f'<div class="legend">{"".join(items)}</div>'


def category_chart(
    label: str, categories: Sequence[str], below: Sequence[str], series: Sequence[Series], *, unit: str = ""
) -> str:
    """Values over categories: bars for one system, lines for several. `below` is a second line under each name."""
    values = [value for one in series for value in one.values if value is not None]
    top = _ceiling(max(values, default=1.0))
    step = (WIDTH - LEFT - RIGHT) / max(1, len(categories))
    parts = [*_grid(top, unit)]
    floor = HEIGHT - BOTTOM
    for index, (name, second) in enumerate(zip(categories, below, strict=True)):
        x = LEFT + (index + 0.5) * step
        parts.append(_text(x, floor + 16, name, anchor="middle", strong=True))
        parts.append(_text(x, floor + 32, second, anchor="middle"))

    def place(index: int, value: float) -> tuple[float, float]:
        return LEFT + (index + 0.5) * step, floor - (floor - TOP) * value / top

    for one in series:
        points = [
            (*place(index, value), f"{one.name}, {categories[index]}: {value:.1f}{unit}")
            for index, value in enumerate(one.values)
            if value is not None
        ]
        parts += _bars(points, one.color, 0.6 * step) if len(series) == 1 else _line(points, one.color)
    return _svg(label, HEIGHT, parts)


def histogram(label: str, series: Sequence[Series]) -> str:
    """Shares of sentences in bins of equal width from 0 to 100."""
    bins = len(series[0].values)
    top = _ceiling(max((value or 0.0 for one in series for value in one.values), default=1.0))
    parts = [*_grid(top, " %")]
    floor, width = HEIGHT - BOTTOM, (WIDTH - LEFT - RIGHT) / bins
    for tick in range(0, 101, 20):
        x = LEFT + (WIDTH - LEFT - RIGHT) * tick / 100
        parts.append(_text(x, floor + 16, str(tick), anchor="middle", strong=True))
    parts.append(_text(LEFT + (WIDTH - LEFT - RIGHT) / 2, floor + 34, "chrF of a sentence", anchor="middle"))
    for one in series:
        points = []
        for index, value in enumerate(one.values):
            y = floor - (floor - TOP) * (value or 0.0) / top
            low, high = 100 * index // bins, 100 * (index + 1) // bins
            points.append(
                (LEFT + (index + 0.5) * width, y, f"{one.name}, chrF {low}–{high}: {value or 0:.1f} %")
            )
        parts += (
            _bars(points, one.color, 0.9 * width)
            if len(series) == 1
            else _line(points, one.color, dots=False)
        )
    return _svg(label, HEIGHT, parts)


def whisker_chart(label: str, rows: Sequence[Whisker]) -> str:
    """Scores with intervals, one below the other."""
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    margin = 0.08 * (high - low) or 1.0
    low, high = low - margin, high + margin
    left, line = 170, 24
    height = line * len(rows) + 44

    def x_of(value: float) -> float:
        return left + (WIDTH - left - RIGHT) * (value - low) / (high - low)

    step = _step(high - low)
    parts = []
    for index in range(math.ceil(low / step), math.floor(high / step) + 1):
        x = x_of(index * step)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{height - 28}"/>')
        parts.append(_text(x, height - 12, f"{index * step:g}", anchor="middle"))
    for index, row in enumerate(rows):
        y = 8 + line * (index + 0.5)
        color = f"var(--c{row.color})"
        parts.append(_text(left - 10, y + 4, _short(row.name), anchor="end", strong=True))
        parts.append(
            f"<g><title>{escape(row.name)}: {row.value:.2f}, 95 % from {row.low:.2f} to {row.high:.2f}</title>"
            f'<line x1="{x_of(row.low):.1f}" x2="{x_of(row.high):.1f}" y1="{y}" y2="{y}" '
            f'style="stroke:{color};stroke-width:3;stroke-linecap:round;opacity:.55"/>'
            f'<circle cx="{x_of(row.value):.1f}" cy="{y}" r="5" style="fill:{color}"/></g>'
        )
    return _svg(label, height, parts)


def _grid(top: float, unit: str) -> list[str]:
    floor = HEIGHT - BOTTOM
    step = _step(top)
    parts = []
    for index in range(round(top / step) + 1):
        y = floor - (floor - TOP) * index * step / top
        kind = "grid" if index else "zero"
        parts.append(f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{index * step:g}{unit}", anchor="end"))
    return parts


def _bars(points: Sequence[tuple[float, float, str]], color: int, width: float) -> list[str]:
    floor = HEIGHT - BOTTOM
    return [
        f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(0.0, floor - y):.1f}" rx="2" '
        f'style="fill:var(--c{color})"><title>{escape(title)}</title></rect>'
        for x, y, title in points
    ]


def _line(points: Sequence[tuple[float, float, str]], color: int, *, dots: bool = True) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    parts = [f'<polyline points="{path}" style="fill:none;stroke:var(--c{color});stroke-width:2"/>']
    radius = 4 if dots else 5
    visible = "" if dots else ";opacity:0"  # a place to point at
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" style="fill:var(--c{color}){visible}">'
        f"<title>{escape(title)}</title></circle>"
        for x, y, title in points
    ]
    return parts


def _svg(label: str, height: float, parts: Sequence[str]) -> str:
    body = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">{body}</svg>'


def _text(x: float, y: float, content: str, *, anchor: str, strong: bool = False) -> str:
    kind = ' class="strong"' if strong else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(content)}</text>'


def _short(name: str, most: int = 22) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _step(span: float) -> float:
    """A round number of which about four make the span."""
    power = 10.0 ** math.floor(math.log10(span / 4))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 5.01)


def _ceiling(value: float) -> float:
    """The next round number above."""
    if value <= 0:
        return 1.0
    step = _step(value)
    return math.ceil(value / step - 1e-9) * step
