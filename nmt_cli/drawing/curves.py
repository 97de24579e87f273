"""curves.svg: loss and score over updates, drawn by hand so that any browser shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

WIDTH, HEIGHT = 800, 260  # of one panel
LEFT, RIGHT, TOP, BOTTOM = 64, 130, 36, 40
BLUE, ORANGE, GREEN = "#2563a8", "#d9730d", "#2f855a"

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """A line of a panel."""

    name: str
    color: str
    points: Points
    marked: bool = False  # few points: each gets a dot


def draw_curves(records: Sequence[Mapping[str, Any]]) -> str:
    """The lines of metrics.jsonl as an SVG with two panels, or with that of the loss alone."""
    steps = [record for record in records if record["kind"] == "step" and record["perplexity"] is not None]
    validations = [
        record for record in records if record["kind"] == "validation" and not record.get("averaged")
    ]
    train = [(record["update"], math.log(max(record["perplexity"], 1e-9))) for record in steps]
    panels = [
        (
            "cross-entropy of a target token",
            [
                Curve("training", BLUE, train),
                Curve(
                    "validation",
                    ORANGE,
                    [(record["update"], record["loss"]) for record in validations],
                    marked=True,
                ),
            ],
        ),
        *_scores(validations),
    ]
    last = max((record["update"] for record in records), default=1)
    bodies = [_panel(title, curves, last, index * HEIGHT) for index, (title, curves) in enumerate(panels)]
    total = HEIGHT * len(panels)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}"'
            f' width="{WIDTH}" height="{total}"'
            ' font-family="sans-serif" font-size="12" role="img" aria-label="learning curves">',
            f'<rect width="{WIDTH}" height="{total}" fill="#ffffff"/>',
            *bodies,
            "</svg>\n",
        ]
    )


def _scores(validations: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Curve]]]:
    """The panel of BLEU and chrF; a language model has none."""
    if validations and "bleu" not in validations[0]:
        return
    names = (("BLEU", "bleu", GREEN), ("chrF2", "chrf", BLUE))
    yield (
        "validation score",
        [
            Curve(name, color, [(record["update"], record[key]) for record in validations], marked=True)
            for name, key, color in names
        ],
    )


def _panel(title: str, curves: Sequence[Curve], last: float, offset: float) -> str:
    values = [y for curve in curves for _, y in curve.points]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    ticks_y = ticks(low, high)
    low, high = min(low, ticks_y[0]), max(high, ticks_y[-1])
    ticks_x = [tick for tick in ticks(0, last) if tick <= last]

    def x_of(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * x / max(last, 1)

    def y_of(y: float) -> float:
        return offset + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - low) / ((high - low) or 1)

    floor = offset + HEIGHT - BOTTOM
    parts = [_text(LEFT, offset + 20, title, "#222", extra='font-size="14" font-weight="bold"')]
    for tick in ticks_y:
        y = y_of(tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{tick:g}", "#555", anchor="end"))
    parts += [_text(x_of(tick), floor + 16, f"{tick:g}", "#555", anchor="middle") for tick in ticks_x]
    parts.append(_text(WIDTH - RIGHT, floor + 32, "updates", "#555", anchor="end"))
    drawn = [curve for curve in curves if curve.points]
    ends = _spread([y_of(curve.points[-1][1]) for curve in drawn])
    for curve, label_y in zip(drawn, ends, strict=True):
        parts.append(_line([(x_of(x), y_of(y)) for x, y in curve.points], curve))
        value = f"{curve.name} {curve.points[-1][1]:.2f}"
        parts.append(_text(WIDTH - RIGHT + 8, label_y + 4, value, curve.color))
    if not drawn:
        parts.append(_text(WIDTH / 2, offset + HEIGHT / 2, "none yet", "#999", anchor="middle"))
    return "\n".join(parts)


def _text(x: float, y: float, content: str, color: str, *, anchor: str = "start", extra: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}"'
    return f"<text {place}{' ' + extra if extra else ''}>{escape(content)}</text>"


def _line(points: Points, curve: Curve) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    line = f'<polyline points="{path}" fill="none" stroke="{curve.color}" stroke-width="2"/>'
    if curve.marked:
        line += "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{curve.color}"/>' for x, y in points
        )
    return line


def _spread(places: Sequence[float]) -> list[float]:
    """Labels at these heights, moved apart where they would overlap."""
    order = sorted(range(len(places)), key=places.__getitem__)
    spread = list(places)
    for above, below in pairwise(order):
        spread[below] = max(spread[below], spread[above] + 14)
    return spread


def ticks(low: float, high: float) -> list[float]:
    """About five round numbers that cover low … high."""
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(index * step, 10) for index in range(first, last + 1)]
