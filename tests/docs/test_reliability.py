"""Every promise of docs/reliability.md names tests that exist, and every promise of the README is on that page."""

import ast
import re
from pathlib import Path

from tests.docs.commands import REPOSITORY

PAGE = (REPOSITORY / "docs" / "reliability.md").read_text("utf-8")
NAMES = re.findall(r"`(tests/[^`]+::[^`]+)`", PAGE)


def test_every_named_test_exists() -> None:
    assert len(NAMES) > 30
    assert [name for name in NAMES if name not in named_in(name.partition("::")[0])] == []


def test_every_promise_has_tests() -> None:
    blocks = re.split(r"\n(?=\*\*)", PAGE)[1:]
    assert len(blocks) > 10
    assert [block for block in blocks if "`tests/" not in block] == []


def named_in(path: str) -> set[str]:
    """All tests in a file, as pytest names them."""
    found = set()
    for node in ast.parse(Path(REPOSITORY / path).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(f"{path}::{node.name}")
        elif isinstance(node, ast.ClassDef):
            found |= {
                f"{path}::{node.name}::{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef)
            }
    return found
