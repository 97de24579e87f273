"""Real system outputs with published scores, each text read once."""

import csv
import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest


@cache
def lines_of(path: Path) -> list[str]:
    """Lines of a compressed text."""
    return gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")


def rows_of(path: Path) -> list[dict[str, str]]:
    """A table with a heading."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(scope="session")
def wmt17(corpora: Path) -> Path:
    return corpora / "wmt" / "wmt17.en-de"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """`write("hyp.de", "a", "b")` makes a file of two lines."""

    def make(name: str, *lines: str) -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
        return path

    return make
