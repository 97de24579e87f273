"""An explanation in a terminal, or as plain text in a pipe."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from nmt_cli.drawing.images import AttendedImage
from nmt_cli.explanation import DistanceMean, Explanation, Matrix, Prediction
from nmt_cli.explanation.recordings import AttendedRecording

WIDEST = 160  # columns of a table; longer lines are hard to follow
_MOST_DISTANCES = 40  # rows of the table of gradients; of more, some are left out


def show_explanation(console: Console, explanation: Explanation) -> None:
    """The sentences, the heat map, the alternatives at each step and the n-best list."""
    width = min(console.width, WIDEST)
    _show_sentences(console, explanation)
    console.print()
    if explanation.word_attention is None:
        _show_confidence(console, explanation)
    else:
        _show_map(
            console,
            explanation.source_labels,
            explanation.target_labels,
            explanation.confidence,
            explanation.word_attention,
        )
    for own in explanation.self_attention:
        console.print()
        console.print(Text(f"{own.layer}: self-attention"))
        _show_map(console, own.columns, own.rows, None, own.weights)
    if explanation.gradients is not None:
        norms, products = explanation.gradients.shares()
        for title, matrix in (("gradient norm", norms), ("gradient × input", products)):
            console.print()
            console.print(Text(f"{title}, as a share of the row"))
            _show_map(console, explanation.source_labels, explanation.target_labels, None, matrix)
    maps = explanation.self_attention or explanation.word_attention or explanation.gradients
    if maps and not shows_color(console):
        console.print(f"\n{SHADES_LEGEND}")
    console.print()
    console.print(Text("tokens and their alternatives (*: kept in the beam, ▁: a space)"))
    for line in step_lines(explanation.steps, width):
        console.print(line, no_wrap=True, overflow="crop", crop=True)
    if explanation.forced or len(explanation.n_best) > 1:
        console.print()
        console.print(Text("n-best list with scores"))
        for candidate in explanation.n_best:
            console.print(Text(f"{candidate.score:8.3f}  {clean(candidate.text)}"), soft_wrap=True)


def show_distances(console: Console, runs: Mapping[str, Sequence[DistanceMean]]) -> None:
    """The mean gradient norm at each distance: a column for each run, with bars on one logarithmic scale."""
    logs = [math.log(mean.norm) for means in runs.values() for mean in means if mean.norm > 0]
    low, high = min(logs, default=0.0), max(logs, default=0.0)
    by_run = {clean(name): {mean.distance: mean.norm for mean in means} for name, means in runs.items()}
    last = max(distance for norms in by_run.values() for distance in norms)
    every = math.ceil(last / _MOST_DISTANCES)
    room = (min(console.width, WIDEST) - len("distance")) // len(by_run) - len("  1.2e-03 ")
    bar = max(0, min(24, room))
    console.print()
    console.print(Text("mean gradient norm by distance, the number of steps from x_i to y_t"))
    width = len("  1.2e-03 ") + bar
    names = "".join(f"  {padded(fitted(name, width - 2), width - 2)}" for name in by_run)
    console.print(Text(f"distance{names}".rstrip()), no_wrap=True, overflow="crop")
    for distance in range(1, last + 1, every):
        line = Text(f"{distance:8}")
        for norms in by_run.values():
            norm = norms.get(distance)
            share = 0.0 if not norm else (math.log(norm) - low) / ((high - low) or 1.0)
            shown = "" if norm is None else f"{norm:.1e} " + "▇" * round(bar * share)
            line.append("  " + padded(shown, width - 2))
        line.rstrip()
        console.print(line, no_wrap=True, overflow="crop", crop=True)


def show_image(console: Console, image: AttendedImage) -> None:
    """A caption, and for each word the cells of the image, darker where the model looks."""
    console.print(Text(f"{clean(image.title)}: {clean(image.caption)}"), soft_wrap=True)
    console.print()
    grids = [_mini_grid(weights) for weights in image.weights]
    labels = [
        f"{clean(word)} {100 * share:.0f} %"
        for word, share in zip(image.words, image.confidence, strict=True)
    ]
    if not grids:
        console.print(Text("  ".join(labels)), soft_wrap=True)
        return
    width = max(len(grids[0][0]), *map(cell_len, labels)) + 2
    per_line = max(1, console.width // width)
    for start in range(0, len(grids), per_line):
        shown = slice(start, start + per_line)
        for line in zip(*grids[shown], strict=True):
            console.print(Text("".join(part.ljust(width) for part in line)), no_wrap=True, overflow="crop")
        ends = (label + " " * (width - cell_len(label)) for label in labels[shown])
        console.print(Text("".join(ends)), no_wrap=True, overflow="crop")
        console.print()


def show_recording(console: Console, recording: AttendedRecording) -> None:
    """A transcript, and for each character when the model listens."""
    console.print(Text(f"{clean(recording.title)}: {clean(recording.transcript)}"), soft_wrap=True)
    console.print()
    if recording.weights:
        _show_map(console, recording.times, recording.tokens, recording.confidence, recording.weights)
        console.print()
        return
    shares = zip(recording.tokens, recording.confidence, strict=True)
    console.print(
        Text("  ".join(f"{clean(token)} {100 * share:.0f} %" for token, share in shares)), soft_wrap=True
    )


def _mini_grid(weights: Sequence[float]) -> list[str]:
    """The rows of a grid, two characters per cell; the shade is relative to the largest weight."""
    side = math.isqrt(len(weights))
    columns = side if side * side == len(weights) else len(weights)
    most = max(weights) or 1.0
    shades = "·░▒▓█"
    cells = [2 * shades[min(4, int(5 * weight / most))] for weight in weights]
    return ["".join(cells[start : start + columns]) for start in range(0, len(cells), columns)]


def _show_map(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[str],
    confidence: Sequence[float] | None,
    matrix: Matrix,
) -> None:
    color = shows_color(console)
    for line in heat_map(columns, rows, confidence, matrix, width=console.width, color=color):
        console.print(line, no_wrap=True, overflow="crop", crop=True)


def step_lines(steps: Sequence[Prediction], width: int) -> list[Text]:
    """One line per token: the token, its probability, and as many alternatives as fit."""
    pieces = [fitted(step.piece, 24) for step in steps]
    longest = max(map(cell_len, pieces))
    lines = []
    for number, (piece, step) in enumerate(zip(pieces, steps, strict=True), start=1):
        line = Text(f"{number:3}  ").append(padded(piece, longest), style="bold").append("  ")
        line.append(f"{percent(step.probability):>5}", style=confidence_style(step.probability))
        room = width - line.cell_len
        for other in step.alternatives:
            entry = f"   {fitted(other.piece, 24)}{'*' if other.kept else ''} {percent(other.probability)}"
            room -= cell_len(entry)
            if room < 0:
                break
            line.append(entry, style="" if other.kept else "dim")
        lines.append(line)
    return lines


def _show_sentences(console: Console, explanation: Explanation) -> None:
    languages = explanation.source_lang or "source", explanation.target_lang or "target"
    longest = max(map(len, languages))
    for language, text in zip(languages, (explanation.source, explanation.translation), strict=True):
        line = Text.assemble((f"{language:{longest}}  ", "dim"), (clean(text), "bold"))
        console.print(line, soft_wrap=not console.is_terminal)  # one line in a pipe
    given = "given translation: " if explanation.forced else ""
    facts = f"score {explanation.score:.3f}, log P {explanation.log_probability:.2f}"
    count = len(explanation.target_pieces)
    system = f"{clean(explanation.run)}: {explanation.system}" if explanation.run else explanation.system
    console.print(Text(f"{given}{facts}, {count} tokens ({system})", style="dim"))


def _show_confidence(console: Console, explanation: Explanation) -> None:
    """The confidence of each word, for a model without attention."""
    console.print(Text("This model has no attention, so there is no heat map."))
    console.print()
    longest = max(map(cell_len, explanation.target_labels))
    for word, p in zip(explanation.target_labels, explanation.confidence, strict=True):
        line = Text(padded(clean(word), longest) + "  ")
        line.append(f"{percent(p):>5}  ", style=confidence_style(p)).append("▇" * round(20 * p))
        console.print(line, no_wrap=True, overflow="crop", crop=True)


# ------------------------------------------------------------------------------------------------------------
# An attention matrix in a terminal: in color if the terminal has colors, else in shaded blocks.


SHADES = ((0.8, "█"), (0.55, "▓"), (0.3, "▒"), (0.1, "░"), (0.03, "·"))  # from this weight upward
SHADES_LEGEND = "  ".join(f"{shade} {weight:.0%}".replace("%", " %") for weight, shade in reversed(SHADES))
LEAST = SHADES[-1][0]
NARROW = 3  # width of a column whose word is written vertically
LONGEST_LABEL, TALLEST_LABEL = 20, 14
# From 0 to 1, ever lighter. Empty cells have a color, too: the map is the same on dark and on light terminals.
_RAMP = ((30, 30, 42), (94, 38, 108), (181, 54, 86), (236, 106, 44), (252, 210, 80))
_LIGHT = 0.18  # from this luminance on, black has a better contrast than white


class Column(NamedTuple):
    """A source word and the width of its column."""

    label: str
    width: int
    at: int  # index of the word


def shows_color(console: Console) -> bool:
    """Whether the terminal has colors and NO_COLOR is not set."""
    return console.color_system is not None and not console.no_color


def heat_map(
    source: Sequence[str],
    target: Sequence[str],
    confidence: Sequence[float] | None,
    matrix: Sequence[Sequence[float]],
    *,
    width: int,
    color: bool,
) -> list[Text]:
    """Lines no wider than `width`: target words with their confidence, if any, and a column for each source word.

    Source words are written horizontally if they all fit, else vertically in bands one below the other, each
    with the target words that attend to it.
    """
    labels = [fitted(word, LONGEST_LABEL) for word in target]
    left = max(map(cell_len, labels))
    between = len("  ") if confidence is None else len("  100 %  ")
    room = max(NARROW, width - left - between)
    horizontal = [
        Column(word, max(NARROW, cell_len(word)) + 1, at) for at, word in enumerate(map(clean, source))
    ]
    if sum(column.width for column in horizontal) <= room:
        bands, is_horizontal = [horizontal], True
    else:
        narrow = [Column(clean(word), NARROW, at) for at, word in enumerate(source)]
        count = math.ceil(len(narrow) / (room // NARROW))
        each = math.ceil(len(narrow) / count)  # bands of about the same width
        bands, is_horizontal = [narrow[at : at + each] for at in range(0, len(narrow), each)], False
    lines: list[Text] = []
    for band in bands:
        lines += [Text()] if lines else []
        before = " " * (left + between)
        header = [_horizontal(band)] if is_horizontal else _vertical([column.label for column in band])
        lines += [Text((before + line).rstrip(), style="bold") for line in header]
        for at, (label, weights) in enumerate(zip(labels, matrix, strict=True)):
            if len(bands) > 1 and all(abs(weights[column.at]) < LEAST for column in band):
                continue  # it attends to words in other bands
            line = Text(padded(label, left) + "  ")
            if confidence is not None:
                p = confidence[at]
                line.append(f"{percent(p):>5}", style=confidence_style(p)).append("  ")
            for column in band:
                line.append_text(_cell(weights[column.at], column.width, color=color))
            if not color:
                line.rstrip()  # in color, trailing spaces are part of the map
            lines.append(line)
    return lines


def percent(p: float) -> str:
    """A probability in at most five characters: `100 %`, `42 %`, `0.7 %`."""
    return f"{p:.0%}".replace("%", " %") if p >= 0.0995 else f"{100 * p:.1f} %"


def confidence_style(p: float) -> str:
    """The color of a probability: green, amber or red, of a lightness that can be read on black and on white."""
    return "rgb(38,148,90)" if p >= 0.6 else "rgb(178,120,20)" if p >= 0.3 else "rgb(214,69,65)"


def clean(text: str) -> str:
    """Text without control characters, which could change the state of the terminal."""
    return "".join("\ufffd" if unicodedata.category(one) in ("Cc", "Cs") else one for one in text)


def fitted(text: str, width: int) -> str:
    """The text, shortened with an ellipsis if it is too wide."""
    text = clean(text)
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return text + "…"


def padded(text: str, width: int) -> str:
    """The text padded with spaces to this width."""
    return text + " " * max(0, width - cell_len(text))


def _horizontal(band: Sequence[Column]) -> str:
    return "".join(padded(column.label, column.width) for column in band)


def _vertical(words: Sequence[str]) -> list[str]:
    """The words written from top to bottom, aligned at the bottom."""
    letters = [_letters(word) for word in words]
    letters = [one if len(one) <= TALLEST_LABEL else [*one[: TALLEST_LABEL - 1], "⋮"] for one in letters]
    height = max(map(len, letters))
    columns = [[""] * (height - len(one)) + one for one in letters]
    return [
        "".join(padded(f" {column[row]}" if column[row] else "", NARROW) for column in columns)
        for row in range(height)
    ]


def _letters(word: str) -> list[str]:
    """The characters of a word, each with its combining marks."""
    letters: list[str] = []
    for character in word:
        joins = unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf")
        if joins and letters:
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _cell(weight: float, width: int, *, color: bool) -> Text:
    size = abs(weight)
    if not color:
        shade = next((shade for least, shade in SHADES if size >= least), " ")
        sign = "-" if weight <= -LEAST else ""  # of gradient × input
        return Text(sign + shade * (width - 1 - len(sign)) + " ")
    inked = width if width == NARROW else width - 1
    number = f"{100 * weight:.0f}" if size >= LEAST else ""
    return Text().append(number.center(inked), style=_style(size)).append(" " * (width - inked), _style(0.0))


def _style(weight: float) -> Style:
    """Text and background: neither is left to the terminal, whose own color might not go with the other."""
    background = cell_color(weight)
    ink = "rgb(0,0,0)" if luminance(background) > _LIGHT else "rgb(255,255,255)"
    return Style(color=Color.parse(ink), bgcolor=Color.from_rgb(*background))


def cell_color(weight: float) -> tuple[int, int, int]:
    """The background of a weight from 0 to 1."""
    place = min(max(weight, 0.0), 1.0) * (len(_RAMP) - 1)
    at = min(int(place), len(_RAMP) - 2)
    red, green, blue = (
        round(low + (high - low) * (place - at)) for low, high in zip(_RAMP[at], _RAMP[at + 1], strict=True)
    )
    return red, green, blue


def luminance(color: tuple[int, int, int]) -> float:
    """The relative luminance of sRGB, from 0 (black) to 1 (white)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in color)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
