"""Attention over an image: the image once for each word, bright where the model looks.

Soft attention is drawn as light: the more weight a cell has, the more of the image shows through a dark veil. Hard
attention has one cell, which is framed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from zlib import crc32

from nmt_cli.drawing.charts import element, label, shortened, tooltip

FRAME = 132.0  # side of one picture
GAP = 14.0
FONT = 13.0
MARGIN = 12.0
_VEIL = 0.82  # opacity where there is no attention
_LEAST = 0.02  # opacity that is not worth drawing
_CHOSEN = "#e4007c"


@dataclass(frozen=True)
class AttendedImage:
    """An image, its caption, and where the model looked at each word of it."""

    title: str  # such as the name of the run
    picture: str  # a data URI
    caption: str
    words: tuple[str, ...]
    weights: tuple[
        tuple[float, ...], ...
    ]  # for each word those of the cells, row by row; empty without attention
    confidence: tuple[float, ...]  # probability of each word
    is_hard: bool = False

    @property
    def identifier(self) -> str:
        """By which the frames refer to the picture, which a file contains once."""
        return f"picture-{crc32(self.picture.encode()):08x}"


def film_strip(images: Sequence[AttendedImage], *, columns: int | None = None) -> str:
    """A complete SVG file: a strip for each image, which begins with the image itself.

    `columns`: pictures side by side before a strip continues below; by default a strip is one line.
    """
    height, width, parts = MARGIN, 0.0, []
    for image in images:
        parts.append(label(MARGIN, height + FONT, image.title, fill="#5c5c5c"))
        height += 1.6 * FONT
        frames = [_frame(image, None), *(_frame(image, row) for row in range(len(image.weights)))]
        per_line = columns or len(frames)
        for start in range(0, len(frames), per_line):
            for column, frame in enumerate(frames[start : start + per_line]):
                x = MARGIN + column * (FRAME + GAP)
                parts.append(element("g", *frame, transform=f"translate({x:g} {height:g})"))
                width = max(width, x + FRAME + MARGIN)
            height += FRAME + 2.6 * FONT
        height += GAP
    ground = element("rect", width=width, height=height, fill="#ffffff")
    pictures = [
        element("image", id=name, href=picture, width=FRAME, height=FRAME, preserveAspectRatio="none")
        for name, picture in {image.identifier: image.picture for image in images}.items()
    ]
    return element(
        "svg",
        element("defs", *pictures),
        ground,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        font_family="sans-serif",
        font_size=FONT,
    )


def _frame(image: AttendedImage, row: int | None) -> list[str]:
    """The image with the attention of one word, or without any, and the words below it."""
    ems = FRAME / FONT
    picture = element("use", href=f"#{image.identifier}")
    if row is None:
        text = label(
            FRAME / 2, FRAME + 1.4 * FONT, shortened(image.caption, ems), anchor="middle", full=image.caption
        )
        return [picture, element("rect", width=FRAME, height=FRAME, fill="none", stroke="#b0b0b0"), text]
    word, weights = image.words[row], image.weights[row]
    below = label(
        FRAME / 2, FRAME + 1.4 * FONT, shortened(word, ems), anchor="middle", full=word, font_weight="bold"
    )
    return [picture, *_cells(weights, is_hard=image.is_hard), below]


def _cells(weights: Sequence[float], *, is_hard: bool) -> list[str]:
    side = isqrt(len(weights))
    rows, columns = (side, side) if side * side == len(weights) else (1, len(weights))
    width, height = FRAME / columns, FRAME / rows
    most = max(weights) or 1.0
    parts, chosen = [], []
    for number, weight in enumerate(weights):
        place = {
            "x": (number % columns) * width,
            "y": (number // columns) * height,
            "width": width,
            "height": height,
        }
        veil = (0.45 if is_hard else _VEIL) * (1 - weight / most)
        note = tooltip(f"{weight:.3f}")
        if veil > _LEAST:
            parts.append(element("rect", note, fill="#000000", fill_opacity=veil, **place))
        else:
            parts.append(element("rect", note, fill="#ffffff", fill_opacity=0.0, **place))
        if is_hard and weight == most:
            chosen.append(element("rect", fill="none", stroke=_CHOSEN, stroke_width=3.0, **place))
    return parts + chosen
