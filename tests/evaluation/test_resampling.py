"""Intervals and paired tests equal sacreBLEU's, whatever the block size; identical systems do not differ."""

import random
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER  # type: ignore[attr-defined]
from sacrebleu.significance import PairedTest

from nmt_cli.metrics import resampling
from nmt_cli.metrics.character_ngrams import chrf_statistics, f_scores
from nmt_cli.metrics.corpus_metric import CorpusMetric
from nmt_cli.metrics.resampling import bootstrap, bootstrap_p_value, interval, randomization_p_value

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "on",
    "mat",
    "hat",
    "in",
    ",",
    ".",
    "quickly",
    "12",
    "3,000",
    "naïve",
]
SACREBLEU = {"bleu": BLEU, "chrf": CHRF, "ter": TER}


@pytest.fixture(scope="module")
def corpus() -> tuple[list[str], list[str], list[str]]:
    """A reference, a good system, a slightly worse one."""
    rng = random.Random(3)
    reference = [" ".join(rng.choices(WORDS, k=rng.randint(4, 14))) for _ in range(90)]

    def damaged(share: float) -> list[str]:
        return [
            " ".join(word if rng.random() > share else rng.choice(WORDS) for word in line.split())
            for line in reference
        ]

    return reference, damaged(0.2), damaged(0.21)


@pytest.mark.parametrize("key", ["bleu", "chrf", "ter"])
@pytest.mark.parametrize("cells", [1 << 22, 1000])
@pytest.mark.parametrize("test", ["bs", "ar"])
def test_paired_tests_equal_those_of_sacrebleu(
    corpus: tuple[list[str], list[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    cells: int,
    test: str,
) -> None:
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", cells)
    reference, first, second = corpus
    theirs: dict[str, Any] = PairedTest(
        [("first", first), ("second", second)],
        {key: SACREBLEU[key](references=[reference])},
        None,
        test_type=test,
        n_samples=250,
    )()[1]
    name = next(name for name in theirs if name != "System")
    metric = CorpusMetric(key)
    metric.prepare([reference])
    statistics = {"first": metric.statistics(first), "second": metric.statistics(second)}
    if test == "bs":
        scores = bootstrap(metric, statistics, samples=250, seed=12345)
        real = [metric.score(rows.sum(axis=0)) for rows in statistics.values()]
        p = bootstrap_p_value(scores["first"], scores["second"], abs(real[0] - real[1]))
        for result, ours in zip(theirs[name], scores.values(), strict=True):
            assert interval(ours).half_width == pytest.approx(result.ci, rel=1e-6)
            assert interval(ours).mean == pytest.approx(result.mean, rel=1e-6)
    else:
        p = randomization_p_value(metric, statistics["first"], statistics["second"], trials=250, seed=12345)
    if (key, test) == ("ter", "ar"):  # TER has few values, and sacreBLEU does not count ties
        assert p > theirs[name][1].p_value
    else:
        assert p == theirs[name][1].p_value
    assert 1 / 251 < p < 1


@pytest.mark.parametrize("key", ["bleu", "chrf", "ter"])
def test_the_interval_of_one_system_equals_that_of_sacrebleu(
    corpus: tuple[list[str], list[str], list[str]], key: str
) -> None:
    reference, first, _ = corpus
    theirs = SACREBLEU[key]()
    result = theirs.corpus_score(first, [reference], n_bootstrap=200)
    metric = CorpusMetric(key)
    metric.prepare([reference])
    statistics = metric.statistics(first)
    found = interval(bootstrap(metric, {"one": statistics}, samples=200, seed=12345)["one"])
    assert metric.score(statistics.sum(axis=0)) == result.score
    assert found.half_width == pytest.approx(result._ci, rel=1e-6)
    assert found.low <= found.mean <= found.high
    assert metric.signature(bootstrap=200, seed=12345) == str(theirs.get_signature())


def test_another_seed_draws_other_samples(corpus: tuple[list[str], list[str], list[str]]) -> None:
    metric = CorpusMetric("bleu")
    metric.prepare([corpus[0]])
    statistics = {"one": metric.statistics(corpus[1])}
    once, again, other = (bootstrap(metric, statistics, samples=20, seed=seed)["one"] for seed in (0, 0, 1))
    assert (once == again).all()
    assert (once != other).any()


@pytest.mark.parametrize("key", ["bleu", "chrf", "ter"])
def test_identical_output_has_p_value_1(corpus: tuple[list[str], list[str], list[str]], key: str) -> None:
    metric = CorpusMetric(key)
    metric.prepare([corpus[0]])
    rows = metric.statistics(corpus[1])
    assert randomization_p_value(metric, rows, rows, trials=32, seed=1) == 1.0
    scores = bootstrap(metric, {"one": rows, "two": rows}, samples=50, seed=1)
    assert bootstrap_p_value(scores["one"], scores["two"], 0.0) == 1.0


def test_a_single_different_sentence_is_never_significant(
    corpus: tuple[list[str], list[str], list[str]],
) -> None:
    """Swapping one sentence always gives the observed difference, so every trial counts."""
    reference, first, _ = corpus
    metric = CorpusMetric("bleu")
    metric.prepare([reference])
    one, other = metric.statistics(first), metric.statistics([reference[0], *first[1:]])
    assert metric.score(one.sum(axis=0)) != metric.score(other.sum(axis=0))
    assert randomization_p_value(metric, one, other, trials=100, seed=1) == 1.0


def test_sentence_chrf_equals_that_of_sacrebleu(corpus: tuple[list[str], list[str], list[str]]) -> None:
    reference, first, _ = corpus
    hypotheses = [*first[:40], "", "x"]
    references = [*reference[:40], "something", ""]
    metric = CorpusMetric("chrf")
    metric.prepare([references])
    ours = f_scores(metric.statistics(hypotheses))
    theirs = [CHRF().sentence_score(h, [r]).score for h, r in zip(hypotheses, references, strict=True)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_character_ngram_counts_equal_those_of_sacrebleu() -> None:
    """Also with many alphabets, which do not fit into 64 bits, blank lines, and references that are not there."""
    rng = random.Random(5)

    def line(alphabet: str) -> str:
        return "".join(rng.choices(alphabet, k=rng.randint(0, 30)))

    wide = "".join(map(chr, range(0x4E00, 0x9000))) + "😀 \u2003"
    for alphabet in ("ab ", "abcdefghij kl.,", wide, wide[:40] + "𝒳 "):
        hypotheses = [line(alphabet) for _ in range(60)] + ["", "a"]
        references: list[list[str | None]] = [[line(alphabet) for _ in hypotheses] for _ in range(2)]
        references[1][3] = references[1][9] = references[0][11] = None
        references[0][5] = ""
        both: Any = references
        theirs = CHRF(references=both)._extract_corpus_statistics(hypotheses, None)
        np.testing.assert_array_equal(chrf_statistics(hypotheses, references), np.array(theirs))


def test_empty_texts_have_no_ngrams() -> None:
    assert not chrf_statistics(["", " "], [["", "\t"]]).any()
