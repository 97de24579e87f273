"""The examples of docs/python.md run, and the public interface is what it says."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nmt_cli
from tests.docs.commands import REPOSITORY

PAGE = REPOSITORY / "docs" / "python.md"


def test_the_examples_of_the_page_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    for text in (
        "600 training pairs",
        "100 train.max_updates = 100",
        "BLEU ",
        "no directory nowhere\nhint: ",
    ):
        assert text in printed
    assert names["evaluation"].sentences > 0


def test_every_public_name_exists_and_importing_the_package_is_light() -> None:
    for name in nmt_cli.__all__:
        assert getattr(nmt_cli, name) is not None
    assert callable(nmt_cli.preprocess)
    script = "import sys, nmt_cli; assert not {'torch', 'pydantic', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_page_names_the_public_functions() -> None:
    page = PAGE.read_text("utf-8")
    assert [name for name in nmt_cli.__all__ if name not in page] == [
        "Resolved",
        "Translation",
        "__version__",
    ]
