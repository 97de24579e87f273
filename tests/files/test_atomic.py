"""Results appear whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from nmt_cli.errors import OutputError, UsageError
from nmt_cli.files.atomic import MANIFEST, new_directory, new_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def make(path: Path, content: str, *, overwrite: bool = False) -> None:
    with new_directory(path, overwrite=overwrite) as temporary:
        (temporary / MANIFEST).write_text("{}")
        (temporary / "content").write_text(content)


def test_a_directory_appears_when_its_block_ends(tmp_path: Path) -> None:
    with new_directory(tmp_path / "deep" / "out", overwrite=False) as temporary:
        (temporary / "content").write_text("x")
        assert not (tmp_path / "deep" / "out").exists()
    assert names(tmp_path / "deep") == ["out"]
    assert (tmp_path / "deep" / "out" / "content").read_text() == "x"


@pytest.mark.parametrize(
    "problem", [ValueError("x"), KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")]
)
def test_whatever_goes_wrong_nothing_is_left_and_the_old_one_stays(
    tmp_path: Path, problem: BaseException
) -> None:
    make(tmp_path / "out", "old")
    with (
        pytest.raises((ValueError, KeyboardInterrupt, OutputError)),
        new_directory(tmp_path / "out", overwrite=True) as temporary,
    ):
        (temporary / "content").write_text("half")
        raise problem
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "content").read_text() == "old"


def test_an_existing_directory_is_refused_unless_overwrite(tmp_path: Path) -> None:
    make(tmp_path / "out", "old")
    with pytest.raises(UsageError, match="exists already") as caught:
        make(tmp_path / "out", "new")
    assert "--overwrite" in caught.value.hint
    make(tmp_path / "out", "new", overwrite=True)
    assert (tmp_path / "out" / "content").read_text() == "new"
    assert names(tmp_path) == ["out"]


def test_a_directory_that_is_not_ours_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("years of work")
    with pytest.raises(UsageError, match="holds files that are not of this kind"):
        make(tmp_path, "new", overwrite=True)
    assert names(tmp_path) == ["thesis"]


def test_a_directory_that_appeared_meanwhile_is_not_touched(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="not of this kind"),
        new_directory(tmp_path / "out", overwrite=False),
    ):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis").write_text("years of work")
    assert (names(tmp_path), names(tmp_path / "out")) == (["out"], ["thesis"])


def test_the_current_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    for path in (Path(), Path("..")):
        with pytest.raises(UsageError, match="is the directory you are in"):
            make(path, "x", overwrite=True)


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    make(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == ["content", MANIFEST]
    assert names(tmp_path) == ["link", "real"]


def test_what_a_killed_process_was_replacing_comes_back(tmp_path: Path) -> None:
    make(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / ".out.old-999999999")
    with pytest.raises(UsageError, match="exists already"):
        make(tmp_path / "out", "new")
    assert (tmp_path / "out" / "content").read_text() == "old"


def test_an_empty_directory_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    make(tmp_path / "out", "new")
    assert names(tmp_path / "out") == ["content", MANIFEST]


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(UsageError, match="is not a directory"):
        make(tmp_path / "out", "new", overwrite=True)
    with pytest.raises(OutputError, match="cannot write"):
        make(tmp_path / "out" / "deeper", "new")


def test_what_a_killed_process_left_behind_is_removed(tmp_path: Path) -> None:
    dead, living = tmp_path / ".out.partial-999999999", tmp_path / f".out.partial-{os.getppid()}"
    dead.mkdir()
    living.mkdir()
    make(tmp_path / "out", "x")
    assert names(tmp_path) == [living.name, "out"]


def test_a_file_appears_when_its_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "list.tsv"
    path.write_text("old")
    with pytest.raises(ValueError, match="x"), new_file(path) as temporary:
        temporary.write_text("half")
        raise ValueError("x")
    assert (names(tmp_path), path.read_text()) == (["list.tsv"], "old")
    with new_file(path) as temporary:
        temporary.write_text("new")
    assert (names(tmp_path), path.read_text()) == (["list.tsv"], "new")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with new_file(tmp_path / "pipe") as path:
        assert path == tmp_path / "pipe"
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_in_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match="No such file or directory"),
        new_file(tmp_path / "no" / "list") as temporary,
    ):
        temporary.write_text("")
