"""The page and the views in a real browser: they fit, they answer to pointer and keyboard, and text never runs."""

from __future__ import annotations

from typing import Any

import pytest

from nmt_cli.explanation import Explanation, explanation_page, views_script, views_style
from nmt_cli.explanation.page import script_data
from tests.browser import WIDTHS, Browser

from .conftest import explanation

EVIL = (
    "</script><script>document.title='run'</script><img/src=http://192.0.2.1/x/onerror=document.title='run'>"
)
SENTENCES = {
    "short": ("Zwei Hunde spielen im Schnee", "Two dogs play in the snow"),
    "medium": ("Eine Frau in Rot sitzt auf einer Bank " * 3, "A woman in red sits on a bench " * 3),
    "long": ("und eine lange Reihe von Wörtern " * 8, "and a long sequence of words " * 8),
    "right to left": ("ذهب الولد الصغير إلى المدرسة", "הילד הקטן הלך לבית הספר"),
    "one long word": ("Donaudampfschifffahrt" * 10, "W" * 300),
    "markup": (f"{EVIL} Hund", f"{EVIL} dog"),
}
ROW_OF_LABELS = "[...document.querySelectorAll('.matrix tbody th')]"


def example(name: str, *, attention: bool = True) -> Explanation:
    source, target = SENTENCES[name]
    return explanation([*source.split(), "<eos>"], [*target.split(), "<eos>"], attention=attention)


def show(browser: Browser, name: str, **options: Any) -> None:
    browser.open(explanation_page([example(name)]), **options)


def words(side: str) -> str:
    return f".side[aria-label={side}] .word"


def shades(browser: Browser, selector: str) -> list[float]:
    found = browser.run(
        "[...document.querySelectorAll(arguments[0])].map((one) => Number(one.style.getPropertyValue('--shade')))",
        selector,
    )
    return [float(value) for value in found]


@pytest.mark.parametrize("name", SENTENCES)
def test_a_page_fits_every_window_and_reports_no_error(browser: Browser, name: str) -> None:
    browser.open(explanation_page([example(name), example(name, attention=False)]))
    for width in WIDTHS:
        browser.resize(width)
        assert browser.overflow() <= 0
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.run("document.querySelectorAll('.levels button:last-child').forEach((one) => one.click())")
    for width in WIDTHS:
        browser.resize(width)
        assert browser.overflow() <= 0
    assert browser.console() == []


def test_text_on_a_page_never_runs_and_loads_nothing(browser: Browser) -> None:
    page = explanation_page([example("markup")], open_beam=True)
    browser.open(page)
    for word in browser.all(".word"):
        browser.click(word)
    assert browser.driver.title.startswith("nmt explain")
    assert EVIL in browser.one(".detail").text or EVIL in browser.one("h2").text
    assert browser.requests() == []
    assert browser.console() == []


def test_the_policy_stops_a_script_that_is_not_of_the_page(browser: Browser) -> None:
    attack = "<script>document.title = 'run'</script><img src=http://192.0.2.1/x style='color: red'>"
    browser.open(explanation_page([example("short")]).replace("</header>", f"</header>{attack}"))
    assert browser.driver.title.startswith("nmt explain")
    assert len([line for line in browser.console() if "Content Security Policy" in line]) == 3
    assert browser.requests() == []


@pytest.mark.parametrize(("name", "width"), [("medium", 400), ("long", 400), ("long", 1280)])
def test_labels_stay_in_view_while_a_matrix_scrolls(browser: Browser, name: str, width: int) -> None:
    show(browser, name, width=width)
    box = "document.querySelector('.attention .scroll')"
    position = (
        "((one) => { const r = one.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })"
    )
    left, top, *_ = browser.run(f"{position}({box})")
    scrolled = browser.run(f"(({box}).scrollTo(1e4, 1e4), [{box}.scrollLeft, {box}.scrollTop])")
    assert scrolled != [0, 0]
    label = browser.run(f"{position}({ROW_OF_LABELS}.at(-1))")
    header = browser.run(f"{position}(document.querySelector('.matrix thead'))")
    assert label[0] == pytest.approx(left, abs=1)
    assert header[1] == pytest.approx(top, abs=1)


@pytest.mark.parametrize("name", ["short", "long"])
def test_cells_are_large_enough_to_see_and_show_their_weight(browser: Browser, name: str) -> None:
    show(browser, name)
    for width in WIDTHS:
        browser.resize(width)
        sizes = browser.run(
            "[...document.querySelectorAll('.matrix tbody td')].map((one) => [one.offsetWidth, one.offsetHeight])"
        )
        assert min(map(min, sizes)) >= 13
    weights = example(name).word_attention
    assert weights is not None
    assert shades(browser, ".matrix tbody td") == pytest.approx(
        [round(weight, 3) for row in weights for weight in row], abs=0.0011
    )


@pytest.mark.parametrize("dark", [False, True])
def test_a_number_can_be_read_on_every_shade(browser: Browser, dark: bool) -> None:
    found = explanation([str(at) for at in range(101)], ["y"])
    weights = (tuple(at / 100 for at in range(101)),)
    data = {**found.to_data(), "attention": weights, "word_attention": weights}
    browser.open(runtime_page(data), dark=dark)
    contrasts = browser.run(
        """[...document.querySelectorAll(".side:nth-of-type(1) .word, .matrix tbody td")].map((one) => {
        const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
        const luminance = (...layers) => {
          for (const layer of layers) { canvas.fillStyle = layer; canvas.fillRect(0, 0, 1, 1); }
          const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) =>
            part <= 10 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const card = getComputedStyle(document.body).getPropertyValue("--card"), style = getComputedStyle(one);
        const [low, high] = [luminance(style.color), luminance(card, style.backgroundColor)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
        })"""
    )
    assert len(contrasts) > 101
    assert min(contrasts) > 4.2


def test_a_chosen_word_lights_up_its_counterparts(browser: Browser) -> None:
    show(browser, "short")
    weights = example("short").word_attention
    assert weights is not None
    arcs = sum(weight >= 0.03 for row in weights for weight in row)
    assert len(browser.all(".links path")) == arcs
    browser.click(browser.all(words("target"))[1])
    assert shades(browser, words("source")) == pytest.approx(weights[1], abs=0.001)
    assert len(browser.all(".links path")) == sum(weight >= 0.03 for weight in weights[1])
    assert browser.one(".attention .detail").text.startswith("dogs attended to Hunde")
    assert [label.text for label in browser.all(".matrix th.lit")] == ["dogs"]
    browser.click(browser.all(words("source"))[3])
    assert shades(browser, words("target")) == pytest.approx([row[3] for row in weights], abs=0.001)
    assert not any(shades(browser, words("source")))


def test_a_click_in_the_matrix_chooses_a_word(browser: Browser) -> None:
    show(browser, "short")
    browser.click(browser.all(".matrix tbody tr:nth-child(3) td")[2])
    assert browser.one(".attention .detail").text.startswith("play on spielen")
    assert [word.text.split()[0] for word in browser.all(".word.active")] == ["play"]


@pytest.mark.parametrize("width", [400, 1280])
def test_wrapped_sentences_have_arcs_for_the_chosen_word_only(browser: Browser, width: int) -> None:
    show(browser, "long", width=width)
    assert browser.all(".links path") == []
    browser.click(browser.all(words("target"))[2])
    assert browser.all(".links path")


def test_the_line_about_the_chosen_word_stays_in_view(browser: Browser) -> None:
    show(browser, "long", width=400)
    bottom = "document.querySelector('.attention .detail').getBoundingClientRect().bottom"
    for word in (words("source"), words("target"), ".matrix tbody th"):
        browser.run("document.querySelector(arguments[0]).scrollIntoView()", word)
        assert 0 < browser.run(bottom) <= 800


def test_words_are_reached_and_chosen_with_the_keyboard(browser: Browser) -> None:
    show(browser, "short")
    chosen = "document.querySelector('.word.active')?.firstChild.data ?? null"
    browser.press("Tab", "Tab", "Tab")  # words, pieces, the first word
    assert browser.run(chosen) == "Zwei"
    browser.press("ArrowRight", "ArrowRight", "ArrowLeft")
    assert browser.run(chosen) == "Hunde"
    browser.press("End")
    assert browser.run(chosen) == "<eos>"
    browser.press("Tab")
    assert browser.run(chosen) == "Two"
    browser.press("ArrowRight", "Enter", "Tab")
    assert browser.run(chosen) == "dogs"  # pinned
    browser.run("document.querySelectorAll('.word')[0].focus()")
    browser.press("Escape")
    assert browser.run(chosen) is None


def test_right_arrow_moves_right_in_every_script(browser: Browser) -> None:
    show(browser, "right to left")
    browser.run("document.querySelectorAll('.word')[2].focus()")
    place = "document.activeElement.getBoundingClientRect().left"
    before = browser.run(place)
    browser.press("ArrowRight")
    assert browser.run(place) > before


@pytest.mark.parametrize("opened", [False, True])
def test_the_beam_is_open_on_request(browser: Browser, opened: bool) -> None:
    browser.open(explanation_page([example("short")], open_beam=opened))
    assert browser.one(".tree").is_displayed() == opened


def test_the_beam_is_read_with_the_keyboard(browser: Browser) -> None:
    browser.open(explanation_page([example("short")], open_beam=True))
    browser.run("document.querySelector('.node').focus()")
    browser.press("ArrowRight")
    assert "finished" in browser.one("details:has(.tree) .detail").text
    browser.press("ArrowLeft")
    assert browser.one("details:has(.tree) .detail").text.startswith("one")


def runtime_page(*data: dict[str, Any]) -> str:
    """A page that calls the views with data that arrives later, as a server's page does."""
    calls = "".join(
        f"nmtViews.showExplanation(document.querySelector('section'), {script_data(one)});" for one in data
    )
    style, script = views_style(), views_script()
    return f"<!doctype html><style>{style}</style><section></section><script>{script}{calls}</script>"


def test_views_can_be_drawn_again_with_other_data(browser: Browser) -> None:
    browser.open(runtime_page(example("long").to_data(), example("short").to_data()))
    assert [word.text.strip() for word in browser.all(words("source"))] == [
        *SENTENCES["short"][0].split(),
        "<eos>",
    ]
    assert len(browser.all(".matrix")) == len(browser.all(".tree")) == 1
    assert browser.console() == []


def test_views_define_a_single_global_name(browser: Browser) -> None:
    browser.open(runtime_page(example("short").to_data()))
    shown = browser.run("Object.keys(nmtViews).filter((name) => name.startsWith('show')).sort()")
    assert shown == [
        "showAlternatives",
        "showAttention",
        "showBeam",
        "showExplanation",
        "showNBest",
    ]
    assert browser.run("[typeof make, typeof LEAST, typeof WordsView]") == ["undefined"] * 3


def test_signs_in_pieces_are_explained_where_they_appear(browser: Browser) -> None:
    found = explanation(["▁Hund", "<eos>"], ["▁dog", "<eos>"])
    browser.open(explanation_page([found]))
    assert browser.one(".attention .legend").text.startswith("▁ stands for a space")
    browser.open(explanation_page([explanation(["Hund", "<eos>"], ["dog", "<eos>"])]))
    assert "▁" not in browser.one(".attention .legend").text
