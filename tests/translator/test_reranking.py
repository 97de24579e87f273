"""Reranking: the order, its scores, tuned weights, and the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from nmt_cli import Translator
from nmt_cli.errors import CorpusError
from nmt_cli.metrics import bleu
from nmt_cli.translator.reranking import CandidateList, Direction, Reranker, parse_candidates, rerank, tune
from tests.cli.conftest import Run, nmt

from .runs import LINES, make_run

__all__ = ["nmt"]  # the fixture

SOURCES = [*LINES[:6], "", LINES[7]]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "other", seed=2, lines=LINES[::-1])


@pytest.fixture(scope="module")
def candidates(run: Path) -> list[str]:
    """What `nmt translate --json --n-best 4` writes."""
    from nmt_cli.runtime.translation import as_json
    from nmt_cli.translator import Details

    translator = Translator.load(run, device="cpu", search={"beam_size": 4, "n_best": 4})
    found = translator.translate(SOURCES, details=Details(scores=True))
    return [as_json(n, *pair) for n, pair in enumerate(zip(SOURCES, found, strict=True), start=1)]


def parsed(candidates: list[str]) -> list[CandidateList]:
    return [parse_candidates(number, line) for number, line in enumerate(candidates, start=1)]


@pytest.mark.parametrize("direction", ["reverse", "forward"])
def test_candidates_are_ordered_by_the_weighted_sum_of_scores(
    other: Path, candidates: list[str], direction: Direction
) -> None:
    translator = Translator.load(other, device="cpu")
    lists = parsed(candidates)
    ranked = list(rerank(lists, [Reranker(direction, translator, 0.7)]))
    changed = 0
    for source, old, new in zip(SOURCES, lists, ranked, strict=True):
        if not source:
            assert new["translation"] == ""
            continue
        expected = []
        for text, score in zip(old.texts, old.scores, strict=True):
            pair = (text, source) if direction == "reverse" else (source, text)
            [scored] = translator.score([pair[0]], [pair[1]])
            feature = (scored.log_probability or 0.0) / len(scored.target_pieces)
            expected.append((score + 0.7 * feature, text))
        best = sorted(expected, key=lambda one: -one[0])
        assert [one["translation"] for one in new["n_best"]] == [text for _, text in best]
        assert [one["score"] for one in new["n_best"]] == pytest.approx(
            [score for score, _ in best], abs=1e-5
        )
        assert new["translation"] == best[0][1]
        changed += best[0][1] != old.texts[0]
    assert changed


def test_a_weight_of_zero_keeps_the_order(other: Path, candidates: list[str]) -> None:
    ranked = rerank(parsed(candidates), [Reranker("reverse", Translator.load(other, device="cpu"), 0.0)])
    assert list(ranked) == [json.loads(line) for line in candidates]


def test_tuning_finds_the_best_weight_of_the_grid(other: Path, candidates: list[str]) -> None:
    reranker = Reranker("forward", Translator.load(other, device="cpu"), 0.5)
    lists = parsed(candidates)
    references = [one.texts[-1] if one.texts else "" for one in lists]  # what search likes least
    found = tune(lists, references, [reranker], tokenizer="13a")
    scores = []
    for weight in np.arange(21) / 10:
        lines = rerank(lists, [reranker._replace(weight=float(weight))])
        scores.append(bleu([line["translation"] for line in lines], references).value)
    assert found.before == pytest.approx(scores[0])
    assert found.after == pytest.approx(max(scores))
    assert found.weights == pytest.approx((scores.index(max(scores)) / 10,))
    with pytest.raises(CorpusError, match="8 lists of candidates and 7 references"):
        tune(lists, references[1:], [reranker], tokenizer="13a")


@pytest.mark.parametrize("line", ["text", "[]", '{"source": "a"}', '{"source": "a", "translation": "b"}'])
def test_a_line_without_candidates_is_named(line: str) -> None:
    with pytest.raises(CorpusError, match="line 3 has no list of candidates"):
        parse_candidates(3, line)


def test_the_command_writes_a_line_for_each_list_and_tunes(
    other: Path, candidates: list[str], tmp_path: Path, nmt: Run
) -> None:
    text = "".join(f"{line}\n" for line in candidates)
    outcome = nmt("rerank", "--reverse", f"{other}@weight=0.7", "--forward", other, stdin=text)
    assert outcome.code == 0, outcome.stderr
    both = [
        Reranker("reverse", Translator.load(other, device="cpu"), 0.7),
        Reranker("forward", Translator.load(other, device="cpu"), 0.5),
    ]
    expected = [line["translation"] for line in rerank(parsed(candidates), both)]
    assert outcome.stdout == "".join(f"{line}\n" for line in expected)
    references = tmp_path / "references"
    references.write_text(outcome.stdout, "utf-8")
    tuned = nmt("rerank", "--reverse", other, "--tune", references, stdin=text)
    assert tuned.code == 0, tuned.stderr
    assert tuned.stdout.startswith(f"--reverse {other}@weight=")
    assert "BLEU " in tuned.stderr
