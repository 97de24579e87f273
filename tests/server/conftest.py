"""Tiny runs, their exports, and a server for all tests of a session that change nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from nmt_cli.export.folder import export
from nmt_cli.files import manifest
from tests.server.servers import Client, serving
from tests.translator.runs import make_run


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def directed_run(folder: Path, source: str, target: str, seed: int) -> Path:
    """A run from one language to another, with a validation set."""
    run = make_run(folder, seed=seed, prefers_bytes=False)
    facts = json.loads((run / "run.json").read_text("utf-8"))
    (run / "run.json").write_text(
        json.dumps({**facts, "source_lang": source, "target_lang": target}), "utf-8"
    )
    for language in (source, target):
        (run / f"valid.{language}").write_text(SAMPLES[language], "utf-8")
    manifest.write_manifest(run, "run", [path.name for path in run.iterdir() if path.name != "manifest.json"])
    return run


SAMPLES = {
    "xx": "ba be bi bo bu da de di do du fa fe fi fo fu ga ge gi go gu ka ke ki ko ku\n" * 20,
    "yy": "the quick brown fox jumps over the lazy dog and runs away through the woods\n" * 20,
    "zz": "das ist ein kurzer Satz über schöne Häuser und große Gärten am Fluss\n" * 20,
}


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return directed_run(tmp_path_factory.mktemp("served") / "xx-yy", "xx", "yy", 1)


@pytest.fixture(scope="session")
def exported(run: Path) -> Path:
    folder = run.with_name("exported")
    export(run, folder, shortlist="none")
    return folder


@pytest.fixture(scope="session")
def second_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return directed_run(tmp_path_factory.mktemp("served") / "yy-zz", "yy", "zz", 2)


@pytest.fixture(scope="session")
def client(run: Path, second_run: Path) -> Iterator[Client]:
    with serving([run, second_run]) as client:
        yield client
