"""A better model replaces the old one while others read it: there is one at every moment."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.errors import DirectoryError, OutputError
from nmt_cli.files import guarded
from nmt_cli.files.manifest import Manifest, write_manifest
from nmt_cli.run import RunDirectory

from ..translator.runs import make_run  # noqa: TID252 - tests are no package

CONTENTS = [bytes([65 + number]) * (1000 + 100 * number) for number in range(4)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    (path / "run.json").write_text("{}")
    (path / "model.safetensors").write_bytes(CONTENTS[0])
    write_manifest(path, "run", ["run.json", "model.safetensors"])
    return path


class Death(BaseException):
    """What nobody catches."""


def dying(patch: pytest.MonkeyPatch, moment: int) -> None:
    """Everything ends at this number of writes, fsyncs, renames and unlinks; nothing can be cleaned up then."""
    done = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            done += 1
            if done > moment:
                raise Death
            return function(*arguments, **options)

        return call

    for name in ("write", "fsync", "rename", "unlink"):
        patch.setattr(os, name, counted(getattr(os, name)))


def test_a_crash_at_any_step_leaves_the_old_or_the_new_model(folder: Path) -> None:
    moment, found = 0, set()
    while True:
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, moment)
            try:
                Manifest.open(folder, "run").publish("model.safetensors", CONTENTS[1])
                finished = True
            except Death:
                finished = False
        manifest = Manifest.open(folder, "run")
        content = manifest.read("model.safetensors")
        assert content in CONTENTS[:2]
        found.add(content)
        assert manifest.read("run.json") == b"{}"
        if finished:
            break
        manifest.publish("model.safetensors", CONTENTS[0])  # as resume does
        assert Manifest.open(folder, "run").read("model.safetensors") == CONTENTS[0]
        moment += 1
    assert moment >= 6
    assert found == set(CONTENTS[:2])
    assert sorted(path.name for path in folder.iterdir() if ".partial-" not in path.name) == [
        "manifest.json",
        "model.safetensors",
        "run.json",
    ]
    assert (folder / "model.safetensors").read_bytes() == CONTENTS[1]


def test_readers_always_find_a_model_while_others_are_published(folder: Path) -> None:
    errors: list[BaseException] = []
    done = threading.Event()
    reads = 0
    contents = [CONTENTS[0], *(f"{number:04d}".encode() * (100 + number % 7) for number in range(300))]

    def read() -> None:
        nonlocal reads
        try:
            while not done.is_set():
                assert Manifest.open(folder, "run").read("model.safetensors") in contents
                reads += 1
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    manifest = Manifest.open(folder, "run")
    for content in contents[1:]:
        manifest.publish("model.safetensors", content)
    done.set()
    for reader in readers:
        reader.join()
    assert not errors
    assert reads > 0


def test_a_reader_with_the_old_manifest_finds_the_new_model(folder: Path) -> None:
    reader = Manifest.open(folder, "run")
    Manifest.open(folder, "run").publish("model.safetensors", CONTENTS[1])
    assert reader.read("model.safetensors") == CONTENTS[1]


def test_a_full_disk_keeps_the_old_model_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder / "manifest.json").read_bytes()
    for failing in ("model-", "manifest.json"):
        create = guarded.create

        def full(at: int, name: str, content: bytes, failing: str = failing, create: Any = create) -> None:
            create(at, name, content[:100])
            if failing in name:
                raise OSError(28, "No space left on device")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(guarded, "create", full)
            with pytest.raises(OutputError, match="No space left"):
                Manifest.open(folder, "run").publish("model.safetensors", CONTENTS[1])
        assert (folder / "manifest.json").read_bytes() == before
        assert sorted(path.name for path in folder.iterdir()) == [
            "manifest.json",
            "model.safetensors",
            "run.json",
        ]
        assert Manifest.open(folder, "run").read("model.safetensors") == CONTENTS[0]


def test_publishing_does_not_accept_a_file_that_was_changed_in_the_meantime(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    run = RunDirectory.open(path)
    model = (path / "shared.model").read_bytes()
    (path / "shared.model").write_bytes(model[:-1] + bytes([model[-1] ^ 1]))
    run.publish("config.json", run.resolved.to_json().encode() + b"\n")
    with pytest.raises(DirectoryError, match=r"shared\.model was changed"):
        RunDirectory.open(path).load_model()


def test_the_manifest_has_the_format_of_before(folder: Path) -> None:
    Manifest.open(folder, "run").publish("model.safetensors", CONTENTS[1])
    content = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, "run", ["run.json", "model.safetensors"])
    assert json.loads((folder / "manifest.json").read_text()) == content
