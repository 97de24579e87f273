"""Imports go one way, what a package says about its modules is true, and functions are short."""

import ast
import re
from pathlib import Path

import pytest

import nmt_cli

PACKAGE = Path(nmt_cli.__file__).parent

# From the bottom to the top: what each package may import, apart from itself and `errors`.
BELOW = {
    "files": set[str](),
    "drawing": set[str](),
    "config": {"drawing", "files"},
    "metrics": set[str](),
    "demo": {"files"},
    "vocabulary": {"files", "config"},
    "data": {"vocabulary", "files", "config"},
    "runtime": set[str](),
    "corpus": {"runtime", "files", "config"},
    "documents": {"corpus", "runtime", "files"},
    "preprocessing": {"drawing", "runtime", "corpus", "data", "vocabulary", "files", "config"},
    "model": {"data", "vocabulary", "config"},
    "search": {"model", "vocabulary", "config"},
    "run": {"model", "data", "corpus", "vocabulary", "drawing", "files", "config"},
    "info": {"run", "data", "files", "config"},
    "translator": {
        "runtime",
        "search",
        "run",
        "model",
        "data",
        "corpus",
        "vocabulary",
        "metrics",
        "files",
        "config",
    },
    "export": {"runtime", "run", "model", "data", "vocabulary", "files", "config"},
    "training": {
        "translator",
        "search",
        "run",
        "model",
        "data",
        "vocabulary",
        "metrics",
        "drawing",
        "files",
        "config",
    },
    "evaluation": {
        "export",
        "runtime",
        "translator",
        "run",
        "data",
        "corpus",
        "metrics",
        "drawing",
        "files",
        "config",
    },
    "explanation": {
        "runtime",
        "translator",
        "search",
        "run",
        "model",
        "data",
        "corpus",
        "vocabulary",
        "drawing",
        "config",
    },
    "server": {"explanation", "documents", "export", "translator", "runtime", "model", "corpus", "config"},
    "recipe": {"evaluation", "info", "run", "data", "corpus", "demo", "drawing", "files", "config"},
}
LISTED = re.compile(r" *(\w+/?(?:, \w+/?)*)(?: {2,}\S.*)?")  # modules, and what they contain


def imported(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.add(node.module or "")
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
    return modules


def test_every_package_but_the_command_line_has_its_place() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == {*BELOW, "cli"}


@pytest.mark.parametrize("package", BELOW)
def test_a_package_imports_only_from_those_below_it(package: str) -> None:
    paths = sorted((PACKAGE / package).rglob("*.py"))
    assert len(paths) >= 3
    for path in paths:
        parts = [name.split(".") for name in imported(path)]
        used = {part[1] for part in parts if part[0] == "nmt_cli" and len(part) > 1}
        assert used <= BELOW[package] | {package, "errors"}, path


def test_no_two_packages_import_each_other() -> None:
    done: set[str] = set()
    for package, below in BELOW.items():
        assert below <= done, package
        done.add(package)


@pytest.mark.parametrize("package", ["files", "config", "vocabulary", "corpus", "preprocessing"])
def test_text_is_prepared_without_torch(package: str) -> None:
    for path in (PACKAGE / package).rglob("*.py"):
        heavy = {"torch", "safetensors"} & {name.split(".")[0] for name in imported(path)}
        assert not heavy, path


def test_torchvision_is_imported_in_one_place() -> None:
    naming = [path.name for path in PACKAGE.rglob("*.py") if '"torchvision"' in path.read_text("utf-8")]
    assert naming == ["backbone.py"]
    for path in PACKAGE.rglob("*.py"):
        assert not {name for name in imported(path) if name.split(".")[0] == "torchvision"}, path


def test_no_function_body_is_longer_than_60_lines() -> None:
    functions = 0
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions += 1
                has_docstring = ast.get_docstring(node) is not None and len(node.body) > 1
                first = node.body[has_docstring].lineno
                assert (node.end_lineno or first) - first < 60, f"{path}: {node.name}"
    assert functions > 1000


def listed(init: Path) -> list[str]:
    """The modules that the docstring of a package lists, one or several per line, each line with a description."""
    docstring = ast.get_docstring(ast.parse(init.read_text("utf-8"))) or ""
    rows = (LISTED.fullmatch(line) for line in docstring.split("\n"))
    names = [
        name.rstrip("/") for row in rows if row and "  " in row[0].strip() for name in row[1].split(", ")
    ]
    return [name for name in names if not (init.parent / f"{name}.tsv").exists()]


READING_ORDERS = [init for init in sorted(PACKAGE.rglob("__init__.py")) if listed(init)]


def test_reading_orders_are_found() -> None:
    assert len(READING_ORDERS) >= 20


@pytest.mark.parametrize("init", READING_ORDERS, ids=lambda init: str(init.parent.relative_to(PACKAGE)))
def test_a_reading_order_lists_exactly_the_modules_of_its_package(init: Path) -> None:
    children = init.parent.iterdir()
    modules = {path.stem for path in children if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(listed(init)) == sorted(modules - {"__init__"})
