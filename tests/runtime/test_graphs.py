"""The exported graphs compute what the model computes, step by step."""

from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import TRANSLATION_PRESETS
from nmt_cli.data.batches import collate
from nmt_cli.export.decoder import decoder_model
from nmt_cli.export.encoder import encoder_model
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.vocabulary.token_ids import BOS, EOS, PAD, Ragged

V = 150
LENGTHS = (5, 3, 8, 1)
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((preset, {}) for preset in TRANSLATION_PRESETS),
    ("luong2015", {"input_feeding": True}),
    ("luong2015", {"input_feeding": True, "decoder_layers": 2, "encoder_layers": 2, "residual": True}),
    ("luong2015", {"attention": "projected_dot", "attention_size": 10}),
    ("luong2015", {"attention": "scaled_dot", "reverse_source": True}),
    ("luong2015", {"attention": "dot", "initial_state": "zero", "readout_size": 10}),
    ("luong2015", {"attention": "concat", "layer_norm": True, "cell": "rnn"}),
    ("vaswani2017", {"norm": "post", "embedding_size": 16}),
    ("vaswani2017", {"head_biases": True, "activation": "gelu"}),
    ("cheng2016", {"bidirectional": "all", "cell": "rnn", "layer_norm": True}),
    ("bahdanau2015", {"initial_state": "mean", "decoder_layers": 2}),
    ("cho2014", {"cell": "lstm", "readout": "attentional"}),
]
variants = pytest.mark.parametrize(("preset", "settings"), VARIANTS, ids=str)


def build(
    preset: str, settings: dict[str, Any], scale: float = 1.5, size: int = 16
) -> tuple[Seq2Seq, ModelConfig]:
    config = ModelConfig.from_preset(preset, **{"embedding_size": 12, "hidden_size": size, **settings})
    model = build_model(config, V, V, shared=True, generator=torch.Generator().manual_seed(3)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.mul_(scale)  # away from uniform, as after training
            if name.endswith(("W_q.bias", "W_k.bias", "W_v.bias")):
                parameter.normal_(generator=torch.Generator().manual_seed(4))
    return model, config


def compare(
    model: Seq2Seq,
    config: ModelConfig,
    *,
    int8: bool = False,
    shortlist: bool = False,
    steps: int = 6,
    K: int = 3,
) -> float:
    """The largest difference of a log-probability, over steps of a beam whose hypotheses change places."""
    draw = torch.Generator().manual_seed(1)
    lengths, B = torch.tensor(LENGTHS), len(LENGTHS)
    source = torch.randint(4, V, (B, max(LENGTHS)), generator=draw)
    for row, length in zip(source, LENGTHS, strict=True):
        row[length - 1], row[length:] = EOS, PAD
    encoder, decoder = (
        onnxruntime.InferenceSession(build(model, config, int8=int8, shortlist=shortlist).SerializeToString())
        for build in (encoder_model, decoder_model)
    )
    feed = {"source": source.numpy(), "lengths": lengths.numpy().astype(np.int32)}
    if shortlist:
        feed |= {"shortlist": np.arange(V), "allowed": np.zeros((B, V), np.float32)}
    values = dict(zip([out.name for out in encoder.get_outputs()], encoder.run(None, feed), strict=True))
    worst, tokens, parents = 0.0, torch.full((B, 1), BOS), torch.zeros(B, 1, dtype=torch.long)
    with torch.inference_mode():
        memory = model.encode(source, lengths)
        state, k = model.start(memory, 1), 1
        for _ in range(steps):
            features, state, attention = model.step(tokens, state, memory)
            expected = model.project(features).log_softmax(dim=-1).numpy()  # (B, k, V)
            width = expected.shape[1]
            rows = (parents + k * torch.arange(B)[:, None]).numpy()
            values |= {
                "tokens": tokens.numpy(),
                "scores": np.zeros((B, width, 1), np.float32),
                "exclude": np.zeros((1, 1, V), np.float32),
                "count": np.array([width * V]),
                **{name: states[rows] for name, states in values.items() if name.startswith("state_")},
            }
            outputs = decoder.run(None, {value.name: values[value.name] for value in decoder.get_inputs()})
            found = dict(zip([out.name for out in decoder.get_outputs()], outputs, strict=True))
            log_p = np.empty((B, width * V), np.float32)
            np.put_along_axis(log_p, found["index"], found["best"], axis=1)
            worst = max(worst, float(np.abs(log_p.reshape(expected.shape) - expected).max()))
            assert (attention is None) == ("attention" not in found)
            if attention is not None and not int8:
                assert found["attention"] == pytest.approx(attention.numpy(), abs=1e-4)
            values |= {
                name.replace("next", "state"): value.reshape(-1, *value.shape[2:])
                for name, value in found.items()
                if "next" in name
            }
            k, parents = width, torch.randint(0, width, (B, K), generator=draw)
            state, tokens = state.reorder(parents), torch.randint(4, V, (B, K), generator=draw)
    return worst


@variants
@pytest.mark.parametrize("shortlist", [False, True])
def test_every_step_of_a_beam_has_the_logits_of_the_model(
    preset: str, settings: dict[str, Any], shortlist: bool
) -> None:
    assert compare(*build(preset, settings), shortlist=shortlist) < 1e-4


@pytest.mark.parametrize("preset", TRANSLATION_PRESETS)
def test_every_step_of_a_trained_model_has_its_logits(preset: str) -> None:
    model, config = build(preset, {"dropout": 0.0}, scale=1.0)
    draw = np.random.default_rng(0)
    rows = [draw.integers(4, V, size=length).tolist() for length in (7, 3, 5, 6, 2, 8)]
    batch = collate(Ragged.from_rows(rows), Ragged.from_rows([row[::-1] for row in rows]))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = model.train().loss(batch)
        (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.total.item())
    assert losses[-1] < 0.6 * losses[0]  # it has learned
    assert compare(model.eval(), config) < 1e-4


@pytest.mark.parametrize("preset", TRANSLATION_PRESETS)
def test_int8_stays_close_to_float32(preset: str) -> None:
    model, config = build(preset, {"embedding_size": 128}, scale=1.0, size=128)
    plain, quantized = compare(model, config), compare(model, config, int8=True)
    assert plain < 1e-4 < quantized < 0.15  # it is quantized, and log p changes little


@pytest.mark.parametrize("preset", TRANSLATION_PRESETS)
def test_the_same_model_gives_the_same_bytes(preset: str) -> None:
    files = [
        [
            graph(*build(preset, {}), int8=True, shortlist=True).SerializeToString(deterministic=True)
            for graph in (encoder_model, decoder_model)
        ]
        for _ in range(2)
    ]
    assert files[0] == files[1]
