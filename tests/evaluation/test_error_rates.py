"""Word and character error rate: by hand, of several references, with intervals."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nmt_cli.evaluation.evaluate import evaluate
from nmt_cli.evaluation.request import EvaluateRequest
from nmt_cli.metrics import error_rate

Write = Callable[..., Path]


def edits(one: Sequence[str], other: Sequence[str]) -> int:
    """Levenshtein's distance, written out."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@pytest.mark.parametrize(
    ("hypothesis", "reference", "wer", "cer"),
    [
        ("forty two", "forty two", 0.0, 0.0),
        ("forty  two ", " forty two", 0.0, 0.0),
        ("forty", "forty two", 50.0, 100 * 4 / 9),
        ("forty two three", "forty two", 50.0, 100 * 6 / 9),
        ("fourty two", "forty two", 50.0, 100 / 9),
        ("", "forty two", 100.0, 100.0),
        ("a b c d", "x", 400.0, 700.0),
    ],
)
def test_error_rates_by_hand(hypothesis: str, reference: str, wer: float, cer: float) -> None:
    assert error_rate([hypothesis], [reference]).value == pytest.approx(wer)
    assert error_rate([hypothesis], [reference], unit="characters").value == pytest.approx(cer)


def test_the_rate_of_a_corpus_is_that_of_its_sums() -> None:
    hypotheses = ["the cat sat", "on a mat", "", "hello world hello"]
    references = ["the cat sat down", "on the mat", "yes", "hello world"]
    total = sum(edits(h.split(), r.split()) for h, r in zip(hypotheses, references, strict=True))
    score = error_rate(hypotheses, references)
    assert score.value == pytest.approx(100 * total / sum(len(r.split()) for r in references))
    assert score.name == "WER"
    assert "case:mixed|unit:word" in score.signature
    characters = sum(edits(h, r) for h, r in zip(hypotheses, references, strict=True))
    score = error_rate(hypotheses, references, unit="characters")
    assert score.value == pytest.approx(100 * characters / sum(map(len, references)))
    assert "case:mixed|unit:char" in score.signature


def test_of_several_references_the_closest_counts() -> None:
    assert error_rate(["a b"], ["a c"], ["a b"], [None]).value == 0


def test_systems_are_ranked_by_the_lower_error_rate(write: Write) -> None:
    better, worse = write("hyp.a.en", "a b", "c d"), write("hyp.b.en", "a x", "c y")
    request = EvaluateRequest(
        [worse, better], references=[write("ref.en", "a b", "c z")], metrics=["wer", "cer"], samples=200
    )
    first, second = evaluate(request).systems
    assert (first.name, second.name) == ("a", "b")
    assert [score.score for score in first.scores] == pytest.approx([25.0, 100 / 6])
    assert second.score("WER").score == 50
    assert first.score("WER").interval is not None
    lower = evaluate(
        EvaluateRequest(
            [write("h.en", "A B")],
            references=[write("r.en", "a b")],
            metrics=["wer"],
            lowercase=True,
            samples=0,
        )
    )
    assert lower.systems[0].scores[0].score == 0
