"""Markdown tables that any text fits into."""

import pytest

from nmt_cli.drawing.markup import cell, literal, table


def test_a_table_aligns_all_columns_but_the_first_to_the_right() -> None:
    assert table(["a", "b", "c"], [["1", "2", "3"]]) == [
        "| a | b | c |",
        "| --- | ---: | ---: |",
        "| 1 | 2 | 3 |",
    ]
    assert table(["a", "b"], [], align="rl")[1] == "| ---: | --- |"


def test_a_cell_cannot_end_its_column_or_row() -> None:
    assert cell("`a|b`\nc") == "`a\\|b` c"


@pytest.mark.parametrize("text", ["a|b", "*a*", "__init__", "`x`", "<b>", "[a](b)", "\\", "a\nb"])
def test_literal_text_has_no_markup(text: str) -> None:
    escaped = literal(text)
    assert "\n" not in escaped
    bare = escaped.replace("\\\\", "")
    assert all(
        before == "\\" for before, special in zip(" " + bare, bare, strict=False) if special in "|*_`<>[]"
    )
