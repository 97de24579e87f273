"""Counting what torch does. `python -m tests.model.operations` prints the table in docs/gpu.md."""

from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nmt_cli.config import (
    CAPTION_PRESETS,
    LANGUAGE_MODEL_PRESETS,
    SPEECH_PRESETS,
    TRANSLATION_PRESETS,
    SearchConfig,
    TrainConfig,
)
from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import RankBatch, collate
from nmt_cli.model import build_model
from nmt_cli.search import ModelScorer, search
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.learner import Learner
from nmt_cli.training.optimization import Precision

# What makes the host wait until a GPU has computed a value.
SYNCHRONIZING = {
    "aten.nonzero",
    "aten._local_scalar_dense",
    "aten.masked_select",
    "aten.item",
    "aten.equal",
    "aten.is_nonzero",
    "aten._unique2",
    "aten.unique_dim",
    "aten.unique_consecutive",
}
_VOCABULARY = 50


class Count(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """How often each operation is dispatched, the backward pass included."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.calls[str(func)] += 1
        return func(*args, **(kwargs or {}))


class NoWaiting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """No operation makes the host wait for a value of a floating-point tensor, which would be on a GPU."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        floating = any(isinstance(value, Tensor) and value.is_floating_point() for value in args)
        assert not (floating and str(func).rpartition(".")[0] in SYNCHRONIZING), str(func)
        return func(*args, **(kwargs or {}))


class Row(NamedTuple):
    """Operations of one preset."""

    preset: str
    update: int  # with sentences of 10 tokens
    per_token: float  # more for each more token on both sides
    step: float | None = None  # of beam search; None for a language model
    waits: float | None = None  # of the host, per step of beam search


def operations(preset: str) -> Row:
    """Count the operations of one update and of a step of beam search, on a CPU."""
    short, long = (_update_operations(preset, length) for length in (10, 20))
    per_token = (long - short) / 10
    if preset in LANGUAGE_MODEL_PRESETS:
        return Row(preset, short, per_token)
    return Row(preset, short, per_token, *_step_operations(preset))


def make_learner(preset: str, **settings: object) -> Learner:
    """A tiny model with its optimizer."""
    config = ModelConfig.from_preset(preset, embedding_size=8, hidden_size=8)
    generator = torch.Generator().manual_seed(1)
    model = build_model(config, _VOCABULARY, _VOCABULARY, shared=True, generator=generator)
    cpu = torch.device("cpu")
    precision = Precision("fp32", "cpu")
    return Learner(model, TrainConfig(**settings), device=cpu, precision=precision, group=ProcessGroup())


def rank_batch(length: int, preset: str = "luong2015") -> RankBatch:
    """Two sentences of this length, or two blank images or recordings with such texts."""
    sentences = [[4 + (7 * row + position) % 40 for position in range(length)] for row in range(2)]
    batch = collate(sentences, sentences)
    if preset in CAPTION_PRESETS:
        batch = batch._replace(source=torch.zeros(2, 48, 48, 3, dtype=torch.uint8))
    if preset in SPEECH_PRESETS:
        frames = torch.zeros(2, 8 * (length + 1), 40)  # an eighth as many positions: those of a text
        batch = batch._replace(source=frames, source_lengths=8 * batch.source_lengths)
    return RankBatch(1, 0, batch, 2, len(batch.labels))


def _update_operations(preset: str, length: int) -> int:
    learner, batch = make_learner(preset), rank_batch(length, preset)
    learner.update(1, [batch], 1e-3)  # creates the state of the optimizer
    with Count() as count:
        learner.update(2, [batch], 1e-3)
    return sum(count.calls.values())


def _step_operations(preset: str) -> tuple[float, float]:
    """Operations, and how many of them make the host wait."""
    model = make_learner(preset).model.eval()
    batch = rank_batch(10, preset).batch
    assert batch is not None
    counts, waits = [], []
    with torch.inference_mode():
        memory = model.encode(batch.source, batch.source_lengths)
        for length in (10, 20):
            config = SearchConfig(beam_size=4, max_length=length, min_length=length)
            with Count() as count:
                search(ModelScorer(model, torch.device("cpu")), memory, batch.source_lengths, config)
            counts.append(count.calls.total())
            waits.append(
                sum(n for name, n in count.calls.items() if name.rpartition(".")[0] in SYNCHRONIZING)
            )
    return (counts[1] - counts[0]) / 10, (waits[1] - waits[0]) / 10


def table() -> list[str]:
    """The rows of the table in Markdown."""
    lines = []
    for preset in (*TRANSLATION_PRESETS, *LANGUAGE_MODEL_PRESETS, *CAPTION_PRESETS, *SPEECH_PRESETS):
        row = operations(preset)
        step, waits = ("" if value is None else f"{value:.1f}" for value in (row.step, row.waits))
        lines.append(f"| `{preset}` | {row.update:,} | {row.per_token:.1f} | {step} | {waits} |")
    return lines


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("\n".join(table()))
