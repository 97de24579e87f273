"""An attention matrix as a heat map, for a paper or a web page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nmt_cli.drawing.charts import element, label, shortened, tooltip, width_in_ems

CELL = 26.0  # side of one cell; at 45° two labels of size 13 are then 18 apart
FONT = 13.0
GAP = 8.0  # between a label and its cell
MARGIN = 10.0
LONGEST_LABEL = 14.0  # in ems; longer words are shortened and keep a tooltip
LEAST = 0.001  # weights below it are not drawn
BAR_WIDTH, BAR_HEIGHT, BAR_STEPS = 120.0, 8.0, 24

INK, FAINT, GRID = "#1a1a1a", "#5c5c5c", "#d4d4d4"
# From 0 to 1: one hue of evenly falling lightness, so that it survives grayscale printing.
_RAMP = ((255, 255, 255), (214, 230, 244), (160, 202, 226), (86, 156, 204), (27, 105, 175), (8, 48, 107))
_NEGATIVE = ((255, 255, 255), (253, 224, 205), (250, 184, 140), (238, 128, 76), (205, 72, 28), (127, 39, 4))


@dataclass(frozen=True)
class _Frame:
    """Where the parts of the picture are."""

    left: float  # edge of the matrix; target words are left of it
    top: float  # edge of the matrix; source words are above it
    columns: int
    rows: int
    width: float  # of the whole picture
    height: float


class HeatMap(NamedTuple):
    """One of several heat maps of the same words."""

    title: str
    caption: str  # of the legend
    matrix: Sequence[Sequence[float]]
    signed: bool = False  # from -1 to 1 instead of from 0


def attention_svg(
    source_words: Sequence[str],
    target_words: Sequence[str],
    matrix: Sequence[Sequence[float]],
    *,
    title: str | None = None,
    caption: str = "attention weight",
) -> str:
    """A heat map as a complete SVG file: source words on top, target words on the left, weights from 0 to 1.

    `matrix` has a row for each target word. Any text is safe; fonts are generic and nothing is loaded.
    """
    frame, parts = _drawn(source_words, target_words, HeatMap(title or "", caption, matrix))
    return _file(frame.width, frame.height, parts)


def heat_maps_svg(source_words: Sequence[str], target_words: Sequence[str], maps: Sequence[HeatMap]) -> str:
    """Several heat maps of the same words side by side, as a complete SVG file."""
    drawn = [_drawn(source_words, target_words, each) for each in maps]
    x, parts = 0.0, []
    for frame, inner in drawn:
        lines = (f"\n{part}" for part in inner)
        parts.append(element("svg", *lines, "\n", x=x, y=0, width=frame.width, height=frame.height))
        x += frame.width
    return _file(x, max(frame.height for frame, _ in drawn), parts)


def _file(width: float, height: float, parts: Sequence[str]) -> str:
    return (
        element(
            "svg",
            *(f"\n{part}" for part in parts),
            "\n",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:.0f} {height:.0f}",
            width=width,
            height=height,
            font_family="Helvetica, Arial, sans-serif",
            font_size=FONT,
            role="img",
        )
        + "\n"
    )


def _drawn(
    source_words: Sequence[str], target_words: Sequence[str], heat_map: HeatMap
) -> tuple[_Frame, list[str]]:
    title, caption, matrix, signed = heat_map
    assert len(matrix) == len(target_words)
    assert all(len(row) == len(source_words) for row in matrix)
    above = [shortened(word, LONGEST_LABEL) for word in source_words]
    beside = [shortened(word, LONGEST_LABEL) for word in target_words]
    frame = _frame(above, beside, title)
    parts = [
        tooltip(title or caption),
        element("rect", width=frame.width, height=frame.height, fill="#ffffff"),
    ]
    if title:
        parts.append(label(MARGIN, MARGIN + FONT, title, fill=INK, font_weight="bold"))
    for column, (shown, word) in enumerate(zip(above, source_words, strict=True)):
        x, y = frame.left + (column + 0.5) * CELL + FONT / 3, frame.top - GAP
        parts.append(label(x, y, shown, full=word, fill=INK, transform=f"rotate(-45 {x:.2f} {y:.2f})"))
    for row, (shown, word) in enumerate(zip(beside, target_words, strict=True)):
        y = frame.top + (row + 0.5) * CELL + FONT * 0.36
        parts.append(label(frame.left - GAP, y, shown, full=word, fill=INK, anchor="end"))
    cells = _cells(frame, source_words, target_words, matrix, signed=signed)
    return frame, [*parts, cells, *_color_bar(frame, caption, signed=signed)]


def color_of(weight: float, *, signed: bool = False) -> str:
    """The color of a weight as #rrggbb; weights outside 0 … 1 (`signed`: -1 … 1) are clamped and NaN counts as 0."""
    ramp = _NEGATIVE if signed and weight < 0 else _RAMP
    size = abs(weight) if signed else weight
    place = (min(size, 1.0) if size > 0 else 0.0) * (len(ramp) - 1)
    at = min(int(place), len(ramp) - 2)
    mixed = (
        round(low + (high - low) * (place - at)) for low, high in zip(ramp[at], ramp[at + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _frame(above: Sequence[str], beside: Sequence[str], title: str) -> _Frame:
    slanted = FONT / math.sqrt(2)  # of one em at 45°
    left = MARGIN + GAP + max((width_in_ems(word) * FONT for word in beside), default=0.0)
    highest = max((width_in_ems(word) for word in above), default=0.0)
    top = MARGIN + (1.8 * FONT if title else 0.0) + (highest + 1) * slanted + GAP
    ends = [(column + 0.5) * CELL + (width_in_ems(word) + 1) * slanted for column, word in enumerate(above)]
    right = max([len(above) * CELL, BAR_WIDTH + 2 * FONT, *ends])
    bold = 1.1 * FONT * width_in_ems(title) if title else 0.0
    return _Frame(
        left,
        top,
        len(above),
        len(beside),
        math.ceil(max(left + right, MARGIN + bold) + MARGIN),
        math.ceil(top + len(beside) * CELL + 4.6 * FONT + MARGIN),
    )


def _cells(
    frame: _Frame,
    source: Sequence[str],
    target: Sequence[str],
    matrix: Sequence[Sequence[float]],
    *,
    signed: bool,
) -> str:
    cells = [
        element(
            "rect",
            tooltip(f"{target[row]} ← {source[column]}: {weight:.3f}"),
            x=frame.left + column * CELL,
            y=frame.top + row * CELL,
            width=CELL,
            height=CELL,
            fill=color_of(weight, signed=signed),
        )
        for row, weights in enumerate(matrix)
        for column, weight in enumerate(weights)
        if (abs(weight) if signed else weight) >= LEAST
    ]
    right, bottom = frame.left + frame.columns * CELL, frame.top + frame.rows * CELL
    across = (frame.top + row * CELL for row in range(frame.rows + 1))
    down = (frame.left + column * CELL for column in range(frame.columns + 1))
    lines = [f"M{frame.left:.1f} {y:.1f}H{right:.1f}" for y in across]
    lines += [f"M{x:.1f} {frame.top:.1f}V{bottom:.1f}" for x in down]
    grid = element("path", d="".join(lines), fill="none", stroke=GRID)
    return element("g", *(f"\n{part}" for part in (*cells, grid)), "\n", shape_rendering="crispEdges")


def _color_bar(frame: _Frame, caption: str, *, signed: bool) -> list[str]:
    """The legend: which color is which weight."""
    x, y = frame.left, frame.top + frame.rows * CELL + 1.2 * FONT
    step = BAR_WIDTH / BAR_STEPS
    low = -1.0 if signed else 0.0
    weights = [low + (1 - low) * i / (BAR_STEPS - 1) for i in range(BAR_STEPS)]
    colors = [
        element(
            "rect",
            x=x + i * step,
            y=y,
            width=step,
            height=BAR_HEIGHT,
            fill=color_of(weight, signed=signed),
        )
        for i, weight in enumerate(weights)
    ]
    border = element("rect", x=x, y=y, width=BAR_WIDTH, height=BAR_HEIGHT, fill="none", stroke=GRID)
    below = y + BAR_HEIGHT + FONT
    labels = ((x, f"{low:g}"), (x + BAR_WIDTH / 2, caption), (x + BAR_WIDTH, "1"))
    return [
        element("g", *colors, border, shape_rendering="crispEdges"),
        *(label(at, below, text, fill=FAINT, anchor="middle", font_size=FONT - 2) for at, text in labels),
    ]
