"""Tiny models of every preset and switch, and batches made from lists of token ids."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch

from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import LANGUAGE_MODEL_PRESETS, TRANSLATION_PRESETS
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq, build_model

VOCABULARY = 11
Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]
TINY: dict[str, Any] = {"embedding_size": 6, "hidden_size": 8}

FEEDING = {"input_feeding": True}
TWO_LAYERS = {"encoder_layers": 2, "decoder_layers": 2}
WITH_COVERAGE = {"attention": "additive", "coverage": True}
SWITCHES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in TRANSLATION_PRESETS),
    *(("luong2015", FEEDING | {"cell": cell}) for cell in ("rnn", "gru")),
    *(("bahdanau2015", {"cell": cell}) for cell in ("rnn", "lstm")),
    *(("luong2015", FEEDING | {"attention": score}) for score in ("additive", "dot", "scaled_dot", "concat")),
    ("luong2015", FEEDING | {"attention": "projected_dot", "attention_size": 5}),
    ("bahdanau2015", {"attention": "additive", "attention_size": 5}),
    ("bahdanau2015", {"attention": "general", "readout": "tanh"}),
    ("bahdanau2015", {"readout": "state"}),
    ("bahdanau2015", {"readout": "attentional", "readout_size": 7}),
    ("bahdanau2015", {"encoder_layers": 2, "decoder_layers": 3, "residual": True, "layer_norm": True}),
    ("luong2015", FEEDING),
    ("luong2015", {"readout": "maxout", "cell": "gru"}),
    ("luong2015", FEEDING | TWO_LAYERS | {"residual": True, "layer_norm": True}),
    ("luong2015", FEEDING | {"initial_state": "mean", "encoder_layers": 1, "decoder_layers": 2}),
    ("luong2015", FEEDING | TWO_LAYERS | {"initial_state": "projection", "bidirectional": "first"}),
    ("luong2015", FEEDING | {"reverse_source": True}),
    ("luong2015", FEEDING | {"tied_embeddings": "decoder"}),
    ("bahdanau2015", {"tied_embeddings": "all"}),
    ("sutskever2014", {"cell": "rnn", "residual": True}),
    ("sutskever2014", {"readout": "tanh"}),
    ("cho2014", {"cell": "lstm", "initial_state": "copy", "readout": "attentional"}),
    ("gnmt2016", {"cell": "gru", "layer_norm": True, "readout": "attentional"}),
    ("gnmt2016", {"residual": False, "decoder_layers": 2, "initial_state": "mean"}),
    ("luong2015", FEEDING | {"heads": 1}),
    ("luong2015", {"heads": 4, "attention": "additive"}),
    ("bahdanau2015", {"heads": 2, "attention_size": 3, "head_biases": True}),
    ("luong2015", FEEDING | {"attention": "location"}),
    ("luong2015", {"attention": "uniform"}),
    ("bahdanau2015", {"attention": "location", "attention_positions": 3}),
    ("luong2015", FEEDING | {"attention_span": "local-m", "attention_window": 1}),
    ("luong2015", {"attention_span": "local-m", "attention_window": 1, "heads": 2}),
    ("bahdanau2015", {"attention_span": "local-p", "attention_window": 2}),
    ("luong2015", {"attention_span": "local-p", "attention_window": 1}),
    ("luong2015", FEEDING | {"hard_attention": True}),
    ("luong2015", {"hard_attention": True}),
    ("bahdanau2015", {"hard_attention": True, "attention_span": "local-m", "attention_window": 2}),
    ("bahdanau2015", {"coverage": True, "coverage_loss": 0.5, "attention_size": 5}),
    ("luong2015", WITH_COVERAGE | {"coverage_loss": 1.0}),
    ("luong2015", FEEDING | {"attention": "concat", "coverage": True, "hard_attention": True}),
    ("luong2015", {"copying": True}),
    ("luong2015", FEEDING | {"copying": True, "heads": 2, "reverse_source": True}),
    ("bahdanau2015", {"copying": True, "coverage": True, "coverage_loss": 0.5}),
    ("gnmt2016", {"copying": True, "attention_span": "local-m", "attention_window": 1}),
    ("cheng2016", {"copying": True}),
    ("cheng2016", {"cell": "rnn"}),
    ("cheng2016", {"intra_attention": "encoder", "bidirectional": "all"}),
    (
        "luong2015",
        FEEDING | TWO_LAYERS | {"intra_attention": "decoder", "residual": True, "layer_norm": True},
    ),
    ("luong2015", {"intra_attention": "both", "initial_state": "mean"}),
    ("sutskever2014", {"intra_attention": "both"}),
    ("luong2015", {"initial_state": "zero", "decoder_layers": 2}),
    *((name, {}) for name in LANGUAGE_MODEL_PRESETS),
    ("mikolov2010", {"cell": "gru", "readout": "tanh", "tied_embeddings": "decoder"}),
    ("mikolov2010", {"cell": "lstm", "intra_attention": "decoder"}),
    ("zaremba2014", {"embedding_size": 8, "residual": True, "layer_norm": True}),
    ("radford2018", {"embedding_size": 8, "norm": "post", "activation": "relu"}),
    ("vaswani2017", {"norm": "post", "heads": 1, "head_biases": True}),
    ("vaswani2017", {"embedding_size": 8, "encoder_layers": 1, "feedforward_size": 5, "heads": 2}),
]


def _name(switches: tuple[str, dict[str, Any]]) -> str:
    return "-".join([switches[0], *(f"{key}={value}" for key, value in switches[1].items())])


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny tensors: ten times faster
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=SWITCHES, ids=_name)
def config(request: pytest.FixtureRequest) -> ModelConfig:
    """Every preset, and every switch in some preset."""
    preset, overrides = request.param
    return ModelConfig.from_preset(preset, **TINY | overrides)


@pytest.fixture(params=list(TRANSLATION_PRESETS))
def preset(request: pytest.FixtureRequest) -> ModelConfig:
    """Every preset."""
    return ModelConfig.from_preset(request.param, **TINY)


@pytest.fixture
def build() -> Callable[..., Seq2Seq]:
    """A model in double precision and without dropout, unless asked otherwise."""

    def make(
        config: ModelConfig, *, seed: int = 1, training: bool = False, dtype: torch.dtype = torch.float64
    ) -> Seq2Seq:
        generator = torch.Generator().manual_seed(seed)
        model = build_model(config, VOCABULARY, VOCABULARY, shared=True, generator=generator)
        return model.to(dtype).train(training)

    return make


@pytest.fixture
def pad() -> Callable[..., Batch]:
    """A batch from pairs of sentences without <eos>."""

    def make(pairs: Pairs, *, extra_source: int = 0, extra_target: int = 0) -> Batch:
        sources = [[*source, 3] for source, _ in pairs]
        targets = [[*target, 3] for _, target in pairs]
        width = max(map(len, targets)) + extra_target
        source_width = max(map(len, sources)) + extra_source
        positions = [b * width + t for b, target in enumerate(targets) for t in range(len(target))]
        inputs = [[2, *target[:-1]] for target in targets]
        return Batch(
            torch.tensor([row + [0] * (source_width - len(row)) for row in sources]),
            torch.tensor([len(row) for row in sources]),
            torch.tensor([row + [0] * (width - len(row)) for row in inputs]),
            torch.tensor([len(row) for row in targets]),
            torch.tensor(positions),
            torch.tensor([token for target in targets for token in target]),
        )

    return make


@pytest.fixture
def pairs() -> Pairs:
    """Three sentence pairs of different lengths."""
    return [([4, 5, 6, 7], [8, 9]), ([10, 4], [5, 6, 7, 8, 9]), ([9, 8, 7], [4])]
