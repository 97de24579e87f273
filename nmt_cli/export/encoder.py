"""The encoder as an ONNX graph: source ids → everything that the decoder needs.

Inputs    source (B, S), lengths (B,); with a shortlist also the N target ids of the batch, and which of them each
          sentence may use: allowed (B, N), 0 or -∞
Outputs   memory_*   (B, …)   what all steps read
          state_*    (B, …)   what the first step continues
          table_*    (N, …)   rows of the target embeddings and of the vocabulary projection, with a shortlist
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import onnx
from torch import nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.export.cells import lstmn_start, read_sentences
from nmt_cli.export.graph import FLOAT, INT8, INT32, INT64, UINT8, Graph, quantized
from nmt_cli.model import Seq2Seq
from nmt_cli.model.attention import Attention, HeadedReader, HeadedScore
from nmt_cli.model.decoder import RecurrentDecoder
from nmt_cli.model.encoder import Encoder, EncoderLayer
from nmt_cli.model.lstmn import LSTMNLayer
from nmt_cli.model.recurrent import Layer
from nmt_cli.model.recurrent_decoders import AttentionDecoder
from nmt_cli.model.scores import Additive, General, ProjectedDot, ScaledDot
from nmt_cli.model.transformer import (
    InputEmbedding,
    MultiHead,
    SubLayer,
    TransformerDecoder,
    TransformerEncoder,
    TransformerLayer,
)

_HIDDEN = -1e30  # added to the scores of padding: finite, so that a difference is never nan


def encoder_model(model: Seq2Seq, config: ModelConfig, *, int8: bool, shortlist: bool) -> onnx.ModelProto:
    """The encoder, the bridge and the projected keys of attention."""
    graph = Graph(int8=int8)
    source = graph.input("source", INT64, ["B", "S"])
    lengths = graph.input("lengths", INT32, ["B"])
    if isinstance(model.encoder, TransformerEncoder):
        states = _transformer_states(graph, model, source, lengths)
        _transformer_memory(graph, model, states, lengths, source)
    else:
        assert isinstance(model.encoder, Encoder)
        states, last = _recurrent_states(graph, model, source, lengths)
        _recurrent_memory(graph, model, config, states, last, lengths, source)
    if shortlist:
        _tables(graph, model)
    return graph.model()


def mask_of(graph: Graph, source: str, lengths: str) -> str:
    """(B, S) what is added to attention scores: 0 on real tokens."""
    S = graph("Gather", graph("Shape", source), graph.constant(1))
    positions = graph("Range", graph.constant(0), S, graph.constant(1))  # (S,)
    real = graph("Less", positions, graph.unsqueeze(graph("Cast", lengths, to=INT64), 1))
    return graph("Where", real, graph.constant(0.0), graph.constant(_HIDDEN))


def words_are_coded(model: Seq2Seq, *, int8: bool) -> bool:
    """Whether the target words are 8-bit codes of one scale, as the products of recurrent decoders need them."""
    return int8 and not isinstance(model.decoder, TransformerDecoder)


def hidden_is_coded(layer: Layer[Any], *, int8: bool) -> bool:
    """Whether the state h of a decoder layer is 8-bit codes: only products read that of an LSTM."""
    return int8 and not isinstance(layer, LSTMNLayer) and layer.cell.parts == 2


def _tables(graph: Graph, model: Seq2Seq) -> None:
    """The rows of the target words and of the vocabulary projection that the batch needs."""
    F, E = model.vocabulary.in_features, model.target_words.embedding_dim
    ids = graph.input("shortlist", INT64, ["N"])
    allowed = graph.input("allowed", FLOAT, ["B", "N"])
    W, words = model.vocabulary.weight, model.target_words.weight
    if graph.int8:
        W_q, scale = quantized(W)
        rows = graph("Gather", graph.constant(W_q), ids)
        graph.output("table_scale", graph("Gather", graph.constant(scale), ids), FLOAT, ["N"])
    else:
        rows = graph("Gather", graph.weight(W), ids)
    kind = INT8 if graph.int8 else FLOAT
    graph.output("table_vocabulary", graph("Transpose", rows, perm=[1, 0]), kind, [F, "N"])
    if words_are_coded(model, int8=graph.int8):
        graph.output("table_words", graph("Gather", graph.code_table(words)[0], ids), UINT8, ["N", E])
    else:
        graph.output("table_words", graph.lookup(words, ids), FLOAT, ["N", E])
    bias = graph("Add", graph("Gather", graph.weight(model.vocabulary.bias), ids), allowed)
    graph.output("memory_bias", graph.unsqueeze(bias, 1), FLOAT, ["B", 1, "N"])


# Recurrent encoders, positions first


def _recurrent_states(graph: Graph, model: Seq2Seq, source: str, lengths: str) -> tuple[str, list[list[str]]]:
    """States (B, S, H) in source order, and the last states of each layer, each (B, H)."""
    assert isinstance(model.encoder, Encoder)
    ids, words = graph("Transpose", source, perm=[1, 0]), model.source_words.weight
    if graph.int8 and words is model.target_words.weight:  # one table for both
        table, bound = graph.code_table(words)
        x = graph.decoded(graph("Gather", table, ids), bound)
    else:
        x = graph.lookup(words, ids)  # (S, B, E)
    to_reverse = graph("Sub", graph("Cast", lengths, to=INT64), graph.constant(1))
    to_reverse = graph("Max", to_reverse, graph.constant(1))  # reversing one position changes nothing
    if model.reverse_source:
        x = graph("ReverseSequence", x, to_reverse, time_axis=0, batch_axis=1)
    last: list[list[str]] = []
    for i, layer in enumerate(cast(Sequence[EncoderLayer], model.encoder.layers)):
        y, state = read_sentences(graph, layer.forwards, x, lengths, backwards=False)
        if layer.backwards is not None:
            b, first = read_sentences(graph, layer.backwards, x, lengths, backwards=True)
            y = graph("Concat", y, b, axis=-1)
            state = [graph("Concat", *pair, axis=-1) for pair in zip(state, first, strict=True)]
        x = graph("Add", x, y) if model.encoder.residual and i > 0 else y
        last.append(state)
    if model.reverse_source:
        x = graph("ReverseSequence", x, to_reverse, time_axis=0, batch_axis=1)
    return graph("Transpose", x, perm=[1, 0, 2]), last


def _recurrent_memory(
    graph: Graph,
    model: Seq2Seq,
    config: ModelConfig,
    states: str,
    last: Sequence[Sequence[str]],
    lengths: str,
    source: str,
) -> None:
    decoder, H = model.decoder, config.hidden_size
    assert isinstance(decoder, RecurrentDecoder)
    mask = mask_of(graph, source, lengths)
    initial = _bridge(graph, model, states, last, mask, lengths)
    if isinstance(decoder, AttentionDecoder):
        keys, shape = _keys(graph, decoder.attention, states)
        graph.output("memory_keys", keys, FLOAT, shape)
        graph.output("memory_values", states, FLOAT, ["B", "S", H])
        graph.output("memory_mask", graph.unsqueeze(mask, 1), FLOAT, ["B", 1, "S"])
    number = 0
    for layer, state in zip(decoder.layers, initial, strict=True):
        parts = list(state)
        if isinstance(layer, LSTMNLayer):
            start = lstmn_start(graph, layer, [graph.unsqueeze(part, 1) for part in parts])
            parts = [graph.rows(part) for part in start]
        for i, part in enumerate(parts):
            coded = i == 0 and hidden_is_coded(layer, int8=graph.int8)
            value, kind = (graph.codes(part, 1.0), UINT8) if coded else (part, FLOAT)
            shape = ["B", 1, H] if isinstance(layer, LSTMNLayer) and i else ["B", H]
            graph.output(f"state_{number}", value, kind, shape)
            number += 1
    if config.input_feeding:
        F = config.features_size
        shape_of = graph("Concat", graph("Shape", lengths), graph.constant([F]), axis=0)
        graph.output(f"state_{number}", graph("ConstantOfShape", shape_of), FLOAT, ["B", F])


def _bridge(
    graph: Graph, model: Seq2Seq, states: str, last: Sequence[Sequence[str]], mask: str, lengths: str
) -> list[list[str]]:
    """s_0 of each decoder layer, each (B, H); a summary of the source is an output of its own."""
    bridge = model.bridge
    H, parts = bridge.hidden_size, bridge.parts
    c = None
    if bridge.V is not None:
        c = graph("Tanh", graph.linear(last[-1][0], bridge.V, bound=1.0))
        graph.output("memory_summary", graph.unsqueeze(c, 1), FLOAT, ["B", 1, H])
    if bridge.W is None:
        if bridge.kind != "zero":
            return [list(state) for state in last]
        shape = graph("Concat", graph("Shape", lengths), graph.constant([H]), axis=0)
        return [[graph("ConstantOfShape", shape)] * parts] * bridge.layers
    if bridge.kind == "mean":
        real = graph("Cast", graph("Equal", mask, graph.constant(0.0)), to=FLOAT)  # (B, S)
        total = graph.squeeze(graph("MatMul", graph.unsqueeze(real, 1), states), 1)  # (B, H)
        h = graph("Div", total, graph.unsqueeze(graph("Cast", lengths, to=FLOAT), 1))
    else:
        h = last[-1][0] if c is None else c
    s_0 = graph.split(graph("Tanh", graph.linear(h, bridge.W)), bridge.layers * parts)
    return [s_0[i : i + parts] for i in range(0, len(s_0), parts)]


def _keys(graph: Graph, attention: Attention, states: str) -> tuple[str, list[str | int]]:
    """What queries are compared with: (B, 1, S, A) for additive scores, (B, A, S) for products."""
    score = attention.score
    if isinstance(score, Additive):
        A = score.U.out_features
        return graph.unsqueeze(graph.linear(states, score.U), 1), ["B", 1, "S", A]
    if isinstance(score, General):
        keys, A = graph.linear(states, score.W), score.W.out_features
    elif isinstance(score, ProjectedDot):
        keys, A = graph.linear(states, score.g), score.g.out_features
    else:
        keys, A = states, -1
    if isinstance(score, ScaledDot):
        width = graph("Cast", graph("Shape", states, start=2), to=FLOAT)
        keys = graph("Div", keys, graph("Sqrt", width))
    return graph("Transpose", keys, perm=[0, 2, 1]), ["B", A if A > 0 else "A", "S"]


# Transformers


def embed(graph: Graph, entrance: InputEmbedding, x: str, positions: str, H: int) -> str:
    """√E word + position: word vectors x (B, T, E), positions (T,) float → (B, T, H)"""
    x = graph("Mul", x, graph.constant(entrance.scale))
    if isinstance(entrance.W, nn.Linear):
        x = graph.linear(x, entrance.W)
    i = np.arange(0, H, 2, dtype=np.float32)
    frequencies = graph.constant(np.exp(i * np.float32(-math.log(10000.0) / H)))  # (H/2,)
    angles = graph("Mul", graph.unsqueeze(positions, 1), frequencies)  # (T, H/2)
    pairs = [graph.unsqueeze(graph(name, angles), 2) for name in ("Sin", "Cos")]
    table = graph.reshape(graph("Concat", *pairs, axis=2), [0, H])  # (T, H)
    return graph("Add", x, table)


def heads_of(graph: Graph, x: str, heads: int, size: int, perm: Sequence[int]) -> str:
    """(B, T, H) → (B, T, n, d), transposed"""
    return graph("Transpose", graph.reshape(x, [0, 0, heads, size // heads]), perm=list(perm))


def source_keys(graph: Graph, attention: MultiHead, states: str, H: int) -> tuple[str, str]:
    """Keys (B, n, d, S), already divided by √d, and values (B, n, S, d)."""
    score, reader = attention.attention.score, attention.attention.reader
    assert isinstance(score, HeadedScore)
    assert isinstance(reader, HeadedReader)
    d = H // score.heads
    keys = graph("Mul", graph.linear(states, score.W_k), graph.constant(1 / math.sqrt(d)))
    values = graph.linear(states, reader.W_v)
    return (
        heads_of(graph, keys, score.heads, H, [0, 2, 3, 1]),
        heads_of(graph, values, score.heads, H, [0, 2, 1, 3]),
    )


def attend_heads(
    graph: Graph, attention: MultiHead, query: str, keys: str, values: str, mask: str, H: int
) -> tuple[str, str]:
    """Query (B, Q, H), keys and values of the heads, mask (B, 1, 1, S) → W_o c (B, Q, H), α (B, n, Q, S)"""
    score = attention.attention.score
    assert isinstance(score, HeadedScore)
    q = heads_of(graph, graph.linear(query, score.W_q), score.heads, H, [0, 2, 1, 3])  # (B, n, Q, d)
    alpha = graph("Softmax", graph("Add", graph("MatMul", q, keys), mask), axis=-1)
    c = graph("Transpose", graph("MatMul", alpha, values), perm=[0, 2, 1, 3])  # (B, Q, n, d)
    return graph.linear(graph.reshape(c, [0, 0, H]), attention.W_o), alpha


def enter(graph: Graph, x: str, around: SubLayer) -> str:
    """The input of a sublayer."""
    return graph.norm(x, around.norm) if around.before else x


def leave(graph: Graph, x: str, f: str, around: SubLayer) -> str:
    """The residual sum after a sublayer."""
    y = graph("Add", x, f)
    return y if around.before else graph.norm(y, around.norm)


def feed(graph: Graph, layer: TransformerLayer, x: str) -> str:
    """The feed-forward sublayer."""
    first, activation, _, second = layer.feed_forward
    z = graph.linear(enter(graph, x, layer.around_feed), first)  # type: ignore[arg-type]
    if isinstance(activation, nn.GELU):  # z Φ(z) = z (1 + erf(z / √2)) / 2
        error = graph("Erf", graph("Mul", z, graph.constant(math.sqrt(0.5))))
        half = graph("Mul", z, graph.constant(0.5))
        z = graph("Mul", half, graph("Add", error, graph.constant(1.0)))
    else:
        z = graph("Relu", z)
    return leave(graph, x, graph.linear(z, second), layer.around_feed)  # type: ignore[arg-type]


def _transformer_states(graph: Graph, model: Seq2Seq, source: str, lengths: str) -> str:
    encoder = model.encoder
    assert isinstance(encoder, TransformerEncoder)
    H = encoder.layers[0].around_self.norm.normalized_shape[0]
    S = graph("Gather", graph("Shape", source), graph.constant(1))
    positions = graph("Cast", graph("Range", graph.constant(0), S, graph.constant(1)), to=FLOAT)
    x = embed(graph, encoder.entrance, graph.lookup(model.source_words.weight, source), positions, H)
    mask = graph("Unsqueeze", mask_of(graph, source, lengths), graph.constant([1, 2]))  # (B, 1, 1, S)
    for layer in encoder.layers:
        z = enter(graph, x, layer.around_self)
        keys, values = source_keys(graph, layer.self_attention, z, H)
        f, _ = attend_heads(graph, layer.self_attention, z, keys, values, mask, H)
        x = feed(graph, layer, leave(graph, x, f, layer.around_self))
    return graph.norm(x, encoder.norm)


def _transformer_memory(graph: Graph, model: Seq2Seq, states: str, lengths: str, source: str) -> None:
    decoder = model.decoder
    assert isinstance(decoder, TransformerDecoder)
    mask = graph("Unsqueeze", mask_of(graph, source, lengths), graph.constant([1, 2]))
    graph.output("memory_mask", mask, FLOAT, ["B", 1, 1, "S"])
    for i, layer in enumerate(decoder.layers):
        H = layer.around_self.norm.normalized_shape[0]
        keys, values = source_keys(graph, layer.attention, states, H)
        n = cast(HeadedScore, layer.attention.attention.score).heads
        graph.output(f"memory_keys_{i}", keys, FLOAT, ["B", n, H // n, "S"])
        graph.output(f"memory_values_{i}", values, FLOAT, ["B", n, "S", H // n])
        empty = graph("Concat", graph("Shape", lengths), graph.constant([n, 0, H // n]), axis=0)
        for part in (2 * i, 2 * i + 1):
            graph.output(f"state_{part}", graph("ConstantOfShape", empty), FLOAT, ["B", n, "t", H // n])
