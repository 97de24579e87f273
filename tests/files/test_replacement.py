"""`--overwrite` replaces only what nmt wrote, of the same kind, and not in use."""

from pathlib import Path

import pytest

from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import MANIFEST, check_new_directory
from nmt_cli.files.manifest import data_refusal, demo_refusal, run_refusal, write_manifest


def make(path: Path, kind: str, *names: str) -> Path:
    path.mkdir()
    for name in names:
        (path / name).write_text("x")
    write_manifest(path, kind)
    return path


def test_a_directory_of_the_same_kind_may_be_replaced(tmp_path: Path) -> None:
    for kind, refusal in (("data", data_refusal), ("run", run_refusal), ("demo", demo_refusal)):
        path = make(tmp_path / kind, kind, "a")
        assert refusal(path) is None
        for other in {data_refusal, run_refusal, demo_refusal} - {refusal}:
            assert f"is a {kind} directory" in (other(path) or "")


@pytest.mark.parametrize("content", ['{"name": "web app", "icons": []}', "{", "[]"])
def test_the_manifest_of_another_program_is_not_ours(tmp_path: Path, content: str) -> None:
    (tmp_path / MANIFEST).write_text(content)
    for refusal in (data_refusal, run_refusal, demo_refusal):
        assert "that nmt wrote" in (refusal(tmp_path) or "")


def test_a_file_that_nmt_did_not_write_protects_its_directory(tmp_path: Path) -> None:
    path = make(tmp_path / "data", "data", "a")
    (path / "notes").mkdir()
    (path / "notes" / "thesis.txt").write_text("years of work")
    assert data_refusal(path) == "contains notes/thesis.txt, which nmt did not write"


def test_the_logs_and_checkpoints_of_a_run_are_known(tmp_path: Path) -> None:
    path = make(tmp_path / "run", "run", "run.json")
    for name in (
        "state/current.json",
        "state/update-00000001.safetensors",
        "checkpoints/update-00000001.safetensors",
    ):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("")
    for name in ("README.md", "metrics.jsonl", "scores.jsonl", "samples.json", "curves.svg", "lock"):
        (path / name).write_text("")
    assert run_refusal(path) is None
    (path / "state" / "mine.txt").write_text("")
    assert "state/mine.txt" in (run_refusal(path) or "")


def test_data_that_is_mapped_is_in_use(tmp_path: Path) -> None:
    from nmt_cli.data.split import Split, SplitWriter

    folder = tmp_path / "data"
    folder.mkdir()
    SplitWriter(folder / "train.arrow", 9, 9).close()
    write_manifest(folder, "data")
    split = Split.open(folder / "train.arrow")
    assert data_refusal(folder) == "is in use by another process"
    del split
    assert data_refusal(folder) is None


def test_root_home_and_their_parents_are_never_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "me"))
    (tmp_path / "home" / "me").mkdir(parents=True)
    for path in (Path("/"), tmp_path / "home" / "me", tmp_path / "home"):
        with pytest.raises(UsageError, match=r"is (the root|your home) directory"):
            check_new_directory(path, overwrite=True, refusal=lambda path: None)
