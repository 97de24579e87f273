"""Beam search against simpler searches: plain Python, exhaustive, greedy."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.search import SearchConfig
from nmt_cli.search import search
from tests.search.toy import BEAM_CASES, BeamCase, Toy

NORMALIZATIONS: list[dict[str, Any]] = [
    {"length_normalization": "none"},
    {"length_normalization": "average", "length_penalty": 1.0},
    {"length_normalization": "average", "length_penalty": 0.4},
    {"length_normalization": "wu", "length_penalty": 0.7},
    {"length_normalization": "reward", "word_reward": 0.8},
    {"length_normalization": "reward", "word_reward": -0.6},
    {"length_normalization": "wu", "length_penalty": 0.2, "coverage_penalty": 0.5},
    {"length_normalization": "average", "coverage_penalty": 0.3},
]
normalizations = pytest.mark.parametrize("normalization", NORMALIZATIONS, ids=str)


def config_of(**settings: Any) -> SearchConfig:
    return SearchConfig(**{"max_length_ratio": None, "min_length": 0, **settings})


@given(normalization=st.sampled_from(NORMALIZATIONS), ngram=st.integers(0, 3), **BEAM_CASES)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_matches_a_plain_python_beam_search(normalization: dict[str, Any], ngram: int, **case: Any) -> None:
    one = BeamCase({**normalization, "no_repeat_ngram": ngram}, **case)
    one.check(one.toy.search(one.config))


@normalizations
@pytest.mark.parametrize("stopping", ["finished", "exact"])
def test_a_beam_as_wide_as_the_space_equals_exhaustive_search(
    normalization: dict[str, Any], stopping: str
) -> None:
    limit = 3
    config = config_of(beam_size=200, n_best=20, stopping=stopping, max_length=limit, **normalization)
    toy = Toy(5, lengths=(4, 2, 3), vocabulary=5)  # 4⁰ + 4¹ + 4² + 4³ = 85 translations
    for b, found in enumerate(toy.search(config)):
        expected = toy.sentence(b).exhaustive(config, limit)
        assert len(expected) == 85
        assert [tuple(hypothesis.tokens) for hypothesis in found] == [tokens for _, tokens in expected[:20]]


@normalizations
def test_exact_stopping_finds_the_optimum_and_stops_early(normalization: dict[str, Any]) -> None:
    limit, early = 4, 0
    for seed in range(12):
        config = config_of(beam_size=300, stopping="exact", max_length=limit, **normalization)
        toy = Toy(seed, lengths=(3,), vocabulary=5, scale=4.0)
        [[found]] = toy.search(config)
        score, tokens = toy.sentence(0).exhaustive(config, limit)[0]
        assert tuple(found.tokens) == tokens
        assert found.score == pytest.approx(score, abs=1e-4)
        early += len(toy.steps) < limit + 1
    # With a reward, longer hypotheses can overtake until the end.
    assert early > 0 or normalization.get("word_reward", 0) > 0


@pytest.mark.parametrize("stopping", ["finished", "first"])
@normalizations
def test_beam_one_is_greedy_search(normalization: dict[str, Any], stopping: str) -> None:
    config = config_of(beam_size=1, stopping=stopping, max_length=30, **normalization)
    toy = Toy(9, lengths=(3,) * 8, vocabulary=150)
    for b, [found] in enumerate(toy.search(config)):
        sentence, tokens = toy.sentence(b), list[int]()
        while True:
            log_p = sentence.next_log_p(tokens)
            best = max(range(len(log_p)), key=log_p.__getitem__) if len(tokens) < 30 else 3
            if best == 3:
                break
            tokens.append(best)
        assert found.tokens == tokens


def test_greedy_search_without_scores_finds_the_same_tokens() -> None:
    toy = Toy(10, lengths=(3,) * 20, vocabulary=40)
    config = config_of(beam_size=1, max_length=30)
    with_scores = toy.search(config)
    without = search(toy, toy.memory, toy.lengths, config, scores=False)
    assert [a.tokens for [a] in with_scores] == [b.tokens for [b] in without]
    for [hypothesis] in without:
        assert hypothesis.score is None
        assert hypothesis.log_probability is None
        assert hypothesis.token_log_probabilities is None


def test_n_best_lists_are_sorted_distinct_and_add_up() -> None:
    config = config_of(beam_size=8, n_best=8, max_length=12)
    for found in Toy(3, lengths=(3,) * 10, vocabulary=20).search(config):
        scores = [hypothesis.score for hypothesis in found]
        assert len(found) == 8
        assert scores == sorted(scores, reverse=True, key=lambda score: score or 0.0)
        assert len({tuple(hypothesis.tokens) for hypothesis in found}) == 8
        for hypothesis in found:
            parts = hypothesis.token_log_probabilities
            assert parts is not None
            assert len(parts) == len(hypothesis.tokens) + 1
            assert hypothesis.log_probability == pytest.approx(sum(parts))
            assert hypothesis.score == pytest.approx(sum(parts) / len(parts), abs=1e-5)


@pytest.mark.parametrize("stopping", ["finished", "first", "exact"])
def test_neighbors_and_compaction_do_not_change_results(stopping: str) -> None:
    config = config_of(
        beam_size=4, n_best=3, stopping=stopping, max_length=25, coverage_penalty=0.2, no_repeat_ngram=2
    )
    toy = Toy(21, lengths=(3, 5, 2, 7, 1, 4, 4, 6), vocabulary=30)
    together = toy.search(config, attention=True)
    assert len({batch for batch, _ in toy.steps}) > 1  # the batch was compacted
    for b, found in enumerate(together):
        alone = Toy(0, lengths=(int(toy.lengths[b]),))
        alone.logits, alone.attention = toy.logits[b : b + 1], toy.attention[b : b + 1, :, : toy.lengths[b]]
        [expected] = alone.search(config, attention=True)
        assert [h.tokens for h in found] == [h.tokens for h in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected])
        for one, other in zip(found, expected, strict=True):
            assert one.attention is not None
            assert other.attention is not None
            assert one.attention.equal(other.attention)


def test_the_first_step_has_one_hypothesis_and_all_others_the_whole_beam() -> None:
    toy = Toy(2, lengths=(3, 3), vocabulary=20)
    toy.search(config_of(beam_size=5, max_length=10))
    assert toy.steps[0] == (2, 1)
    assert {beam for _, beam in toy.steps[1:]} == {5}


def test_no_sentences_give_no_translations() -> None:
    toy = Toy(2)
    toy.lengths = toy.lengths[:0]
    assert toy.search(SearchConfig()) == []
