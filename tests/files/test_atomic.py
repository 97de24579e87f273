"""A file or directory is complete or does not exist."""

import errno
import os
from pathlib import Path

import pytest

from nmt_cli.errors import OutputError, UsageError
from nmt_cli.files.atomic import MANIFEST, new_directory, new_file
from nmt_cli.files.manifest import data_refusal, write_manifest


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def make(path: Path, content: str, *, overwrite: bool = False) -> None:
    with new_directory(path, overwrite=overwrite, refusal=data_refusal) as temporary:
        (temporary / "content").write_text(content)
        write_manifest(temporary, "data")


def test_a_directory_appears_when_its_block_ends(tmp_path: Path) -> None:
    with new_directory(tmp_path / "deep" / "out", overwrite=False, refusal=data_refusal) as temporary:
        (temporary / "content").write_text("x")
        assert not (tmp_path / "deep" / "out").exists()
    assert names(tmp_path / "deep") == ["out"]
    assert (tmp_path / "deep" / "out" / "content").read_text() == "x"


@pytest.mark.parametrize(
    "problem", [ValueError("x"), KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")]
)
def test_a_failure_leaves_nothing_behind_and_keeps_the_old_directory(
    tmp_path: Path, problem: BaseException
) -> None:
    make(tmp_path / "out", "old")
    with (
        pytest.raises((ValueError, KeyboardInterrupt, OutputError)),
        new_directory(tmp_path / "out", overwrite=True, refusal=data_refusal) as temporary,
    ):
        (temporary / "content").write_text("half")
        raise problem
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "content").read_text() == "old"


def test_an_existing_directory_is_refused_unless_overwrite(tmp_path: Path) -> None:
    make(tmp_path / "out", "old")
    with pytest.raises(UsageError, match="already exists") as caught:
        make(tmp_path / "out", "new")
    assert "--overwrite" in caught.value.hint
    make(tmp_path / "out", "new", overwrite=True)
    assert (tmp_path / "out" / "content").read_text() == "new"
    assert names(tmp_path) == ["out"]


def test_a_directory_with_other_files_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("years of work")
    with pytest.raises(UsageError, match="contains other files"):
        make(tmp_path, "new", overwrite=True)
    assert names(tmp_path) == ["thesis"]


def test_a_directory_that_appears_in_the_meantime_is_not_touched(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="contains other files"),
        new_directory(tmp_path / "out", overwrite=False, refusal=data_refusal),
    ):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis").write_text("years of work")
    assert (names(tmp_path), names(tmp_path / "out")) == (["out"], ["thesis"])


def test_the_current_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    for path in (Path(), Path("..")):
        with pytest.raises(UsageError, match="is the current directory"):
            make(path, "x", overwrite=True)


def test_a_symbolic_link_is_kept_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    make(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == ["content", MANIFEST]
    assert names(tmp_path) == ["link", "real"]


def test_a_directory_that_a_killed_process_was_replacing_is_restored(tmp_path: Path) -> None:
    make(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / ".out.old-999999999")
    with pytest.raises(UsageError, match="already exists"):
        make(tmp_path / "out", "new")
    assert (tmp_path / "out" / "content").read_text() == "old"


def test_an_empty_directory_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    make(tmp_path / "out", "new")
    assert names(tmp_path / "out") == ["content", MANIFEST]


def test_a_file_at_the_path_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(UsageError, match="is not a directory"):
        make(tmp_path / "out", "new", overwrite=True)
    with pytest.raises(OutputError, match="cannot write"):
        make(tmp_path / "out" / "deeper", "new")


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
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


def test_a_full_device_is_an_error_that_names_it() -> None:
    with pytest.raises(OutputError, match="cannot write /dev/full"), new_file(Path("/dev/full")) as path:
        path.write_text("x")


def test_a_link_in_the_place_of_the_temporary_file_is_removed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f".out.partial-{os.getpid()}").symlink_to(tmp_path / "mine")
    with new_file(tmp_path / "out") as path:
        path.write_text("new")
    assert (tmp_path / "mine").read_text() == "mine"
    assert names(tmp_path) == ["mine", "out"]


def test_a_file_in_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match="No such file or directory"),
        new_file(tmp_path / "no" / "list") as temporary,
    ):
        temporary.write_text("")
