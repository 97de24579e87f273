"""Constraints hold in greedy search, beam search and sampling."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import NmtError
from nmt_cli.search.constraints import exclude_repetitions, length_limits
from nmt_cli.vocabulary.token_ids import EOS
from tests.search.toy import Toy

SENTENCES = 12
ways = pytest.mark.parametrize(
    "way", [{"beam_size": 1}, {"beam_size": 4, "n_best": 4}, {"sampling": True, "n_best": 4}], ids=str
)
Way = dict[str, int | bool]


def ngrams(tokens: list[int], n: int) -> list[tuple[int, ...]]:
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


@ways
def test_banned_tokens_never_occur(way: Way) -> None:
    toy = Toy(1, lengths=(3,) * SENTENCES, vocabulary=8)
    for found in toy.search(SearchConfig(**way), banned=(0, 1, 2, 6)):
        assert all({0, 1, 2, 6}.isdisjoint(hypothesis.tokens) for hypothesis in found)


@ways
def test_translations_are_neither_too_short_nor_too_long(way: Way) -> None:
    toy = Toy(2, lengths=(3,) * SENTENCES, vocabulary=6)
    lengths = {
        len(hypothesis.tokens)
        for found in toy.search(SearchConfig(min_length=3, max_length=5, **way))
        for hypothesis in found
    }
    assert lengths == {3, 4, 5}


@ways
def test_the_maximum_length_grows_with_the_source(way: Way) -> None:
    toy = Toy(3, lengths=(1, 2, 3, 4, 10), vocabulary=40)
    toy.logits[..., EOS] = -30.0  # would never end on its own
    found = toy.search(SearchConfig(max_length=17, max_length_ratio=1.5, max_length_constant=4, **way))
    assert [{len(hypothesis.tokens) for hypothesis in hypotheses} for hypotheses in found] == [
        {5}, {7}, {8}, {10}, {17}
    ]  # fmt: skip


@ways
def test_a_translation_that_ends_by_itself_at_the_maximum_length_is_not_truncated(way: Way) -> None:
    toy = Toy(5, lengths=(1, 3, 6) * 8, vocabulary=6)
    config = SearchConfig(max_length=5, max_length_ratio=1.0, max_length_constant=1, **way)
    seen = set()
    for b, found in enumerate(toy.search(config)):
        limit = min(5, int(toy.lengths[b]) + 1)
        for hypothesis in found:
            log_p = toy.sentence(b).next_log_p(hypothesis.tokens)
            at_limit, would_end = len(hypothesis.tokens) == limit, max(log_p) == log_p[EOS]
            assert hypothesis.truncated == (at_limit and not would_end)
            seen.add((at_limit, would_end))
    assert {(True, True), (True, False)} <= seen


@ways
def test_a_truncated_translation_includes_the_score_of_eos(way: Way) -> None:
    toy = Toy(4, vocabulary=20)
    toy.logits[..., EOS] = -30.0
    for hypothesis in toy.search(SearchConfig(max_length=6, **way))[0]:
        expected = toy.sentence(0).log_probability(hypothesis.tokens)
        assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)


@ways
@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_ngram_occurs_twice(way: Way, n: int) -> None:
    toy = Toy(5, lengths=(3,) * SENTENCES, vocabulary=25)
    settings = SearchConfig(min_length=12, max_length=20, **way)
    free = toy.search(settings)
    held = toy.search(settings.model_copy(update={"no_repeat_ngram": n}))
    assert (
        any(len(set(ngrams(h.tokens, n))) < len(ngrams(h.tokens, n)) for found in free for h in found)
        or n > 1
    )
    for found in held:
        assert all(len(set(ngrams(h.tokens, n))) == len(ngrams(h.tokens, n)) for h in found)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 12))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_exactly_the_repetitions_are_excluded(seed: int, n: int, t: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    sequences = torch.randint(3, (2, 3, max(t, n)), generator=generator)
    log_p = torch.randn(2, 3, 4, generator=generator)
    expected = log_p.clone()
    for b in range(2):
        for k in range(3):
            tokens = sequences[b, k].tolist()
            for token in range(4):
                if tuple([*tokens, token][-n:]) in ngrams(tokens, n):
                    expected[b, k, token] = -torch.inf
    exclude_repetitions(log_p, sequences, n)
    assert log_p.equal(expected)


@ways
def test_a_translation_starts_with_its_prefix_even_if_banned(way: Way) -> None:
    toy = Toy(6, lengths=(3, 3, 3, 3), vocabulary=30)
    prefix = [[5, 5, 5], [], [0, 7], [9] * 12]
    config = SearchConfig(no_repeat_ngram=2, max_length=8, **way)
    result = toy.search(config, banned=(0, 9), prefix=prefix)
    for b, found in enumerate(result):
        for hypothesis in found:
            length = len(prefix[b])
            assert hypothesis.tokens[:length] == prefix[b]
            assert {0, 9}.isdisjoint(hypothesis.tokens[length:])
            assert len(hypothesis.tokens) <= max(8, length)
            expected = toy.sentence(b).log_probability(hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-3)
    # The sentence without a prefix is not affected by the others.
    assert [h.tokens for h in result[1]] == [h.tokens for h in toy.search(config, banned=(0, 9))[1]]


def test_the_beam_widens_after_a_prefix() -> None:
    toy = Toy(7, vocabulary=30)
    [found] = toy.search(SearchConfig(beam_size=5, n_best=5), prefix=[[4, 8, 15]])
    assert len({tuple(hypothesis.tokens) for hypothesis in found}) == 5


def test_constraints_that_exclude_every_token_are_an_error() -> None:
    toy = Toy(8, vocabulary=6)
    with pytest.raises(NmtError, match="no translation for 1 of 1 sentences") as caught:
        toy.search(SearchConfig(min_length=6, max_length=8, no_repeat_ngram=1))
    assert "search.min_length" in caught.value.hint
    assert "search.no_repeat_ngram" in caught.value.hint


@pytest.mark.parametrize("ratio", [1e6, 1e18, 1e300])
def test_a_huge_length_ratio_leaves_the_maximum_length_in_force(ratio: float) -> None:
    lengths = torch.tensor([1, 7, 300])
    limits = length_limits(SearchConfig(max_length=40, max_length_ratio=ratio), lengths)
    assert limits.tolist() == [40, 40, 40]


@given(st.floats(0.0, 8.0), st.integers(1, 60), st.integers(1, 300), st.integers(1, 400))
def test_the_length_limit_is_ratio_times_source_plus_constant_up_to_the_maximum(
    ratio: float, constant: int, longest: int, length: int
) -> None:
    config = SearchConfig(max_length=longest, max_length_ratio=ratio, max_length_constant=constant)
    product = int((torch.tensor(length) * ratio).item())
    assert length_limits(config, torch.tensor([length])).tolist() == [min(longest, product + constant)]
