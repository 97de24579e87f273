"""Tiny run directories, made once per session."""

from pathlib import Path

import pytest
import torch

from nmt_cli.translator import Translator

from .runs import make_run


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="session")
def word_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = ("vocabulary.kind=word", "vocabulary.size=40")
    return make_run(tmp_path_factory.mktemp("runs") / "words", settings)


@pytest.fixture(scope="session")
def translator(run: Path) -> Translator:
    return Translator.load(run, device="cpu", search={"beam_size": 2})
