"""curves.svg: training loss, validation scores and learning rate over updates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from nmt_cli.drawing.charts import Axes, Points, element, label, polyline, shortened, ticks, tooltip

WIDTH = 800
HEIGHT, LOW = 260, 170  # of a panel, and of one that needs less detail
TITLE = 34  # height of the title above the panels
LEFT, RIGHT, TOP, BOTTOM = 64, 130, 36, 40
BLUE, ORANGE, GREEN, GRAY = "#2563a8", "#d9730d", "#2f855a", "#5f6b7a"
_STYLE = (
    "text { fill: #555 } .title { fill: #222; font-size: 16px; font-weight: bold } "
    ".heading { fill: #222; font-size: 14px; font-weight: bold } .none { fill: #999 } .grid, .zero { stroke: #ddd }"
)
_LABEL_HEIGHT = 14
_TITLE_IN_EMS = (WIDTH - 2 * LEFT) / 16
_RADIUS, _FINE_RADIUS, _BEST_RADIUS = 2.5, 1.3, 5.5  # of points
_MOST_POINTS = 500  # of a fine curve: with more of them they merge into the line, and the file grows


@dataclass(frozen=True)
class Curve:
    """One line of a panel. Every point has a tooltip."""

    name: str
    color: str
    points: Points
    fine: bool = True  # a thin line with small points, for many of them
    best: float | None = None  # the update whose point has a ring around it
    digits: str = ".2f"


@dataclass(frozen=True)
class _Panel:
    """Curves over the same updates."""

    heading: str
    curves: Sequence[Curve]
    height: float = HEIGHT
    from_zero: bool = False


def draw_curves(records: Sequence[Mapping[str, Any]], title: str = "") -> str:
    """The records of metrics.jsonl as an SVG: panels for the loss, for scores if there are any, and the learning rate.

    `title` names the run.
    """
    steps = [record for record in records if record["kind"] == "step" and record["perplexity"] is not None]
    validations = [
        record
        for record in records
        if record["kind"] == "validation" and not record.get("averaged") and record["loss"] is not None
    ]
    best = next((record["update"] for record in reversed(validations) if record.get("best")), None)
    train = [(record["update"], math.log(max(record["perplexity"], 1e-9))) for record in steps]
    valid = [(record["update"], record["loss"]) for record in validations]
    loss = [Curve("training", BLUE, train), Curve("validation", ORANGE, valid, fine=False, best=best)]
    panels = [
        _Panel("cross-entropy per target token", loss),
        *_scores(validations, best),
        *_learning_rate(steps),
    ]
    last = max((record["update"] for record in records), default=1)
    offsets = list(accumulate((panel.height for panel in panels), initial=TITLE if title else 0))
    shown = shortened(title, _TITLE_IN_EMS)
    return (
        element(
            "svg",
            f"\n<style>{_STYLE}</style>\n",
            element("rect", width=WIDTH, height=offsets[-1], fill="#ffffff"),
            *([label(LEFT, 26, shown, full=title, class_="title")] if title else []),
            *(f"\n{_draw(panel, last, offset)}" for panel, offset in zip(panels, offsets, strict=False)),
            "\n",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {offsets[-1]:g}",
            width=WIDTH,
            height=offsets[-1],
            style="max-width: 100%; height: auto",  # on a phone
            font_family="sans-serif",
            font_size=12,
            role="img",
            aria_label=f"learning curves {title}".strip(),
        )
        + "\n"
    )


def _scores(validations: Sequence[Mapping[str, Any]], best: float | None) -> Iterator[_Panel]:
    """The panel of BLEU and chrF, or of WER and CER; a language model has none."""
    if validations and "bleu" not in validations[0]:
        return
    names = (("BLEU", "bleu", GREEN), ("chrF2", "chrf", BLUE))
    if validations and all("wer" in record and "cer" in record for record in validations):
        names = (("WER", "wer", GREEN), ("CER", "cer", BLUE))
    yield _Panel(
        "validation score",
        [
            Curve(name, color, [(record["update"], record[key]) for record in validations], False, best)
            for name, key, color in names
        ],
    )


def _learning_rate(steps: Sequence[Mapping[str, Any]]) -> Iterator[_Panel]:
    points = [(record["update"], record["learning_rate"]) for record in steps if "learning_rate" in record]
    if points:
        yield _Panel("learning rate", [Curve("last", GRAY, points, digits=".2g")], LOW, from_zero=True)


def _draw(panel: _Panel, last: float, offset: float) -> str:
    values = [y for curve in panel.curves for _, y in curve.points] or [0.0, 1.0]
    y_ticks = ticks(0.0 if panel.from_zero else min(values), max(values))
    axes = Axes(
        left=LEFT,
        right=WIDTH - RIGHT,
        top=offset + TOP,
        bottom=offset + panel.height - BOTTOM,
        x_range=(0, max(last, 1)),
        y_range=(y_ticks[0], y_ticks[-1]),
    )
    parts = [
        label(LEFT, offset + 20, panel.heading, class_="heading"),
        *axes.y_grid(y_ticks),
        *(axes.x_label(tick, f"{tick:,.10g}") for tick in ticks(0, last) if tick <= last),
        label(axes.right, axes.bottom + 32, "updates", anchor="end"),
    ]
    drawn = [curve for curve in panel.curves if curve.points]
    label_heights = _spread([axes.y(curve.points[-1][1]) for curve in drawn])
    for curve, height in zip(drawn, label_heights, strict=True):
        parts += _line(curve, axes)
        value = f"{curve.name} {curve.points[-1][1]:{curve.digits}}"
        parts.append(label(axes.right + 10, height + 4, value, style=f"fill:{curve.color}"))
    if any(curve.best is not None for curve in drawn):
        parts.append(label(LEFT, axes.bottom + 32, "○ best model"))
    if not drawn:
        middle = offset + panel.height / 2
        parts.append(label(WIDTH / 2, middle, "none yet", anchor="middle", class_="none"))
    return "\n".join(parts)


def _line(curve: Curve, axes: Axes) -> Iterator[str]:
    """The line, its points, and the ring around the best one."""
    places = [(axes.x(x), axes.y(y)) for x, y in curve.points]
    yield polyline(places, stroke=curve.color, stroke_width=1.25 if curve.fine else 2)
    if curve.fine and len(places) > _MOST_POINTS:
        return
    for (x, y), (update, value) in zip(places, curve.points, strict=True):
        is_best = update == curve.best
        shown = tooltip(f"update {update:,}: {value:{curve.digits}}{' (best model)' if is_best else ''}")
        radius = _FINE_RADIUS if curve.fine else _RADIUS
        yield element("circle", shown, cx=x, cy=y, r=radius, fill=curve.color)
        if is_best:
            yield element("circle", shown, cx=x, cy=y, r=_BEST_RADIUS, fill="none", stroke=curve.color)


def _spread(heights: Sequence[float]) -> list[float]:
    """The heights of labels, moved apart where they would overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    spread = list(heights)
    for above, below in pairwise(order):
        spread[below] = max(spread[below], spread[above] + _LABEL_HEIGHT)
    return spread
