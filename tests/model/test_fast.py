"""The fast loop over time and the fast additive score equal the plain ones, in value and gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model.fast.loop import Architecture, Inputs
from nmt_cli.model.fast.unroll import can_unroll, fast_unroll, run_loop
from nmt_cli.model.recurrent import CELLS
from nmt_cli.model.recurrent_decoders import AttentionMemory, SequentialDecoder, Steps
from nmt_cli.model.scores import SCORES, Additive, Sizes

from .operations import Count

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
ORDERS: dict[str, dict[str, Any]] = {
    "query before": {"query": "before", "input_feeding": False, "readout": "tanh"},
    "query after, fed": {"query": "after", "input_feeding": True},
}


def configured(**overrides: Any) -> ModelConfig:
    size = {"attention_size": 5} if overrides["attention"] in ("additive", "projected_dot") else {}
    layers = {"encoder_layers": overrides.get("decoder_layers", 1), "decoder_layers": 1}
    return ModelConfig.from_preset(
        "luong2015", **{"embedding_size": 6, "hidden_size": 8, "readout_size": 7} | size | layers | overrides
    )


def unrolled(
    model: Seq2Seq, batch: Batch, *, fast: bool, part: str | None = None
) -> tuple[list[Tensor], list[Tensor | None]]:
    """What the loop finds, and the gradients of all weights (a random sum of all it finds, or of one part)."""
    decoder = model.decoder
    assert isinstance(decoder, SequentialDecoder)
    torch.manual_seed(5)  # of dropout
    memory = model.encode(batch.source, batch.source_lengths)
    y = model._word_vectors(model.target_words, batch.target_inputs)
    assert isinstance(memory, AttentionMemory)
    W_y, W_fed, b = decoder.input_weights()
    words = torch.nn.functional.linear(y, W_y, b)
    assert can_unroll(decoder, words)
    masks = decoder.dropout_masks(words)
    steps = (
        Steps(*fast_unroll(decoder, words, W_fed, memory, masks))
        if fast
        else decoder.unroll(words, W_fed, memory, masks)
    )
    *found, probabilities = steps
    assert probabilities is None
    torch.manual_seed(6)
    weights = [torch.randn(value.shape, dtype=torch.float64).to(value.dtype) for value in found]
    total = sum(
        (value * weight).sum()
        for name, value, weight in zip(Steps._fields, found, weights, strict=False)
        if part in (None, name)
    )
    assert isinstance(total, Tensor)
    gradients = torch.autograd.grad(total, list(model.parameters()), allow_unused=True)
    return found, list(gradients)


def assert_equal(model: Seq2Seq, batch: Batch, part: str | None = None) -> None:
    fast, fast_gradients = unrolled(model, batch, fast=True, part=part)
    plain, plain_gradients = unrolled(model, batch, fast=False, part=part)
    assert_close(fast, plain)
    for (name, _), one, other in zip(model.named_parameters(), fast_gradients, plain_gradients, strict=True):
        zero = torch.zeros((), dtype=torch.float64)
        assert_close(
            zero if one is None else one, zero if other is None else other, msg=name, check_dtype=False
        )


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("score", [score for score in SCORES if score not in ("location", "uniform")])
def test_the_fast_loop_equals_the_plain_one_in_value_and_gradient(
    score: str, order: str, cell: str, layers: int, build: Build, pad: Pad, pairs: Pairs
) -> None:
    config = configured(attention=score, cell=cell, decoder_layers=layers, dropout=0.4, **ORDERS[order])
    assert_equal(build(config, training=True), pad(pairs, extra_source=2, extra_target=1))


BAHDANAU = {"attention": "additive", "cell": "gru", **ORDERS["query before"]}
LUONG = {"attention": "general", "cell": "lstm", "decoder_layers": 2, **ORDERS["query after, fed"]}
both = pytest.mark.parametrize("overrides", [BAHDANAU, LUONG], ids=["bahdanau", "luong"])


@both
@pytest.mark.parametrize("part", ["s", "context", "alpha", "fed"])
def test_each_output_of_the_fast_loop_has_the_gradient_of_the_plain_one(
    part: str, overrides: dict[str, Any], build: Build, pad: Pad, pairs: Pairs
) -> None:
    assert_equal(build(configured(**overrides)), pad(pairs), part)


@both
@pytest.mark.parametrize(
    "few", [[([4, 5], [])], [([], [6, 7, 8])], [([4], []), ([5], [])]], ids=["T=1", "S=1", "T=1, B=2"]
)
def test_the_fast_loop_equals_the_plain_one_on_the_smallest_batches(
    few: Pairs, overrides: dict[str, Any], build: Build, pad: Pad
) -> None:
    assert_equal(build(configured(**overrides)), pad(few))


@both
def test_the_fast_loop_equals_the_plain_one_on_a_row_of_padding_only(
    overrides: dict[str, Any], build: Build, pad: Pad, pairs: Pairs
) -> None:
    batch = pad(pairs)
    source, lengths = batch.source.clone(), batch.source_lengths.clone()
    source[1], lengths[1] = 0, 0
    assert_equal(build(configured(**overrides)), batch._replace(source=source, source_lengths=lengths))


def test_the_fast_loop_equals_the_plain_one_with_variational_dropout(
    build: Build, pad: Pad, pairs: Pairs
) -> None:
    config = configured(**LUONG | {"decoder_layers": 3, "variational_dropout": True, "dropout": 0.4})
    assert_equal(build(config, training=True), pad(pairs))


@both
def test_a_second_backward_pass_gives_the_same_gradient(
    overrides: dict[str, Any], build: Build, pad: Pad, pairs: Pairs
) -> None:
    model = build(configured(**overrides))
    total, weights = model.loss(pad(pairs)).total, list(model.parameters())
    assert_close(torch.autograd.grad(total, weights, retain_graph=True), torch.autograd.grad(total, weights))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("attention", ["additive", "projected_dot", "dot"])
def test_every_input_of_the_fast_loop_passes_a_gradient_check(attention: str, order: str, cell: str) -> None:
    """Two layers, a padded sentence, dropout."""
    generator = torch.Generator().manual_seed(1)
    B, T, S, H, F, before = 2, 2, 3, 2, 2, order == "query before"
    A, GH = 2, CELLS[cell].gates * H
    rows = GH + (0 if attention == "dot" else A) + (0 if before else F)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    inputs = Inputs(
        x=draw(B, T, GH),
        W_fed=draw(GH, H if before else F),
        keys=draw(B, S, A),
        values=draw(B, S, H),
        mask=torch.tensor([[True, True, True], [True, True, False]]),
        v=draw(A) if attention == "additive" else None,
        W_s=draw(rows, H),
        b_s=draw(rows),
        W_c=None if before else draw(F, H),
        initial=tuple(draw(B, H) for _ in range(2 * CELLS[cell].parts)),
        recurrent=(draw(GH, H), draw(GH)),
        upwards=(draw(GH, H), draw(GH)),
        masks=(torch.tensor([0.0, 2.0], dtype=torch.float64).expand(B, T, H),),
    )
    architecture = Architecture(cell, 2, before)

    def outputs(*flat: Tensor | None) -> tuple[Tensor, ...]:
        return run_loop(architecture, Inputs.of(flat, architecture))

    assert torch.autograd.gradcheck(outputs, inputs.flat())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("overrides", "fast"),
    [
        ({}, True),
        ({"decoder_layers": 2, "encoder_layers": 2}, True),
        ({"layer_norm": True}, False),
        ({"decoder_layers": 2, "encoder_layers": 2, "residual": True}, False),
        ({"cell": "lstm", "intra_attention": "decoder"}, False),
        ({"cell": "lstm", "intra_attention": "encoder"}, True),
        ({"heads": 2}, False),
        ({"coverage": True}, False),
        ({"hard_attention": True}, False),
        ({"attention_span": "local-m", "attention_window": 2}, False),
    ],
)
def test_settings_and_precision_decide_which_loop_runs(
    overrides: dict[str, Any], fast: bool, build: Build
) -> None:
    decoder = build(configured(**BAHDANAU | overrides)).decoder
    assert isinstance(decoder, SequentialDecoder)
    assert can_unroll(decoder, torch.zeros(1, 1, 24)) is fast
    assert not can_unroll(decoder, torch.zeros(1, 1, 24, dtype=torch.bfloat16))
    with torch.autocast("cpu", torch.bfloat16):
        assert can_unroll(decoder, torch.zeros(1, 1, 24, dtype=torch.bfloat16)) is fast
    decoder.attention.normalizer = lambda e, mask: e
    assert not can_unroll(decoder, torch.zeros(1, 1, 24))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("order", ORDERS)
def test_under_autocast_the_fast_loop_is_as_close_to_double_precision_as_the_plain_one(
    order: str, cell: str, layers: int, dtype: torch.dtype, build: Build, pad: Pad, pairs: Pairs
) -> None:
    config = configured(attention="general", cell=cell, decoder_layers=layers, dropout=0.4, **ORDERS[order])
    model, batch = build(config, training=True), pad(pairs, extra_source=2)  # weights in double precision
    exact = unrolled(model, batch, fast=True)
    model.float()
    with torch.backends.mkldnn.flags(enabled=False), torch.autocast("cpu", dtype):
        fast, plain = (unrolled(model, batch, fast=is_fast) for is_fast in (True, False))
    for part in (0, 1):  # outputs and gradients
        assert deviation(fast[part], exact[part]) < 1.5 * deviation(plain[part], exact[part]) < 0.1
        assert deviation(fast[part], exact[part]) > 1e-5  # in half precision indeed


def deviation(found: Sequence[Tensor | None], expected: Sequence[Tensor | None]) -> float:
    """The relative distance of all tensors together."""
    pairs = [(a, b) for a, b in zip(found, expected, strict=True) if a is not None and b is not None]
    difference, size = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    for a, b in pairs:
        difference += (a.detach() - b.detach()).square().sum()
        size += b.detach().square().sum()
    return float((difference / size).sqrt())


@both
@pytest.mark.parametrize("half", [False, True], ids=["full precision", "autocast"])
def test_training_uses_the_fast_loop(
    half: bool,
    overrides: dict[str, Any],
    build: Build,
    pad: Pad,
    pairs: Pairs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = build(configured(**overrides), dtype=torch.float32)
    monkeypatch.setattr(SequentialDecoder, "unroll", None)
    with torch.backends.mkldnn.flags(enabled=not half):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = model.loss(pad(pairs))
        loss.total.backward()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("input_feeding", [False, True], ids=["query before", "query after, fed"])
def test_nothing_of_the_size_of_all_scores_is_saved(input_feeding: bool, build: Build, pad: Pad) -> None:
    """B·T·S·A values of tanh(W q + K): made again instead."""
    order = ORDERS["query after, fed" if input_feeding else "query before"]
    model = build(configured(attention="additive", cell="gru", **order))
    batch = pad([([4] * 29, [5] * 19)] * 3)
    B, T, S, A = 3, 20, 30, 5
    sizes: dict[int, int] = {}  # of storages: views share them

    def note(tensor: Tensor) -> Tensor:
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // tensor.itemsize
        return tensor

    memory = model.encode(batch.source, batch.source_lengths)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        model.decode(memory, batch.target_inputs)
    H, F, E = 8, 7, 6
    per_token = 3 * H + (3 * H + A + F) + 2 * H + 3 * F + S + 4 * (H + E + H)
    assert sum(sizes.values()) < B * (T + 1) * per_token + 2 * B * S * (H + A) + 4000 < B * T * S * A * 3
    assert max(sizes.values()) < B * T * S * A


@pytest.mark.parametrize(
    ("overrides", "products", "operations"), [(BAHDANAU, 4, 60), (LUONG, 10, 100)], ids=["bahdanau", "luong"]
)
def test_another_step_adds_a_bounded_number_of_operations(
    overrides: dict[str, Any], products: int, operations: int, build: Build, pad: Pad
) -> None:
    """Forwards and backwards; weights get their gradients outside of the loop."""
    model = build(configured(**overrides))
    counts = []
    for T in (5, 6):
        batch = pad([([4, 5, 6], [7] * T), ([8], [9])])
        memory = model.encode(batch.source, batch.source_lengths)
        with Count() as count:
            model.decode(memory, batch.target_inputs)[0].sum().backward()  # type: ignore[no-untyped-call]
        counts.append(count.calls)
    more = counts[1] - counts[0]
    assert sum(n for name, n in more.items() if name.startswith(("aten.mm", "aten.addmm"))) == products
    views = ("select", "slice", "unsqueeze", "t.", "split", "view", "transpose", "expand", "alias", "detach")
    assert (
        sum(n for name, n in more.items() if not name.startswith(tuple(f"aten.{v}" for v in views)))
        <= operations
    )


def additive(dtype: torch.dtype) -> tuple[Additive, Tensor, Tensor]:
    """A score with A = 5, projected queries (2, 7, 5) and keys (2, 3, 5)."""
    torch.manual_seed(1)
    score, q, K = Additive(Sizes(4, 5, 0)), torch.randn(2, 7, 5), torch.randn(2, 3, 5)
    return score.to(dtype), q.to(dtype).requires_grad_(), K.to(dtype).requires_grad_()


@pytest.mark.parametrize("held", [1, 2 * 3 * 5, 7 * 3 * 5, 2 * 7 * 3 * 5 - 1])
def test_the_additive_score_in_blocks_equals_the_plain_formula(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    score, q, K = additive(torch.float64)
    inputs = q, K, score.v.weight
    plain = score.compare(q, K)
    assert_close(plain, score.v(torch.tanh(q[:, :, None] + K[:, None]))[..., 0])
    expected = torch.autograd.grad(plain.square().sum(), inputs)
    monkeypatch.setattr("nmt_cli.model.fast.additive._ON_CPU", held)
    blocks = score.compare(q, K)
    assert type(blocks.grad_fn).__name__ == "_AdditiveScoreBackward"
    assert_close(blocks, plain)
    assert_close(torch.autograd.grad(blocks.square().sum(), inputs), expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_additive_score_in_blocks_works_in_half_precision(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    score, q, K = additive(torch.float32)
    inputs = q, K, score.v.weight
    expected = torch.autograd.grad(score.compare(q, K).sum(), inputs)
    monkeypatch.setattr("nmt_cli.model.fast.additive._ON_CPU", 30)
    with torch.autocast("cpu", dtype):
        e = score.compare(q.to(dtype), K.to(dtype))
    assert e.dtype == dtype
    assert_close(torch.autograd.grad(e.float().sum(), inputs), expected, rtol=5e-2, atol=5e-2)
