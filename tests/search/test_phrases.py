"""Required phrases: constrained search against exhaustive search, and what it guarantees with a narrow beam."""

from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError
from nmt_cli.search import Hypothesis, Phrase
from nmt_cli.search.phrases import allocate
from nmt_cli.vocabulary.token_ids import EOS
from tests.search.toy import Toy

WORDS = (0, 1, 2, 4)  # all ids of a vocabulary of five but <eos>
alternatives = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple), min_size=1, max_size=2
)
phrases = st.builds(Phrase, alternatives.map(tuple), st.booleans())


def occurrences(tokens: Sequence[int], phrase: Phrase, continues: Sequence[int]) -> int:
    """How often a phrase occurs, without overlaps."""
    count = start = 0
    for end in range(1, len(tokens) + 1):
        if phrase.whole_word and end < len(tokens) and tokens[end] in continues:
            continue
        lengths = map(len, phrase.alternatives)
        if any(end - n >= start and tuple(tokens[end - n : end]) in phrase.alternatives for n in lengths):
            count, start = count + 1, end
    return count


def contains(tokens: Sequence[int], required: Sequence[Phrase], continues: Sequence[int] = ()) -> bool:
    return all(occurrences(tokens, phrase, continues) >= n for phrase, n in Counter(required).items())


def config_of(**more: object) -> SearchConfig:
    return SearchConfig.model_validate({"max_length_ratio": None, "min_length": 0, **more})


def same(one: Sequence[Hypothesis], other: Sequence[Hypothesis]) -> bool:
    return [(h.tokens, h.score) for h in one] == [(h.tokens, h.score) for h in other]


@given(
    st.integers(0, 10**6),
    st.lists(st.lists(phrases, max_size=2), min_size=2, max_size=2),
    st.sets(st.sampled_from(WORDS), max_size=2),
    st.booleans(),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_beam_as_wide_as_the_space_equals_exhaustive_search_over_what_contains_the_phrases(
    seed: int, required: list[list[Phrase]], continues: set[int], twice: bool
) -> None:
    limit = 4
    if twice:
        required = [[*row, *row[:1]] for row in required]
    config = config_of(beam_size=350, n_best=10, max_length=limit)
    toy = Toy(seed, lengths=(3, 2), vocabulary=5)
    # Longer translations than the limit are allowed if the phrases need them.
    needed = [sum(min(map(len, phrase.alternatives)) for phrase in row) for row in required]
    if max(needed) > limit:
        return
    found = toy.search(config, required=required, continues=sorted(continues))
    for b, row in enumerate(required):
        everything = toy.sentence(b).exhaustive(config, limit)
        expected = [tokens for _, tokens in everything if contains(tokens, row, sorted(continues))]
        if expected:
            assert [tuple(hypothesis.tokens) for hypothesis in found[b]] == expected[:10]
        else:  # the phrases cannot all be met: the maximum length ends an incomplete translation
            assert not contains(found[b][0].tokens, row, sorted(continues))


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from(["finished", "first", "exact"]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_narrow_beam_meets_all_phrases(seed: int, beam: int, stopping: str) -> None:
    toy = Toy(seed, lengths=(3, 5, 2, 4), vocabulary=60)
    required = [
        [Phrase(((5, 6, 7, 8),)), Phrase(((9,),)), Phrase(((5, 6),))],
        [Phrase(((10, 11), (12,)))],
        [],
        [Phrase(((13, 13, 14),)), Phrase(((13, 13, 14),))],
    ]
    config = config_of(beam_size=beam, n_best=2, stopping=stopping, max_length=25)
    found = toy.search(config, required=required, continues=range(40, 60))
    for row, hypotheses in zip(required, found, strict=True):
        assert hypotheses
        assert all(contains(hypothesis.tokens, row, range(40, 60)) for hypothesis in hypotheses)
    assert same(found[2], toy.search(config)[2])  # without phrases: the ordinary beam


@pytest.mark.parametrize("stopping", ["finished", "first", "exact"])
def test_without_phrases_search_is_ordinary_beam_search_bit_for_bit(stopping: str) -> None:
    toy = Toy(4, lengths=(3, 5, 2, 4, 6), vocabulary=170)
    config = config_of(beam_size=4, n_best=4, stopping=stopping, max_length=20, coverage_penalty=0.1)
    plain = toy.search(config)
    mixed = toy.search(config, required=[[], [Phrase(((5, 6),))], [], [], []])
    for row in (0, 2, 3, 4):
        assert same(mixed[row], plain[row])
    assert all(same(a, b) for a, b in zip(toy.search(config, required=[[]] * 5), plain, strict=True))


def test_neighbors_and_compaction_do_not_change_constrained_results() -> None:
    toy = Toy(21, lengths=(3, 5, 2, 7, 1, 4, 4, 6), vocabulary=30)
    required = [[Phrase(((b + 4, b + 5),)), Phrase(((20 + b,), (8, 9, 10)))][: b % 3] for b in range(8)]
    config = config_of(beam_size=4, n_best=3, max_length=25, no_repeat_ngram=3)
    together = toy.search(config, required=required, continues=(25, 26))
    assert len({batch for batch, _ in toy.steps}) > 1  # the batch was compacted
    for b, found in enumerate(together):
        alone = Toy(0, lengths=(int(toy.lengths[b]),))
        alone.logits, alone.attention = toy.logits[b : b + 1], toy.attention[b : b + 1, :, : toy.lengths[b]]
        [expected] = alone.search(config, required=[required[b]], continues=(25, 26))
        assert same(found, expected)


def test_scores_are_those_of_the_model() -> None:
    toy = Toy(3, lengths=(3,), vocabulary=40)
    [found] = toy.search(config_of(beam_size=5, n_best=5, max_length=15), required=[[Phrase(((7, 8, 9),))]])
    for hypothesis in found:
        expected = toy.sentence(0).log_probability(hypothesis.tokens)
        assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)


def test_phrases_extend_the_maximum_length_and_a_prefix_counts() -> None:
    toy = Toy(5, lengths=(3, 3), vocabulary=40)
    required = [[Phrase(((7, 8, 9),)), Phrase(((10, 11),))], [Phrase(((12, 13),))]]
    config = config_of(beam_size=3, max_length=4)
    found = toy.search(config, required=required, prefix=[[20], [12, 13]])
    assert found[0][0].tokens[0] == 20
    assert len(found[0][0].tokens) == 6
    assert contains(found[0][0].tokens, required[0])
    assert found[1][0].tokens[:2] == [12, 13]


def test_what_cannot_be_met_leaves_the_most_complete_translation() -> None:
    toy = Toy(6, lengths=(3,), vocabulary=40)
    impossible, possible = Phrase(((7, 8),)), Phrase(((10, 11),))
    config = config_of(beam_size=4, max_length=9)
    [[found]] = toy.search(config, required=[[impossible, possible]], banned=(7,))
    assert contains(found.tokens, [possible])
    assert 7 not in found.tokens


def test_the_beam_takes_the_best_of_each_bank_first() -> None:
    scores = torch.tensor([[-1.0, -2.0, -3.0, -4.0, -5.0, -torch.inf, -7.0]])
    remaining = torch.tensor([[3, 3, 2, 0, 3, 0, 0]])
    in_phrase = torch.tensor([[False, False, True, False, False, False, False]])
    assert allocate(scores, remaining, in_phrase).tolist() == [[3, 0, 2, 6, 1, 4, 5]]
    assert allocate(scores, torch.zeros_like(remaining), in_phrase).tolist() == [[0, 1, 2, 3, 4, 6, 5]]


@pytest.mark.parametrize(
    "settings", [{"beam_size": 1}, {"sampling": True}, {"beam_size": 4, "diversity_groups": 2}], ids=str
)
def test_phrases_need_a_beam(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="required terms need beam search, but search"):
        Toy(1).search(config_of(**settings), required=[[Phrase(((4,),))]])
    assert EOS not in Toy(1).search(config_of(**settings))[0][0].tokens
