"""curves.svg: training loss and validation scores over updates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nmt_cli.drawing.svg import Axes, Points, element, label, polyline, ticks

WIDTH, HEIGHT = 800, 260  # of one panel
LEFT, RIGHT, TOP, BOTTOM = 64, 130, 36, 40
BLUE, ORANGE, GREEN = "#2563a8", "#d9730d", "#2f855a"
_STYLE = (
    "text { fill: #555 } .heading { fill: #222; font-size: 14px; font-weight: bold } .none { fill: #999 }"
)
_GRID = ".grid, .zero { stroke: #ddd }"
_LABEL_HEIGHT = 14


@dataclass(frozen=True)
class Curve:
    """One line of a panel."""

    name: str
    color: str
    points: Points
    marked: bool = False  # with a dot at each point


def draw_curves(records: Sequence[Mapping[str, Any]]) -> str:
    """The records of metrics.jsonl as an SVG: a panel for the loss and, except for language models, one for scores."""
    steps = [record for record in records if record["kind"] == "step" and record["perplexity"] is not None]
    validations = [
        record
        for record in records
        if record["kind"] == "validation" and not record.get("averaged") and record["loss"] is not None
    ]
    train = [(record["update"], math.log(max(record["perplexity"], 1e-9))) for record in steps]
    valid = [(record["update"], record["loss"]) for record in validations]
    loss = [Curve("training", BLUE, train), Curve("validation", ORANGE, valid, marked=True)]
    panels = [("cross-entropy per target token", loss), *_scores(validations)]
    last = max((record["update"] for record in records), default=1)
    total = HEIGHT * len(panels)
    return (
        element(
            "svg",
            f"\n<style>{_STYLE} {_GRID}</style>\n",
            element("rect", width=WIDTH, height=total, fill="#ffffff"),
            *(f"\n{_panel(name, curves, last, n * HEIGHT)}" for n, (name, curves) in enumerate(panels)),
            "\n",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {total}",
            width=WIDTH,
            height=total,
            font_family="sans-serif",
            font_size=12,
            role="img",
            aria_label="learning curves",
        )
        + "\n"
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


def _panel(heading: str, curves: Sequence[Curve], last: float, offset: float) -> str:
    values = [y for curve in curves for _, y in curve.points] or [0.0, 1.0]
    y_ticks = ticks(min(values), max(values))
    axes = Axes(
        left=LEFT,
        right=WIDTH - RIGHT,
        top=offset + TOP,
        bottom=offset + HEIGHT - BOTTOM,
        x_range=(0, max(last, 1)),
        y_range=(y_ticks[0], y_ticks[-1]),
    )
    parts = [
        label(LEFT, offset + 20, heading, class_="heading"),
        *axes.y_grid(y_ticks),
        *(axes.x_label(tick, f"{tick:g}") for tick in ticks(0, last) if tick <= last),
        label(axes.right, axes.bottom + 32, "updates", anchor="end"),
    ]
    drawn = [curve for curve in curves if curve.points]
    label_heights = _spread([axes.y(curve.points[-1][1]) for curve in drawn])
    for curve, height in zip(drawn, label_heights, strict=True):
        points = [(axes.x(x), axes.y(y)) for x, y in curve.points]
        parts.append(polyline(points, stroke=curve.color, stroke_width=2))
        if curve.marked:
            parts += [element("circle", cx=x, cy=y, r=2.5, fill=curve.color) for x, y in points]
        value = f"{curve.name} {curve.points[-1][1]:.2f}"
        parts.append(label(axes.right + 8, height + 4, value, style=f"fill:{curve.color}"))
    if not drawn:
        parts.append(label(WIDTH / 2, offset + HEIGHT / 2, "none yet", anchor="middle", class_="none"))
    return "\n".join(parts)


def _spread(heights: Sequence[float]) -> list[float]:
    """The heights of labels, moved apart where they would overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    spread = list(heights)
    for above, below in pairwise(order):
        spread[below] = max(spread[below], spread[above] + _LABEL_HEIGHT)
    return spread
