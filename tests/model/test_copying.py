"""Copying (See et al. 2017) against loops that spell out its equations, and what it is for."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch, collate
from nmt_cli.errors import ConfigError
from nmt_cli.model import ScheduledSampling, Seq2Seq, build_model
from nmt_cli.model.fast.cross_entropy import chunked_cross_entropy
from nmt_cli.model.fast.step_layout import prepare_for_search
from nmt_cli.model.recurrent_decoders import AttentionDecoder
from nmt_cli.translator.forced_decoding import force

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
TINY: dict[str, Any] = {"embedding_size": 6, "hidden_size": 8}
SYSTEMS = [
    ("luong2015", {}),
    ("luong2015", {"input_feeding": True}),
    ("bahdanau2015", {}),
    ("gnmt2016", {}),
]
# Words that occur twice in the source, in the target but not in the source, and on both sides.
PAIRS = [([4, 5, 4, 7], [4, 9, 7]), ([10, 4], [5, 6, 10, 4, 9]), ([9], [9])]


@pytest.fixture(params=SYSTEMS, ids=lambda system: "-".join([system[0], *system[1]]))
def config(request: pytest.FixtureRequest) -> ModelConfig:
    """Every decoder that attends."""
    preset, overrides = request.param
    return ModelConfig.from_preset(preset, copying=True, **TINY | overrides)


def log_probabilities(model: Seq2Seq, batch: Batch) -> Tensor:
    """(B, T, V) of all words at all steps."""
    memory = model.encode(batch.source, batch.source_lengths)
    features, attention = model.decode(memory, batch.target_inputs)
    return model.project(features, model.copies(attention, memory))


def set_switch(model: Seq2Seq, u: float) -> None:
    """Let the logit of p_gen be `u` at every step."""
    assert isinstance(model.decoder, AttentionDecoder)
    assert model.decoder.switch is not None
    with torch.no_grad():
        model.decoder.switch.w.weight.zero_()
        model.decoder.switch.w.bias.fill_(u)


def naive_loss(model: Seq2Seq, batch: Batch, smoothing: float) -> Tensor:
    """Equations 8 and 9, one word at a time; only P_vocab is smoothed."""
    features, attention = model.decode(
        model.encode(batch.source, batch.source_lengths), batch.target_inputs
    )  # (B, T, F + 1), (B, T, S)
    assert attention is not None
    total, labels = features.new_zeros(()), iter(batch.labels.tolist())
    for b, length in enumerate(batch.target_lengths.tolist()):
        for t in range(length):
            y, f = next(labels), features[b, t]
            P_vocab = (model.vocabulary.weight @ f[:-1] + model.vocabulary.bias).softmax(dim=0)
            p_gen = 1 / (1 + torch.exp(-f[-1]))
            p = p_gen * P_vocab[y]
            for i, x in enumerate(batch.source[b].tolist()):
                if x == y:
                    p = p + (1 - p_gen) * attention[b, t, i]
            total = total - (1 - smoothing) * p.log() - smoothing * P_vocab.log().mean()
    return total


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [4, 1024])
def test_loss_and_gradients_equal_loops(
    config: ModelConfig, smoothing: float, chunk: int, build: Build, pad: Pad
) -> None:
    model, batch = build(config), pad(PAIRS, extra_source=1, extra_target=2)
    model.loss_chunk_tokens = chunk
    loss, expected = model.loss(batch, label_smoothing=smoothing), naive_loss(model, batch, smoothing)
    assert_close(loss.total, expected, rtol=1e-12, atol=1e-12)
    assert_close(loss.cross_entropy, naive_loss(model, batch, 0.0).detach(), rtol=1e-12, atol=1e-12)
    parameters = list(model.parameters())
    for found, naive in zip(
        torch.autograd.grad(loss.total, parameters),
        torch.autograd.grad(expected, parameters),
        strict=True,
    ):
        assert_close(found, naive, rtol=1e-12, atol=1e-12)


def test_probabilities_sum_to_one_and_give_the_loss(config: ModelConfig, build: Build, pad: Pad) -> None:
    model, batch = build(config), pad(PAIRS, extra_source=2)
    log_p = log_probabilities(model, batch)
    assert_close(log_p.exp().sum(dim=-1), torch.ones_like(log_p[..., 0]))
    of_labels = log_p.flatten(0, 1)[batch.positions].gather(1, batch.labels[:, None])
    assert_close(-of_labels.sum(), model.loss(batch).total)
    assert_close(force(model.float(), batch).log_p, of_labels[:, 0].float())


def test_padding_and_the_rest_of_the_batch_never_change_a_probability(
    config: ModelConfig, build: Build, pad: Pad
) -> None:
    model, batch = build(config), pad(PAIRS)
    log_p = log_probabilities(model, batch)
    padded = log_probabilities(model, pad(PAIRS, extra_source=3, extra_target=1))
    assert_close(padded[:, : log_p.shape[1]], log_p)
    for b, pair in enumerate(PAIRS):
        alone = log_probabilities(model, pad([pair]))[0]
        assert_close(log_p[b, : len(alone)], alone)


@pytest.mark.parametrize("fast", [False, True])
def test_one_step_at_a_time_equals_teacher_forcing(
    config: ModelConfig, fast: bool, build: Build, pad: Pad
) -> None:
    model, batch = build(config), pad(PAIRS)
    expected = log_probabilities(model, batch)
    if fast:
        prepare_for_search(model)
    memory = model.encode(batch.source, batch.source_lengths)
    state = model.start(memory, 1)
    for t in range(batch.target_inputs.shape[1]):
        features, state, attention = model.step(batch.target_inputs[:, t : t + 1], state, memory)
        assert_close(model.project(features, model.copies(attention, memory))[:, 0], expected[:, t])


def test_a_closed_pointer_is_the_model_without_copying(config: ModelConfig, build: Build, pad: Pad) -> None:
    model, batch = build(config), pad(PAIRS)
    set_switch(model, 1e4)
    plain = build(config.model_copy(update={"copying": False}))
    plain.load_state_dict({name: w for name, w in model.state_dict().items() if "switch" not in name})
    memory = plain.encode(batch.source, batch.source_lengths)
    logits = plain.project(plain.decode(memory, batch.target_inputs)[0])
    assert_close(log_probabilities(model, batch), logits.log_softmax(dim=-1))
    assert_close(model.loss(batch, label_smoothing=0.1).total, plain.loss(batch, label_smoothing=0.1).total)


def test_an_open_pointer_copies_with_the_weights_of_attention(
    config: ModelConfig, build: Build, pad: Pad
) -> None:
    model, batch = build(config), pad(PAIRS)
    set_switch(model, -1e4)
    memory = model.encode(batch.source, batch.source_lengths)
    _, attention = model.decode(memory, batch.target_inputs)
    assert attention is not None
    p = log_probabilities(model, batch).exp()
    assert_close(p[0, :, 4], attention[0, :, 0] + attention[0, :, 2])  # the word at positions 0 and 2
    assert_close(p[0, :, 5], attention[0, :, 1])
    assert_close(p[0, :, 6], torch.zeros_like(p[0, :, 6]))


def test_the_loss_of_a_word_that_is_not_in_the_source_is_finite() -> None:
    """Neither the loss nor a gradient overflows when the switch is certain, rightly or wrongly."""
    features = torch.zeros(4, 2, requires_grad=True)
    weight, bias = torch.zeros(5, 2, requires_grad=True), torch.zeros(5, requires_grad=True)
    switch = torch.tensor([-200.0, 200.0, -200.0, 200.0], requires_grad=True)
    copied = torch.tensor([0.0, 0.0, 1.0, 1.0], requires_grad=True)
    loss = chunked_cross_entropy(
        features,
        weight,
        bias,
        torch.tensor([1, 1, 1, 1]),
        label_smoothing=0.1,
        chunk_tokens=3,
        switch=switch,
        copied=copied,
    )
    gradients = torch.autograd.grad(loss.total, [features, weight, bias, switch, copied])
    assert loss.total.isfinite()
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def test_half_precision_mixes_in_float32(config: ModelConfig, build: Build, pad: Pad) -> None:
    model, batch = build(config, dtype=torch.float32), pad(PAIRS)
    exact = model.loss(batch).total
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(model.loss(batch).total, exact, rtol=0.02, atol=0.0)
        log_p = log_probabilities(model, batch)
    assert log_p.dtype == torch.float32
    assert_close(log_p.exp().sum(dim=-1), torch.ones_like(log_p[..., 0]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["luong2015", "bahdanau2015"])
def test_scheduled_sampling_feeds_copied_words(name: str, build: Build, pad: Pad) -> None:
    """If the model can only copy from a source of one word, it is fed only this word and <eos>."""
    model = build(ModelConfig.from_preset(name, copying=True, **TINY))
    set_switch(model, -1e4)
    fed: list[Tensor] = []
    model.target_words.register_forward_hook(lambda _, args, __: fed.append(args[0]))
    model.loss(pad([([9], [5, 6, 7, 8])]), scheduled_sampling=ScheduledSampling(1.0, "drawn"))
    assert set(fed[-1][0, 1:].tolist()) <= {9, 3}


def test_a_joint_vocabulary_is_required() -> None:
    config = ModelConfig.from_preset("luong2015", copying=True, **TINY)
    with pytest.raises(ConfigError, match=r"vocabulary\.joint = false"):
        build_model(config, 11, 11, shared=False, generator=torch.Generator())


def test_copying_translates_words_that_were_never_seen_in_training() -> None:
    """The target repeats the source. Without copying, words that were never a target cannot come out."""
    accuracy = {copying: _accuracy_on_unseen_words(copying=copying) for copying in (False, True)}
    assert accuracy[False] < 0.1
    assert accuracy[True] > 0.9


def _accuracy_on_unseen_words(*, copying: bool) -> float:
    config = ModelConfig.from_preset(
        "luong2015", embedding_size=32, hidden_size=32, dropout=0.0, copying=copying
    )
    generator = torch.Generator().manual_seed(1)
    model = build_model(config, 500, 500, shared=True, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(200):
        loss = model.loss(_repetition(generator, 4, 400))
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    model.eval()
    batch = _repetition(generator, 400, 500)
    with torch.no_grad():
        best = force(model, batch, n=1).best[:, 0]  # (N,)
    words = batch.labels != 3
    return (best == batch.labels)[words].float().mean().item()


def _repetition(generator: torch.Generator, first: int, last: int) -> Batch:
    """32 sentences of four words from `first` up to `last` (exclusive), and the same as the target."""
    words = torch.randint(first, last, (32, 4), generator=generator).tolist()
    return collate(words, words)
