"""Sampling: distribution, reproducibility, independence of the batch."""

from collections import Counter

import pytest
import torch

from nmt_cli.config.search import SearchConfig
from nmt_cli.search import search
from nmt_cli.search.candidates import sentence_seeds, uniforms
from tests.search.toy import Toy


def config_of(**settings: float | None) -> SearchConfig:
    return SearchConfig(**{"sampling": True, "max_length_ratio": None, "min_length": 0, **settings})


def drawn(toy: Toy, config: SearchConfig, numbers: list[int] | None = None) -> list[list[list[int]]]:
    found = search(toy, toy.memory, toy.lengths, config, numbers=numbers)
    return [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in found]


def test_the_seed_determines_the_samples() -> None:
    toy = Toy(1, lengths=(3,) * 6, vocabulary=30)
    assert drawn(toy, config_of(seed=1, n_best=3)) == drawn(toy, config_of(seed=1, n_best=3))
    assert drawn(toy, config_of(seed=1, n_best=3)) != drawn(toy, config_of(seed=2, n_best=3))


def test_neighbors_do_not_change_samples() -> None:
    toy = Toy(2, lengths=(3,) * 6, vocabulary=30)
    together = drawn(toy, config_of(n_best=3))
    for b in reversed(range(6)):
        alone = Toy(0)
        alone.logits, alone.attention = toy.logits[b : b + 1], toy.attention[b : b + 1]
        assert drawn(alone, config_of(n_best=3), numbers=[b]) == [together[b]]


def test_repeated_sentences_get_different_samples() -> None:
    toy = Toy(3, lengths=(3, 3), vocabulary=30)
    toy.logits = toy.logits[:1].expand(2, -1, -1)
    first, second = drawn(toy, config_of(n_best=2))
    assert first != second
    assert first[0] != first[1]


def frequencies(config: SearchConfig, toy: Toy) -> dict[tuple[int, ...], float]:
    [found] = drawn(toy, config.model_copy(update={"n_best": 20_000}))
    return {tokens: count / 20_000 for tokens, count in Counter(map(tuple, found)).items()}


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_translations_are_sampled_with_their_probability(temperature: float) -> None:
    toy = Toy(4, vocabulary=5, scale=1.0)
    config = config_of(max_length=2, temperature=temperature)
    found = frequencies(config, toy)
    tempered = Toy(4, vocabulary=5, scale=1.0)
    tempered.logits = tempered.logits / temperature
    sentence = tempered.sentence(0)
    words = [0, 1, 2, 4]
    for tokens in [(), *((a,) for a in words)]:
        p = float(torch.tensor(sentence.log_probability(tokens)).exp())
        assert found.get(tokens, 0.0) == pytest.approx(p, abs=0.012), tokens
    for a in words:  # after two tokens <eos> is forced
        begins = sum(p for tokens, p in found.items() if tokens[:1] == (a,))
        assert begins == pytest.approx(float(torch.tensor(sentence.next_log_p(())[a]).exp()), abs=0.012)


@pytest.mark.parametrize(("top_k", "top_p"), [(2, None), (None, 0.6), (3, 0.7), (100, 1.0)])
def test_top_k_and_top_p_keep_the_right_tokens_and_renormalize(
    top_k: int | None, top_p: float | None
) -> None:
    toy = Toy(5, vocabulary=7, scale=1.0)
    config = config_of(max_length=1, top_k=top_k, top_p=top_p)
    p = {token: float(torch.tensor(x).exp()) for token, x in enumerate(toy.sentence(0).next_log_p(()))}
    kept = sorted(p, key=lambda token: -p[token])[: top_k or 7]
    mass, nucleus = sum(p[token] for token in kept), []
    for token in kept:
        nucleus.append(token)
        if sum(p[token] for token in nucleus) / mass >= (top_p or 1.0):
            break
    share = sum(p[token] for token in nucleus)
    found = frequencies(config, toy)
    expected = {(() if token == 3 else (token,)): p[token] / share for token in nucleus}
    assert found.keys() <= expected.keys()
    for tokens, frequency in expected.items():
        assert found.get(tokens, 0.0) == pytest.approx(frequency, abs=0.015)


def test_the_score_of_a_sample_is_the_score_of_the_model() -> None:
    toy = Toy(6, lengths=(3, 3), vocabulary=12)
    for b, found in enumerate(toy.search(config_of(n_best=5, temperature=0.3, top_k=4, max_length=9))):
        scores = [hypothesis.score or 0.0 for hypothesis in found]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in found:
            expected = toy.sentence(b).log_probability(hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)


def test_uniform_numbers_are_uniform_and_independent() -> None:
    seeds = sentence_seeds(7, torch.arange(1000))
    u = torch.stack([uniforms(seeds, step, 5) for step in range(20)])  # (20, 1000, 5)
    assert u.min() >= 0
    assert u.max() < 1
    assert len(set(u.flatten().tolist())) == u.numel()
    counts = torch.histc(u.float(), bins=20, min=0, max=1) / u.numel()
    assert (counts - 0.05).abs().max() < 0.003
    for dim in range(3):
        a, b = u.narrow(dim, 0, u.shape[dim] - 1), u.narrow(dim, 1, u.shape[dim] - 1)
        assert torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1].abs() < 0.015
