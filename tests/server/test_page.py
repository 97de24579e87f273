"""The page in a real browser: typing, pointing, choosing, undoing, and whatever can go wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nmt_cli.server.service import ServerSettings
from tests.browser import WIDTHS, Browser
from tests.server.glossary import EVIL, Glossary
from tests.server.servers import Client, serving
from tests.server.upper import Upper

if TYPE_CHECKING:
    from selenium.webdriver.remote.webelement import WebElement

SENTENCE = "a small dog sleeps"


@pytest.fixture(scope="module")
def models() -> tuple[Glossary, Glossary]:
    return Glossary("en", "de"), Glossary("de", "en")


@pytest.fixture(scope="module")
def server(models: tuple[Glossary, Glossary]) -> Iterator[Client]:
    with serving(models, ServerSettings(max_characters=500, max_lines=20)) as client:
        yield client


class Page:
    """The page in the browser, and what its user does."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.browser = browser
        browser.open_url(address, **options)
        self.until("document.getElementById('target-language').value.length === 2")

    def until(self, condition: str, *arguments: object) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + 30
        while not self.browser.run(condition, *arguments):
            assert time.monotonic() < end, (condition, arguments, self.browser.console())
            time.sleep(0.02)

    def type(self, text: str) -> None:
        self.browser.one("#text").send_keys(text)

    def translated(self, text: str) -> None:
        """Wait for a translation that is explained, so that each word can be asked about."""
        lines = text.split("\n")
        shown = (
            "[...document.querySelectorAll('#translation .line')].map((one) => [...one.childNodes].filter("
        )
        shown += "(node) => node.nodeName !== 'SMALL').map((node) => node.textContent).join('').replace('\\u200b', ''))"
        self.until(f"JSON.stringify({shown}) === JSON.stringify(arguments[0])", lines)
        self.until(
            "[...document.querySelectorAll('#translation .line:not(.stale)')].every("
            "(one) => one.textContent === '\\u200b' || one.querySelector('.token'))"
        )

    def word(self, text: str) -> WebElement:
        return next(one for one in self.browser.all("#translation .token") if one.text == text)

    def shades(self, side: str) -> dict[str, float]:
        """The words of a side that are lit, with their weights."""
        selector = ".backdrop .token" if side == "source" else "#translation .token"
        found = self.browser.run(
            "[...document.querySelectorAll(arguments[0])].map((one) =>"
            " [one.textContent, Number(one.style.getPropertyValue('--shade'))])",
            selector,
        )
        return {word: weight for word, weight in found if weight}

    def options(self) -> list[list[str]]:
        """The alternatives that are offered, with their probabilities."""
        self.until("!document.getElementById('choices').hidden")
        return [
            [one.find_element("css selector", part).text for part in (".option-word", "small")]
            for one in self.browser.all("#choices .options button")
            if one.is_displayed()
        ]

    def problem(self) -> str:
        self.until("!document.getElementById('problem').hidden")
        return self.browser.one("#problem").text

    def focused(self) -> str:
        found: str = self.browser.run("document.activeElement.textContent || document.activeElement.id")
        return found


def hover(page: Page, element: WebElement) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(page.browser.driver, duration=0).move_to_element(element).perform()


def test_text_is_translated_while_it_is_typed_line_by_line(browser: Browser, server: Client) -> None:
    page = Page(browser, server.address)
    assert "appears here" in browser.one("#empty").text
    page.type("a small dog\n\na cat")
    page.translated("ein kleiner Hund\n\nein Katze")
    assert not browser.one("#empty").is_displayed()
    assert browser.one("#count").text == "18 / 500"
    page.type(" runs in fog")
    page.translated("ein kleiner Hund\n\nein Katze läuft in Nebel")
    assert [one.text for one in browser.all(".unsure")] == ["The model is unsure about this sentence."]
    confidence = browser.run("[...document.querySelectorAll('.line .token')].map((one) => one.ariaLabel)")
    assert "Hund, confidence 75 %" in confidence
    browser.click(browser.one("#clear"))
    page.until("document.getElementById('translation').textContent === '\\u200b'")
    assert browser.one("#empty").is_displayed()
    assert browser.console() == []


def test_an_answer_to_an_older_text_is_dropped(
    browser: Browser, server: Client, models: tuple[Glossary, Glossary]
) -> None:
    page, model = Page(browser, server.address), models[0]
    model.started.clear()
    model.go.clear()
    page.type("dog")
    assert model.started.wait(30)
    page.until("document.querySelector('.target').ariaBusy === 'true'")
    page.type(" runs")
    time.sleep(0.5)  # the request for both words has been sent
    model.go.set()
    page.translated("Hund läuft")


def test_pointing_at_a_word_lights_up_its_counterparts_in_proportion_to_attention(
    browser: Browser, server: Client, models: tuple[Glossary, Glossary]
) -> None:
    page = Page(browser, server.address)
    page.type(SENTENCE)
    page.translated("ein kleiner Hund schläft")
    found = models[0].explain(SENTENCE, prefix="", target=None, alternatives=5)
    weights = found.word_attention
    assert weights is not None
    hover(page, page.word("Hund"))
    expected = dict(zip(SENTENCE.split(), weights[2], strict=False))
    assert page.shades("source") == pytest.approx(expected, abs=0.001)
    assert browser.one("#about-word").text.startswith("Hund attended to dog")
    browser.click(browser.one("#text"))
    browser.press("Home")  # the caret is in "a"
    page.until("document.getElementById('about-word').textContent.startsWith('a was attended')")
    column = dict(zip(["ein", "kleiner", "Hund", "schläft"], (row[0] for row in weights), strict=False))
    assert page.shades("target") == pytest.approx(column, abs=0.001)
    place = browser.run("document.querySelector('.backdrop .token').getBoundingClientRect().toJSON()")
    over = browser.run(
        "document.elementsFromPoint(arguments[0], arguments[1]).map((one) => one.id || one.textContent)",
        place["left"] + 2,
        place["top"] + 5,
    )
    assert over[:2] == ["text", "a"]  # the word lies right below the text that is typed


def test_choosing_an_alternative_translates_the_rest_again_and_undo_takes_it_back(
    browser: Browser, server: Client
) -> None:
    page = Page(browser, server.address)
    page.type(SENTENCE)
    page.translated("ein kleiner Hund schläft")
    browser.click(page.word("Hund"))
    page.until("document.querySelectorAll('.options .rest')[1]?.textContent === ' schläft'")
    assert page.options() == [["Vogel", "25 %"], ["Katze", "13 %"]]  # of Kat, completed
    browser.click(browser.all("#choices .options button")[1])
    page.translated("ein kleiner Katze schläft")
    browser.click(page.word("ein"))
    browser.press(*"der", "Enter")
    page.translated("der kleiner Hund schläft")
    browser.click(browser.one("#undo"))
    page.translated("ein kleiner Katze schläft")
    browser.click(browser.one("#undo"))
    page.translated("ein kleiner Hund schläft")
    assert browser.one("#undo").get_attribute("disabled")


def test_everything_can_be_done_with_the_keyboard(browser: Browser, server: Client) -> None:
    from selenium.webdriver.common.keys import Keys

    page = Page(browser, server.address)
    assert page.focused() == "text"
    page.type(SENTENCE)
    page.translated("ein kleiner Hund schläft")
    browser.press("Tab", "Tab", "Tab", "ArrowRight", "ArrowRight")
    assert page.focused() == "Hund"
    assert page.shades("source")["dog"] == max(page.shades("source").values())
    browser.press("Enter")
    page.options()
    browser.press("Escape")
    assert page.focused() == "Hund"
    browser.press("Enter", "Enter")
    page.translated("ein kleiner Vogel schläft")
    page.until("document.activeElement.textContent === 'Vogel'")
    browser.press("V", *"ieh", "Enter")
    page.translated("ein kleiner Vieh schläft")
    page.until("document.activeElement.textContent === 'Vieh'")
    browser.one("#translation .token[tabindex='0']").send_keys(Keys.CONTROL, "z")
    page.translated("ein kleiner Vogel schläft")
    browser.one("body").send_keys("?")
    assert browser.one("#help").get_attribute("open")
    browser.press("Escape")


def test_swapping_languages_translates_back(browser: Browser, server: Client) -> None:
    page = Page(browser, server.address)
    page.type("a dog\na cat")
    page.translated("ein Hund\nein Katze")
    browser.click(browser.one("#swap"))
    page.translated("a dog\na cat")
    assert browser.one("#text").get_attribute("value") == "ein Hund\nein Katze"
    assert [browser.one(f"#{side}-language").get_attribute("value") for side in ("source", "target")] == [
        "de",
        "en",
    ]
    browser.click(browser.one("#undo"))
    page.translated("ein Hund\nein Katze")
    browser.click(browser.one("#source-language option[value=auto]"))
    page.until("document.getElementById('source-language').selectedOptions[0].text === 'Detected: English'")


def test_text_never_runs_and_nothing_is_requested_from_elsewhere(browser: Browser, server: Client) -> None:
    page = Page(browser, server.address)
    browser.run("(document.getElementById('panel').open = true)")
    browser.run("(document.getElementById('text').value = arguments[0])", f"a dog {EVIL} <b>bold</b>")
    page.type(" runs")
    page.translated(f"ein Hund {EVIL} <b>bold</b> läuft")
    page.until("document.querySelector('#panel-body .matrix')")
    for word in browser.all("#translation .token"):
        hover(page, word)
    browser.click(page.word("<b>bold</b>"))
    page.options()
    assert browser.driver.title == "nmt: English → German"
    assert browser.console() == []
    assert browser.requests()
    assert all(address.startswith(server.address) for address in browser.requests())
    browser.run("localStorage.clear()")


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_phones_and_large_screens_in_light_and_dark(
    browser: Browser, server: Client, dark: bool
) -> None:
    page = Page(browser, server.address, dark=dark)
    page.type(f"{SENTENCE}\n{'verylongword' * 8}")
    page.translated(f"ein kleiner Hund schläft\n{'verylongword' * 8}")
    browser.run("(document.getElementById('panel').open = true)")
    for width in WIDTHS:
        browser.resize(width)
        assert browser.overflow() <= 0
        browser.click(page.word("Hund"))
        box, word = browser.one("#choices").rect, page.word("Hund").rect
        scrolled = browser.run("scrollY")
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] - scrolled + box["height"] <= 800
        assert word["y"] + word["height"] <= box["y"] or box["y"] + box["height"] <= word["y"]
        browser.press("Escape")
    background = browser.run("getComputedStyle(document.querySelector('.panes')).backgroundColor")
    assert background == ("rgb(21, 23, 26)" if dark else "rgb(255, 255, 255)")
    browser.run("localStorage.clear()")


def test_files_are_read_or_translated(browser: Browser, server: Client, tmp_path: Path) -> None:
    page = Page(browser, server.address)
    for name, content in (("text.txt", "a dog\n"), ("other.exe", "x"), ("page.html", "<p>a <b>dog</b></p>")):
        (tmp_path / name).write_text(content, "utf-8")
    browser.one("#file").send_keys(str(tmp_path / "text.txt"))
    page.translated("ein Hund\n")
    browser.one("#file").send_keys(str(tmp_path / "other.exe"))
    page.until("document.querySelector('.file.bad')?.textContent.includes('This format is not supported')")
    browser.one("#file").send_keys(str(tmp_path / "page.html"))
    page.until("document.querySelector('.file.good')")
    link = browser.one(".file a")
    assert link.get_attribute("download") == "page.html"
    path = str(link.get_attribute("href")).removeprefix(server.address)
    assert server.get(path).body == b"<p>ein <b>Hund</b></p>"


def test_a_text_that_is_too_long_says_so_until_it_is_shorter(browser: Browser, server: Client) -> None:
    page = Page(browser, server.address)
    browser.run("(document.getElementById('text').value = 'a '.repeat(300))")
    page.type("dog")
    assert "It has 603 characters; this server translates up to 500 at a time." in page.problem()
    browser.run("(document.getElementById('text').value = '')")
    page.type("dog")
    page.translated("Hund")
    assert not browser.one("#problem").is_displayed()


def test_a_server_that_is_gone_or_busy_is_waited_for(browser: Browser) -> None:
    with serving([Upper()], ServerSettings(rate=6000)) as client:
        page = Page(browser, client.address)
        client.service.rate_limit.check = _refused(client, times=1)  # type: ignore[method-assign]
        page.type("one")
        page.until("/Slowdown.*Trying again in/.test(document.getElementById('problem').textContent)")
        page.until("document.getElementById('translation').textContent === 'ONE'")
        assert not browser.one("#problem").is_displayed()
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        browser.driver.execute_cdp_cmd("Network.enable", {})
        browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
        page.type(" two")
        assert page.problem().startswith("You are offline")
        browser.driver.execute_cdp_cmd(
            "Network.emulateNetworkConditions", {**offline, "offline": False, "downloadThroughput": -1}
        )
        page.until("document.getElementById('translation').textContent === 'ONE TWO'")
    page.type(" three")
    assert page.problem().startswith("The server does not answer\nYour text is still here.")


def _refused(client: Client, *, times: int) -> Any:
    from nmt_cli.server.requests import ApiError

    left = times

    def check(address: str) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise ApiError(429, "Slowdown: 1 request per minute is allowed", {"Retry-After": "2"})

    return check


def test_a_key_is_asked_for(browser: Browser) -> None:
    with serving([Upper()], ServerSettings(keys=frozenset({"sesame-sesame"}))) as client:
        page = Page(browser, client.address)
        page.type("one")
        assert "An API key is needed" in page.problem()
        browser.click(browser.one("#problem button"))
        browser.press(*"sesame-sesame", "Enter")
        page.until("document.getElementById('translation').textContent === 'ONE'")


def test_the_panel_draws_attention_and_beam_of_a_real_model(browser: Browser, client: Client) -> None:
    page = Page(browser, client.address)
    page.type("ba be bi")
    page.until("document.querySelector('#translation .token')")
    browser.run("document.querySelector('#panel summary').click()")
    page.until("document.querySelector('#panel-body .matrix') && document.querySelector('#panel-body .tree')")
    hover(page, browser.one("#translation .token"))
    assert len(browser.all("#panel-body .matrix th.lit")) == 1
    assert browser.console() == []
    browser.run("localStorage.clear()")
