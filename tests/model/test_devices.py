"""Any device, half precision, and how many operations an update takes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import CAPTION_PRESETS, SPEECH_PRESETS
from nmt_cli.data.batches import Batch
from nmt_cli.errors import UsageError
from nmt_cli.model import Seq2Seq
from nmt_cli.model.device import set_threads

from .operations import SYNCHRONIZING, Count, NoWaiting, make_learner, rank_batch, table

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]

MOVES = {"aten._to_copy.default", "aten.copy_.default"}  # what brings tensors from one device to another
GPU_PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"


class OneDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Every operation has its tensors on one device, and none makes the host wait for it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = str(func)
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        devices = {tensor.device.type for tensor in tensors}
        assert len(devices) <= 1 or name in MOVES, f"{name} on {devices}"
        assert not ("meta" in devices and name.rpartition(".")[0] in SYNCHRONIZING), name
        if name.startswith(("aten.index.", "aten.index_put")):
            assert all(index is None or index.dtype != torch.bool for index in args[1]), f"{name} with a mask"
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor) and "meta" in devices:
                assert leaf.device.type == "meta", f"{name} made a tensor on {leaf.device}"
        return result


def update(model: Seq2Seq, batch: Batch) -> Tensor:
    loss = model.loss(batch, label_smoothing=0.1)
    (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
    return loss.total.detach()


@pytest.mark.parametrize(
    "switches", [{}, {"layer_norm": True, "initial_state": "mean", "reverse_source": True}]
)
def test_a_whole_update_stays_on_one_device(
    preset: ModelConfig, switches: dict[str, Any], build: Build, pad: Pad, pairs: Pairs
) -> None:
    """On `meta`, where nothing has values: whatever would have to look at one fails."""
    if preset.cell == "transformer":
        switches = switches | {"initial_state": "copy"}
    dropped = preset.model_copy(
        update=switches | {"word_dropout": 0.1, "variational_dropout": bool(switches)}
    )
    model = build(dropped, training=True, dtype=torch.float32).to("meta")
    batch = pad(pairs).to("meta")
    assert batch.source_lengths.device.type == "cpu"
    with OneDevice():
        update(model, batch)
    assert all(p.grad is not None and p.grad.device.type == "meta" for p in model.parameters())


def test_a_search_step_stays_on_one_device(preset: ModelConfig, build: Build, pad: Pad, pairs: Pairs) -> None:
    model, batch = build(preset).to("meta"), pad(pairs).to("meta")
    rows, parents = (
        torch.zeros(2, dtype=torch.long, device="meta"),
        torch.zeros(2, 4, dtype=torch.long, device="meta"),
    )
    with OneDevice(), torch.no_grad():
        memory = model.encode(batch.source, batch.source_lengths)
        state, memory = model.start(memory, 4).select(rows), memory.select(rows)
        features, state, _ = model.step(parents, state, memory)
        features, state, _ = model.step(parents, state.reorder(parents), memory)
        assert model.project(features).shape == (2, 4, 11)


@pytest.mark.parametrize("name", ["luong2015", "bahdanau2015"])
def test_copying_stays_on_one_device(name: str, build: Build, pad: Pad, pairs: Pairs) -> None:
    config = ModelConfig.from_preset(name, embedding_size=6, hidden_size=8, copying=True)
    model = build(config, training=True, dtype=torch.float32).to("meta")
    batch = pad(pairs).to("meta")
    with OneDevice():
        update(model, batch)
        assert all(p.grad is not None and p.grad.device.type == "meta" for p in model.parameters())
        with torch.no_grad():
            memory = model.eval().encode(batch.source, batch.source_lengths)
            tokens = torch.zeros(len(pairs), 4, dtype=torch.long, device="meta")
            features, _, attention = model.step(tokens, model.start(memory, 4), memory)
            assert model.project(features, model.copies(attention, memory)).shape == (len(pairs), 4, 11)


@pytest.mark.parametrize(
    ("name", "switches"),
    [*((name, {}) for name in (*CAPTION_PRESETS, *SPEECH_PRESETS)), ("xu2015", {"hard_attention": True})],
)
def test_a_model_that_does_not_read_text_stays_on_one_device(
    name: str, switches: dict[str, Any], build: Build, pad: Pad, pairs: Pairs
) -> None:
    switches = {"embedding_size": 6, "hidden_size": 8, "word_dropout": 0.1, **switches}
    config = ModelConfig.from_preset(name, **switches)
    model = build(config, training=True, dtype=torch.float32).to("meta")
    batch = pad(pairs)
    images = torch.zeros(len(batch.source), 16, 16, 3, dtype=torch.uint8)
    if name in SPEECH_PRESETS:
        images = torch.zeros(len(batch.source), 3 * int(batch.source_lengths.max()), 40)
    batch = batch._replace(source=images, source_lengths=3 * batch.source_lengths).to("meta")
    with OneDevice():
        update(model, batch)
        assert all(p.grad is not None and p.grad.device.type == "meta" for p in model.parameters())
        with torch.no_grad():
            memory = model.eval().encode(batch.source, batch.source_lengths)
            tokens = torch.zeros(len(images), 4, dtype=torch.long, device="meta")
            features, _, _ = model.step(tokens, model.start(memory, 4), memory)
            assert model.project(features).shape == (len(images), 4, 11)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_clipping_optimizer_and_moving_average_never_make_the_host_wait(optimizer: str) -> None:
    learner = make_learner("luong2015", optimizer=optimizer, clip_norm=0.1, ema_decay=0.9)
    with NoWaiting():
        for number in (1, 2):
            learner.update(number, [rank_batch(5)], 1e-3)
    with pytest.raises(AssertionError, match="_local_scalar_dense"), NoWaiting():
        float(learner.optimization.norm)


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="counts depend on the version of torch")
def test_the_operations_of_every_preset_are_those_of_the_page() -> None:
    page = GPU_PAGE.read_text("utf-8")
    assert [line for line in table() if line not in page] == []


def test_an_update_in_bf16_is_close_to_one_in_float32(
    config: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    check_half_precision(torch.bfloat16, config, build, pad, pairs)


def test_an_update_in_fp16_is_close_to_one_in_float32(
    preset: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    check_half_precision(torch.float16, preset, build, pad, pairs)


def check_half_precision(
    dtype: torch.dtype, config: ModelConfig, build: Build, pad: Pad, pairs: Pairs
) -> None:
    model, batch = build(config, dtype=torch.float32), pad(pairs, extra_source=3)
    expected = update(model, batch)
    model.zero_grad()
    with torch.backends.mkldnn.flags(enabled=False):
        with torch.autocast("cpu", dtype):
            memory = model.encode(batch.source, batch.source_lengths)
            features, attention = model.decode(memory, batch.target_inputs)
            loss = model.loss(batch, label_smoothing=0.1)
        (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
        with torch.autocast("cpu", dtype), torch.no_grad():
            state = model.start(memory, 2)
            for t in range(batch.target_inputs.shape[1]):
                stepped, state, _ = model.step(batch.target_inputs[:, t : t + 1].expand(-1, 2), state, memory)
                torch.testing.assert_close(stepped[:, 1].float(), features[:, t].float(), rtol=0.1, atol=0.1)
    assert loss.total.dtype == torch.float32
    torch.testing.assert_close(loss.total.detach(), expected, rtol=0.03, atol=0.1)
    # Outside of training hard attention has none for its scores.
    gradients = [p.grad for p in model.parameters()]
    assert config.hard_attention or all(gradient is not None for gradient in gradients)
    assert all(bool(gradient.isfinite().all()) for gradient in gradients if gradient is not None)
    if attention is not None:
        assert attention.dtype == torch.float32
    if attention is not None and config.attention_span != "local-p":
        torch.testing.assert_close(attention.sum(dim=-1), torch.ones_like(attention[..., 0]))


LOOP_FREE: list[tuple[str, dict[str, Any]]] = [
    ("sutskever2014", {}),
    ("cho2014", {"cell": "lstm"}),
    ("luong2015", {"input_feeding": False}),
    ("luong2015", {"input_feeding": False, "attention": "additive"}),
    ("gnmt2016", {}),
]


@pytest.mark.parametrize(("name", "overrides"), LOOP_FREE)
def test_operations_of_a_loop_free_decoder_do_not_grow_with_the_target(
    name: str, overrides: dict[str, Any], build: Build, pad: Pad
) -> None:
    """Counted with the LSTM: on a CPU torch takes the fused GRU apart, on a GPU it is one kernel as well."""
    config = ModelConfig.from_preset(name, embedding_size=6, hidden_size=8, **overrides)
    model = build(config, training=True, dtype=torch.float32)
    counts = []
    for T in (5, 40):
        model.zero_grad()
        with Count() as count:
            update(model, pad([([4, 5, 6], [7] * T), ([8], [9])]))
        counts.append(count.calls)
    assert counts[0] == counts[1]


class Calls(torch.overrides.TorchFunctionMode):
    """How often Python calls torch."""

    number = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.number += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("name", "overrides"), [*LOOP_FREE, ("cho2014", {})])
def test_a_loop_free_decoder_has_no_loop_over_time_in_python(
    name: str, overrides: dict[str, Any], build: Build, pad: Pad
) -> None:
    model = build(ModelConfig.from_preset(name, embedding_size=6, hidden_size=8, **overrides), training=True)
    numbers = []
    for T in (5, 40):
        with Calls() as calls:
            model.loss(pad([([4, 5, 6], [7] * T), ([8], [9])]))
        numbers.append(calls.number)
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("count", [0, -1, 100_000])
def test_an_impossible_number_of_threads_is_rejected_before_torch_tries(count: int) -> None:
    before = torch.get_num_threads()
    with pytest.raises(UsageError, match="cannot use"):
        set_threads(count)
    assert torch.get_num_threads() == before
