"""Scheduled sampling, and the loss on a random subset of target positions."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from nmt_cli.config import TRANSLATION_PRESETS, TrainConfig, resolve
from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.errors import ConfigError
from nmt_cli.model import ScheduledSampling, Seq2Seq
from nmt_cli.model import seq2seq as seq2seq_module
from nmt_cli.model.fast.cross_entropy import chunked_cross_entropy
from nmt_cli.model.loss import draw_share, draw_words, mix_inputs
from nmt_cli.training.schedule import sampling_probability

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
TINY: dict[str, Any] = {"embedding_size": 6, "hidden_size": 8}
SEQUENTIAL: list[tuple[str, dict[str, Any]]] = [
    ("bahdanau2015", {}),
    ("luong2015", {"input_feeding": True}),
    ("cheng2016", {}),
]
PARALLEL = ["sutskever2014", "cho2014", "luong2015", "gnmt2016", "vaswani2017"]


def mixed(model: Seq2Seq, batch: Batch, own: ScheduledSampling, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    return mix_inputs(model, model.encode(batch.source, batch.source_lengths), batch.target_inputs, own)


@pytest.mark.parametrize(("name", "overrides"), SEQUENTIAL)
def test_a_sequential_decoder_fed_its_own_best_words_searches_greedily(
    name: str, overrides: dict[str, Any], build: Build, pad: Pad, pairs: Pairs
) -> None:
    model, batch = build(ModelConfig.from_preset(name, **TINY | overrides)), pad(pairs)
    memory = model.encode(batch.source, batch.source_lengths)
    state, tokens = model.start(memory, 1), torch.full((3, 1), 2)
    greedy = [tokens]
    for _ in range(5):
        features, state, _ = model.step(tokens, state, memory)
        tokens = model.project(features).argmax(dim=-1)
        greedy.append(tokens)
    assert mixed(model, batch, ScheduledSampling(1.0)).tolist() == torch.cat(greedy, dim=1).tolist()


@pytest.mark.parametrize("name", PARALLEL)
def test_a_parallel_decoder_is_fed_its_predictions_from_the_reference(
    name: str, build: Build, pad: Pad, pairs: Pairs
) -> None:
    model, batch = build(ModelConfig.from_preset(name, loss_chunk_tokens=4, **TINY)), pad(pairs)
    features, _ = model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)
    said = model.project(features).argmax(dim=-1)[:, :-1]
    assert (
        mixed(model, batch, ScheduledSampling(1.0)).tolist()
        == torch.cat([batch.target_inputs[:, :1], said], dim=1).tolist()
    )


@pytest.mark.parametrize("name", list(TRANSLATION_PRESETS))
def test_the_loss_is_that_of_the_mixed_inputs(name: str, build: Build, pad: Pad, pairs: Pairs) -> None:
    model, batch = build(ModelConfig.from_preset(name, **TINY)), pad(pairs)
    own = ScheduledSampling(0.5, "drawn")
    inputs = mixed(model, batch, own)
    assert not torch.equal(inputs, batch.target_inputs)
    torch.manual_seed(1)
    loss = model.loss(batch, scheduled_sampling=own)
    assert_close(loss.total, model.loss(batch._replace(target_inputs=inputs)).total)
    assert bool(torch.autograd.grad(loss.total, model.vocabulary.bias)[0].any())


def test_words_are_replaced_with_the_given_probability_and_never_the_first(build: Build, pad: Pad) -> None:
    model, batch = build(ModelConfig.from_preset("vaswani2017", **TINY)), pad([([4], [0] * 99)] * 40)
    inputs = mixed(model, batch, ScheduledSampling(0.25, "drawn"))  # the model says 0 once in eleven times
    assert bool((inputs[:, 0] == 2).all())
    share = float((inputs[:, 1:] != 0).float().mean())
    assert share == pytest.approx(0.25 * 10 / 11, abs=0.04)


def test_drawn_words_have_the_probabilities_of_the_model(build: Build, pad: Pad) -> None:
    model, batch = build(ModelConfig.from_preset("luong2015", **TINY)), pad([([4, 5], [6])] * 4000)
    features, _ = model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)
    p = model.project(features[0, 0]).softmax(dim=-1)
    drawn = mixed(model, batch, ScheduledSampling(1.0, "drawn"))[:, 1]
    assert_close(torch.bincount(drawn, minlength=11) / 4000.0, p.detach().float(), rtol=0, atol=0.03)


def test_the_seed_determines_what_is_drawn(build: Build, pad: Pad, pairs: Pairs) -> None:
    model, batch = build(ModelConfig.from_preset("bahdanau2015", **TINY)), pad(pairs)
    own = ScheduledSampling(0.5, "drawn")
    assert torch.equal(mixed(model, batch, own, 1), mixed(model, batch, own, 1))
    assert not torch.equal(mixed(model, batch, own, 1), mixed(model, batch, own, 2))


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", {1: 0.8, 10**9: 0.8}),
        ("linear", {1: 0.008, 50: 0.4, 100: 0.8, 10**9: 0.8}),
        ("exponential", {100: 0.8 * (1 - 2.718281828**-1), 10**9: 0.8}),
        ("inverse_sigmoid", {1: 0.8 * 0.01, 461: 0.8 * 0.5, 10**9: 0.8}),
    ],
)
def test_the_probability_is_a_function_of_the_update(schedule: str, expected: dict[int, float]) -> None:
    config = TrainConfig(scheduled_sampling=0.8, sampling_schedule=schedule, sampling_updates=100)
    for update, probability in expected.items():
        assert sampling_probability(config, update) == pytest.approx(probability, abs=1e-3)
    values = [sampling_probability(config, update) for update in range(1, 1000, 7)]
    assert values == sorted(values)
    assert sampling_probability(TrainConfig(), 500) == 0


@pytest.mark.parametrize(
    "setting", ["sampling_schedule=constant", "sampling_updates=10", "sampled_word=drawn"]
)
def test_a_setting_of_scheduled_sampling_without_sampling_is_rejected(setting: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(None, [f"train.{setting}"])
    assert (
        f"train.{setting.replace('=', ' = ')} has no effect with train.scheduled_sampling = 0"
        in caught.value.message
    )
    assert "set train.scheduled_sampling" in caught.value.message
    resolve(None, [f"train.{setting}", "train.scheduled_sampling=0.5"])


def test_every_token_counts_with_the_same_probability_and_sentences_get_their_share() -> None:
    torch.manual_seed(1)
    lengths = torch.tensor([1, 10, 3, 7])
    owner = torch.repeat_interleave(torch.arange(4), lengths)
    counts = torch.zeros(21)
    for _ in range(3000):
        subset = draw_share(lengths, 0.3)
        assert subset.tolist() == sorted(set(subset.tolist()))
        each = torch.bincount(owner[subset], minlength=4)
        assert bool(((each == (0.3 * lengths).floor()) | (each == (0.3 * lengths).floor() + 1)).all())
        counts[subset] += 1
    assert (counts / 3000).tolist() == pytest.approx([0.3] * 21, abs=0.04)


def test_the_loss_on_a_subset_is_unbiased(
    build: Build, pad: Pad, pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean over all subsets that are equally likely, in value and gradient."""
    model, batch = build(ModelConfig(**TINY)), pad([([4, 5], [6, 7, 8])])
    weights = list(model.parameters())
    whole = torch.autograd.grad(model.loss(batch, label_smoothing=0.1).total, weights)
    mean = [torch.zeros_like(weight) for weight in weights]
    subsets = [torch.tensor([i, j]) for i in range(4) for j in range(i + 1, 4)]
    for subset in subsets:
        monkeypatch.setattr(
            seq2seq_module, "draw_share", lambda lengths, token_fraction, subset=subset: subset
        )
        loss = model.loss(batch, label_smoothing=0.1, token_fraction=0.5)
        assert loss.tokens == 4
        for total, gradient in zip(mean, torch.autograd.grad(loss.total, weights), strict=True):
            total += gradient / len(subsets)
    assert_close(mean, list(whole))


def test_a_number_of_words_is_drawn_of_each_sentence_all_equally_often() -> None:
    torch.manual_seed(1)
    lengths = torch.tensor([1, 10, 3, 0, 7])
    owner = torch.repeat_interleave(torch.arange(5), lengths)
    for count in (1, 3):
        drawn, counts = lengths.clamp(max=count), torch.zeros(21)
        for _ in range(2000):
            subset, weights = draw_words(lengths, count)
            assert subset.tolist() == sorted(set(subset.tolist()))
            assert torch.equal(torch.bincount(owner[subset], minlength=5), drawn)
            assert_close(weights, (lengths / drawn)[owner[subset]].double())
            counts[subset] += 1
        assert (counts / 2000).tolist() == pytest.approx((drawn / lengths)[owner].tolist(), abs=0.05)


def test_the_loss_on_one_word_per_sentence_is_unbiased(
    build: Build, pad: Pad, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean over all choices for two sentences of different lengths, in value and gradient."""
    model, batch = build(ModelConfig(**TINY)), pad([([4, 5], [6, 7, 8]), ([9], [10])])
    parameters = list(model.parameters())
    loss = model.loss(batch, label_smoothing=0.1)
    whole = [loss.total.detach(), loss.cross_entropy, *torch.autograd.grad(loss.total, parameters)]
    mean = [torch.zeros_like(part) for part in whole]
    for choice in itertools.product(range(4), range(4, 6)):  # four and two tokens, with <eos>
        drawn = torch.tensor(choice), torch.tensor([4.0, 2.0])
        monkeypatch.setattr(seq2seq_module, "draw_words", lambda lengths, count, drawn=drawn: drawn)
        loss = model.loss(batch, label_smoothing=0.1, tokens_per_sentence=1)
        assert loss.tokens == 6
        gradients = torch.autograd.grad(loss.total, parameters)
        for total, part in zip(mean, [loss.total.detach(), loss.cross_entropy, *gradients], strict=True):
            total += part / 8
    assert_close(mean, whole)


def test_more_words_than_a_sentence_has_are_all_its_words(build: Build, pad: Pad, pairs: Pairs) -> None:
    model, batch = build(ModelConfig(**TINY)), pad(pairs)
    assert_close(model.loss(batch, tokens_per_sentence=99), model.loss(batch))


def test_a_number_and_a_share_of_words_contradict_each_other() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(None, ["train.loss_words=1", "train.loss_share=0.5"])
    assert "train.loss_words = 1 is incompatible with train.loss_share = 0.5" in caught.value.message


def test_only_the_subset_is_projected(build: Build, pad: Pad, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = build(ModelConfig(**TINY)), pad([([4], [5] * 19)] * 10)
    rows = []

    def noted(features: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        rows.append(len(features))
        return chunked_cross_entropy(features, *args, **kwargs)

    monkeypatch.setattr(seq2seq_module, "chunked_cross_entropy", noted)
    model.loss(batch, token_fraction=0.25)
    model.loss(batch, tokens_per_sentence=1)
    model.loss(batch)
    assert rows == [50, 10, 200]


def test_a_subset_may_be_empty(build: Build, pad: Pad) -> None:
    model = build(ModelConfig(**TINY))
    torch.manual_seed(1)
    loss = model.loss(pad([([4], [])]), token_fraction=0.01)
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert float(loss.total.detach()) == 0.0
