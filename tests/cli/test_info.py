"""`nmt info`: the machine, a run, and a table of runs."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli import __version__
from nmt_cli.files.manifest import write_manifest
from nmt_cli.info.runs import run_info
from nmt_cli.run import RunDirectory

from ..translator.runs import make_run  # noqa: TID252 - tests are no package
from .conftest import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("runs") / "run")
    (run / "valid.yy").write_text("ba\nbe\n")
    write_manifest(run, "run")
    measured = {"loss": 2.2, "score": 12.5, "bleu_signature": "nrefs:1"}
    metrics = [
        {"kind": "step", "update": 5, "loss": 2.2, "perplexity": 9.0, "seconds": 36.0},
        {
            "kind": "validation",
            "update": 5,
            "epoch": 1,
            "best": True,
            "bleu": 12.5,
            "perplexity": 9.0,
            **measured,
        },
        {
            "kind": "validation",
            "update": 9,
            "epoch": 2,
            "best": False,
            "bleu": 11.0,
            "perplexity": None,
            **measured,
        },
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in metrics))
    return run


def test_a_run_is_described_without_torch(run: Path) -> None:
    script = (
        "import sys\n"
        "from nmt_cli.cli.app import app\n"
        f"try: app(['info', {str(run)!r}])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for text in (
        "xx → yy",
        "luong2015",
        "BLEU 12.50",
        "model.hidden_size = 24",
        "2 for validation",
        "update 5",
    ):
        assert text in done.stdout


def test_the_number_of_parameters_is_that_of_the_model(run: Path) -> None:
    model = RunDirectory.open(run).load_model()
    assert run_info(run).parameters == sum(parameter.numel() for parameter in model.parameters())


def test_several_runs_are_a_table_and_directories_are_searched(nmt: Run, run: Path) -> None:
    make_run(run.parent / "more" / "other")
    table = nmt("info", run.parent).stdout.splitlines()
    assert [Path(line.split()[0]).name for line in table[1:]] == ["run", "other"]
    objects = json.loads(nmt("info", run.parent, "--json").stdout)
    assert [Path(one["path"]).name for one in objects] == ["run", "other"]
    assert objects[0]["validation"] == {"bleu": 12.5, "perplexity": 9.0}
    assert objects[1]["update"] is None


def test_files_and_other_directories_next_to_runs_are_skipped(nmt: Run, run: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text("{}")
    (tmp_path / "data").mkdir()
    write_manifest(tmp_path / "data", "data")
    (tmp_path / "empty").mkdir()
    others = [tmp_path / name for name in ("recipe.json", "data", "empty")]
    objects = json.loads(nmt("info", *others, run, "--json").stdout)
    assert [one["path"] for one in objects] == [str(run)]
    assert nmt("info", run, tmp_path / "nowhere").code == 1
    assert "is a data directory" in nmt("info", tmp_path / "data").error


def test_the_machine_is_described_without_secrets(nmt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    shown, content = nmt("info").stdout, nmt("info", "--json").stdout
    assert "hf_secret" not in shown + content
    machine = json.loads(content)
    assert machine["nmt"] == __version__
    assert machine["environment"]["OMP_WAIT_POLICY"] == "PASSIVE"
    assert machine["packages"]["torch"] in shown
    assert machine["cores"] >= 1


def test_what_is_not_a_run_is_an_error(nmt: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file, not a run directory" in nmt("info", tmp_path / "file").error
    assert "there is no directory" in nmt("info", tmp_path / "nowhere").error
    assert nmt("info", tmp_path).code == 1


def test_a_changed_run_is_an_error(nmt: Run, run: Path, tmp_path: Path) -> None:
    for name in ("run.json", "config.json", "valid.yy", "model.safetensors"):
        copy = Path(shutil.copytree(run, tmp_path / name))
        content = bytearray((copy / name).read_bytes())
        content[len(content) // 2] ^= 1
        (copy / name).write_bytes(content)
        assert f"{name} was changed after it was written" in nmt("info", copy).error


def test_a_pipe_in_place_of_a_manifest_is_neither_waited_for_nor_a_run(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "manifest.json")
    assert len(json.loads(nmt("info", tmp_path, "--json").stdout)) == 1
    assert "a pipe" in nmt("info", tmp_path / "pipe").error


def test_the_data_of_a_run_is_read_only_if_it_is_the_recorded_one(run: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "corpora.json").write_text('{"corpora": [{"start": 0, "stop": 7}]}')
    write_manifest(data, "data")
    copy = Path(shutil.copytree(run, tmp_path / "run"))

    def pairs(sha256: str) -> int | None:
        facts = {"source_lang": "xx", "target_lang": "yy", "data": str(data), "data_sha256": sha256}
        (copy / "run.json").write_text(json.dumps(facts))
        write_manifest(copy, "run")
        return run_info(copy).training_pairs

    assert pairs("0" * 64) is None
    assert pairs(hashlib.sha256((data / "manifest.json").read_bytes()).hexdigest()) == 7
    (data / "corpora.json").write_text('{"corpora": [{"start": 0, "stop": 8}]}')
    assert run_info(copy).training_pairs is None
