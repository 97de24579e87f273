"""Explaining captions: where a captioning model looks at each word, as pictures, as a page and as JSON."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from nmt_cli.corpus.images import decode_image
from nmt_cli.data.images import Images
from nmt_cli.drawing.images import AttendedImage, film_strip
from nmt_cli.drawing.markup import content_security_policy, render, resource
from nmt_cli.errors import UsageError
from nmt_cli.translator import Captioner, Details
from nmt_cli.translator.translation import displayed_words, word_attention

_SHOWN = 264  # side of the picture in pixels
_COLUMNS = 7  # pictures side by side on the page


def explain_image(captioner: Captioner, path: Path, *, title: str) -> AttendedImage:
    """Describe an image and report what the model looked at."""
    if not captioner.reads_files:
        raise UsageError(
            "a model that reads features without a backbone has no image to show",
            hint="use nmt caption --json --attention",
        )
    if path.suffix == ".npy":
        raise UsageError(
            f"{path} has features, not an image to show",
            hint="give an image file, or use nmt caption --json --attention",
        )
    [(name, content)] = captioner.read(path)
    details = Details(scores=True, attention=captioner.has_attention)
    [caption] = captioner.caption(Images(content[None]).rows(), [name], details=details)
    words, groups = displayed_words(caption.target_pieces, whole_words=caption.whole_words[1])
    weights: tuple[tuple[float, ...], ...] = ()
    if caption.attention is not None:
        cells = tuple((position,) for position in range(caption.attention.shape[1]))
        weights = tuple(map(tuple, word_attention(caption.attention, cells, groups).tolist()))
    log_p = caption.token_log_probabilities or ()
    return AttendedImage(
        title=title,
        picture=data_uri(decode_image(path, name, _SHOWN).pixels),
        caption=caption.text,
        words=words,
        weights=weights,
        confidence=tuple(exp(sum(log_p[at] for at in group)) for group in groups),
        is_hard=captioner.models[0].baseline is not None,
    )


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """Pixels (height, width, 3) as a PNG inside a URI."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def image_page(images: Sequence[AttendedImage]) -> str:
    """A page with a strip of pictures and the confidence of each word."""
    return picture_page(
        title="nmt explain: image captions",
        heading="Where the model looks",
        introduction="One picture for each word: soft attention lights up the cells it reads, hard attention "
        "frames its cell.",
        explained=[
            (image.caption, Markup(film_strip([image], columns=_COLUMNS)), image.words, image.confidence)
            for image in images
        ],
    )


def picture_page(
    *,
    title: str,
    heading: str,
    introduction: str,
    explained: Sequence[tuple[str, str, Sequence[str], Sequence[float]]],
) -> str:
    """A page of texts, each with its picture and the confidence of its words; it loads nothing and runs no script."""
    style = resource("nmt_cli.explanation", "images.css")
    return render(
        "nmt_cli.explanation",
        "images.html",
        policy=content_security_policy(style=style, images=True),
        style=Markup(style),
        title=title,
        heading=heading,
        introduction=introduction,
        explained=explained,
    )


def images_json(images: Sequence[AttendedImage]) -> str:
    """All numbers."""
    content: list[dict[str, Any]] = [
        {
            "title": image.title,
            "caption": image.caption,
            "hard_attention": image.is_hard,
            "words": [
                {
                    "word": word,
                    "confidence": round(image.confidence[row], 6),
                    "attention": [round(weight, 6) for weight in image.weights[row]]
                    if image.weights
                    else None,
                }
                for row, word in enumerate(image.words)
            ],
        }
        for image in images
    ]
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
