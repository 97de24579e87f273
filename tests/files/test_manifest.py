import json
from pathlib import Path

import pytest

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import MANIFEST
from nmt_cli.files.manifest import FORMAT, check_manifest, write_manifest


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "sub/b.txt").write_text("world")
    write_manifest(tmp_path, "data")
    return tmp_path


def change(directory: Path, **values: object) -> None:
    path = directory / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_an_untouched_directory_passes(directory: Path) -> None:
    check_manifest(directory, "data", hashes=True)
    assert set(json.loads((directory / MANIFEST).read_text())["files"]) == {"a.txt", "sub/b.txt"}


def test_the_same_files_give_the_same_manifest(directory: Path) -> None:
    before = (directory / MANIFEST).read_bytes()
    write_manifest(directory, "data")
    assert (directory / MANIFEST).read_bytes() == before


def test_only_the_named_files_are_checked(directory: Path) -> None:
    write_manifest(directory, "run", ["a.txt"])
    (directory / "sub/b.txt").unlink()
    check_manifest(directory, "run", hashes=True)


def test_a_missing_directory_or_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(DirectoryError, match="there is no directory"):
        check_manifest(tmp_path / "none", "data")
    with pytest.raises(DirectoryError, match=r"has no manifest\.json") as failed:
        check_manifest(tmp_path, "data")
    assert "nmt preprocess" in failed.value.hint


def test_a_missing_file_is_named(directory: Path) -> None:
    (directory / "sub/b.txt").unlink()
    with pytest.raises(DirectoryError, match=r"b\.txt is missing"):
        check_manifest(directory, "data")


def test_a_truncated_file_is_named(directory: Path) -> None:
    (directory / "a.txt").write_text("hel")
    with pytest.raises(DirectoryError, match=r"a\.txt is truncated: 3 of 5 bytes"):
        check_manifest(directory, "data")


def test_a_changed_file_of_the_same_size_is_found_by_its_hash(directory: Path) -> None:
    (directory / "a.txt").write_text("HELLO")
    check_manifest(directory, "data")
    with pytest.raises(DirectoryError, match=r"a\.txt was changed"):
        check_manifest(directory, "data", hashes=True)


def test_a_newer_format_says_upgrade(directory: Path) -> None:
    change(directory, format=FORMAT + 1)
    with pytest.raises(DirectoryError, match=f"has format {FORMAT + 1}") as failed:
        check_manifest(directory, "data")
    assert "upgrade" in failed.value.hint


def test_another_kind_of_directory_is_refused(directory: Path) -> None:
    with pytest.raises(DirectoryError, match="is a data directory"):
        check_manifest(directory, "run")


@pytest.mark.parametrize(
    "values",
    [
        {"format": "x"},
        {"files": 3},
        {"files": {"a.txt": {}}},
        {"files": {"../a.txt": {"size": 1, "sha256": ""}}},
        {"files": {"/etc/passwd": {"size": 1, "sha256": ""}}},
    ],
)
def test_a_damaged_manifest_is_refused(directory: Path, values: dict[str, object]) -> None:
    change(directory, **values)
    with pytest.raises(DirectoryError, match="is damaged"):
        check_manifest(directory, "data")


@pytest.mark.parametrize("text", ["", "[]", "{", "3", "\ud800".encode("utf-8", "surrogatepass")])
def test_a_file_that_is_not_a_manifest_is_refused(directory: Path, text: str | bytes) -> None:
    (directory / MANIFEST).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DirectoryError, match="is damaged"):
        check_manifest(directory, "data")
