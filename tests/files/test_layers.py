"""From text to batches, imports go one way."""

import ast
from pathlib import Path

import pytest

import nmt_cli

PACKAGE = Path(nmt_cli.__file__).parent
BELOW = {
    "files": {"errors"},
    "vocabulary": {"files", "config", "errors"},
    "data": {"vocabulary", "files", "config", "errors"},
    "corpus": {"files", "config", "errors"},
    "preprocess": {"corpus", "data", "vocabulary", "files", "config", "errors"},
}


def imported(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.add(node.module or "")
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
    return modules


@pytest.mark.parametrize("package", BELOW)
def test_a_package_imports_only_from_those_below_it(package: str) -> None:
    paths = sorted((PACKAGE / package).rglob("*.py"))
    assert len(paths) >= 4
    for path in paths:
        parts = [name.split(".") for name in imported(path)]
        used = {part[1] for part in parts if part[0] == "nmt_cli" and len(part) > 1}
        assert used <= BELOW[package] | {package}, path


@pytest.mark.parametrize("package", ["files", "vocabulary", "corpus", "preprocess"])
def test_text_is_prepared_without_torch(package: str) -> None:
    for path in (PACKAGE / package).rglob("*.py"):
        heavy = {"torch", "safetensors"} & {name.split(".")[0] for name in imported(path)}
        assert not heavy, path
