"""Attention over an image as pictures: nothing is loaded, every word has its picture, any text is safe."""

import json
import re
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest

from nmt_cli.drawing.images import AttendedImage, film_strip
from nmt_cli.explanation.images import data_uri, image_page, images_json

SVG = "{http://www.w3.org/2000/svg}"


def attended(*, is_hard: bool = False, words: tuple[str, ...] = ("a", "<b>", "c&d")) -> AttendedImage:
    rows = np.eye(4)[[0, 1, 3]] if is_hard else np.array([[0.7, 0.1, 0.1, 0.1], [0.25] * 4, [0, 0, 0.5, 0.5]])
    return AttendedImage(
        title="run: <script>",
        picture=data_uri(np.zeros((4, 4, 3), np.uint8)),
        caption=" ".join(words),
        words=words,
        weights=tuple(tuple(row) for row in rows.tolist()),
        confidence=(0.9, 0.5, 1.0),
        is_hard=is_hard,
    )


def test_a_strip_has_the_image_once_and_a_frame_for_every_word() -> None:
    root = ElementTree.fromstring(film_strip([attended(), attended(is_hard=True)]))
    assert len(root.findall(f".//{SVG}image")) == 1
    assert len(root.findall(f".//{SVG}use")) == 2 * (1 + 3)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts.count("<b>") == 2
    assert texts.count("run: <script>") == 2


def test_soft_attention_lights_up_cells_and_hard_attention_frames_one() -> None:
    def frames(image: AttendedImage) -> list[list[ElementTree.Element]]:
        root = ElementTree.fromstring(film_strip([image]))
        return [group.findall(f"{SVG}rect") for group in root.findall(f"{SVG}g")][1:]

    soft = [[float(rect.get("fill-opacity", 0)) for rect in frame] for frame in frames(attended())]
    assert soft[0][0] < soft[0][1] == soft[0][2]
    assert soft[1] == [0, 0, 0, 0]  # all the same
    hard = frames(attended(is_hard=True))
    framed = [[(rect.get("x"), rect.get("y")) for rect in frame if rect.get("stroke")] for frame in hard]
    assert framed == [[("0", "0")], [("66", "0")], [("66", "66")]]


@pytest.mark.parametrize("is_hard", [False, True])
def test_the_page_loads_nothing_and_shows_text_as_text(is_hard: bool) -> None:
    page = image_page([attended(is_hard=is_hard)])
    policy = unescape(page.split("\n")[4])
    assert "default-src 'none'" in policy
    assert "img-src data:" in policy
    assert "<script" not in page
    assert "<b>" not in page
    assert re.findall(r'(?:src|href)="(?!data:image/png;base64,|#picture-)[^"]*"', page) == []


def test_the_json_has_a_weight_for_every_cell_of_every_word() -> None:
    [content] = json.loads(images_json([attended()]))
    assert [word["word"] for word in content["words"]] == ["a", "<b>", "c&d"]
    assert all(len(word["attention"]) == 4 for word in content["words"])
