"""Greedy search finds what the general loop finds, which runs if a tree is requested."""

from typing import Any

import pytest
import torch

from nmt_cli.config.search import SearchConfig
from nmt_cli.search import SearchTree
from tests.search.toy import Toy


@pytest.mark.parametrize(
    "settings",
    [{}, {"no_repeat_ngram": 2}, {"min_length": 5}, {"length_normalization": "wu", "stopping": "first"}],
    ids=str,
)
def test_greedy_search_equals_a_beam_of_one(settings: dict[str, Any]) -> None:
    lengths = [3, 5, 2, 4] * 10
    toy = Toy(4, lengths=lengths, vocabulary=30)
    config = SearchConfig(beam_size=1, max_length=25, **settings)
    wanted: dict[str, Any] = {"banned": (0, 1), "prefix": [[5, 1], [], [7], []] * 10, "attention": True}
    short = toy.search(config, **wanted)
    assert min(toy.steps)[0] < len(lengths)  # the batch was compacted
    long = toy.search(config, **wanted, tree=SearchTree())
    for [a], [b] in zip(short, long, strict=True):
        assert a.tokens == b.tokens
        assert a.score == pytest.approx(b.score, rel=1e-6)
        assert a.token_log_probabilities == b.token_log_probabilities
        assert a.attention is not None
        assert b.attention is not None
        assert torch.equal(a.attention, b.attention)
