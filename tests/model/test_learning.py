"""Learning is proved by learning: fresh sequences, never seen in training, come out exactly right."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import TRANSLATION_PRESETS
from nmt_cli.data.batches import Batch
from nmt_cli.model import ScheduledSampling, Seq2Seq, build_model
from nmt_cli.model.transformer import TransformerDecoder

BOS, EOS, SYMBOLS = 2, 3, 6
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
TASKS: dict[str, Callable[[list[int]], list[int]]] = {
    "copy": list,
    "reverse": lambda source: source[::-1],
    "sort": sorted,
}


def draw(task: str, number: int, lengths: tuple[int, int], generator: torch.Generator) -> Pairs:
    sizes = torch.randint(lengths[0], lengths[1] + 1, (number,), generator=generator).tolist()
    sources = [torch.randint(4, 4 + SYMBOLS, (size,), generator=generator).tolist() for size in sizes]
    return [(source, TASKS[task](source)) for source in sources]


@torch.no_grad()
def translate(model: Seq2Seq, batch: Batch, steps: int) -> list[list[int]]:
    """Greedy search."""
    memory = model.encode(batch.source, batch.source_lengths)
    state, tokens = model.start(memory, 1), torch.full((len(batch.source), 1), BOS)
    outputs = []
    for _ in range(steps):
        features, state, _ = model.step(tokens, state, memory)
        tokens = model.project(features).argmax(dim=-1)
        outputs.append(tokens)
    rows = torch.cat(outputs, dim=1).tolist()
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


def tiny(name: str, **overrides: object) -> tuple[Seq2Seq, torch.Generator]:
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    if name in ("cho2014", "bahdanau2015", "cheng2016", "vaswani2017"):
        layers = {"encoder_layers": 1, "decoder_layers": 1}
    sizes = {"embedding_size": 32, "hidden_size": 64, "dropout": 0.0}
    generator = torch.Generator().manual_seed(1)
    config = ModelConfig.from_preset(name, **sizes | layers | overrides)
    return build_model(config, 4 + SYMBOLS, 4 + SYMBOLS, shared=True, generator=generator), generator


def train(model: Seq2Seq, updates: int, batch: Callable[[], Batch], **how: Any) -> Iterator[int]:
    """Adam with a learning rate that falls to zero; yields the number of updates done."""
    rate = 0.003 if isinstance(model.decoder, TransformerDecoder) else 0.01
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=updates)
    for update in range(1, updates + 1):
        loss = model.train().loss(batch(), **how)
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        model.learn_baseline(loss)
        model.eval()
        yield update


@pytest.mark.parametrize("task", ["copy", "reverse"])
@pytest.mark.parametrize("name", TRANSLATION_PRESETS)
def test_a_preset_learns_to_copy_and_to_reverse(name: str, task: str, pad: Pad) -> None:
    learns(*tiny(name), task, pad)


SWITCHES: list[tuple[str, dict[str, Any], str]] = [
    ("luong2015", {"heads": 4, "attention": "scaled_dot"}, "sort"),
    ("luong2015", {"attention": "location"}, "reverse"),
    ("luong2015", {"attention_span": "local-m", "attention_window": 1}, "copy"),
    ("luong2015", {"attention_span": "local-p", "attention_window": 2}, "reverse"),
    ("luong2015", {"hard_attention": True}, "copy"),
    ("bahdanau2015", {"coverage": True, "coverage_loss": 0.1}, "sort"),
    ("cheng2016", {"cell": "rnn"}, "copy"),
    ("vaswani2017", {"norm": "post", "heads": 2}, "copy"),
]


@pytest.mark.parametrize(("name", "overrides", "task"), SWITCHES)
def test_a_switch_learns(name: str, overrides: dict[str, Any], task: str, pad: Pad) -> None:
    learns(*tiny(name, **{"encoder_layers": 1, "decoder_layers": 1} | overrides), task, pad)


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
@pytest.mark.parametrize(
    "how",
    [{"scheduled_sampling": ScheduledSampling(0.3, "drawn")}, {"token_fraction": 0.5}],
    ids=["own words", "subset"],
)
def test_a_training_mode_learns(name: str, how: dict[str, Any], pad: Pad) -> None:
    learns(*tiny(name), "copy", pad, **how)


def learns(model: Seq2Seq, generator: torch.Generator, task: str, pad: Pad, **how: Any) -> None:
    """Sequences that were never seen come out exactly right."""
    torch.manual_seed(1)  # of what is drawn in training
    unseen = draw(task, 50, (1, 4), generator)
    expected = [target for _, target in unseen]
    for update in train(model, 400, lambda: pad(draw(task, 64, (1, 4), generator)), **how):
        if update % 25 == 0 and translate(model, pad(unseen), 6) == expected:
            return
    pytest.fail(f"did not learn to {task} in 400 updates")


def test_without_attention_long_sequences_are_learned_less_well(pad: Pad) -> None:
    """One vector must carry the whole sentence: the reason why attention exists."""
    losses = {}
    for name, overrides in {
        "without": {"attention": "none", "readout": "state"},
        "with": {"attention": "general", "readout": "attentional"},
    }.items():
        model, generator = tiny(
            "luong2015", input_feeding=False, encoder_layers=1, decoder_layers=1, **overrides
        )
        for _ in train(model, 80, lambda generator=generator: pad(draw("reverse", 32, (12, 16), generator))):  # type: ignore[misc]
            pass
        with torch.no_grad():
            loss = model.loss(pad(draw("reverse", 100, (12, 16), generator)))
        losses[name] = float(loss.total) / loss.tokens
    assert losses["with"] < 0.5 * losses["without"], losses
