"""Precision, recall and AER of word alignments."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_cli.errors import CorpusError
from nmt_cli.evaluation.alignments import AlignmentRequest, evaluate_alignments

from .conftest import rows_of

Write = Callable[..., Path]


def test_all_published_error_rates_are_reproduced(corpora: Path) -> None:
    rows = rows_of(corpora / "align" / "hyp" / "published_aer.tsv")
    assert len(rows) == 18
    for row in rows:
        stem = ".".join(row["file"].split(".")[:2])
        request = AlignmentRequest(
            [corpora / "align" / "hyp" / row["file"]],
            corpora / "align" / f"{stem}.gold.talp.gz",
            reverse=".reverse." in row["file"],
        )
        (found,) = evaluate_alignments(request).systems
        aer, shares = row["published(AER precision/recall)"].split(" ")
        precision, recall, links = shares.strip("()").split("/")
        assert 100 * found.aer == pytest.approx(float(aer.rstrip("%")), abs=0.1)
        assert 100 * found.precision == pytest.approx(float(precision.rstrip("%")), abs=0.1)
        assert 100 * found.recall == pytest.approx(float(recall.rstrip("%")), abs=0.1)
        assert found.aer == pytest.approx(float(row["recomputed_AER"]), abs=5e-5)
        assert abs(found.links - int(links)) <= 12
        assert found.warnings == []


def test_swapped_source_and_target_is_a_warning(corpora: Path) -> None:
    hypothesis = corpora / "align" / "hyp" / "rwth.de-en.fastalign.reverse.talp.gz"
    gold = corpora / "align" / "rwth.de-en.gold.talp.gz"
    (found,) = evaluate_alignments(AlignmentRequest([hypothesis], gold)).systems
    assert found.aer == pytest.approx(0.82, abs=0.001)
    assert [warning.name for warning in found.warnings] == ["order"]
    assert "--reverse" in found.warnings[0].hint


def test_links_past_the_end_of_a_sentence_are_a_warning(corpora: Path) -> None:
    folder = corpora / "align"
    gold = folder / "kftt.ja-en.gold.talp.gz"
    request = AlignmentRequest(
        [gold], gold, base=1, source=folder / "kftt.ja-en.ja.gz", target=folder / "kftt.ja-en.en.gz"
    )
    evaluation = evaluate_alignments(request)
    assert evaluation.systems[0].aer == 0.0
    assert "past-the-end" in [warning.name for warning in evaluation.warnings]


def test_sure_and_possible_links_count_as_in_och_and_ney(write: Write) -> None:
    hypothesis, gold = write("h.talp", "0-0 1-1 2-2"), write("g.talp", "1-1 2p2 4-4")
    (found,) = evaluate_alignments(AlignmentRequest([hypothesis], gold)).systems
    assert (found.precision, found.recall) == (2 / 3, 1 / 2)  # A ∩ P = 2, A ∩ S = 1, S = 2
    assert found.aer == pytest.approx(1 - 3 / 5)


def test_the_index_base_does_not_change_the_score(write: Write) -> None:
    zero, one = write("zero", "0-1 2-2", ""), write("one", "1-2 3-3", "")
    gold = write("gold", "1-2 2p1", "1-1")
    both = [
        evaluate_alignments(AlignmentRequest([path], gold, base=base)).systems[0].aer
        for path, base in ((zero, 0), (one, 1))
    ]
    assert both[0] == both[1]


def test_indices_that_seem_to_start_at_1_are_a_warning(write: Write) -> None:
    hypothesis, gold = write("h", *["1-1 2-2"] * 30), write("g", *["1-1 2-2"] * 30)
    (found,) = evaluate_alignments(AlignmentRequest([hypothesis], gold)).systems
    assert found.warnings[0].name == "index-base"
    assert "--alignments-base 1" in found.warnings[0].hint


@pytest.mark.parametrize(
    ("lines", "gold", "message"),
    [
        (["0-0"], ["0-0"], "the index 0, but indices start at 1"),
        (["0-0"], ["1-1", "1-1"], "has 1 lines"),
        (["0:0"], ["1-1"], "line 1: '0:0' is not a link"),
        ([], ["1-1"], "is empty"),
    ],
)
def test_invalid_files_are_rejected(write: Write, lines: list[str], gold: list[str], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        evaluate_alignments(AlignmentRequest([write("h", *lines)], write("g", *gold)))


def test_alignment_evaluation_does_not_load_the_scoring_of_translations() -> None:
    code = "import sys, nmt_cli.evaluation.alignments; sys.exit('nmt_cli.evaluation.evaluate' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
