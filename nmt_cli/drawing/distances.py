"""The norm of gradients by distance, a line for each system, on a logarithmic scale: do they vanish?"""

import math
from collections.abc import Mapping, Sequence

from nmt_cli.drawing.charts import Axes, Points, element, label, polyline, shortened, ticks, tooltip

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 48
COLORS = ("#2563a8", "#d9730d", "#2f855a", "#8a3ea0", "#b02a37", "#5f6b7a")
INK, FAINT, GRID = "#1a1a1a", "#555555", "#dddddd"
_MOST_DECADES = 12  # below the largest value; what is smaller lies on the bottom line
_NAME_IN_EMS = 11.0


def distances_svg(series: Mapping[str, Points]) -> str:
    """A complete SVG file; `series` has points (distance, mean norm) by the name of a system."""
    values = [y for points in series.values() for _, y in points if y > 0] or [1.0]
    high = math.ceil(math.log10(max(values)))
    low = max(high - _MOST_DECADES, min(high - 1, math.floor(math.log10(min(values)))))
    last = max((x for points in series.values() for x, _ in points), default=1)
    axes = Axes(
        LEFT,
        WIDTH - RIGHT,
        TOP,
        HEIGHT - BOTTOM,
        x_range=(1, max(2, last)),
        y_range=(float(low), float(high)),
    )
    title = "gradient norm by distance"
    parts = [
        tooltip(title),
        element("rect", width=WIDTH, height=HEIGHT, fill="#ffffff"),
        label(LEFT, 22, title, fill=INK, font_weight="bold"),
        *_grid(axes, low, high, last),
    ]
    for number, (name, points) in enumerate(series.items()):
        parts += _line(axes, name, points, COLORS[number % len(COLORS)])
        y = TOP + 8 + 20 * number
        color = COLORS[number % len(COLORS)]
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


def _grid(axes: Axes, low: int, high: int, last: float) -> list[str]:
    """A line for each power of ten, and round distances below."""
    parts = []
    every = max(1, math.ceil((high - low) / 6))
    for power in range(low, high + 1):
        y = axes.y(power)
        parts.append(element("line", x1=axes.left, x2=axes.right, y1=y, y2=y, stroke=GRID))
        if (power - low) % every == 0:
            shown = f"{10.0**power:g}" if -4 < power < 5 else f"1e{power}"
            parts.append(label(axes.left - 8, y + 4, shown, anchor="end", fill=FAINT))
    marks = [1.0, *(tick for tick in ticks(1, last) if 1 < tick <= last and tick == round(tick))]
    if len(marks) > 1 and marks[1] == 2:
        marks = marks[1:]  # too close to 1
    parts += [
        label(axes.x(mark), axes.bottom + 18, f"{mark:g}", anchor="middle", fill=FAINT) for mark in marks
    ]
    middle = (axes.left + axes.right) / 2
    parts.append(label(middle, axes.bottom + 38, "steps from x_i to y_t", anchor="middle", fill=FAINT))
    return parts


def _line(axes: Axes, name: str, points: Points, color: str) -> Sequence[str]:
    low, _ = axes.y_range
    places = [(axes.x(x), axes.y(max(low, math.log10(y)) if y > 0 else low)) for x, y in points]
    dots = [
        element("circle", tooltip(f"{name}, distance {x:g}: {y:.2g}"), cx=px, cy=py, r=2.5, fill=color)
        for (px, py), (x, y) in zip(places, points, strict=True)
    ]
    return [polyline(places, stroke=color, stroke_width=1.75), *dots]
