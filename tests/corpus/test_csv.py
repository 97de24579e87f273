"""CSV with a header."""

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import Pair, blocks, failure, pairs

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=15)


def table(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.lists(st.tuples(TEXT, TEXT), min_size=1), delimiter=st.sampled_from(",;"))
def test_what_was_written_is_read(tmp_path: Path, written: list[Pair], delimiter: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter).writerows([("id", "de", "en"), *((7, t, s) for s, t in written)])
    path = table(tmp_path / "x.csv", buffer.getvalue())
    assert pairs(path, block_pairs=3) == written
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert pairs(tmp_path / "x.csv.gz") == written


def test_columns_are_chosen_by_name_by_number_or_by_language(tmp_path: Path) -> None:
    path = table(tmp_path / "x.csv", "id,from text,en_US,de-DE\n1,a,b,c\n")
    assert pairs(path) == [("b", "c")]
    assert pairs(f"{path}#from text,de-DE") == [("a", "c")]
    assert pairs(f"{path}#4,3") == [("c", "b")]
    error = failure(f"{path}#en,fr")
    assert error.message.endswith("has no column 'en'")
    assert "id, from text, en_US, de-DE" in error.hint


def test_monolingual_text_is_one_column(tmp_path: Path) -> None:
    path = table(tmp_path / "x.csv", "text,de\na,b\n")
    assert pairs(path, "", "de") == [("", "b")]
    assert pairs(f"{path}#text", "", "de") == [("", "a")]


def test_a_real_glossary_is_read(corpora: Path) -> None:
    found = pairs(f"{corpora}/formats/tico19-terms.en-de_DE.csv#sourceString,targetString")
    assert len(found) == 306
    assert found[0] == ("1918 flu", "Grippe von 1918")


def test_line_breaks_inside_quotes_belong_to_the_text(tmp_path: Path) -> None:
    [block] = blocks(table(tmp_path / "x.csv", 'en,de\n"a\nb",c\n\n"say ""x""",d\n'))
    assert block.source == ["a b", 'say "x"']
    assert block.removed == {"inner newline": 1}
    assert list(block.numbers) == [2, 5]


def test_a_row_that_does_not_fit_is_malformed_and_has_its_line(tmp_path: Path) -> None:
    [block] = blocks(table(tmp_path / "x.csv", 'en,de\na,b\nonly\nc,d\n"x"y,z\ne,f\n'))
    assert {block.number(row): kind for row, kind in block.damage.items()} == {3: "malformed", 5: "malformed"}
    assert block.source[-1] == "e"


def test_undecodable_rows_are_marked(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"en,de\na,b\nc,\xff\ne,f\n")
    [block] = blocks(tmp_path / "x.csv")
    assert block.damage == {1: "undecodable"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ('en,de\na,b\n"c,d\ne,f\n', "line 3: a quote is never closed"),
        ("en,de\na\nb\n", "most rows do not have these columns; line 2 is 'a'"),
    ],
)
def test_a_file_that_is_not_a_table_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    assert message in failure(table(tmp_path / "x.csv", text)).message
