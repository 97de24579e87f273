"""`nmt translate --memory`."""

import json
from pathlib import Path

import pytest

from ..translator.runs import LINES, make_run  # noqa: TID252 - tests are no package
from .conftest import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run", ("search.beam_size=1",))


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.tsv"
    path.write_text(f"{LINES[5]}\tfrom the memory\n", "utf-8")
    return path


def test_equal_lines_are_reused_and_all_others_are_translated_as_without_a_memory(
    nmt: Run, run: Path, memory: Path, tmp_path: Path
) -> None:
    text = tmp_path / "in.txt"
    text.write_text("\n".join(LINES[:20]) + "\n", "utf-8")
    without = nmt("translate", run, "-i", text).stdout.split("\n")
    for options in ([], ["--window", 3], ["-o", tmp_path / "out"]):
        outcome = nmt("translate", run, "-i", text, "--memory", memory, "--memory-threshold", 100, *options)
        assert outcome.code == 0, outcome.stderr
        found = (outcome.stdout or (tmp_path / "out").read_text("utf-8")).split("\n")
        assert found == [*without[:5], "from the memory", *without[6:]]
        assert "memory: 1 exact match reused" in outcome.stderr


def test_json_shows_near_matches_and_plain_text_only_counts_them(nmt: Run, run: Path, memory: Path) -> None:
    sentence = LINES[5].replace(".", "!")
    outcome = nmt("translate", run, sentence, "--json", "--memory", memory)
    content = json.loads(outcome.stdout)
    assert content["memory"]["target"] == "from the memory"
    assert 75 < content["memory"]["similarity"] < 100
    assert content["translation"] != "from the memory"
    plain = nmt("translate", run, sentence, "--memory", memory)
    assert plain.stdout == nmt("translate", run, sentence).stdout
    assert "0 exact matches reused, 1 near match (at least 75% similar)" in plain.stderr
    assert "near" not in nmt("translate", run, sentence, "--memory", memory, "--quiet").stderr


def test_options_that_make_no_sense_together_are_errors(nmt: Run, run: Path, memory: Path) -> None:
    assert "needs a memory" in nmt("translate", run, "x", "--memory-threshold", 80).error
    assert "--prefix cannot be used" in nmt("translate", run, "x", "--memory", memory, "--prefix", "y").error
    assert "does not exist" in nmt("translate", run, "x", "--memory", memory.with_name("no.tmx")).error
