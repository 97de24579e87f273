"""`nmt score` as a user meets it."""

import json
import math
import re
from pathlib import Path

import pytest

from ..translator.runs import LINES, make_run  # noqa: TID252 - tests are no package
from .conftest import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("".join(f"{line}\n" for line in [*LINES[:5], "", "ba"]))
    target.write_text("".join(f"{line}\n" for line in [*LINES[5:10], "", ""]))
    return source, target


def test_each_pair_gets_log_probability_and_perplexity(nmt: Run, run: Path, files: tuple[Path, Path]) -> None:
    outcome = nmt("score", run, "--source", files[0], "--target", files[1])
    rows = [row.split("\t") for row in outcome.stdout.split("\n")[:-1]]
    assert len(rows) == 7
    assert rows[5] == [""]  # two blank lines
    as_json = nmt(
        "score", run, "--source", files[0], "--target", files[1], "--json", "--tokens", "--window", 2
    )
    objects = [json.loads(line) for line in as_json.stdout.split("\n")[:-1]]
    for row, one in zip(rows, objects, strict=True):
        if row != [""]:
            assert float(row[0]) == pytest.approx(one["log_probability"], abs=1e-3)
            assert float(row[1]) == pytest.approx(math.exp(-one["log_probability"] / one["tokens"]), rel=1e-3)
            assert sum(one["token_log_probabilities"]) == pytest.approx(one["log_probability"], abs=0.01)
    assert objects[6]["tokens"] == 1  # <eos> alone
    tokens = sum(one["tokens"] for one in objects)
    assert re.search(
        rf"^7 lines, {tokens} tokens, log P -[\d,.]+, perplexity [\d.e+]+ per token$", outcome.stderr, re.M
    )


def test_alignments_are_pharaoh_links_of_words(nmt: Run, run: Path, files: tuple[Path, Path]) -> None:
    outcome = nmt("score", run, "--source", files[0], "--target", files[1], "--alignments", "-q")
    lines = outcome.stdout.split("\n")[:-1]
    assert len(lines) == 7
    assert lines[5] == lines[6] == ""
    for source, target, links in zip(LINES[:5], LINES[5:10], lines, strict=False):
        for link in links.split():
            i, j = map(int, link.split("-"))
            assert i < len(source.split())
            assert j < len(target.split())
    assert outcome.stderr == ""


def test_one_side_may_come_from_standard_input(nmt: Run, run: Path, files: tuple[Path, Path]) -> None:
    by_file = nmt("score", run, "--source", files[0], "--target", files[1])
    piped = nmt("score", run, "--source", files[0], "--target", "-", stdin=files[1].read_bytes())
    assert piped.stdout == by_file.stdout
    both = nmt("score", run, "--source", "-", "--target", "-")
    assert (both.code, both.error) == (2, "error: only one side can come from standard input")


@pytest.mark.parametrize("shorter", [0, 1])
def test_unequal_line_counts_name_both(nmt: Run, run: Path, files: tuple[Path, Path], shorter: int) -> None:
    files[shorter].write_text("ba\n")
    outcome = nmt("score", run, "--source", files[0], "--target", files[1])
    counts = (1, 7) if shorter == 0 else (7, 1)
    assert outcome.code == 1
    assert outcome.error == f"error: {files[0]} has {counts[0]} lines, {files[1]} has {counts[1]}"


def test_a_pair_that_is_too_long_is_rejected(nmt: Run, run: Path, files: tuple[Path, Path]) -> None:
    files[0].write_text("ba\n" + "ba " * 5000 + "\n")
    files[1].write_text("ba\nbe\n")
    outcome = nmt("score", run, "--source", files[0], "--target", files[1])
    assert outcome.code == 1
    assert re.search(r"line 2 has [\d,]+ tokens; the limit for scoring is 4,096", outcome.error)


def test_alignments_need_attention(nmt: Run, tmp_path: Path, files: tuple[Path, Path]) -> None:
    run = make_run(tmp_path / "run", ("model.preset=sutskever2014",))
    outcome = nmt("score", run, "--source", files[0], "--target", files[1], "--alignments")
    assert (outcome.code, outcome.error) == (2, "error: --alignments needs attention, but the model has none")


def test_search_settings_change_the_score_but_not_the_log_probability(
    nmt: Run, run: Path, files: tuple[Path, Path]
) -> None:
    arguments = "score", run, "--source", files[0], "--target", files[1], "--json"
    average, plain = (
        json.loads(nmt(*arguments, "--set", f"search.length_normalization={kind}").stdout.split("\n")[0])
        for kind in ("average", "none")
    )
    assert plain["score"] == plain["log_probability"] == average["log_probability"]
    assert average["score"] == pytest.approx(plain["score"] / plain["tokens"], rel=1e-3)
