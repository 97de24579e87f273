"""A run directory from an archive: whatever tar lets through, no command leaves the directory."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fork_server import ForkServer
from tests.fuzz.originals import KINDS, Originals
from tests.fuzz.trial import Verdict, run_mutated

Member = tuple[str, bytes, str]  # name, type, and where a link points

MEMBERS: dict[str, list[Member]] = {
    "a link to a file of the user": [("run/scores.jsonl", tarfile.SYMTYPE, "../../outside/home/.bashrc")],
    "a link to a file that does not exist": [("run/scores.jsonl", tarfile.SYMTYPE, "../../outside/home/new")],
    "a model card that is a link": [("run/README.md", tarfile.SYMTYPE, "../../outside/home/README.md")],
    "a lock that is a link": [("run/lock", tarfile.SYMTYPE, "../../outside/home/lock")],
    "a state folder that is a link": [("run/state", tarfile.SYMTYPE, "../../outside/home/state")],
    "a checkpoint folder that is a link": [("run/checkpoints", tarfile.SYMTYPE, "../../outside/home")],
    "a file behind a link": [
        ("run/extra", tarfile.SYMTYPE, "../../outside/home"),
        ("run/extra/new", tarfile.REGTYPE, ""),
    ],
    "a hard link to a file of the user": [("run/scores.jsonl", tarfile.LNKTYPE, "../outside/home/.bashrc")],
    "a FIFO": [("run/metrics.jsonl", tarfile.FIFOTYPE, "")],
    "a device": [("run/samples.json", tarfile.CHRTYPE, "")],
    "an absolute name": [("/run/absolute", tarfile.REGTYPE, "")],
    "a name that leads outside": [("run/../../outside/home/new", tarfile.REGTYPE, "")],
    "a name with escape sequences": [("run/\x1b[2J\x1b]0;owned\x07", tarfile.REGTYPE, "")],
    "a name with a line break": [("run/a\nerror: b", tarfile.REGTYPE, "")],
    "a temporary file that is a link": [("run/.x.partial-1", tarfile.SYMTYPE, "../../outside/home/.bashrc")],
    "a temporary folder that is a link": [("run/state/.x.partial-1", tarfile.SYMTYPE, "../../outside/home")],
}


def unpack(original: Path, members: list[Member], directory: Path) -> None:
    """Pack an intact run with other members in place of its own, and unpack it as a user would."""
    archive = directory.parent / "model.tar"
    replaced = {name for name, _, _ in members}
    with tarfile.open(archive, "w") as tar:
        tar.add(original, "run", filter=lambda info: None if info.name in replaced else info)
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.devmajor, info.devminor = kind, target, 1, 5
            content = b"owned\n" if kind == tarfile.REGTYPE else b""
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    shutil.rmtree(directory)
    # Members that tar refuses make it fail; what it has unpacked is what the user has.
    subprocess.run(["tar", "-xf", archive], cwd=directory.parent, capture_output=True, check=False)
    archive.unlink()


@pytest.fixture
def on_archive(originals: Originals, server: ForkServer, tmp_path: Path) -> Callable[[str, str], Verdict]:
    def run(name: str, command: str) -> Verdict:
        def mutate(directory: Path, outside: Path) -> bool:
            unpack(originals.folder / "run", MEMBERS[name], directory)
            return True

        kind, intact = KINDS["run"], originals.results["run", command]
        return run_mutated(
            kind.commands[command], "run", mutate, originals.folder, server, tmp_path / command, intact
        )

    return run


@pytest.mark.skipif(shutil.which("tar") is None, reason="tar is not installed")
@pytest.mark.parametrize("name", MEMBERS)
def test_no_command_leaves_a_directory_from_an_archive(
    name: str, on_archive: Callable[[str, str], Verdict]
) -> None:
    for command in ("evaluate", "resume"):  # those that write to it
        verdict = on_archive(name, command)
        assert not verdict.is_finding, f"{command}: {verdict.name}\n{verdict.details}"


def test_an_intact_archive_is_harmless(
    on_archive: Callable[[str, str], Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MEMBERS, "nothing", [])
    assert on_archive("nothing", "translate").name == "harmless"
