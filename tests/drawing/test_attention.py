"""Attention maps as SVG: valid, complete, safe."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from nmt_cli.drawing.attention import CELL, color_of
from nmt_cli.drawing.charts import is_right_to_left, shortened, width_in_ems
from nmt_cli.explanation import attention_svg

NAMESPACE = "{http://www.w3.org/2000/svg}"
WORDS = ["Ein", "Hund", "<eos>"]


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{NAMESPACE}text")]


def test_every_word_and_weight_is_drawn_inside_the_picture() -> None:
    picture = attention_svg(WORDS, ["A", "dog"], [[0.9, 0.05, 0.05], [0.0, 1.0, 0.0]], title="A title")
    root = ElementTree.fromstring(picture)
    assert {*WORDS, "A", "dog", "A title", "attention weight"} <= set(texts(picture))
    cells = [rect for rect in root.iter(f"{NAMESPACE}rect") if rect.find(f"{NAMESPACE}title") is not None]
    assert [cell.findtext(f"{NAMESPACE}title") for cell in cells][:2] == ["A ← Ein: 0.900", "A ← Hund: 0.050"]
    assert [cell.get("fill") for cell in cells] == [color_of(w) for w in (0.9, 0.05, 0.05, 1.0)]
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for rect in root.iter(f"{NAMESPACE}rect"):
        assert float(rect.get("x", 0)) + float(rect.get("width", 0)) <= width
        assert float(rect.get("y", 0)) + float(rect.get("height", 0)) <= height


@pytest.mark.parametrize(
    "word",
    [
        "<script>alert(1)</script>",
        "&amp;",
        "\"'",
        "]]>",
        "\x00\x1b\x0b\ufffe",
        "\ud800",
        "🏳️‍🌈",
        "日本",
        "שלום,",
    ],
)
def test_any_text_gives_valid_xml(word: str) -> None:
    picture = attention_svg([word, "x"], [word], [[0.5, 0.5]], title=word)
    root = ElementTree.fromstring(picture.encode())
    assert not [element for element in root.iter() if "script" in element.tag]


def test_the_picture_loads_nothing() -> None:
    picture = attention_svg(WORDS, ["A"], [[1.0, 0.0, 0.0]])
    assert picture.count("http") == 1  # the namespace
    assert "href" not in picture


def test_the_picture_grows_with_the_number_of_words_and_long_words_are_shortened() -> None:
    def size(count: int, word: str = "Hund") -> tuple[float, float]:
        root = ElementTree.fromstring(attention_svg([word] * count, ["dog"] * count, [[0.1] * count] * count))
        return float(root.get("width", 0)), float(root.get("height", 0))

    assert size(40)[0] == pytest.approx(size(20)[0] + 20 * CELL, abs=1)
    assert size(40)[1] == pytest.approx(size(20)[1] + 20 * CELL, abs=1)
    assert size(3, "W" * 1000) < (600, 600)
    assert "W…" in attention_svg(["W" * 1000], ["dog"], [[1.0]])


def test_right_to_left_labels_stay_on_their_side() -> None:
    picture = attention_svg(["שלום"], ["كلب."], [[1.0]])
    found = {element.text: element for element in ElementTree.fromstring(picture).iter(f"{NAMESPACE}text")}
    assert found["שלום"].get("direction") == found["كلب."].get("direction") == "rtl"
    assert (found["שלום"].get("text-anchor"), found["كلب."].get("text-anchor")) == ("end", "start")
    assert [is_right_to_left(text) for text in ("«كلب»", "dog כלב", "1.", "")] == [True, False, False, False]


def test_colors_darken_with_the_weight_and_any_number_has_one() -> None:
    assert color_of(0) == color_of(-1) == color_of(float("nan")) == "#ffffff"
    assert color_of(1) == color_of(2) == "#08306b"
    lightness = [int(color_of(w / 20)[1:3], 16) for w in range(21)]
    assert lightness == sorted(lightness, reverse=True)


def test_text_widths_and_shortening() -> None:
    assert width_in_ems("日本") == 2
    assert width_in_ems("e\u0301") == width_in_ems("e")
    assert shortened("Hund", 10) == "Hund"
    assert width_in_ems(shortened("Donaudampfschiff", 5)) <= 5


def test_explanations_can_be_rendered_without_torch() -> None:
    code = "import sys, nmt_cli.explanation; sys.exit('torch' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
