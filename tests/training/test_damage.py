"""Changed, damaged and hostile data directories, checkpoints and logs: an ordinary error, or no difference at all."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.data.directory import DataDirectory, SplitWriter
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.files import verified
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.training import start
from nmt_cli.vocabulary.token_ids import Ragged

from .conftest import ON_CPU, assert_same, make_data, resume_run, settings, train

LIMITS = ("train.max_updates=4", "train.validate_every=2", "train.log_every=1")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(verified, "_RECENT", -1)


@pytest.fixture
def copy(data: Path, tmp_path: Path) -> Path:
    return shutil.copytree(data, tmp_path / "data")


def sign(folder: Path, name: str) -> None:
    """List a file in the manifest with its hash, as someone who makes such a directory would."""
    content = json.loads((folder / "manifest.json").read_text())
    data = (folder / name).read_bytes()
    content["files"][name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    "name", ["train.arrow", "valid.arrow", "shared.model", "corpora.json", "config.json", "valid.xx"]
)
def test_one_changed_bit_of_the_data_is_found_before_training(copy: Path, tmp_path: Path, name: str) -> None:
    DataDirectory.open(copy)  # which remembers that the large files were intact
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(DirectoryError, match=f"{name} was changed after it was written"):
        train(copy, tmp_path / "run", *LIMITS)
    assert not (tmp_path / "run").exists()


def test_a_link_in_the_data_is_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "valid.xx").rename(tmp_path / "valid.xx")
    (copy / "valid.xx").symlink_to(tmp_path / "valid.xx")
    with pytest.raises(DirectoryError, match=r"valid\.xx is a symbolic link"):
        train(copy, tmp_path / "run", *LIMITS)


@pytest.mark.parametrize(
    "change",
    [
        {"source_lang": "../x"},
        {"target_lang": None},
        {"corpora": [{"name": "a", "start": 0, "stop": 10**9, "weight": 1.0}]},
        {"corpora": [{"name": "a", "start": -1, "stop": 5, "weight": 1.0}]},
        {"corpora": [{"name": "a", "start": 0, "stop": 5, "weight": -1.0}]},
        {"corpora": [{"name": "a", "start": 0, "stop": 5, "weight": "2"}]},
        {"corpora": [3]},
        {"corpora": 3},
    ],
)
def test_hostile_facts_of_data_are_refused(copy: Path, change: dict[str, Any]) -> None:
    content = json.loads((copy / "corpora.json").read_text())
    (copy / "corpora.json").write_text(json.dumps(content | change))
    sign(copy, "corpora.json")
    with pytest.raises(DirectoryError, match=r"the settings in .* cannot be read"):
        DataDirectory.open(copy)


def test_ids_that_are_not_in_the_vocabulary_and_other_files_are_refused(copy: Path) -> None:
    with SplitWriter(copy / "train.arrow", 70_000, 70_000) as writer:
        ids = Ragged.from_rows([[65_000]], "uint16")
        writer.write(["a"], ["b"], ids, ids)
    sign(copy, "train.arrow")
    with pytest.raises(DirectoryError, match="source id is not in the vocabulary"):
        DataDirectory.open(copy)
    for content in (b"", b"x", b"\xff" * 4096):
        (copy / "train.arrow").write_bytes(content)
        sign(copy, "train.arrow")
        with pytest.raises(DirectoryError, match=r"train\.arrow is damaged"):
            DataDirectory.open(copy)


@pytest.mark.parametrize(("link", "side"), [(2, "source"), (1 << 16, "target")])
def test_links_past_the_end_of_a_sentence_are_refused(copy: Path, link: int, side: str) -> None:
    with SplitWriter(copy / "train.arrow", 300, 300, links=True) as writer:
        source, target = Ragged.from_rows([[5], [5, 6]]), Ragged.from_rows([[5, 6], [7]])
        writer.write(["a", "b"], ["a", "b"], source, target, Ragged.from_rows([[1 << 16], [link]], "uint32"))
    sign(copy, "train.arrow")
    with pytest.raises(DirectoryError, match=f"train.arrow is damaged: a link is past the end of its {side}"):
        DataDirectory.open(copy)


def test_damaged_links_are_detected(tmp_path: Path) -> None:
    data = make_data(tmp_path, link=lambda j, count: j)
    content = bytearray((data / "train.arrow").read_bytes())
    position = content.rindex(bytes([1, 0, 1, 0]))  # the link 1-1
    content[position] = 0
    (data / "train.arrow").write_bytes(content)
    with pytest.raises(DirectoryError, match=r"train\.arrow was changed after it was written"):
        DataDirectory.open(data)


def test_a_damaged_log_does_not_prevent_resuming(data: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "run"
    train(data, whole, *LIMITS)
    with start(data, out, settings(*LIMITS), machine=ON_CPU) as trainer:
        for report in trainer.run():
            if getattr(report, "update", 0) == 2:
                trainer.stop()
    log = out / "metrics.jsonl"
    damage = [
        "null",
        "{",
        "[]",
        "{}",
        '{"kind": "step"}',
        '{"kind": "validation", "update": "x", "loss": 1}',
        "\0",
        "1e999",
    ]
    log.write_text("\n".join([*damage, log.read_text(), *damage]))
    resume_run(out)
    assert_same(out, whole)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["progress"].update(epoch=-3),
        lambda content: content["progress"].update(index="x"),
        lambda content: content["progress"].update(best=[[1]]),
        lambda content: content["progress"].update(scores=3),
        lambda content: content["progress"].update(other=3),
        lambda content: content["progress"].update(best=[[77, [1.0, 1.0]]]),
        lambda content: content.update(update=-1),
        lambda content: content.update(progress=[]),
        lambda content: content["files"].update({"state/../../x": {"size": 1, "sha256": "0" * 64}}),
    ],
)
def test_a_hostile_checkpoint_is_an_ordinary_error(
    data: Path, tmp_path: Path, change: Callable[[Any], Any]
) -> None:
    out = tmp_path / "run"
    train(data, out, "train.max_updates=1")
    content = json.loads((out / "state" / "current.json").read_text())
    change(content)
    (out / "state" / "current.json").write_text(json.dumps(content))
    with pytest.raises(DirectoryError, match=r"current\.json"):
        resume_run(out)


def test_a_data_directory_replaces_neither_a_run_nor_data_in_use(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "t.xx").write_text("ba\n" * 9)
    (tmp_path / "t.yy").write_text("BA\n" * 9)

    def overwrite(out: Path) -> None:
        request = PreprocessRequest(
            source_lang="xx",
            target_lang="yy",
            train=[str(tmp_path / "t")],
            out=out,
            settings=settings(),
            overwrite=True,
        )
        preprocess(request, lambda report: None)

    with start(copy, tmp_path / "run", settings(*LIMITS), machine=ON_CPU) as trainer:
        with pytest.raises(UsageError, match="is in use by another process, so it is not overwritten"):
            overwrite(copy)
        with pytest.raises(UsageError, match="is a run directory"):
            overwrite(tmp_path / "run")
        list(trainer.run())
    with pytest.raises(UsageError, match="is a run directory"):
        overwrite(tmp_path / "run")
