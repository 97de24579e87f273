"""A large file is hashed once, and again when it has changed in any way."""

import hashlib
import os
from pathlib import Path

import pytest

from nmt_cli.files import verified


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(verified, "_RECENT", -1)  # a file of a moment ago counts as settled
    path = tmp_path / "train.arrow"
    path.write_bytes(b"content")
    return path


def passes(path: Path, checks: list[str], *, purpose: str = "") -> bool:
    with path.open("rb") as file:
        return verified.is_verified(
            path,
            file.fileno(),
            hashlib.sha256(b"content").hexdigest(),
            purpose=purpose,
            check=lambda: checks.append("checked"),
        )


def test_an_unchanged_file_is_hashed_and_checked_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[str] = []
    assert passes(file, checks)
    monkeypatch.setattr(verified, "_hash", lambda descriptor: pytest.fail("hashed again"))
    assert passes(file, checks)
    assert checks == ["checked"]


def test_a_changed_file_is_found_even_with_its_old_time_and_size(file: Path) -> None:
    assert passes(file, [])
    status = file.stat()
    file.write_bytes(b"c0ntent")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not passes(file, [])


def test_another_purpose_is_another_check(file: Path) -> None:
    checks: list[str] = []
    for purpose in ("ids below 9", "ids below 5", "ids below 9"):
        assert passes(file, checks, purpose=purpose)
    assert len(checks) == 2


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}'])
def test_a_damaged_or_unwritable_memory_is_harmless(file: Path, content: str) -> None:
    cache = file.parent / "cache" / "nmt" / "verified.json"
    cache.parent.mkdir(parents=True)
    cache.write_text(content)
    assert passes(file, [])
    cache.unlink()
    cache.parent.rmdir()
    cache.parent.write_text("a file where a directory should be")
    assert passes(file, [])
