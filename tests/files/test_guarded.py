"""Nothing in a directory makes nmt read, write or delete outside it."""

import json
import os
from pathlib import Path

import pytest

from nmt_cli.errors import DirectoryError
from nmt_cli.files.guarded import GuardedDirectory, parse_json


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "bashrc"
    path.write_text("mine\n")
    return path


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    return path


@pytest.mark.parametrize("act", ["read", "write", "append", "exists", "check"])
def test_a_link_is_neither_read_nor_written_through(inside: Path, outside: Path, act: str) -> None:
    (inside / "scores.jsonl").symlink_to(outside)
    directory = GuardedDirectory(inside)
    arguments = {"write": ("scores.jsonl", b"x"), "append": ("scores.jsonl", b"x\n"), "check": ()}
    with pytest.raises(DirectoryError, match=r"scores\.jsonl is a symbolic link"):
        getattr(directory, act)(*arguments.get(act, ("scores.jsonl",)))
    assert outside.read_text() == "mine\n"


def test_a_dangling_link_creates_nothing(inside: Path, tmp_path: Path) -> None:
    (inside / "lock").symlink_to(tmp_path / "new")
    with (
        pytest.raises(DirectoryError, match="is a symbolic link"),
        GuardedDirectory(inside).open("lock", os.O_RDWR | os.O_CREAT),
    ):
        pass
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_a_link_is_refused(inside: Path, outside: Path) -> None:
    (inside / "state").symlink_to(outside.parent)
    directory = GuardedDirectory(inside)
    for act in (lambda: directory.remove("state/bashrc"), lambda: directory.write("state/bashrc", b"x")):
        with pytest.raises(DirectoryError, match="state is a symbolic link"):
            act()
    assert outside.read_text() == "mine\n"


@pytest.mark.parametrize("name", ["../bashrc", "/etc/passwd", "a/../../bashrc", "x\0y", ""])
def test_a_name_that_leads_out_is_refused(inside: Path, outside: Path, name: str) -> None:
    with pytest.raises(DirectoryError, match="outside it"):
        GuardedDirectory(inside).read(name)


def test_a_pipe_is_refused_without_waiting_for_its_writer(inside: Path) -> None:
    os.mkfifo(inside / "run.json")
    for act in (GuardedDirectory(inside).check, lambda: GuardedDirectory(inside).read("run.json")):
        with pytest.raises(DirectoryError, match=r"run\.json is a pipe"):
            act()


def test_a_hard_link_is_replaced_and_its_other_name_keeps_its_content(inside: Path, outside: Path) -> None:
    os.link(outside, inside / "scores.jsonl")
    GuardedDirectory(inside).append("scores.jsonl", b"{}\n")
    assert outside.read_text() == "mine\n"
    assert (inside / "scores.jsonl").read_text() == "mine\n{}\n"


def test_the_directory_itself_may_be_reached_through_a_link(inside: Path, tmp_path: Path) -> None:
    (tmp_path / "best").symlink_to(inside)
    directory = GuardedDirectory(tmp_path / "best")
    directory.write("a", b"x")
    directory.check()
    assert directory.read("a") == b"x"


def test_a_write_removes_what_killed_processes_left_of_the_same_file(inside: Path) -> None:
    living = f".a.partial-{os.getppid()}"
    for name in (".a.partial-999999999", ".b.partial-999999999", living):
        (inside / name).write_text("half")
    GuardedDirectory(inside).write("a", b"x")
    assert sorted(path.name for path in inside.iterdir()) == sorted(["a", ".b.partial-999999999", living])


@pytest.mark.parametrize(
    "text", ["1e999", "[" * 100_000, "NaN", "-Infinity", '{"a": 1', "9" * 5000, "9" * 400, b"\xff", "[1] [2]"]
)
def test_hostile_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever its text
        parse_json(text if isinstance(text, bytes) else text.encode())


def test_json_is_read_back(inside: Path) -> None:
    content = {"a": [1, 2.5, None, "ä"]}
    GuardedDirectory(inside).write_json("a.json", content)
    assert (
        GuardedDirectory(inside).read_json("a.json") == content == json.loads((inside / "a.json").read_text())
    )
