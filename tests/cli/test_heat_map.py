"""The heat map in a terminal and in a pipe."""

import io

import pytest
from rich.color import Color
from rich.console import Console

from nmt_cli.cli.display.explanation import (
    NARROW,
    cell_color,
    clean,
    confidence_style,
    fitted,
    heat_map,
    luminance,
    percent,
    show_explanation,
    shows_color,
)
from tests.explanation.conftest import explanation

SHORT = ["Ein", "Hund", "läuft", ".", "<eos>"]
LONG = [f"Wort{number:02}" for number in range(40)]


def diagonal(rows: int, columns: int) -> list[list[float]]:
    return [[1.0 if row == column else 0.0 for column in range(columns)] for row in range(rows)]


def lines(source: list[str], target: list[str], *, width: int = 80, color: bool = False) -> list[str]:
    matrix = diagonal(len(target), len(source))
    return [
        line.plain for line in heat_map(source, target, [0.5] * len(target), matrix, width=width, color=color)
    ]


def test_words_are_horizontal_if_they_fit() -> None:
    found = lines(SHORT, ["A", "dog", "runs", ".", "<eos>"])
    assert found[0].split() == SHORT
    assert [line.split()[0] for line in found[1:]] == ["A", "dog", "runs", ".", "<eos>"]
    column = found[0].index("Hund")
    assert found[2][column : column + 4] == "████"
    assert "█" not in found[2][:column]


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("color", [False, True])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(width: int, color: bool) -> None:
    target = [f"word{number:02}" for number in range(40)]
    found = lines(LONG, target, width=width, color=color)
    assert max(map(len, found)) <= width
    labelled = [line.split()[0] for line in found if line.startswith("word")]
    assert sorted(set(labelled)) == target  # each looked somewhere
    marks = ("100",) if color else ("██",)
    assert sum(line.count(mark) for line in found for mark in marks) >= 40


def test_vertical_words_read_downwards_in_bands() -> None:
    found = lines(LONG, ["a", "b"], width=80)
    headers = found[: len("Wort00")]
    offset = headers[0].index("W")
    for at, word in enumerate(LONG[:10]):
        assert "".join(line[offset + NARROW * at] for line in headers) == word
    assert sum(line.strip().startswith("W  W") for line in found) == 2  # bands of the same width


def test_wide_and_combining_characters_keep_columns_aligned() -> None:
    from rich.cells import cell_len

    source = ["日本語の長い文", "e\u0301te\u0301", "x"] * 9
    found = heat_map(source, ["a"] * 27, [1.0] * 27, diagonal(27, 27), width=80, color=False)
    assert max(cell_len(line.plain) for line in found) <= 80
    assert any("本" in line.plain for line in found)


def test_weights_have_shades_and_colors() -> None:
    weights = [[0.01, 0.05, 0.2, 0.4, 0.7, 0.9]]
    words = list("abcdef")
    plain = heat_map(words, ["x"], [0.9], weights, width=80, color=False)[1].plain
    assert "".join(shade for shade in plain[9:] if shade != " ") == "···░░░▒▒▒▓▓▓███"
    colored = heat_map(words, ["x"], [0.9], weights, width=80, color=True)[1]
    assert colored.plain.split()[3:] == ["5", "20", "40", "70", "90"]
    cells = [span.style for span in colored.spans if not isinstance(span.style, str)]
    assert len({str(style.bgcolor) for style in cells}) == 7  # of the weights, and of the space between them
    assert all(style.color is not None and style.bgcolor is not None for style in cells)


def test_heavier_cells_are_lighter_and_their_numbers_can_be_read() -> None:
    lightness = [luminance(cell_color(weight / 100)) for weight in range(101)]
    assert lightness == sorted(lightness)
    assert lightness[-1] > 20 * lightness[0]
    for weight in range(3, 101):
        _, line = heat_map(["x"], ["y"], None, [[weight / 100]], width=80, color=True)
        style = next(span.style for span in line.spans if not isinstance(span.style, str))
        assert style.color is not None
        assert style.color.triplet is not None
        ink = luminance(style.color.triplet)
        low, high = sorted((ink, lightness[weight]))
        assert (high + 0.05) / (low + 0.05) > 4.5


@pytest.mark.parametrize("p", [0.9, 0.5, 0.1])
def test_confidence_can_be_read_on_black_and_on_white(p: float) -> None:
    triplet = Color.parse(confidence_style(p)).triplet
    assert triplet is not None
    lightness = luminance(triplet)
    assert min(1.05 / (lightness + 0.05), (lightness + 0.05) / 0.05) > 3.5


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert clean("\x1b[31mrot\x07") == "\ufffd[31mrot\ufffd"
    assert fitted("Donaudampfschiff", 6) == "Donau…"
    assert [percent(p) for p in (1.0, 0.425, 0.0995, 0.007, 0.0)] == [
        "100 %",
        "42 %",
        "10 %",
        "0.7 %",
        "0.0 %",
    ]


def show(found: Console) -> str:
    part = explanation(["Ein\x1b", "Hund", "<eos>"], ["A", "dog", "<eos>"])
    show_explanation(found, part)
    assert isinstance(found.file, io.StringIO)
    return found.file.getvalue()


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    colored = Console(file=io.StringIO(), force_terminal=True, color_system="256", width=80)
    assert shows_color(colored)
    assert "48;5;" in show(colored)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Console(file=io.StringIO(), force_terminal=True, color_system="256", width=80)
    assert not shows_color(plain)
    said = show(plain)
    assert "48;5;" not in said
    assert "█" in said or "▓" in said


def test_a_model_without_attention_says_so_and_shows_the_rest() -> None:
    console = Console(file=io.StringIO(), width=80)
    show_explanation(console, explanation(["Ein", "<eos>"], ["A", "<eos>"], attention=False))
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "This model has no attention" in said
    assert "50 %" in said
    assert "other* 5.0 %" in said
