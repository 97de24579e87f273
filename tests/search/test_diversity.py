"""Diverse beam search."""

import pytest
import torch

from nmt_cli.config import resolve
from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError
from nmt_cli.search.candidates import best_candidates, diverse_candidates, split_ended
from nmt_cli.vocabulary.token_ids import EOS
from tests.search.toy import Sentence, Toy

Finished = list[tuple[float, tuple[int, ...]]]


def config_of(beam: int, groups: int, strength: float = 0.5) -> SearchConfig:
    return SearchConfig(
        beam_size=beam,
        n_best=beam,
        max_length=8,
        diversity_groups=groups,
        diversity_strength=strength if groups > 1 else 0.5,
        length_normalization="none",
    )


def plain_diverse_search(sentence: Sentence, config: SearchConfig) -> Finished:
    """Algorithm 1 of the paper in plain Python, with groups that finish as a beam does."""
    groups, k = config.diversity_groups, config.beam_size // config.diversity_groups
    beams: list[Finished] = [[(0.0, ())]] * groups
    finished: list[Finished] = [[] for _ in range(groups)]
    for t in range(config.max_length + 1):
        taken: list[int] = []
        done = [len(of_group) >= k for of_group in finished]
        if all(done):
            break
        for group in range(groups):
            candidates = []
            for total, tokens in beams[group]:
                for token, log_p in enumerate(sentence.next_log_p(tokens)):
                    if (t >= config.min_length) if token == EOS else (t < config.max_length):
                        cost = config.diversity_strength * taken.count(token) if token != EOS else 0.0
                        candidates.append((total + log_p - cost, total + log_p, (*tokens, token)))
            candidates.sort(key=lambda candidate: -candidate[0])
            if not done[group]:
                finished[group] += [(plain, y[:-1]) for _, plain, y in candidates[:k] if y[-1] == EOS]
            beams[group] = [(plain, y) for _, plain, y in candidates if y[-1] != EOS][:k]
            taken += [tokens[-1] for _, tokens in beams[group]]
    return sorted((one for of_group in finished for one in of_group), reverse=True)[: config.n_best]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("beam", "groups"), [(4, 2), (6, 3), (3, 3), (4, 1)])
def test_matches_the_algorithm_of_the_paper(beam: int, groups: int, seed: int) -> None:
    toy = Toy(seed, lengths=(3, 1, 4), vocabulary=20)
    config = config_of(beam, groups, strength=0.8)
    for b, found in enumerate(toy.search(config)):
        expected = plain_diverse_search(toy.sentence(b), config)
        assert [tuple(hypothesis.tokens) for hypothesis in found] == [tokens for _, tokens in expected]
        assert [hypothesis.score for hypothesis in found] == pytest.approx(
            [score for score, _ in expected], abs=1e-4
        )


@pytest.mark.parametrize("vocabulary", [11, 170])
def test_one_group_chooses_as_ordinary_beam_search_bit_for_bit(vocabulary: int) -> None:
    generator = torch.Generator().manual_seed(3)
    log_p = torch.randn(2, 4, vocabulary, generator=generator).log_softmax(dim=-1)
    scores = torch.randn(2, 4, generator=generator)
    expected = best_candidates(log_p, scores, 8)
    candidates, split = diverse_candidates(log_p, scores, 1, 0.7, 4, None, None)
    assert all(a.equal(b) for a, b in zip(candidates, expected, strict=True))
    assert all(a.equal(b) for a, b in zip(split.open, split_ended(expected, 4).open, strict=True))
    assert split.ended.equal(split_ended(expected, 4).ended)


def test_as_many_groups_as_hypotheses_and_a_large_strength_give_different_first_tokens() -> None:
    toy = Toy(2, lengths=(3, 5, 1), vocabulary=30)
    for found in toy.search(config_of(5, 5, strength=100.0)):
        assert len(found) == 5
        assert len({hypothesis.tokens[0] for hypothesis in found}) == 5


def test_no_strength_gives_every_group_the_same_translations() -> None:
    for found in Toy(2, lengths=(3, 5), vocabulary=30).search(config_of(4, 2, strength=0.0)):
        assert [h.tokens for h in found[::2]] == [h.tokens for h in found[1::2]]


def test_prefixes_and_neighbors_do_not_change_results() -> None:
    config, prefix = config_of(4, 2), [[5, 6], [], [7], [8, 9, 10]]
    toy = Toy(7, lengths=(3, 5, 2, 4), vocabulary=30)
    for b, found in enumerate(toy.search(config, prefix=prefix)):
        alone = Toy(0, lengths=(int(toy.lengths[b]),))
        alone.logits, alone.attention = toy.logits[b : b + 1], toy.attention[b : b + 1, :, : toy.lengths[b]]
        [expected] = alone.search(config, prefix=[prefix[b]])
        assert [(h.tokens, h.score) for h in found] == [(h.tokens, h.score) for h in expected]
        assert all(hypothesis.tokens[: len(prefix[b])] == prefix[b] for hypothesis in found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("diversity_groups=2",), "search.diversity_groups = 2 is incompatible with search.beam_size = 5"),
        (
            ("diversity_strength=2",),
            "search.diversity_strength = 2.0 is incompatible with search.diversity_g",
        ),
        (("diversity_groups=5", "stopping=first"), "search.stopping = first is incompatible with search.div"),
        (
            ("diversity_groups=2", "sampling=true"),
            "search.diversity_groups = 2 is incompatible with search.s",
        ),
    ],
    ids=str,
)
def test_contradictory_settings_are_rejected(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(None, [f"search.{setting}" for setting in settings])
    assert message in caught.value.message
