"""Tables in Markdown, for cards, reports and generated documentation."""

from collections.abc import Sequence

_SPECIAL = frozenset("\\|*_`<>[]")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> list[str]:
    """The lines of a table. `align` has `l` or `r` for each column; by default all but the first are `r`."""
    align = align or "l" + "r" * (len(headings) - 1)
    rule = ["---:" if side == "r" else "---" for side in align]
    assert all(len(row) == len(headings) == len(rule) for row in rows)
    return [f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows)]


def cell(text: str) -> str:
    """Markdown that stays inside its cell, on one line; its own markup keeps working."""
    return text.replace("|", "\\|").replace("\n", " ")


def literal(text: str) -> str:
    """Any text, on one line, escaped so that Markdown shows it as it is."""
    escaped = "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
    return escaped.replace("\n", " ")
