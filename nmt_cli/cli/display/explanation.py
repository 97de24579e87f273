"""An explanation in a terminal, or as plain text in a pipe."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from nmt_cli.cli.display.heat_map import (
    SHADES_LEGEND,
    clean,
    confidence_style,
    fitted,
    heat_map,
    padded,
    percent,
    shows_color,
)
from nmt_cli.explanation import Explanation, Matrix, Prediction

WIDEST = 160  # columns of a table; longer lines are hard to follow


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
    if (explanation.self_attention or explanation.word_attention) and not shows_color(console):
        console.print(f"\n{SHADES_LEGEND}")
    console.print()
    console.print(Text("tokens and their alternatives (*: kept in the beam)"))
    for line in step_lines(explanation.steps, width):
        console.print(line, no_wrap=True, overflow="crop", crop=True)
    if explanation.forced or len(explanation.n_best) > 1:
        console.print()
        console.print(Text("n-best list with scores"))
        for candidate in explanation.n_best:
            console.print(Text(f"{candidate.score:8.3f}  {clean(candidate.text)}"), soft_wrap=True)


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
    console.print(Text(f"{given}{facts}, {count} tokens ({explanation.system})", style="dim"))


def _show_confidence(console: Console, explanation: Explanation) -> None:
    """The confidence of each word, for a model without attention."""
    console.print(Text("This model has no attention, so there is no heat map."))
    console.print()
    longest = max(map(cell_len, explanation.target_labels))
    for word, p in zip(explanation.target_labels, explanation.confidence, strict=True):
        line = Text(padded(clean(word), longest) + "  ")
        line.append(f"{percent(p):>5}  ", style=confidence_style(p)).append("▇" * round(20 * p))
        console.print(line, no_wrap=True, overflow="crop", crop=True)
