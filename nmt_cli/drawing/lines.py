"""A line for each system in a picture of its own: gradients by distance, BLEU over time."""

import math
from collections.abc import Iterable, Mapping

from nmt_cli.drawing.charts import Axes, Points, element, label, polyline, shortened, ticks, tooltip

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 48
COLORS = ("#2563a8", "#d9730d", "#2f855a", "#8a3ea0", "#b02a37", "#5f6b7a")
INK, FAINT, GRID = "#1a1a1a", "#555555", "#dddddd"
_MOST_DECADES = 12  # below the largest value; what is smaller lies on the bottom line
_MOST_LABELS = 6  # of a logarithmic scale
_NAME_IN_EMS = 11.0


def line_chart(series: Mapping[str, Points], title: str, x_name: str, *, logarithmic: bool = False) -> str:
    """A complete SVG file; `series` has points (x, y) by the name of a system, and `logarithmic` is the y axis."""
    last = max((x for points in series.values() for x, _ in points), default=1)
    values = [y for points in series.values() for _, y in points]
    axes, grid = (_logarithmic if logarithmic else _linear)(values, last)
    parts = [
        tooltip(title),
        element("rect", width=WIDTH, height=HEIGHT, fill="#ffffff"),
        label(LEFT, 22, title, fill=INK, font_weight="bold"),
        *grid,
        label((axes.left + axes.right) / 2, axes.bottom + 38, x_name, anchor="middle", fill=FAINT),
    ]
    for number, (name, points) in enumerate(series.items()):
        color = COLORS[number % len(COLORS)]
        parts += _line(axes, name, points, color, logarithmic=logarithmic)
        y = TOP + 8 + 20 * number
        parts.append(element("rect", x=axes.right + 16, y=y - 9, width=10, height=10, fill=color))
        parts.append(label(axes.right + 32, y, shortened(name, _NAME_IN_EMS), full=name, fill=INK))
    height = max(HEIGHT, TOP + 20 * len(series) + 20)
    return (
        element(
            "svg",
            *(f"\n{part}" for part in parts),
            "\n",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {height}",
            width=WIDTH,
            height=height,
            font_family="Helvetica, Arial, sans-serif",
            font_size=13,
            role="img",
        )
        + "\n"
    )


def _linear(values: list[float], last: float) -> tuple[Axes, list[str]]:
    """Axes for these values, and their grid; x starts at 0."""
    marks = ticks(min(values, default=0.0), max(values, default=1.0))
    axes = _axes((0.0, last), (marks[0], marks[-1]))
    below = [tick for tick in ticks(0, last) if tick <= last]
    return axes, [*_grid(axes, {mark: f"{mark:g}" for mark in marks}), *_below(axes, below)]


def _logarithmic(values: list[float], last: float) -> tuple[Axes, list[str]]:
    """Axes for the logarithms of these values, with a line for each power of ten; x starts at 1."""
    positive = [value for value in values if value > 0] or [1.0]
    high = math.ceil(math.log10(max(positive)))
    low = max(high - _MOST_DECADES, min(high - 1, math.floor(math.log10(min(positive)))))
    axes = _axes((1.0, max(2.0, last)), (float(low), float(high)))
    every = max(1, math.ceil((high - low) / _MOST_LABELS))
    labels = {
        float(power): "" if (power - low) % every else f"{10.0**power:g}" if -4 < power < 5 else f"1e{power}"
        for power in range(low, high + 1)
    }
    below = [1.0, *(tick for tick in ticks(1, last) if 1 < tick <= last and tick == round(tick))]
    if len(below) > 1 and below[1] == 2:
        below = below[1:]  # too close to 1
    return axes, [*_grid(axes, labels), *_below(axes, below)]


def _axes(x_range: tuple[float, float], y_range: tuple[float, float]) -> Axes:
    return Axes(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, x_range=x_range, y_range=y_range)


def _grid(axes: Axes, labels: Mapping[float, str]) -> Iterable[str]:
    """A horizontal line at each value, with its label on the left."""
    for value, text in labels.items():
        y = axes.y(value)
        yield element("line", x1=axes.left, x2=axes.right, y1=y, y2=y, stroke=GRID)
        if text:
            yield label(axes.left - 8, y + 4, text, anchor="end", fill=FAINT)


def _below(axes: Axes, values: Iterable[float]) -> Iterable[str]:
    for value in values:
        yield label(axes.x(value), axes.bottom + 18, f"{value:g}", anchor="middle", fill=FAINT)


def _line(axes: Axes, name: str, points: Points, color: str, *, logarithmic: bool) -> list[str]:
    low, _ = axes.y_range
    heights = [(max(low, math.log10(y)) if y > 0 else low) if logarithmic else y for _, y in points]
    places = [(axes.x(x), axes.y(height)) for (x, _), height in zip(points, heights, strict=True)]
    dots = [
        element("circle", tooltip(f"{name}, {x:.3g}: {y:.3g}"), cx=px, cy=py, r=2.5, fill=color)
        for (px, py), (x, y) in zip(places, points, strict=True)
    ]
    return [polyline(places, stroke=color, stroke_width=1.75), *dots]
