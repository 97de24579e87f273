"""The report as readers get it: what it says, what it keeps to itself, and how it looks in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_cli.drawing.attention import attention_svg
from nmt_cli.evaluation.evaluate import evaluate
from nmt_cli.evaluation.report import evaluation_markdown, report_page
from nmt_cli.evaluation.request import EvaluateRequest
from nmt_cli.evaluation.result import Comparison, Evaluation
from tests.browser import WIDTHS, Browser

Write = Callable[..., Path]
EVIL = "<script>document.title = 'run'</script><img src=http://192.0.2.1/x onerror=\"document.title='run'\">"


def small_evaluation(write: Write, *names: str) -> Evaluation:
    lines = [f"Zeile {n} mit {'sehr ' * (n % 7)}vielen Wörtern, {EVIL}" for n in range(30)]
    systems = [
        write(name, *(line.replace("vielen", "v" * at) for line in lines)) for at, name in enumerate(names)
    ]
    request = EvaluateRequest(
        systems,
        [write("reference.de", *lines)],
        source=write("source.en", *lines),
        train=[write("train.de", *lines)],
        samples=20,
        examples=True,
    )
    return evaluate(request)


def test_the_title_names_systems_and_languages(write: Write) -> None:
    assert "<title>Evaluation of one, en → de</title>" in report_page(small_evaluation(write, "one.de"), {})
    page = report_page(small_evaluation(write, "one.de", "two.de"), {})
    assert "<title>Evaluation of one and two, en → de</title>" in page
    page = report_page(small_evaluation(write, *(f"{name}.de" for name in "abcdef")), {})
    assert "<title>Evaluation of a, b, c and 3 more, en → de</title>" in page


def test_absolute_paths_are_in_the_data_but_not_in_what_is_passed_on(write: Write, tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    evaluation = small_evaluation(write, "x/same.de", "y/same.de")
    assert {system.name for system in evaluation.systems} == {"x/same.de", "y/same.de"}
    assert str(tmp_path) in evaluation.model_dump_json()
    assert any(str(tmp_path) in json.dumps(warning.message) for warning in evaluation.all_warnings())
    for shared in (report_page(evaluation, {}), evaluation_markdown(evaluation)):
        assert str(tmp_path) not in shared
        assert "reference.de" in shared


@pytest.mark.parametrize(
    ("samples", "p", "shown"),
    [
        (1000, 1 / 1001, "≤ 0.001"),
        (1000, 2 / 1001, "0.0020"),
        (20, 1 / 21, "≤ 0.0477"),
        (1000, 1.0, "1.0000"),
        (100_000, 1 / 100_001, "≤ 0.0001"),
    ],
)
def test_the_smallest_p_value_is_an_upper_bound(samples: int, p: float, shown: str) -> None:
    comparison = Comparison(baseline="a", test="bootstrap", samples=samples, seed=1)
    assert comparison.shown(p) == shown


def test_a_report_fits_every_window_and_its_text_never_runs(browser: Browser, write: Write) -> None:
    evaluation = small_evaluation(write, "one.de", "two-with-a-very-long-name-that-has-to-break-somewhere.de")
    words = [f"word{n}" for n in range(40)]
    picture = attention_svg(words, words[:3], [[0.5] * 40] * 3)
    page = report_page(evaluation, {("one", line): picture for line in range(1, 31)})
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in WIDTHS:
        browser.resize(width)
        assert browser.overflow() <= 0
    browser.resize(400)
    table = "document.querySelector('.scroll')"
    assert browser.run(f"{table}.scrollWidth > {table}.clientWidth")
    assert browser.run(f"({table}.scrollTo(1e4, 0), {table}.scrollLeft)") > 0
    label = browser.run("document.querySelector('tbody td').getBoundingClientRect().left")
    assert label == pytest.approx(browser.run(f"{table}.getBoundingClientRect().left"), abs=1)
    assert browser.driver.title.startswith("Evaluation of")
    assert browser.console() == []  # also nothing that the policy has stopped, such as a style attribute
    assert browser.requests() == []


@pytest.mark.parametrize("dark", [False, True])
def test_every_system_of_a_chart_has_a_color(browser: Browser, write: Write, dark: bool) -> None:
    browser.open(report_page(small_evaluation(write, *(f"{name}.de" for name in "abcdef")), {}), dark=dark)
    colors = browser.run(
        "[...document.querySelectorAll('.legend')].map((one) => "
        "new Set([...one.querySelectorAll('i')].map((dot) => getComputedStyle(dot).backgroundColor)).size)"
    )
    assert set(colors) == {6}
    lines = browser.run(
        "new Set([...document.querySelectorAll('svg .line')].map((one) => getComputedStyle(one).stroke)).size"
    )
    assert lines == 6
