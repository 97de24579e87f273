"""Search with models that copy: it sees the probabilities of the mixture."""

from itertools import product
from typing import Any

import pytest
import torch

from nmt_cli.config.model import ModelConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.batches import collate
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.search import Ensemble, Hypothesis, ModelScorer, search
from nmt_cli.translator.forced_decoding import force
from nmt_cli.vocabulary.token_ids import BOS, PAD

VOCABULARY, BANNED = 8, (PAD, 1, BOS)
SOURCES = [[4, 5, 4, 7], [6], [7, 7, 5], [5, 6, 7, 4, 4, 6]]
presets = pytest.mark.parametrize("preset", ["luong2015", "bahdanau2015", "gnmt2016"])


def build(preset: str, seed: int = 1) -> Seq2Seq:
    config = ModelConfig.from_preset(preset, embedding_size=12, hidden_size=16, copying=True)
    generator = torch.Generator().manual_seed(seed)
    model = build_model(config, VOCABULARY, VOCABULARY, shared=True, generator=generator).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # far from uniform, as after training
    return model


def translate(model: Seq2Seq, sources: list[list[int]], **settings: Any) -> list[list[Hypothesis]]:
    batch = collate(sources, [[]] * len(sources))
    scorer = ModelScorer(model)
    with torch.inference_mode():
        memory = scorer.encode(batch.source, batch.source_lengths)
    config = SearchConfig(**{"beam_size": 3, "n_best": 3, "max_length": 6} | settings)
    return search(scorer, memory, batch.source_lengths, config, banned=BANNED)


def log_probability(model: Seq2Seq, source: list[int], target: list[int]) -> float:
    with torch.inference_mode():
        return float(force(model, collate([source], [target])).log_p.sum())


@presets
@pytest.mark.parametrize(
    "settings", [{}, {"beam_size": 1, "n_best": 1}, {"sampling": True}], ids=["beam", "greedy", "samples"]
)
def test_a_score_of_search_is_that_of_forced_decoding(preset: str, settings: dict[str, Any]) -> None:
    model = build(preset)
    for source, hypotheses in zip(SOURCES, translate(model, SOURCES, **settings), strict=True):
        for hypothesis in hypotheses:
            expected = log_probability(model, source, hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)


@presets
def test_a_batch_of_n_equals_n_batches_of_one(preset: str) -> None:
    model = build(preset)
    for source, together in zip(SOURCES, translate(model, SOURCES), strict=True):
        [alone] = translate(model, [source])
        assert [h.tokens for h in together] == [h.tokens for h in alone]
        assert [h.score for h in together] == pytest.approx([h.score for h in alone], abs=1e-4)


@presets
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all_translations(preset: str) -> None:
    model, words = build(preset), range(4, VOCABULARY)
    everything = [list(tokens) for length in (1, 2) for tokens in product(words, repeat=length)]
    settings = {"beam_size": 40, "n_best": 5, "max_length": 2, "stopping": "finished"}
    for source in SOURCES[:2]:
        scored = [(log_probability(model, source, target), target) for target in everything]
        expected = sorted(scored, key=lambda pair: -pair[0])[:5]
        [found] = translate(model, [source], length_normalization="none", **settings)
        assert [h.tokens for h in found] == [target for _, target in expected]
        assert [h.log_probability for h in found] == pytest.approx([p for p, _ in expected], abs=1e-4)


def test_an_ensemble_averages_mixtures() -> None:
    models = [build("luong2015", 1), build("bahdanau2015", 2)]
    batch, ensemble = collate(SOURCES, [[]] * len(SOURCES)), Ensemble(models)
    with torch.inference_mode():
        memory = ensemble.encode(batch.source, batch.source_lengths)
        config = SearchConfig(beam_size=3, max_length=6)
        found = search(ensemble, memory, batch.source_lengths, config, banned=BANNED)
        for source, [hypothesis] in zip(SOURCES, found, strict=True):
            pair = collate([source], [hypothesis.tokens])
            log_p = torch.stack([force(model, pair).log_p for model in models])  # (2, T)
            expected = (log_p.exp().mean(dim=0)).log().sum()
            assert hypothesis.log_probability == pytest.approx(float(expected), abs=1e-4)
