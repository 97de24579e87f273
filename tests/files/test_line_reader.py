"""The line reader: only a line feed ends a line, however the bytes arrive and the lines are asked for."""

import gzip
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files import line_reader
from nmt_cli.files.line_reader import LineReader, Pairs, TextInput


def expected_lines(data: bytes) -> list[str]:
    *ended, last = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    lines = [line.removesuffix(b"\r") for line in ended] + ([last] if last else [])
    return [line.decode(errors="replace") for line in lines]


CHUNKS = st.lists(st.binary(max_size=9) | st.sampled_from([b"\xef", b"\xbb\xbf", b"\r", b"\n", b"a\r\nb"]))


@given(CHUNKS)
def test_lines_do_not_depend_on_how_the_bytes_arrive(chunks: list[bytes]) -> None:
    assert list(LineReader("x", chunks, check_text=False)) == expected_lines(b"".join(chunks))


@given(CHUNKS, st.integers(1, 4))
def test_blocks_of_lines_are_the_lines_of_the_stream(chunks: list[bytes], count: int) -> None:
    reader, stream = (LineReader("x", chunks, check_text=False) for _ in range(2))
    lines = list(stream)
    blocks = []
    while block := reader.take(count):
        blocks.append(block)
    assert [line for block in blocks for line in block] == lines
    assert all(len(block) == count for block in blocks[:-1])
    assert reader.taken == len(lines)
    assert reader.undecodable == stream.undecodable


def test_a_line_is_returned_before_more_bytes_are_read() -> None:
    arrived: list[bytes] = []

    def chunks() -> Iterator[bytes]:
        for chunk in (b"one\ntw", b"o\n", b"three"):
            arrived.append(chunk)
            yield chunk

    lines = iter(LineReader("x", chunks(), check_text=False))
    assert (next(lines), len(arrived)) == ("one", 1)
    assert (next(lines), len(arrived)) == ("two", 2)
    assert list(lines) == ["three"]


@pytest.mark.parametrize("size", [1, 7, 1000, 10_000])
def test_a_line_over_the_limit_is_an_error_however_it_arrives(size: int) -> None:
    def read(data: bytes) -> list[str]:
        chunks = (data[at : at + size] for at in range(0, len(data), size))
        return list(LineReader("x", chunks, limit=1000, check_text=False))

    longest = b"x" * 1000
    assert read(b"a\n" + longest + b"\n" + longest) == ["a", longest.decode(), longest.decode()]
    for data in (b"a\n" + longest + b"x\n", b"a\n" + longest + b"x", b"a\n" + longest + b"x\nb\n"):
        with pytest.raises(CorpusError, match="x, line 2 is longer than 1,000 bytes"):
            read(data)


def test_an_endless_line_is_an_error() -> None:
    endless = iter(lambda: b"x" * 100, None)
    with pytest.raises(CorpusError, match="line 1 is longer than 1,000 bytes"):
        list(LineReader("x", endless, limit=1000, check_text=False))


def test_other_line_separators_are_ordinary_characters(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\x0bd\x0ce\rf"
    (tmp_path / "x").write_text(f"{text}\r\n{text}", "utf-8", newline="")
    assert list(TextInput(tmp_path / "x")) == [text, text]


def test_undecodable_bytes_are_replaced_and_reported_or_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"good\nb\xffd\n\xed\xa0\x80\n")
    bad: list[int] = []
    assert list(TextInput(tmp_path / "x", undecodable=bad.append)) == ["good", "b\ufffdd", "\ufffd" * 3]
    assert bad == [2, 3]
    strict = iter(TextInput(tmp_path / "x", strict=True))
    assert next(strict) == "good"
    with pytest.raises(CorpusError, match=r"line 2 is not UTF-8 \(byte 2\)"):
        next(strict)


def test_input_to_translate_may_be_any_bytes_and_have_longer_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "MAX_INPUT_LINE_BYTES", 2 * line_reader.MAX_LINE_BYTES)
    long = "x" * (line_reader.MAX_LINE_BYTES + 1)
    (tmp_path / "x").write_bytes(b"\0" * 5000 + b"\n" + long.encode())
    assert list(TextInput(tmp_path / "x")) == ["\0" * 5000, long]
    with pytest.raises(CorpusError, match="binary file"):
        LineReader("x", [(tmp_path / "x").read_bytes()]).take(1)


def test_a_compressed_file_is_decompressed(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress("ä\nb".encode()))
    assert list(TextInput(tmp_path / "x.gz")) == ["ä", "b"]


def test_a_dash_is_standard_input_and_a_closed_one_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (None, Path("-")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ä\nb\n".encode())))
        assert list(TextInput(path)) == ["ä", "b"]
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input, which is closed"):
        TextInput(None)


def test_texts_of_different_lengths_are_an_error(tmp_path: Path) -> None:
    for name, count in (("a", 3), ("b", 5)):
        (tmp_path / name).write_text("x\n" * count)
    one, other = tmp_path / "a", tmp_path / "b"
    assert list(Pairs(TextInput(one), TextInput(one))) == [("x", "x")] * 3
    for first, second, counts in ((one, other, (3, 5)), (other, one, (5, 3))):
        with pytest.raises(CorpusError) as caught:
            list(Pairs(TextInput(first), TextInput(second)))
        assert caught.value.message == f"{first} has {counts[0]} lines, {second} has {counts[1]}"
