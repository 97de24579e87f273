"""Moses archives: a ZIP file with one text file for each language."""

import zipfile
from pathlib import Path

import pytest

from .conftest import failure, pairs


def archive(path: Path, **files: str | bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return path


def test_both_sides_are_read_from_the_archive(tmp_path: Path) -> None:
    names = {
        "README": "x",
        "Corpus.de-en.de": "b\nd\n",
        "Corpus.de-en.en": "a\nc\n",
        "Corpus.de-en.ids": "1\n",
    }
    path = archive(tmp_path / "de-en.txt.zip", **names)
    assert pairs(path) == [("a", "b"), ("c", "d")]
    assert pairs(path, "de", "en") == [("b", "a"), ("d", "c")]


def test_a_variant_is_found_and_two_are_ambiguous(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"x.en_GB": "a\n", "x.de": "b\n"}
    assert pairs(archive(tmp_path / "x.zip", **files)) == [("a", "b")]
    files["x.en_US"] = "c\n"
    assert "several files for en: x.en_GB, x.en_US" in failure(archive(tmp_path / "y.zip", **files)).message
    files["x.en"] = "d\n"
    assert pairs(archive(tmp_path / "z.zip", **files)) == [("d", "b")]


def test_a_missing_side_is_an_error_that_lists_the_files(tmp_path: Path) -> None:
    error = failure(archive(tmp_path / "x.zip", **{"x.en": "a\n", "x.fr": "b\n"}))
    assert "has no file for de" in error.message
    assert "x.en, x.fr" in error.hint


def test_unequal_line_counts_are_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", **{"x.en": "a\nb\n", "x.de": "c\n"})
    assert failure(path).message == f"{path}: x.en has 2 lines, {path}: x.de has 1"


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", **{"x.en": b"a\n" * (1 << 26), "x.de": b"b\n"})
    assert "expands from" in failure(path).message


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06"])
def test_a_file_that_is_not_an_archive_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    assert "damaged or not a ZIP archive" in failure(tmp_path / "x.zip").message


def test_a_damaged_member_is_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", **{"x.en": "a\n" * 1000, "x.de": "b\n" * 1000})
    content = bytearray(path.read_bytes())
    content[40] ^= 0xFF
    path.write_bytes(bytes(content))
    assert "damaged" in failure(path).message
