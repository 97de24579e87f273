"""Text that becomes a label: how wide it is, which way it runs, and what a file may hold of it."""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_NARROW = frozenset("iIljtfr.,:;'!|()[]{}-‐‘’`/ ")
_BROAD = frozenset("mwMW@%&—…")
# What XML 1.0 cannot hold, escaped or not; HTML takes it no better.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def markup_text(text: str) -> str:
    """Text as the content of an element or attribute, whatever it holds."""
    return escape(_ILLEGAL.sub("\ufffd", text))


def is_right_to_left(text: str) -> bool:
    """Whether the first letter that has a direction runs from right to left."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction != "L" for direction in directions if direction in ("L", "R", "AL")), False)


def width_in_ems(text: str) -> float:
    """About how wide a sans-serif font sets the text, in units of its size; rather too much than too little."""
    return sum(map(_width, text))


def shortened(text: str, ems: float) -> str:
    """The text, or as much of its beginning as fits into that width, with an ellipsis."""
    if width_in_ems(text) <= ems:
        return text
    room = ems - _width("…")
    for at, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return text[:at] + "…"
    return text


def _width(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character in _BROAD:
        return 1.0
    if character in _NARROW:
        return 0.36
    return 0.74 if character.isupper() else 0.6


# An attention matrix as a picture for a paper or a page: `attention_svg`.


CELL = 26.0  # of one word; at 45° two labels of size 13 then have 18 from base line to base line
FONT = 13.0
GAP = 8.0  # between a label and its cell
MARGIN = 10.0
LONGEST_LABEL = 14.0  # in units of the font size; longer words are shortened and keep a tooltip
LEAST = 0.001  # weights below it are as white as the paper
BAR_WIDTH, BAR_HEIGHT, BAR_STEPS = 120.0, 8.0, 24

INK, FAINT, GRID = "#1a1a1a", "#5c5c5c", "#d4d4d4"
# From no weight to all of it: one hue, lightness falling evenly, so that it survives a gray printer.
_RAMP = ((255, 255, 255), (214, 230, 244), (160, 202, 226), (86, 156, 204), (27, 105, 175), (8, 48, 107))


@dataclass(frozen=True)
class _Frame:
    """Where things stand."""

    left: float  # of the matrix: target words are before it
    top: float  # source words are above it
    columns: int
    rows: int
    width: float  # of the whole picture
    height: float


def attention_svg(
    source_words: Sequence[str],
    target_words: Sequence[str],
    matrix: Sequence[Sequence[float]],
    *,
    title: str | None = None,
    caption: str = "attention weight",
) -> str:
    """A heat-map as a whole SVG file: source words above, target words on the left, weights of 0 … 1.

    `matrix` has a row for each target word. Any text is safe. Fonts are generic and nothing is loaded.
    """
    assert len(matrix) == len(target_words)
    assert all(len(row) == len(source_words) for row in matrix)
    above = [shortened(word, LONGEST_LABEL) for word in source_words]
    beside = [shortened(word, LONGEST_LABEL) for word in target_words]
    frame = _frame(above, beside, title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {frame.width:.0f} {frame.height:.0f}"'
        f' width="{frame.width:.0f}" height="{frame.height:.0f}" font-family="Helvetica, Arial, sans-serif"'
        f' font-size="{FONT:g}" role="img">',
        f"<title>{markup_text(title or caption)}</title>",
        f'<rect width="{frame.width:.0f}" height="{frame.height:.0f}" fill="#ffffff"/>',
    ]
    if title:
        parts.append(_text(MARGIN, MARGIN + FONT, title, INK, extra=' font-weight="bold"'))
    for column, (label, word) in enumerate(zip(above, source_words, strict=True)):
        x, y = frame.left + (column + 0.5) * CELL + FONT / 3, frame.top - GAP
        parts.append(_text(x, y, label, INK, whole=word, extra=f' transform="rotate(-45 {x:.1f} {y:.1f})"'))
    for row, (label, word) in enumerate(zip(beside, target_words, strict=True)):
        y = frame.top + (row + 0.5) * CELL + FONT * 0.36
        parts.append(_text(frame.left - GAP, y, label, INK, whole=word, anchor="end"))
    parts += _cells(frame, source_words, target_words, matrix)
    parts += _bar(frame, caption)
    return "\n".join([*parts, "</svg>\n"])


def color_of(weight: float) -> str:
    """The color of a weight, #rrggbb; what is outside of 0 … 1, or no number, is taken as the nearest end."""
    place = (min(weight, 1.0) if weight > 0 else 0.0) * (len(_RAMP) - 1)
    at = min(int(place), len(_RAMP) - 2)
    mixed = (
        round(low + (high - low) * (place - at)) for low, high in zip(_RAMP[at], _RAMP[at + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _frame(above: Sequence[str], beside: Sequence[str], title: str | None) -> _Frame:
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
    frame: _Frame, source: Sequence[str], target: Sequence[str], matrix: Sequence[Sequence[float]]
) -> list[str]:
    cells = [
        f'<rect x="{frame.left + column * CELL:.1f}" y="{frame.top + row * CELL:.1f}" width="{CELL:g}"'
        f' height="{CELL:g}" fill="{color_of(weight)}">'
        f"<title>{markup_text(f'{target[row]} ← {source[column]}: {weight:.3f}')}</title></rect>"
        for row, weights in enumerate(matrix)
        for column, weight in enumerate(weights)
        if weight >= LEAST
    ]
    right, bottom = frame.left + frame.columns * CELL, frame.top + frame.rows * CELL
    across = (frame.top + row * CELL for row in range(frame.rows + 1))
    down = (frame.left + column * CELL for column in range(frame.columns + 1))
    lines = [f"M{frame.left:.1f} {y:.1f}H{right:.1f}" for y in across]
    lines += [f"M{x:.1f} {frame.top:.1f}V{bottom:.1f}" for x in down]
    return [
        '<g shape-rendering="crispEdges">',
        *cells,
        f'<path d="{"".join(lines)}" fill="none" stroke="{GRID}"/>',
        "</g>",
    ]


def _bar(frame: _Frame, caption: str) -> list[str]:
    """What the colors mean."""
    x, y = frame.left, frame.top + frame.rows * CELL + 1.2 * FONT
    step = BAR_WIDTH / BAR_STEPS
    small = f' font-size="{FONT - 2:g}"'
    return [
        '<g shape-rendering="crispEdges">',
        *(
            f'<rect x="{x + i * step:.1f}" y="{y:.1f}" width="{step:g}" height="{BAR_HEIGHT:g}"'
            f' fill="{color_of(i / (BAR_STEPS - 1))}"/>'
            for i in range(BAR_STEPS)
        ),
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{BAR_WIDTH:g}" height="{BAR_HEIGHT:g}" fill="none"'
        f' stroke="{GRID}"/>',
        "</g>",
        _text(x, y + BAR_HEIGHT + FONT, "0", FAINT, anchor="middle", extra=small),
        _text(x + BAR_WIDTH / 2, y + BAR_HEIGHT + FONT, caption, FAINT, anchor="middle", extra=small),
        _text(x + BAR_WIDTH, y + BAR_HEIGHT + FONT, "1", FAINT, anchor="middle", extra=small),
    ]


def _text(
    x: float, y: float, text: str, color: str, *, anchor: str = "start", whole: str = "", extra: str = ""
) -> str:
    if is_right_to_left(text):  # there, "start" is on the right
        anchor = {"start": "end", "end": "start"}.get(anchor, anchor)
        extra += ' direction="rtl"'
    tooltip = f"<title>{markup_text(whole)}</title>" if whole and whole != text else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}"'
    return f"<text {place}{extra}>{markup_text(text)}{tooltip}</text>"
