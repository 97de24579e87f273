"""Fixtures of the runtime tests: tiny runs and their exports."""

from pathlib import Path

import pytest
import torch

from nmt_cli.export.folder import export
from tests.translator.runs import make_run


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runtime") / "run")


@pytest.fixture(scope="session")
def exported(run: Path) -> Path:
    folder = run.with_name("exported")
    export(run, folder, shortlist="none")
    return folder
