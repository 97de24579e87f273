"""Search with real models."""

from typing import Any

import pytest
import torch
from torch import Tensor

from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import TRANSLATION_PRESETS
from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError, NmtError
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.search import Ensemble, Hypothesis, ModelScorer, search
from nmt_cli.vocabulary.token_ids import BOS, EOS, PAD

VOCABULARY = 150  # more than one chunk of candidates
BANNED = (PAD, 1, BOS)
presets = pytest.mark.parametrize("preset", TRANSLATION_PRESETS)


def build(preset: str, seed: int = 0) -> Seq2Seq:
    config = ModelConfig.from_preset(preset, embedding_size=12, hidden_size=16)
    generator = torch.Generator().manual_seed(seed)
    model = build_model(config, VOCABULARY, VOCABULARY, shared=True, generator=generator).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # far from uniform, as after training
        model.vocabulary.bias[EOS] += 1.0
    return model


def sources(lengths: list[int], seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(4, VOCABULARY, (len(lengths), max(lengths)), generator=generator)
    for row, length in zip(source, lengths, strict=True):
        row[length - 1], row[length:] = EOS, PAD
    return source, torch.tensor(lengths)


def translate(model: Seq2Seq, source: Tensor, lengths: Tensor, **wanted: Any) -> list[list[Hypothesis]]:
    config = SearchConfig(**{"beam_size": 4, "n_best": 3, "max_length": 20} | wanted.pop("settings", {}))
    scorer = ModelScorer(model)
    with torch.inference_mode():
        memory = scorer.encode(source, lengths)
    return search(scorer, memory, lengths, config, banned=BANNED, **wanted)


@presets
def test_a_search_score_is_the_forced_decoding_score_of_the_same_output(preset: str) -> None:
    model = build(preset)
    source, lengths = sources([5, 3, 8, 1])
    for b, hypotheses in enumerate(translate(model, source, lengths, attention=True, alignment=True)):
        for hypothesis in hypotheses:
            with torch.inference_mode():
                memory = model.encode(source[b : b + 1, : lengths[b]], lengths[b : b + 1])
                features, attention = model.decode(memory, torch.tensor([[BOS, *hypothesis.tokens]]))
                log_p = model.project(features).log_softmax(dim=-1)[0]  # (T, V)
            parts = log_p.gather(1, torch.tensor([*hypothesis.tokens, EOS])[:, None])[:, 0]
            assert hypothesis.token_log_probabilities == pytest.approx(parts.tolist(), abs=1e-4)
            assert hypothesis.log_probability == pytest.approx(float(parts.sum()), abs=1e-4)
            assert hypothesis.score == pytest.approx(float(parts.mean()), abs=1e-4)
            assert (hypothesis.attention is None) == (attention is None)
            if hypothesis.attention is not None and attention is not None:
                torch.testing.assert_close(hypothesis.attention, attention[0], atol=1e-5, rtol=1e-4)
                assert hypothesis.alignment == hypothesis.attention.argmax(dim=1).tolist()


@presets
@pytest.mark.parametrize("beam", [1, 5])
def test_a_batch_of_n_equals_n_batches_of_one(preset: str, beam: int) -> None:
    model = build(preset)
    source, lengths = sources([(7 * i) % 11 + 1 for i in range(24)])
    settings = {"beam_size": beam, "n_best": min(beam, 3), "max_length_ratio": 1.0, "max_length_constant": 2}
    together = translate(model, source, lengths, settings=settings)
    assert len({len(found[0].tokens) for found in together}) > 3
    for b, found in enumerate(together):
        [alone] = translate(model, source[b : b + 1, : lengths[b]], lengths[b : b + 1], settings=settings)
        assert [h.tokens for h in found] == [h.tokens for h in alone]
        assert [h.score for h in found] == pytest.approx([h.score for h in alone], abs=1e-4)


@presets
def test_an_ensemble_of_a_model_with_itself_is_the_model(preset: str) -> None:
    model = build(preset)
    source, lengths = sources([5, 3, 8, 1, 6, 6])
    ensemble = Ensemble([model, model])
    with torch.inference_mode():
        memory = ensemble.encode(source, lengths)
    config = SearchConfig(beam_size=4, n_best=3, max_length=20)
    found = search(ensemble, memory, lengths, config, banned=BANNED, attention=True)
    for several, one in zip(found, translate(model, source, lengths, attention=True), strict=True):
        assert [h.tokens for h in several] == [h.tokens for h in one]
        assert [h.score for h in several] == pytest.approx([h.score for h in one], abs=1e-4)
        for a, b in zip(several, one, strict=True):
            torch.testing.assert_close(a.attention, b.attention)


def test_an_ensemble_averages_probabilities_of_different_models() -> None:
    models = [build("luong2015", 1), build("bahdanau2015", 2), build("sutskever2014", 3)]
    source, lengths = sources([5, 3])
    ensemble = Ensemble(models)
    with torch.inference_mode():
        memory = ensemble.encode(source, lengths)
        found = search(ensemble, memory, lengths, SearchConfig(beam_size=3), banned=BANNED, attention=True)
        for b, [hypothesis] in enumerate(found):
            inputs = torch.tensor([[BOS, *hypothesis.tokens]])
            p = torch.zeros(inputs.shape[1], VOCABULARY)
            for model in models:
                alone = model.encode(source[b : b + 1, : lengths[b]], lengths[b : b + 1])
                p += model.project(model.decode(alone, inputs)[0])[0].softmax(dim=-1) / len(models)
            parts = p.log().gather(1, torch.tensor([*hypothesis.tokens, EOS])[:, None])
            assert hypothesis.log_probability == pytest.approx(float(parts.sum()), abs=1e-4)
            assert hypothesis.attention is not None  # the mean over the two models with attention
            torch.testing.assert_close(hypothesis.attention.sum(dim=1), torch.ones(inputs.shape[1]))


def test_greedy_search_without_scores_equals_greedy_search() -> None:
    model = build("luong2015")
    source, lengths = sources([5, 3, 8])
    settings = {"beam_size": 1, "n_best": 1}
    plain = translate(model, source, lengths, settings=settings)
    lazy = translate(model, source, lengths, settings=settings, scores=False)
    assert [h.tokens for [h] in plain] == [h.tokens for [h] in lazy]


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
def test_scores_are_float32_whatever_the_model_computes_in() -> None:
    model = build("luong2015")
    source, lengths = sources([5, 3, 8])
    with torch.backends.mkldnn.flags(enabled=False), torch.autocast("cpu", torch.bfloat16):
        rounded = translate(model, source, lengths)
    for found in rounded:
        for hypothesis in found:
            parts = hypothesis.token_log_probabilities or []
            assert hypothesis.score == pytest.approx(sum(parts) / len(parts), rel=1e-5)


@pytest.mark.parametrize("settings", [{}, {"coverage_penalty": 0.2}, {"beam_size": 1, "n_best": 1}], ids=str)
def test_padding_the_source_does_not_change_the_result(settings: dict[str, Any]) -> None:
    model = build("luong2015")
    source, lengths = sources([5, 3, 8])
    plain = translate(model, source, lengths, settings=settings, attention=True)
    padded = translate(
        model, torch.nn.functional.pad(source, (0, 8), value=PAD), lengths, settings=settings, attention=True
    )
    for found, expected in zip(padded, plain, strict=True):
        assert [h.tokens for h in found] == [h.tokens for h in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-4)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a.attention, b.attention)


def test_a_coverage_penalty_needs_attention() -> None:
    model = build("sutskever2014")
    with pytest.raises(ConfigError, match=r"search\.coverage_penalty = 0\.2 needs attention"):
        translate(model, *sources([5]), settings={"coverage_penalty": 0.2})


def test_a_model_that_returns_nan_is_an_error() -> None:
    model = build("luong2015")
    with torch.no_grad():
        model.vocabulary.bias.fill_(torch.nan)
    with pytest.raises(NmtError, match="no translation for 2 of 2 sentences") as caught:
        translate(model, *sources([5, 3]))
    assert "nan" in caught.value.hint
