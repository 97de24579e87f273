"""What is written is what is read, and text that cannot be read is an error."""

import bz2
import gzip
import io
import itertools
import json
import lzma
import random
import sys
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_cli.corpus import Block, parse_spec, read_pairs
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.line_reader import MAX_LINE_BYTES

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}


# Many NULs make a binary file; what a single one does is another test's claim.
LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")).filter(
    lambda text: not text.endswith("\r")
)


def blocks(
    text: str | Path, *, block_pairs: int = 8192, source_lang: str = "de", target_lang: str = "en"
) -> list[Block]:
    return list(
        read_pairs(
            parse_spec(str(text), source_lang=source_lang, target_lang=target_lang), block_pairs=block_pairs
        )
    )


def pairs(text: str | Path, block_pairs: int = 8192) -> list[tuple[str, str]]:
    return [
        pair
        for block in blocks(text, block_pairs=block_pairs)
        for pair in zip(block.source, block.target, strict=True)
    ]


def damage(text: str | Path, block_pairs: int = 8192) -> dict[int, str]:
    return {
        block.first + row: kind
        for block in blocks(text, block_pairs=block_pairs)
        for row, kind in block.damage.items()
    }


def two(folder: Path, source: bytes, target: bytes) -> Path:
    (folder / "x.de").write_bytes(source)
    (folder / "x.en").write_bytes(target)
    return folder / "x"


def failure(text: str | Path) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        blocks(text)
    assert "\n" not in caught.value.message
    return caught.value


class TestLines:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        written=st.lists(st.tuples(LINE, LINE), min_size=1),
        block_pairs=st.integers(1, 5),
        final=st.booleans(),
    )
    def test_any_text_is_read_as_it_was_written(
        self, tmp_path: Path, written: list[tuple[str, str]], block_pairs: int, final: bool
    ) -> None:
        # A byte-order mark that starts a file is not text, and a last line that is empty needs its newline.
        written = [("x", "x"), *written, ("y", "y")]
        end = "\n" if final else ""
        prefix = two(
            tmp_path, *("\n".join(side).encode() + end.encode() for side in zip(*written, strict=True))
        )
        assert pairs(prefix, block_pairs=block_pairs) == written

    @pytest.mark.parametrize("suffix", PACK)
    def test_every_compression_reads_the_same(self, tmp_path: Path, suffix: str) -> None:
        text = [f"Zeile {i} äöü" for i in range(50_000)]
        for lang in ("de", "en"):
            (tmp_path / f"x.{lang}{suffix}").write_bytes(PACK[suffix]("\n".join(text).encode()))
        assert pairs(tmp_path / "x") == list(zip(text, text, strict=True))

    @pytest.mark.parametrize("suffix", list(PACK)[1:])
    def test_archives_may_be_joined(self, tmp_path: Path, suffix: str) -> None:
        for lang in ("de", "en"):
            (tmp_path / f"x.{lang}{suffix}").write_bytes(PACK[suffix](b"a\n") + PACK[suffix](b"b\n"))
        assert pairs(tmp_path / "x") == [("a", "a"), ("b", "b")]

    @pytest.mark.parametrize("suffix", list(PACK)[1:])
    @pytest.mark.parametrize("harm", ["truncated", "garbage"])
    def test_a_damaged_archive_is_an_error(self, tmp_path: Path, suffix: str, harm: str) -> None:
        noise = "\n".join(map(str, random.Random(1).choices(range(10**9), k=20_000))).encode()
        packed = PACK[suffix](noise)
        (tmp_path / "x.de").write_bytes(noise)
        (tmp_path / f"x.en{suffix}").write_bytes(
            packed[: len(packed) // 2] if harm == "truncated" else b"no archive" * 9
        )
        assert "damaged" in failure(tmp_path / "x").message

    def test_only_a_newline_ends_a_line(self, tmp_path: Path) -> None:
        odd = "a\u2028b\u2029c\x85d\x0be\x0cf\rg\x1ch"
        assert pairs(two(tmp_path, f"{odd}\n{odd}".encode(), b"1\n2\n")) == [(odd, "1"), (odd, "2")]

    def test_windows_line_ends_are_removed_and_counted(self, tmp_path: Path) -> None:
        [block] = blocks(two(tmp_path, b"a\r\nb\r\r\n\r\nd\r\n", b"1\n2\n3\n4\n"))
        assert block.source == ["a", "b\r", "", "d"]
        assert block.removed == {"carriage return": 4}

    def test_a_byte_order_mark_is_removed_and_counted(self, tmp_path: Path) -> None:
        [block] = blocks(two(tmp_path, b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", b"\xef\xbb\xbf1\n2\n"))
        assert (block.source, block.target) == (["a", "\ufeffb"], ["1", "2"])
        assert block.removed == {"byte-order mark": 2}

    def test_blank_lines_never_shift_anything(self, tmp_path: Path) -> None:
        source = ["", "a", "", "", "b", " ", "c", ""]
        target = ["0", "", "2", "", "", "5", "6", "7"]
        prefix = two(tmp_path, "\n".join([*source, ""]).encode(), "\n".join([*target, ""]).encode())
        for block_pairs in (1, 3, 8, 100):
            assert pairs(prefix, block_pairs=block_pairs) == list(zip(source, target, strict=True))

    def test_blocks_are_numbered_from_one_and_full(self, tmp_path: Path) -> None:
        found = blocks(two(tmp_path, b"a\n" * 10, b"b\n" * 10), block_pairs=4)
        assert [(block.first, len(block.source)) for block in found] == [(1, 4), (5, 4), (9, 2)]

    def test_undecodable_lines_are_marked_and_kept_in_place(self, tmp_path: Path) -> None:
        prefix = two(tmp_path, b"a\nb\xff\nc\n" * 100, b"1\n2\n3\xc3\n" * 100)
        expected = {n: "undecodable" for n in range(1, 301) if n % 3 != 1}
        for block_pairs in (7, 8192):
            assert damage(prefix, block_pairs=block_pairs) == expected
        assert pairs(prefix)[:3] == [("a", "1"), ("b\ufffd", "2"), ("c", "3\ufffd")]

    def test_a_tab_and_quotes_in_a_plain_file_are_text(self, corpora: Path) -> None:
        line = pairs(corpora / "multi30k" / "train")[7365][0]
        assert "\t" in line
        assert line.count('"') == 2

    def test_a_huge_line_is_an_error_that_is_found_early(self, tmp_path: Path) -> None:
        error = failure(two(tmp_path, b"a\nb\n" + b"c" * 10_000_000 + b"\nd\n", b"1\n2\n3\n4\n"))
        assert "x.de, line 3 is longer than 1,048,576 bytes" in error.message
        assert "one sentence on each line" in error.hint

    def test_the_longest_line_allowed_is_read(self, tmp_path: Path) -> None:
        for end in (b"\n", b""):
            assert (
                len(pairs(two(tmp_path, b"a\n" + b"c" * MAX_LINE_BYTES + end, b"1\n2\n"))[1][0])
                == MAX_LINE_BYTES
            )
            assert (
                "line 2 is longer"
                in failure(two(tmp_path, b"a\n" + b"c" * (MAX_LINE_BYTES + 1) + end, b"1\n2\n")).message
            )


class TestNoText:
    @pytest.mark.parametrize(
        ("content", "message", "hint"),
        [
            (random.Random(0).randbytes(5000), "binary", "text"),
            (random.Random(0).randbytes(200), "binary", "text"),
            (bytes(range(256)) * 20, "binary", "text"),
            (b"\0" * 5000, "binary", "text"),
            (gzip.compress(b"text\n", mtime=0), "gzip data", ".gz"),
            (b"PK\x03\x04rest", "zip archive", "unpack"),
            (b"PAR1rest", "Parquet", "hf:parquet"),
            ("Grüße an alle\n".encode("utf-16") * 9, "UTF-16LE", "iconv -f UTF-16LE"),
            ("Grüße an alle\n".encode("utf-32") * 9, "UTF-32LE", "iconv -f UTF-32LE"),
            (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "UTF-16BE", "iconv -f UTF-16BE"),
            ("Grüße an alle\n".encode("utf-16-le") * 9, "UTF-16LE", "iconv -f UTF-16LE"),
            ("Grüße an alle\n".encode("latin-1") * 9, "not UTF-8", "iconv"),
            ("Привет всем\n".encode("koi8-r") * 9, "not UTF-8", "iconv"),
        ],
    )
    def test_data_that_is_not_utf8_text_is_an_error(
        self, tmp_path: Path, content: bytes, message: str, hint: str
    ) -> None:
        error = failure(two(tmp_path, b"a\n", content))
        assert "x.en" in error.message
        assert message in error.message
        assert hint in error.hint

    def test_damaged_text_is_still_text(self, corpora: Path, tmp_path: Path) -> None:
        path = corpora / "robustness" / "UTF-8-test.malformed.txt"
        assert len(pairs(f"{path},{path}")) == 300
        assert 60 < len(damage(f"{path},{path}")) < 75
        assert len(pairs(f"{corpora}/robustness/blns.txt,{corpora}/robustness/blns.txt")) == 742
        assert pairs(two(tmp_path, b"a\0b\n", b"c\n")) == [("a\0b", "c")]

    @pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
    def test_an_empty_file_is_an_error(self, tmp_path: Path, content: bytes) -> None:
        assert failure(two(tmp_path, b"a\n", content)).message == f"{tmp_path}/x.en is empty"
        assert failure(two(tmp_path, content, content)).message == f"{tmp_path}/x.de is empty"
        (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(content))
        assert "empty" in failure(tmp_path / "x.tsv.gz").message


class TestUnequal:
    def test_the_error_has_counts_and_names(self, tmp_path: Path) -> None:
        error = failure(two(tmp_path, b"a\n" * 20_000, b"b\n" * 20_003))
        assert error.message == f"{tmp_path}/x.de has 20000 lines, {tmp_path}/x.en has 20003"
        assert "line n of one file" in error.hint

    def test_the_error_has_the_first_blank_line(self, tmp_path: Path) -> None:
        assert (
            "the first blank line of the target is line 2"
            in failure(two(tmp_path, b"a\nb\n", b"1\n\n3\n")).hint
        )

    def test_blank_lines_at_the_end_are_reported(self, tmp_path: Path) -> None:
        hint = failure(two(tmp_path, b"a\nb\n", b"1\n2\n\n \n")).hint
        assert "only blank lines after line 2" in hint

    @pytest.mark.parametrize("line", [500, 14_321, 27_000])
    @pytest.mark.parametrize("side", ["de", "en"])
    def test_a_lost_line_is_located(self, corpora: Path, tmp_path: Path, line: int, side: str) -> None:
        self.check(corpora, tmp_path, {side: [line]}, line)

    def test_the_first_of_several_losses_is_located(self, corpora: Path, tmp_path: Path) -> None:
        self.check(corpora, tmp_path, {"de": [9000], "en": [20_000, 20_001, 25_000]}, 9000)

    def check(self, corpora: Path, tmp_path: Path, lost: dict[str, list[int]], expected: int) -> None:
        for lang in ("de", "en"):
            lines = gzip.decompress((corpora / "multi30k" / f"train.{lang}.gz").read_bytes()).split(b"\n")
            kept = [text for number, text in enumerate(lines, start=1) if number not in lost.get(lang, [])]
            (tmp_path / f"x.{lang}").write_bytes(b"\n".join(kept))
        hint = failure(tmp_path / "x").hint
        found = int(hint.partition("diverge at about line ")[2].split()[0])
        assert abs(found - expected) <= 20

    def test_a_missing_end_is_recognized(self, corpora: Path, tmp_path: Path) -> None:
        for lang, count in (("de", 8000), ("en", 7600)):
            lines = gzip.decompress((corpora / "multi30k" / f"train.{lang}.gz").read_bytes()).split(b"\n")
            (tmp_path / f"x.{lang}").write_bytes(b"\n".join(lines[:count]))
        assert "match up to about line 7600" in failure(tmp_path / "x").hint

    def test_nothing_is_claimed_if_lengths_are_uninformative(self, tmp_path: Path) -> None:
        generator = random.Random(3)
        sides = (
            b"\n".join(b"x" * generator.randrange(5, 90) for _ in range(3000 + extra)) for extra in (0, 1)
        )
        assert "diverge" not in failure(two(tmp_path, *sides)).hint


class TestTables:
    def tsv(self, folder: Path, text: str) -> Path:
        (folder / "x.tsv").write_text(text, encoding="utf-8", newline="")
        return folder / "x.tsv"

    def test_columns_are_separated_by_tabs_only(self, tmp_path: Path) -> None:
        path = self.tsv(tmp_path, '"a\tb" c\t, d\n\t\n\n  \nx\ty\tz\n')
        assert pairs(path) == [('"a', 'b" c'), ("", ""), ("", ""), ("  ", ""), ("x", "y")]
        assert damage(path) == {}
        assert pairs(f"{path}#2,1")[4] == ("y", "x")

    def test_a_row_with_too_few_columns_is_malformed_and_keeps_its_place(self, tmp_path: Path) -> None:
        path = self.tsv(tmp_path, "a\tb\nbroken\nc\td\n")
        assert pairs(path) == [("a", "b"), ("broken", ""), ("c", "d")]
        assert damage(path) == {2: "malformed"}

    def test_missing_columns_are_an_error_that_shows_a_row(self, tmp_path: Path) -> None:
        error = failure(self.tsv(tmp_path, "a b\nc d\n"))
        assert "row 1 has 1 column: 'a b'" in error.message
        assert "#1,3" in error.hint
        path = self.tsv(tmp_path, "a\tb\n" * 3)
        assert "have no columns 1 and 4" in failure(f"{path}#1,4").message

    def test_real_tables_are_read(self, corpora: Path) -> None:
        assert len(pairs(corpora / "tatoeba" / "cmn-eng.tsv.gz")) == 26388
        found = pairs(corpora / "robustness" / "bom-and-blank-lines.cmn.tsv")
        assert len(found) == 503
        assert not found[0][0].startswith("\ufeff")
        assert found[-1] == ("", "")

    def test_a_closed_standard_input_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(UsageError, match="expected TSV on standard input, which is closed") as failed:
            pairs("-")
        assert "pipe" in failed.value.hint

    def test_standard_input_is_tsv(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def give(text: str) -> None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

        give("a\tb\nc\td")
        assert pairs("-") == [("a", "b"), ("c", "d")]
        give("a\tb\n")
        assert pairs("-#2,1") == [("b", "a")]
        give("")
        assert failure("-").message == "standard input is empty"

    def jsonl(self, folder: Path, rows: Sequence[object]) -> Path:
        text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        (folder / "x.jsonl").write_text(text, encoding="utf-8")
        return folder / "x.jsonl"

    def test_json_lines_have_a_translation_or_two_languages(self, tmp_path: Path) -> None:
        path = self.jsonl(
            tmp_path,
            [{"translation": {"de": "a", "en": "b"}}, {"en": "d", "de": "c"}, "", {"de": None, "en": "e"}],
        )
        assert pairs(path) == [("a", "b"), ("c", "d"), ("", ""), ("", "e")]
        assert damage(path) == {}

    def test_fields_can_be_chosen(self, tmp_path: Path) -> None:
        path = self.jsonl(tmp_path, [{"prompt": "a", "answer": {"text": "b"}}])
        assert pairs(f"{path}#prompt,answer.text") == [("a", "b")]

    def test_rows_that_are_not_pairs_are_malformed_and_keep_their_place(self, tmp_path: Path) -> None:
        good = {"de": "a", "en": "b"}
        bad: list[object] = ["{broken", {"de": "a"}, {"de": 1, "en": "b"}, "[1]"]
        path = self.jsonl(tmp_path, [*itertools.chain(*((row, good) for row in bad)), good])
        assert damage(path) == dict.fromkeys((1, 3, 5, 7), "malformed")
        assert pairs(path)[0] == ("{broken", "")
        assert pairs(path)[1] == ("a", "b")

    def test_line_breaks_inside_become_spaces_and_are_counted(self, tmp_path: Path) -> None:
        [block] = blocks(self.jsonl(tmp_path, [{"de": "a\nb \r\n c", "en": "d\n"}]))
        assert (block.source, block.target) == (["a b c"], ["d"])
        assert block.removed == {"inner newline": 2}

    def test_an_unpaired_surrogate_is_undecodable(self, tmp_path: Path) -> None:
        path = self.jsonl(tmp_path, [r'{"de": "a\ud800b", "en": "\ud83d\ude00"}'])
        assert damage(path) == {1: "undecodable"}
        assert pairs(path) == [("a\ufffdb", "😀")]

    def test_missing_fields_are_an_error_that_lists_the_fields(self, tmp_path: Path) -> None:
        error = failure(self.jsonl(tmp_path, [{"translation": {"fr": "a", "en": "b"}, "id": 7}] * 3))
        assert "'de' and 'en'" in error.message
        assert "translation.fr, translation.en, id" in error.hint
        assert "not JSON" in failure(self.jsonl(tmp_path, ["a b", "c d"])).message

    def test_real_json_lines_are_read(self, corpora: Path) -> None:
        path = corpora / "formats" / "mafand.en-ig.dev.jsonl"
        [block] = blocks(path, source_lang="en", target_lang="ibo")
        assert len(block.source) == 1500
        assert all(block.source)


@given(rows=st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_a_block_sent_to_another_process_is_the_same(rows: list[tuple[str, str]]) -> None:
    block = Block(7, [row[0] for row in rows], [row[1] for row in rows], {0: "malformed"}, {"x": 1})
    assert copy(block) == block  # by way of __reduce__, like a pickle
