"""Laws that hold for every preset and every switch."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import TRANSLATION_PRESETS
from nmt_cli.data.batches import Batch, collate
from nmt_cli.model import Seq2Seq
from nmt_cli.model.decoder import RecurrentMemory, RecurrentState
from nmt_cli.model.transformer import TransformerState

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]

sentences = st.lists(st.integers(4, 10), max_size=6)
any_pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4)


def features_of(model: Seq2Seq, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
    return model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)


def test_padding_never_changes_a_result(config: ModelConfig, build: Build, pad: Pad, pairs: Pairs) -> None:
    model = build(config)
    batch, padded = pad(pairs), pad(pairs, extra_source=3, extra_target=2)
    features, attention = features_of(model, batch)
    features_padded, attention_padded = features_of(model, padded)
    T, S = batch.target_inputs.shape[1], batch.source.shape[1]
    assert_close(features_padded[:, :T], features)
    if attention is not None and attention_padded is not None:
        assert_close(attention_padded[:, :T, :S], attention)
    assert_close(model.loss(padded, label_smoothing=0.1), model.loss(batch, label_smoothing=0.1))


def test_padding_never_changes_a_gradient(config: ModelConfig, build: Build, pad: Pad, pairs: Pairs) -> None:
    model = build(config)
    parameters = list(model.parameters())
    plain = torch.autograd.grad(model.loss(pad(pairs)).total, parameters, allow_unused=True)
    padded = torch.autograd.grad(
        model.loss(pad(pairs, extra_source=3, extra_target=2)).total, parameters, allow_unused=True
    )
    assert_close(padded, plain)
    # Outside of training hard attention takes the best position, whatever its score.
    assert config.hard_attention or all(gradient is not None for gradient in plain), (
        "a parameter nothing uses"
    )


def test_a_batch_of_n_equals_n_batches_of_one(
    config: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    model = build(config)
    together, attention = features_of(model, pad(pairs))
    for row, pair in enumerate(pairs):
        alone, attention_alone = features_of(model, pad([pair]))
        T, S = len(pair[1]) + 1, len(pair[0]) + 1
        assert_close(together[row : row + 1, :T], alone)
        if attention is not None and attention_alone is not None:
            assert_close(attention[row : row + 1, :T, :S], attention_alone)


@pytest.mark.parametrize("name", TRANSLATION_PRESETS)
@given(drawn=any_pairs)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sentences_together_equal_each_alone(name: str, drawn: Pairs, build: Build, pad: Pad) -> None:
    model = build(ModelConfig.from_preset(name, embedding_size=6, hidden_size=8))
    total = model.loss(pad(drawn)).total
    assert_close(total, torch.stack([model.loss(pad([pair])).total for pair in drawn]).sum())


def test_one_step_at_a_time_equals_teacher_forcing(
    config: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    """For K hypotheses at once that follow different targets, in an order that changes at every step."""
    model = build(config)
    batch = pad(pairs)
    B, T, K = len(pairs), 5, 3
    targets = torch.randint(4, 11, (B, K, T), generator=torch.Generator().manual_seed(3))
    memory = model.encode(batch.source, batch.source_lengths)
    expected = [model.decode(memory, targets[:, k]) for k in range(K)]

    state = model.start(memory, K)
    order = torch.arange(K).expand(B, K)  # which target the hypothesis at each place follows
    shuffle = torch.tensor([[2, 0, 1], [1, 1, 0], [0, 2, 2]])
    for t in range(T):
        tokens = targets[:, :, t].gather(1, order)
        features, state, attention = model.step(tokens, state, memory)
        for b in range(B):
            for k in range(K):
                forced, forced_attention = expected[int(order[b, k])]
                assert_close(features[b, k], forced[b, t])
                if attention is not None and forced_attention is not None:
                    assert_close(attention[b, k], forced_attention[b, t])
        state, order = state.reorder(shuffle), order.gather(1, shuffle)


def test_sentences_can_leave_the_batch(config: ModelConfig, build: Build, pad: Pad, pairs: Pairs) -> None:
    model = build(config)
    batch = pad(pairs)
    memory = model.encode(batch.source, batch.source_lengths)
    _, state, _ = model.step(torch.full((3, 2), 2), model.start(memory, 2), memory)
    tokens = torch.tensor([[4, 5], [6, 7], [8, 9]])
    features, _, attention = model.step(tokens, state, memory)
    rows = torch.tensor([2, 0])
    kept, _, kept_attention = model.step(tokens[rows], state.select(rows), memory.select(rows))
    assert_close(kept, features[rows])
    if attention is not None and kept_attention is not None:
        assert_close(kept_attention, attention[rows])


def test_start_shares_the_memory_between_hypotheses(
    preset: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    model = build(preset)
    batch = pad(pairs)
    memory = model.encode(batch.source, batch.source_lengths)
    state = model.start(memory, 7)
    if isinstance(state, TransformerState):
        assert [[part.shape for part in cache] for cache in state.layers] == [[(3, 7, 4, 0, 2)] * 2] * 3
        return
    assert isinstance(state, RecurrentState)
    assert isinstance(memory, RecurrentMemory)
    for layer, initial in zip(state.layers, memory.initial, strict=True):
        assert layer[0].shape == (3, 7, 8)
        assert layer[0].data_ptr() == initial[0].data_ptr()


def test_attention_rows_sum_to_one_and_are_zero_on_padding(
    config: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    batch = pad(pairs, extra_source=2)
    _, attention = features_of(build(config), batch)
    if config.attention == "none":
        assert attention is None
        return
    assert attention is not None
    if config.attention_span == "local-p":
        assert bool((attention.sum(dim=-1) <= 1).all())
        assert bool((attention.sum(dim=-1) > 0).all())
    else:
        assert_close(attention.sum(dim=-1), torch.ones_like(attention[..., 0]))
    assert bool((attention >= 0).all())
    for row, length in enumerate(batch.source_lengths.tolist()):
        assert torch.count_nonzero(attention[row, :, length:]) == 0


@pytest.mark.parametrize("name", TRANSLATION_PRESETS)
def test_reversing_the_source_in_the_data_equals_the_switch(
    name: str, build: Build, pad: Pad, pairs: Pairs
) -> None:
    tiny = {"embedding_size": 6, "hidden_size": 8}
    switch = build(ModelConfig.from_preset(name, **tiny | {"reverse_source": True}))
    plain = build(ModelConfig.from_preset(name, **tiny | {"reverse_source": False}))
    features, attention = features_of(switch, pad(pairs))
    expected, attention_expected = features_of(
        plain, pad([(source[::-1], target) for source, target in pairs])
    )
    assert_close(features, expected)
    if attention is not None and attention_expected is not None:  # shown over the source as it was given
        for row, (source, _) in enumerate(pairs):
            n = len(source)
            assert_close(attention[row, :, :n], attention_expected[row, :, :n].flip(-1))
            assert_close(attention[row, :, n], attention_expected[row, :, n])  # <eos> stays


def test_a_right_to_left_model_is_a_left_to_right_model_of_reversed_targets(
    config: ModelConfig, build: Build, pairs: Pairs
) -> None:
    if config.attention_span == "local-m":
        pytest.skip("its window moves from left to right")
    model, plain = build(config.model_copy(update={"reverse_target": True})), build(config)
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    batch = collate(sources, targets, reverse_target=model.reverse_target)
    twin = collate(sources, [target[::-1] for target in targets])
    for one, other in zip(features_of(model, batch), features_of(plain, twin), strict=True):
        assert_close(one, other, rtol=0, atol=0)
    assert model.loss(batch).total == plain.loss(twin).total


def test_dropout_is_off_in_evaluation_and_on_in_training(
    config: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    model = build(config.model_copy(update={"dropout": 0.5, "word_dropout": 0.3}))
    undropped = build(config.model_copy(update={"dropout": 0.0}))
    batch = pad(pairs)
    assert_close(features_of(model, batch)[0], features_of(undropped, batch)[0], rtol=0, atol=0)
    model.train()
    torch.manual_seed(1)
    first = features_of(model, batch)[0]
    again = features_of(model, batch)[0]
    assert not torch.allclose(first, again)
    torch.manual_seed(1)
    assert_close(features_of(model, batch)[0], first, rtol=0, atol=0)


def test_a_row_of_padding_only_gives_no_nan(
    config: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    model = build(config, training=True, dtype=torch.float32)
    batch = pad(pairs)
    source, lengths = batch.source.clone(), batch.source_lengths.clone()
    source[1], lengths[1] = 0, 0
    batch = batch._replace(source=source, source_lengths=lengths)
    _, attention = features_of(model, batch)
    assert attention is None or torch.count_nonzero(attention[1]) == 0
    loss = model.loss(batch)
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert bool(loss.total.isfinite())
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("overrides", [{"input_feeding": True}, {"attention": "additive"}])
def test_sentences_of_500_tokens_work(overrides: dict[str, object], build: Build, pad: Pad) -> None:
    generator = torch.Generator().manual_seed(1)
    long: Pairs = [(torch.randint(4, 11, (499,), generator=generator).tolist(), [5] * 499), ([4], [5])]
    config = ModelConfig.from_preset("luong2015", embedding_size=6, hidden_size=8, **overrides)
    model = build(config, training=True, dtype=torch.float32)
    loss = model.loss(pad(long))
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert bool(loss.total.isfinite())
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())


def test_forward_never_writes_to_the_model(config: ModelConfig, build: Build, pad: Pad, pairs: Pairs) -> None:
    model = build(config)
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    features_of(model, pad(pairs))
    model.train().loss(pad(pairs))
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
    assert [name for name, _ in model.named_buffers()] == ["baseline"] * config.hard_attention
