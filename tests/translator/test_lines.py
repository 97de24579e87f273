"""Bytes to lines: only a line feed ends one."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import CorpusError
from nmt_cli.files import text_input as lines
from nmt_cli.files.text_input import TextInput, split_lines


@given(st.lists(st.binary(max_size=9)))
def test_lines_do_not_depend_on_how_the_bytes_arrive(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    expected = [line.removesuffix(b"\r") for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    if not expected[-1] and not data.endswith(b"\r"):
        expected.pop()  # what follows the last end is no line
    assert list(split_lines(pieces, "x")) == expected


def test_other_line_separators_are_ordinary_characters(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\x0bd\x0ce\rf"
    (tmp_path / "x").write_text(f"{text}\r\n{text}", "utf-8", newline="")
    assert list(TextInput(tmp_path / "x")) == [text, text]


def test_bad_bytes_are_replaced_and_reported_or_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"good\nb\xffd\n\xed\xa0\x80\n")
    bad: list[int] = []
    assert list(TextInput(tmp_path / "x", undecodable=bad.append)) == ["good", "b\ufffdd", "\ufffd" * 3]
    assert bad == [2, 3]
    with pytest.raises(CorpusError, match=r"line 2 is not UTF-8 \(byte 2\)"):
        list(TextInput(tmp_path / "x", strict=True))


def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    endless = iter(lambda: b"x" * 100, None)
    with pytest.raises(CorpusError, match="a line of more than 1,000 bytes"):
        list(split_lines(endless, "standard input"))


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    import gzip

    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        file.write("ä\nb".encode())
    (tmp_path / "x.gz").write_bytes(packed.getvalue())
    assert list(TextInput(tmp_path / "x.gz")) == ["ä", "b"]
