"""Recurrent layers as ONNX graphs: single steps of the decoder, whole sentences of the encoder.

B sentences · K hypotheses · S source positions · H size of a state · G gates
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmt_cli.export.graph import BOOL, FLOAT, INT64, Array, Graph, Part, array_of
from nmt_cli.model.lstmn import LSTMNLayer
from nmt_cli.model.recurrent import CELLS, Layer, RecurrentLayer

_STATE_BOUND = 1.0  # |h| ≤ 1 for every cell
_OPERATORS = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}
# The gates of torch in the order of ONNX: i f g o → i o f g, r z n → z r n.
_ONNX_GATES = {"rnn": [0], "gru": [1, 0, 2], "lstm": [0, 3, 1, 2]}


def cell_name(layer: Layer[Any]) -> str:
    """The name of the layer's cell."""
    return next(name for name, cell in CELLS.items() if cell is layer.cell)


# One step. A state is a list of names: h, or h and c, each (B, K, H); of an LSTMN s, keys and the past states.


def layer_step(
    graph: Graph, layer: Layer[Any], inputs: Sequence[Part], state: Sequence[str]
) -> tuple[str, list[str]]:
    """One step of a layer, whose input is [x_1; x_2; …]: the output (B, K, H) and the next state."""
    if isinstance(layer, LSTMNLayer):
        return _lstmn_step(graph, layer, inputs, state)
    cell, H = cell_name(layer), layer.hidden_size
    _, W_hh, b_ih, b_hh = layer.weights
    hidden: Part = state[0], W_hh, _STATE_BOUND
    if cell == "gru":  # its reset gate needs both sides separately
        after = _gru_step(graph, graph.products(inputs, b_ih), graph.products([hidden], b_hh), state[0], H)
    else:
        z = graph.products([*inputs, hidden], b_ih + b_hh)
        after = [graph("Tanh", z)] if cell == "rnn" else _lstm_step(graph, z, state[1])
    return graph.norm(after[0], layer.norm), after


def _gru_step(graph: Graph, x: str, u: str, h: str, H: int) -> list[str]:
    """Both sides of the gates (…, 3·H)"""
    x_rz, x_n = graph.cut(x, [2 * H, H])
    u_rz, u_n = graph.cut(u, [2 * H, H])
    r, z = graph.split(graph("Sigmoid", graph("Add", x_rz, u_rz)), 2)
    n = graph("Tanh", graph("Add", x_n, graph("Mul", r, u_n)))
    return [graph("Add", n, graph("Mul", z, graph("Sub", h, n)))]


def _lstm_step(graph: Graph, z: str, c: str) -> list[str]:
    """The gates (…, 4·H)"""
    i, f, g, o = graph.split(z, 4)
    i, f, o = (graph("Sigmoid", gate) for gate in (i, f, o))
    c = graph("Add", graph("Mul", f, c), graph("Mul", i, graph("Tanh", g)))
    return [graph("Mul", o, graph("Tanh", c)), c]


def _lstmn_step(
    graph: Graph, layer: LSTMNLayer, inputs: Sequence[Part], state: Sequence[str]
) -> tuple[str, list[str]]:
    """The state is s (B, K, H), keys (B, K, t, H) and the memory of h, or of h and c, each (B, K, t, H)."""
    _, _, b_ih, _ = layer.weights
    return lstmn_update(graph, layer, graph.products(inputs, b_ih), state)


def lstmn_update(graph: Graph, layer: LSTMNLayer, x: str, state: Sequence[str]) -> tuple[str, list[str]]:
    """One step, given W_ih x + b_ih and below it W_x x, (B, K, G·H + H)."""
    s, keys, *memory = state
    H, score = layer.hidden_size, layer.reader.score
    gates, query = graph.cut(x, [layer.cell.gates * H, H])
    q = graph("Add", query, graph.product(s, score.W.weight, bound=_STATE_BOUND))
    hidden = graph("Tanh", graph("Add", graph.unsqueeze(q, 2), keys))  # (B, K, t, H)
    e = graph("MatMul", hidden, graph.weight(score.v.weight.t()))  # (B, K, t, 1)
    alpha = graph("Transpose", graph("Softmax", e, axis=2), perm=[0, 1, 3, 2])  # (B, K, 1, t)
    read = [graph.squeeze(graph("MatMul", alpha, past), 2) for past in memory]  # s_t, c'_t
    _, W_hh, _, b_hh = layer.weights
    z = graph("Add", gates, graph.product(read[0], W_hh, b_hh, bound=_STATE_BOUND))
    now = [graph("Tanh", z)] if cell_name(layer) == "rnn" else _lstm_step(graph, z, read[1])
    new = [graph.product(now[0], score.U.weight, bound=_STATE_BOUND), *now]
    longer = [
        graph("Concat", past, graph.unsqueeze(one, 2), axis=2)
        for past, one in zip([keys, *memory], new, strict=True)
    ]
    return graph.norm(now[0], layer.norm), [read[0], *longer]


def lstmn_start(graph: Graph, layer: LSTMNLayer, state: Sequence[str]) -> list[str]:
    """What the first step is given, from h_0, or h_0 and c_0, each (B, K, H)."""
    keys = graph.product(state[0], layer.reader.score.U.weight, bound=_STATE_BOUND)
    return [state[0], *(graph.unsqueeze(part, 2) for part in (keys, *state))]


# Whole sentences, positions first: x (S, B, I), lengths (B,) int32


def read_sentences(
    graph: Graph, layer: Layer[Any], x: str, lengths: str, *, backwards: bool
) -> tuple[str, list[str]]:
    """Outputs (S, B, H) and the states at the last real token, each (B, H)."""
    if isinstance(layer, LSTMNLayer):
        return _read_lstmn(graph, layer, x, lengths, backwards=backwards)
    assert isinstance(layer, RecurrentLayer)
    cell, H = cell_name(layer), layer.hidden_size
    W_ih, W_hh, b_ih, b_hh = (_in_onnx_order(tensor, cell) for tensor in layer.weights)
    outputs = graph.several(
        _OPERATORS[cell],
        1 + layer.cell.parts,
        x,
        graph.constant(W_ih[None]),
        graph.constant(W_hh[None]),
        graph.constant(np.concatenate([b_ih, b_hh])[None]),
        lengths,
        hidden_size=H,
        direction="reverse" if backwards else "forward",
        **({"linear_before_reset": 1} if cell == "gru" else {}),
    )
    y, *last = outputs  # (S, 1, B, H), (1, B, H) each
    return graph.norm(graph.squeeze(y, 1), layer.norm), [graph.squeeze(part, 0) for part in last]


def _in_onnx_order(tensor: Tensor, cell: str) -> Array:
    gates = array_of(tensor).reshape(len(_ONNX_GATES[cell]), -1, *tensor.shape[1:])
    return np.ascontiguousarray(gates[_ONNX_GATES[cell]].reshape(tensor.shape))


def _read_lstmn(
    graph: Graph, layer: LSTMNLayer, x: str, lengths: str, *, backwards: bool
) -> tuple[str, list[str]]:
    """A loop over positions; a sentence is a batch with one hypothesis."""
    H, wide = layer.hidden_size, graph("Cast", lengths, to=INT64)
    if backwards:
        x = graph("ReverseSequence", x, wide, time_axis=0, batch_axis=1)
    W_ih, _, b_ih, _ = layer.weights
    gates = graph.unsqueeze(graph.product(x, W_ih, b_ih), 2)  # (S, B, 1, G·H + H)
    B = graph("Shape", lengths)
    shape = graph("Concat", B, graph.constant([1, H]), axis=0)
    zero = graph("ConstantOfShape", shape)  # (B, 1, H)
    first = lstmn_start(graph, layer, [zero] * layer.cell.parts)
    body = graph.child()
    step = body.input(body.fresh("step"), INT64, [])
    proceed = body.input(body.fresh("proceed"), BOOL, [])
    past_shape: list[str | int] = ["B", 1, "t", H]
    ranks: list[list[str | int]] = [["B", 1, H], *[past_shape] * (len(first) - 1)]
    before = [body.input(body.fresh("before"), FLOAT, rank) for rank in ranks]
    output, after = lstmn_update(body, layer, body("Gather", gates, step), before)
    body.output(body.fresh("proceeds"), proceed, BOOL, [])
    for value, rank in zip(after, ranks, strict=True):
        body.output(body.fresh("after"), value, FLOAT, rank)
    body.output(body.fresh("output"), output, FLOAT, ["B", 1, H])
    S = graph("Gather", graph("Shape", x), graph.constant(0))
    always = graph.constant(np.array(True))
    results = graph.several("Loop", len(first) + 1, S, always, *first, body=body.body())
    y = graph.squeeze(results[-1], 2)  # (S, B, H)
    if backwards:
        y = graph("ReverseSequence", y, wide, time_axis=0, batch_axis=1)
    # The memory begins with h_0, so the last real token of a sentence of n tokens is at n.
    at = graph.unsqueeze(wide, 1)  # (B, 1)
    past = results[2:-1]  # each (B, 1, S + 1, H)
    return y, [graph("GatherND", graph.squeeze(one, 1), at, batch_dims=1) for one in past]


def input_parts(
    layer: Layer[Any], values: Sequence[str], sizes: Sequence[int], bounds: Sequence[float | None]
) -> list[Part]:
    """The input [x_1; x_2; …] of a layer, each part with its columns of W_ih."""
    W_ih, _, _, _ = layer.weights
    return list(zip(values, torch.split(W_ih, list(sizes), dim=1), bounds, strict=True))
