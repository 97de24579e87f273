"""The page: whole, safe, alone."""

import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nmt_cli.explanation import explanation_page
from nmt_cli.explanation.page import script_data

from .conftest import explanation

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


class Reader(HTMLParser):
    """The elements of a page, and the content of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.scripts[-1] += data


def test_text_can_never_become_markup() -> None:
    harmless = Reader(explanation_page([explanation(["Ein", "Hund", "<eos>"], ["A", "dog", "<eos>"])]))
    reader = Reader(explanation_page([explanation([EVIL, "Hund", "<eos>"], [EVIL, "dog", "<eos>"])]))
    assert set(reader.tags) == set(harmless.tags)
    assert reader.tags.count("script") == 2
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    data = json.loads(reader.scripts[0])
    assert data["explanations"][0]["source_words"][0]["text"] == EVIL


def test_the_scripts_insert_text_only_as_text() -> None:
    script = Reader(explanation_page([explanation(["a", "<eos>"], ["b", "<eos>"])])).scripts[1]
    assert "textContent" in script
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in script


def test_the_page_loads_nothing() -> None:
    page = explanation_page([explanation(["a", "<eos>"], ["b", "<eos>"])])
    reader = Reader(page)
    assert [
        value for name, value in reader.attributes if name == "content" and "default-src 'none'" in str(value)
    ]
    assert not [name for name, _ in reader.attributes if name in ("src", "href")]
    assert not {"link", "img", "iframe", "object"} & set(reader.tags)
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page


@pytest.mark.parametrize("attention", [True, False])
def test_a_page_of_several_explanations_contains_all_their_data(attention: bool) -> None:
    parts = [explanation(["犬", "<eos>"], ["כלב", "<eos>"], attention=attention) for _ in range(3)]
    reader = Reader(explanation_page(parts))
    data = json.loads(reader.scripts[0])
    assert data["explanations"] == [json.loads(json.dumps(part.to_data())) for part in parts]
    assert reader.tags.count("svg") == (3 if attention else 0)  # for readers without scripts


def test_embedded_json_cannot_end_its_script_element() -> None:
    content = {"text": EVIL + "\u2028&<!--", "number": 1.5}
    assert json.loads(script_data(content)) == content
    assert not set("<>&\u2028") & set(script_data(content))


def test_templates_styles_and_scripts_are_package_data() -> None:
    root = Path(__file__).parents[2]
    patterns = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "nmt_cli"
    ]
    packed = {path for pattern in patterns for path in (root / "nmt_cli").glob(pattern)}
    assets = (".css", ".html", ".js")
    needed = {path for path in (root / "nmt_cli").rglob("*") if path.suffix in assets}
    assert len(needed) == 27  # they are found
    assert needed <= packed
