"""What can be measured of captions only: exact ones, and where attention looks.

An exact caption is equal to one of the references. Pointing: wherever a caption has the word of an object whose box is
known, is the position with the most attention at that word on the object? The grid is coarse, so a cell counts if any
part of it is on the object; chance is the share of such cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np
from torch import Tensor

from nmt_cli.data.images import Boxes
from nmt_cli.evaluation.result import CaptionResult, Pointing
from nmt_cli.translator import Translation
from nmt_cli.translator.translation import displayed_words, word_attention


def caption_result(
    found: Sequence[Translation], captions: Sequence[Sequence[str]], objects: Sequence[Boxes] | None
) -> CaptionResult:
    """Compare captions with all captions of their images, and measure what attention points at, if it is known."""
    exact = [each.text in texts for each, texts in zip(found, captions, strict=True)]
    return CaptionResult(
        images=len(found),
        exact=100 * float(np.mean(exact)),
        pointing=pointing(found, objects) if objects else None,
    )


def pointing(captions: Sequence[Translation], objects: Sequence[Boxes]) -> Pointing | None:
    """How often the word for an object looks at the object; None if there is no such word."""
    hits: list[bool] = []
    chances: list[float] = []
    for translation, boxes in zip(captions, objects, strict=True):
        assert translation.attention is not None
        for word, weights in attended_words(translation):
            on_object = cells_on_object(word, boxes, len(weights))
            if any(on_object):
                hits.append(on_object[int(weights.argmax())])
                chances.append(float(np.mean(on_object)))
    if not hits:
        return None
    return Pointing(
        words=len(hits), accuracy=100 * float(np.mean(hits)), chance=100 * float(np.mean(chances))
    )


def attended_words(translation: Translation) -> list[tuple[str, Tensor]]:
    """The words of a caption, each with its attention to the positions of the image (L,)."""
    assert translation.attention is not None
    words, groups = displayed_words(translation.target_pieces, whole_words=translation.whole_words[1])
    cells = tuple((position,) for position in range(translation.attention.shape[1]))
    return list(zip(words, word_attention(translation.attention, cells, groups), strict=True))


def cells_on_object(word: str, boxes: Boxes, positions: int) -> list[bool]:
    """For each cell of a square grid, whether some of it is on an object that this word means."""
    side = isqrt(positions)
    meant = [box for box in boxes if box[0].casefold() == word.casefold()]
    if side * side != positions or not meant:
        return [False] * positions
    return [
        any(
            column / side < right
            and left < (column + 1) / side
            and row / side < bottom
            and top < (row + 1) / side
            for _, left, top, right, bottom in meant
        )
        for row in range(side)
        for column in range(side)
    ]
