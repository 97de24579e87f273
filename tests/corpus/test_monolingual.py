"""Monolingual text: every form of a SPEC without a source language, read with empty sources."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from nmt_cli.corpus import Block, Spec, parse_spec, read_pairs
from nmt_cli.errors import NmtError

LINES = ["ein Haus", "", "zwei  Häuser\u2028drei"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{line}\n" for line in LINES)
    Path("train.de").write_text(text, "utf-8", newline="\n")
    Path("train.en").write_text("other\n", "utf-8")
    Path("any name").write_text(text, "utf-8", newline="\n")
    Path("packed.txt.gz").write_bytes(gzip.compress(text.encode()))
    Path("x.tsv").write_text("".join(f"{line}\tx\t{line}\n" for line in LINES), "utf-8", newline="\n")
    rows = [json.dumps({"de": line, "text": line}) for line in LINES]
    Path("x.jsonl").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    nested = [json.dumps({"translation": {"de": line, "en": "x"}}) for line in LINES]
    Path("nested.jsonl").write_text("".join(f"{row}\n" for row in nested), "utf-8")
    Path("broken.jsonl").write_text("ein Haus\n", "utf-8")
    Path("ambiguous.de").write_text(text, "utf-8", newline="\n")
    Path("ambiguous.de.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def parse(text: str) -> Spec:
    return parse_spec(text, source_lang="", target_lang="de")


def read(text: str) -> list[Block]:
    return list(read_pairs(parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "train",
        "train.de",
        "any name",
        "packed.txt.gz",
        "x.tsv",
        "x.tsv#3",
        "x.jsonl",
        "x.jsonl#text",
        "nested.jsonl",
        "train@weight=2",
        "hf:x.jsonl#text",
    ],
)
def test_every_form_gives_all_lines_with_empty_sources(folder: Path, text: str) -> None:
    (block,) = read(text)
    assert block.target == LINES
    assert block.source == [""] * len(LINES)
    assert not block.damage
    assert parse(text).weight == (2.0 if "weight" in text else 1.0)


def test_standard_input_is_read_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\nc\r\n")))
    (block,) = read("-")
    assert block.target == ["a\tb", "c"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "does not name a corpus", "monolingual text is"),
        ("train.de,train.en", "does not exist", "give --source-lang too"),
        ("missing", "does not exist", ""),
        (".", "is a directory", ""),
        ("x.tsv#0", "is not a column number", "counted from 1"),
        ("x.tsv#1,2", "is not a column number", "give both languages"),
        ("x.tsv#9", "most rows have no column 9;", "choose one, such as x.tsv#1"),
        ("ambiguous", "is ambiguous", "give a file instead of the prefix"),
        ("x.jsonl#de,text", "is not a field name", "give both languages"),
        (
            "x.jsonl#words",
            "most rows have no text in 'words';",
            "choose a field with #FIELD; fields are de, text",
        ),
        ("broken.jsonl", "most rows are not JSON", 'such as {"de": "…"}'),
        ("train@tag=<BT>", "monolingual text has no source side", "--source-lang"),
        ("hf:x.jsonl#words", "has no column words", "choose one with hf:…#COLUMN"),
    ],
)
def test_a_mistake_is_an_error_with_a_hint(folder: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(NmtError) as caught:
        read(text)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert "\n" not in caught.value.message


def test_a_malformed_row_is_kept_to_be_shown(folder: Path) -> None:
    Path("bad.tsv").write_text("1\ta\n2\tb\njust one\n", "utf-8")
    (block,) = read("bad.tsv#2")
    assert block.target == ["a", "b", ""]
    assert block.source == ["", "", "just one"]
    assert block.damage == {2: "malformed"}


@pytest.mark.parametrize("text", ["breaks.jsonl", "hf:breaks.jsonl"])
def test_line_breaks_inside_a_text_are_counted_once(folder: Path, text: str) -> None:
    Path("breaks.jsonl").write_text('{"de": "ein\\nHaus"}\n{"de": "zwei"}\n', "utf-8")
    (block,) = read(text)
    assert block.target == ["ein Haus", "zwei"]
    assert block.removed == {"inner newline": 1}


def test_the_same_language_twice_is_not_monolingual_text(folder: Path) -> None:
    with pytest.raises(NmtError, match="both languages are de") as caught:
        parse_spec("train", source_lang="de", target_lang="de")
    assert "leave out --source-lang" in caught.value.hint


def test_a_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NmtError, match="expected text on standard input, which is closed"):
        read("-")
