"""A run or data directory from a stranger: an ordinary error or an ordinary result, and nothing else changes."""

import hashlib
import json
import os
import resource
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt_cli.cli.display.console import printable
from nmt_cli.run import RunDirectory
from nmt_cli.run.weights import parse_tensors, tensor_bytes

from ..translator.runs import make_run  # noqa: TID252 - tests are no package
from .conftest import Outcome, Run

KINDS = ("plain", "json", "markdown")
TEXT = "ba da.\nfu mo.\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("runs") / "run", prefers_bytes=False)
    for name in ("test.xx", "test.yy"):
        (run / name).write_text(TEXT)
        sign(run, name)
    return run


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "run")


def sign(run: Path, name: str) -> None:
    """List a file in the manifest with its hash, as someone who makes such a directory would."""
    content = json.loads((run / "manifest.json").read_text())
    data = (run / name).read_bytes()
    content["files"][name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (run / "manifest.json").write_text(json.dumps(content))


def edit(run: Path, name: str, change: Callable[[Any], Any]) -> None:
    content = json.loads((run / name).read_text())
    changed = change(content)
    (run / name).write_text(changed if isinstance(changed, str) else json.dumps(content))
    if name != "manifest.json":
        sign(run, name)


def refused(outcome: Outcome, part: str) -> None:
    assert outcome.code in (1, 2)
    assert part in outcome.error
    assert "internal error" not in outcome.stderr
    assert outcome.hint
    assert len(outcome.error) < 1000


@pytest.mark.parametrize(
    "name", ["scores.jsonl", "README.md", "lock", "test.xx", "notes", "state", "model.safetensors"]
)
def test_a_link_in_a_run_is_refused_and_its_target_is_not_touched(
    nmt: Run, run: Path, tmp_path: Path, name: str
) -> None:
    target = tmp_path / "bashrc"
    target.write_text("mine\n")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(target)
    for command in (("evaluate", run), ("translate", run), ("average", run, run, "--out", tmp_path / "new")):
        refused(nmt(*command, stdin="ba\n"), f"{name} is a symbolic link")
    assert target.read_text() == "mine\n"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["shared.model", "config.json", "run.json", "model.safetensors", "test.yy"])
def test_one_changed_bit_of_any_file_is_found_when_the_file_is_used(nmt: Run, run: Path, name: str) -> None:
    data = bytearray((run / name).read_bytes())
    data[len(data) // 2] ^= 1
    (run / name).write_bytes(data)
    refused(nmt("evaluate", run, "--no-record"), f"{name} was changed after it was written")


def test_a_file_that_the_manifest_does_not_list_is_not_used(nmt: Run, run: Path) -> None:
    before = nmt("translate", run, stdin=TEXT).stdout
    (run / "normalization.tsv").write_text("ba\tfu\n")
    assert nmt("translate", run, stdin=TEXT).stdout == before
    sign(run, "normalization.tsv")
    assert nmt("translate", run, stdin=TEXT).stdout != before


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("run.json", lambda content: content.update(source_lang="../../etc")),
        ("run.json", lambda content: content.update(target_lang=3)),
        ("run.json", lambda content: content.update(data="a\0b")),
        ("run.json", lambda content: content.update(data_sha256="$(touch /tmp/x)")),
        ("run.json", lambda content: content.update(extra=1)),
        ("run.json", lambda content: "[" * 100_000),
        ("run.json", lambda content: "[]"),
        ("config.json", lambda content: content["settings"]["model"].update(hidden_size=10**9)),
        ("config.json", lambda content: content["settings"]["model"].update(hidden_size=10**30)),
        ("config.json", lambda content: content["settings"]["model"].update(encoder_layers=10**9)),
        ("config.json", lambda content: content["settings"]["model"].update(hidden_size=[])),
        ("config.json", lambda content: content["settings"]["search"].update(length_penalty="1e999")),
        (
            "config.json",
            lambda content: json.dumps(content).replace('"length_penalty": 1.0', '"length_penalty": 1e999'),
        ),
        ("config.json", lambda content: content.update(provenance=3)),
        ("config.json", lambda content: content.update(settings=None)),
        ("manifest.json", lambda content: content.update(format=True)),
        ("manifest.json", lambda content: content["files"].update({"a\0b": {"size": 1, "sha256": "0" * 64}})),
        ("manifest.json", lambda content: content["files"]["run.json"].update(size=-1)),
        ("manifest.json", lambda content: content["files"]["run.json"].update(sha256="x")),
        ("manifest.json", lambda content: content["files"].pop("config.json") and None),
    ],
)
def test_hostile_json_is_an_ordinary_error(
    nmt: Run, run: Path, name: str, change: Callable[[Any], Any]
) -> None:
    edit(run, name, change)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(nmt("translate", run, stdin="ba\n"), str(run))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kilobytes


def test_integer_weights_and_hostile_headers_are_refused(nmt: Run, run: Path) -> None:
    path = run / "model.safetensors"
    content = path.read_bytes()
    tensors = parse_tensors(content, path, hint="")
    name = next(iter(tensors))
    tensors[name] = tensors[name].to(torch.int32)
    path.write_bytes(tensor_bytes(tensors))
    sign(run, path.name)
    refused(nmt("translate", run, stdin="ba\n"), f"{name} has type I32 instead of F32")
    for header in (b"[" * 100_000, b"{}", b'{"a": 3}', b'{"a": {"shape": [1e999], "dtype": "F32"}}'):
        path.write_bytes(struct.pack("<Q", len(header)) + header)
        sign(run, path.name)
        refused(nmt("translate", run, stdin="ba\n"), "model.safetensors")
    path.write_bytes(struct.pack("<Q", 2**63) + content)
    sign(run, path.name)
    refused(nmt("translate", run, stdin="ba\n"), "not a safetensors file")


def test_text_that_is_not_utf8_is_an_ordinary_error(nmt: Run, run: Path) -> None:
    (run / "test.yy").write_bytes(b"\xff\n\xff\n")
    sign(run, "test.yy")
    refused(nmt("evaluate", run), "test.yy is not UTF-8")


def test_a_damaged_line_of_scores_does_not_prevent_recording(nmt: Run, run: Path) -> None:
    sha256 = RunDirectory.open(run).model_sha256
    lines = [
        "null",
        "[]",
        "{",
        json.dumps({"model_sha256": sha256}),
        json.dumps({"model_sha256": sha256, "scores": 3}),
    ]
    (run / "scores.jsonl").write_text("\n".join(lines) + "\n")
    outcome = nmt("evaluate", run)
    assert outcome.code == 0, outcome.stderr
    assert "| BLEU |" in (run / "README.md").read_text()


def test_escape_sequences_of_names_and_contents_do_not_reach_the_terminal(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    evil = tmp_path / "\x1b[31mred\x07\x9b2J"
    run.rename(evil)
    edit(evil, "run.json", lambda content: content.update(source_lang="\x1b]0;x\x07"))
    for command in (("translate", evil), ("evaluate", evil), ("translate", tmp_path / "\x1b[2Jnone")):
        outcome = nmt(*command, stdin="ba\n")
        assert outcome.code
        assert not {"\x1b", "\x07", "\x9b"} & set(outcome.stderr + outcome.stdout)
        assert "\\x1b" in outcome.stderr


def test_results_of_a_run_with_escape_sequences_in_its_name_are_printed_without_them(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    evil = run.rename(tmp_path / "\x1b[31mred\x9b2J\u202e")
    for command in (
        ("info",),
        ("info", "--json"),
        ("evaluate",),
        *(("evaluate", f"--{kind}") for kind in KINDS),
    ):
        outcome = nmt(command[0], evil, *command[1:])
        assert outcome.code == 0, outcome.stderr
        assert not set("\x1b\x9b\u202e") & set(outcome.stdout + outcome.stderr)
    assert json.loads(nmt("info", evil, "--json").stdout)[0]["path"] == str(evil)


def test_ordinary_text_is_printed_as_it_is() -> None:
    assert printable("Grüße 你好 a\u00a0b 👩\u200d🔬\n\tx") == "Grüße 你好 a\u00a0b 👩\u200d🔬\n\tx"
    assert printable("a\rb\u202ec\udcff") == "a\\rb\\u202ec\\udcff"


def test_a_pipe_or_device_in_a_run_is_refused(nmt: Run, run: Path) -> None:
    (run / "run.json").unlink()
    os.mkfifo(run / "run.json")
    refused(nmt("translate", run, stdin="ba\n"), "run.json is a pipe")


def test_a_link_or_a_pipe_in_an_exported_folder_is_refused(nmt: Run, tmp_path: Path) -> None:
    folder, manifest = tmp_path / "exported", json.dumps({"format": 1, "kind": "export", "files": {}})
    folder.mkdir()
    (folder / "manifest.json").write_text(manifest)
    (folder / "notes").symlink_to(tmp_path / "elsewhere")
    for command in ("translate", "evaluate"):
        refused(nmt(command, folder, stdin="ba\n"), "notes is a symbolic link")
    (folder / "notes").unlink()
    (folder / "manifest.json").rename(tmp_path / "manifest.json")
    (folder / "manifest.json").symlink_to(tmp_path / "manifest.json")
    refused(nmt("translate", folder, stdin="ba\n"), "manifest.json is a symbolic link")
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")
    refused(nmt("translate", folder, stdin="ba\n"), "manifest.json is a pipe")
