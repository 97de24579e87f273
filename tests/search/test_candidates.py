"""Candidates equal a plain top-k over all continuations, and are valid token ids."""

import pytest
import torch

from nmt_cli.search.candidates import best_candidates, best_tokens, chunks_of


@pytest.mark.parametrize("vocabulary", [1, 5, 67, 161, 1009])  # 161 and 1009 cannot be cut into equal chunks
@pytest.mark.parametrize("count", [1, 10, 400])
def test_candidates_equal_top_k_over_all_continuations(vocabulary: int, count: int) -> None:
    generator = torch.Generator().manual_seed(1)
    log_p = torch.randn(3, 5, vocabulary, generator=generator).log_softmax(dim=-1)
    scores = torch.randn(3, 5, generator=generator)
    found = best_candidates(log_p, scores, count)
    total = (scores[..., None] + log_p).flatten(1)
    torch.testing.assert_close(found.scores, total.topk(min(count, 5 * vocabulary)).values)
    torch.testing.assert_close(found.scores, total.gather(1, found.parents * vocabulary + found.tokens))


@pytest.mark.parametrize("nothing", [-torch.inf, torch.nan])
@pytest.mark.parametrize("count", [10, 400])
def test_token_ids_stay_valid_if_nothing_can_continue(nothing: float, count: int) -> None:
    found = best_candidates(torch.zeros(2, 5, 161), torch.full((2, 5), nothing), count)
    assert found.tokens.max() < 161


@pytest.mark.parametrize("vocabulary", [1, 5, 67, 161, 1009])
def test_the_best_tokens_of_each_hypothesis_equal_top_k(vocabulary: int) -> None:
    log_p = torch.randn(3, 5, vocabulary, generator=torch.Generator().manual_seed(2))
    found = best_tokens(chunks_of(log_p), 2)
    expected = log_p.topk(min(2, vocabulary), dim=2).values
    assert log_p.gather(2, found).sort(dim=2, descending=True).values.equal(expected)
