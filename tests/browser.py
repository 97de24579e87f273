"""A real browser for tests of pages: Chromium, driven through Selenium, without access to any network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

WIDTHS = (400, 1280, 1920)  # a phone, a laptop, a large screen
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # it does not work in containers, and the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Browser:
    """One browser with one tab. `open` loads a page; the other methods ask about it or act like its user."""

    def __init__(self, driver: Chrome, folder: Path) -> None:
        self.driver = driver
        self._folder = folder

    def open(self, page: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Load a page given as text."""
        path = self._folder / "page.html"
        path.write_text(page, encoding="utf-8", newline="\n")
        self.open_url(path.as_uri(), width=width, height=height, dark=dark)

    def open_url(self, url: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Load a page from an address."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get("about:blank")
        self.resize(width, height)
        for log in ("browser", "performance"):
            self._log(log)  # forget earlier pages
        self.driver.get(url)
        self.settle()

    def resize(self, width: int, height: int = 800) -> None:
        """Change the size of the window."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.settle()

    def settle(self) -> None:
        """Wait until everything that follows a change of the layout has been drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"
        )

    def run(self, script: str, *arguments: object) -> Any:
        """The value of a JavaScript expression; `arguments[0]` and so on are the arguments."""
        return self.driver.execute_script(f"return {script}", *arguments)

    def all(self, selector: str) -> list[WebElement]:
        """The elements that match a CSS selector."""
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> WebElement:
        """The first element that matches a CSS selector."""
        return self.driver.find_element("css selector", selector)

    def click(self, element: WebElement) -> None:
        """Click an element, after scrolling it to where nothing covers it."""
        self.run("arguments[0].scrollIntoView({ block: 'center' })", element)
        element.click()
        self.settle()

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is: "ArrowRight", "Tab", "a"."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.keys import Keys

        names = {"ArrowRight": Keys.ARROW_RIGHT, "ArrowLeft": Keys.ARROW_LEFT, "ArrowUp": Keys.ARROW_UP}
        names |= {"ArrowDown": Keys.ARROW_DOWN, "Tab": Keys.TAB, "Enter": Keys.ENTER, "Escape": Keys.ESCAPE}
        names |= {"Home": Keys.HOME, "End": Keys.END}
        chain = ActionChains(self.driver, duration=0)
        for key in keys:
            chain.send_keys(names.get(key, key))
        chain.perform()
        self.settle()

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        found: int = self.run("document.documentElement.scrollWidth - window.innerWidth")
        return found

    def console(self) -> list[str]:
        """Errors and warnings since the page was opened, also those of its content security policy."""
        return [str(entry["message"]) for entry in self._log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were requested since the page was opened, apart from the page itself.

        Those that its content security policy has stopped are not among them.
        """
        events = [json.loads(str(entry["message"]))["message"] for entry in self._log("performance")]
        sent, failed = (
            [event["params"] for event in events if event["method"] == f"Network.{kind}"]
            for kind in ("requestWillBeSent", "loadingFailed")
        )
        stopped = {each["requestId"] for each in failed if each.get("blockedReason") == "csp"}
        return [
            each["request"]["url"]
            for each in sent
            if each.get("type") != "Document" and each["requestId"] not in stopped
        ]

    def _log(self, name: str) -> list[dict[str, Any]]:
        """The entries since the last call."""
        found: list[dict[str, Any]] = self.driver.get_log(name)  # type: ignore[no-untyped-call]
        return found


def start_browser(folder: Path) -> Iterator[Browser]:
    """A browser whose profile and pages are in `folder`; the test is skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs a browser: install chromium and chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs the package selenium")
    service = pytest.importorskip("selenium.webdriver.chrome.service").Service(driver)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (*_ARGUMENTS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=service)
    try:
        yield Browser(chrome, folder)
    finally:
        chrome.quit()
