"""One decoder step as an ONNX graph, from the tokens chosen last to the best candidates.

Inputs    tokens (B, K), scores (B, K, 1) log P so far, exclude (1 or B, 1, N) 0 or -∞ for each token, count (1,) of
          candidates; memory_*, table_*; state_* (B, K, …) of the hypotheses
Outputs   best (B, C) log P of the best candidates, index (B, C) hypothesis · N + token, peak (B, K) log p of the most
          probable token, next_* (B, K, …) the states, attention (B, K, S) if the model has it

The beam is a dimension: memory is never copied for the hypotheses of a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx
import torch
from torch import nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.export.cells import input_parts, layer_step
from nmt_cli.export.encoder import attend_heads, embed, enter, feed, hidden_is_coded, leave, words_are_coded
from nmt_cli.export.graph import FLOAT, INT8, INT64, UINT8, Graph
from nmt_cli.model import Seq2Seq
from nmt_cli.model.attention import HeadedReader, HeadedScore
from nmt_cli.model.decoder import AttentionalState, DeepOutput, RecurrentDecoder
from nmt_cli.model.lstmn import LSTMNLayer
from nmt_cli.model.recurrent import Layer
from nmt_cli.model.recurrent_decoders import (
    AttentionDecoder,
    BahdanauDecoder,
    GNMTDecoder,
    LuongDecoder,
    LuongFeedingDecoder,
    PlainDecoder,
)
from nmt_cli.model.scores import Additive, ProjectedDot
from nmt_cli.model.transformer import TransformerDecoder, TransformerLayer


def decoder_model(model: Seq2Seq, config: ModelConfig, *, int8: bool, shortlist: bool) -> onnx.ModelProto:
    """The step, the vocabulary projection and the choice of candidates."""
    step = _TransformerStep if isinstance(model.decoder, TransformerDecoder) else _RecurrentStep
    return step(model, config, int8=int8, shortlist=shortlist).model()


class _Step:
    """What all decoders share."""

    def __init__(self, model: Seq2Seq, config: ModelConfig, *, int8: bool, shortlist: bool) -> None:
        self.network, self.config, self.shortlist = model, config, shortlist
        graph = self.graph = Graph(int8=int8)
        self.tokens = graph.input("tokens", INT64, ["B", "K"])
        self.scores = graph.input("scores", FLOAT, ["B", "K", 1])
        self.exclude = graph.input("exclude", FLOAT, ["b", 1, "N"])
        self.count = graph.input("count", INT64, [1])
        self._states = 0
        # The next states (B, K, …), their types and shapes.
        self.after: list[tuple[str, int, list[str | int]]] = []

    def model(self) -> onnx.ModelProto:
        """The whole step."""
        features, attention, bound = self.run()
        self._candidates(self._logits(features, bound))
        for i, (value, kind, shape) in enumerate(self.after):
            self.graph.output(f"next_{i}", value, kind, ["B", "K", *shape])
        if attention is not None:
            self.graph.output("attention", attention, FLOAT, ["B", "K", "S"])
        return self.graph.model()

    def run(self) -> tuple[str, str | None, float | None]:
        """Features (B, K, F), attention (B, K, S), and a bound for the features, if there is one."""
        raise NotImplementedError

    def state(self, *shape: str | int, kind: int = FLOAT) -> str:
        """The next input that is a state: (B, K, …)"""
        name = self.graph.input(f"state_{self._states}", kind, ["B", "K", *shape])
        self._states += 1
        return name

    def embedded(self) -> tuple[str, float]:
        """The word vectors (B, K, E) and a bound for them."""
        graph, weight = self.graph, self.network.target_words.weight
        coded = words_are_coded(self.network, int8=graph.int8)
        table, bound = graph.code_table(weight) if coded else ("", float(weight.detach().abs().max()))
        if self.shortlist:
            kind = UINT8 if coded else FLOAT
            table = graph.input("table_words", kind, ["N", weight.shape[1]])
        if coded:
            return graph.decoded(graph("Gather", table, self.tokens), bound), bound
        return graph("Gather", table, self.tokens) if table else graph.lookup(weight, self.tokens), bound

    def _logits(self, features: str, bound: float | None) -> str:
        """(B, K, N)"""
        graph, layer = self.graph, self.network.vocabulary
        F = layer.in_features
        if self.shortlist:
            bias = graph.input("memory_bias", FLOAT, ["B", 1, "N"])
            if graph.int8:
                table, scale = (
                    graph.input("table_vocabulary", INT8, [F, "N"]),
                    graph.input("table_scale", FLOAT, ["N"]),
                )
                return graph("Add", graph.int8_product(features, bound, table, scale), bias)
            return graph(
                "Add", graph("MatMul", features, graph.input("table_vocabulary", FLOAT, [F, "N"])), bias
            )
        if graph.int8:
            return graph.linear(features, layer, bound=bound)
        # Not transposed beforehand: the table of a tied model is stored once.
        weight, bias = graph.weight(layer.weight), graph.weight(layer.bias)
        logits = graph("Gemm", graph.reshape(features, [-1, F]), weight, bias, transB=1)
        shape = graph("Concat", graph("Shape", self.tokens), graph.constant([-1]), axis=0)
        return graph("Reshape", logits, shape)

    def _candidates(self, logits: str) -> None:
        graph = self.graph
        log_p = graph("LogSoftmax", logits, axis=-1)  # (B, K, N)
        graph.output("peak", graph("ReduceMax", log_p, axes=[2], keepdims=0), FLOAT, ["B", "K"])
        total = graph("Add", graph("Add", log_p, self.exclude), self.scores)
        best, index = graph.several("TopK", 2, graph.reshape(total, [0, -1]), self.count, axis=1)
        graph.output("best", best, FLOAT, ["B", "C"])
        graph.output("index", index, INT64, ["B", "C"])


class _RecurrentStep(_Step):
    """The recurrent decoders; compare `nmt_cli.model.recurrent_decoders`."""

    def run(self) -> tuple[str, str | None, float | None]:
        decoder, config = self.network.decoder, self.config
        assert isinstance(decoder, RecurrentDecoder)
        self.layers = list(decoder.layers)
        self.bound = None if config.residual or config.layer_norm else 1.0  # of the layers' outputs
        y, word_bound = self.embedded()  # (B, K, E)
        states = [self._layer_state(layer) for layer in self.layers]
        alpha = None
        if isinstance(decoder, PlainDecoder):
            x, c = self._plain(y, word_bound, states)
        elif isinstance(decoder, LuongDecoder | GNMTDecoder):
            x, c, alpha = self._parallel(decoder, y, word_bound, states)
        elif isinstance(decoder, LuongFeedingDecoder):
            return self._feeding(decoder, y, word_bound, states)
        else:
            assert isinstance(decoder, BahdanauDecoder)
            x, c, alpha = self._bahdanau(decoder, y, word_bound, states)
        return self._readout(x, y, c, word_bound), alpha, self._features_bound()

    def _layer_state(self, layer: Layer[Any]) -> list[str]:
        H = self.config.hidden_size
        parts = layer.cell.parts
        if isinstance(layer, LSTMNLayer):
            return [self.state(H), *(self.state("t", H) for _ in range(1 + parts))]
        if hidden_is_coded(layer, int8=self.graph.int8):
            return [self.graph.decoded(self.state(H, kind=UINT8), 1.0), self.state(H)]
        return [self.state(H) for _ in range(parts)]

    def _step(
        self, number: int, values: Sequence[str], bounds: Sequence[float | None], state: Sequence[str]
    ) -> str:
        """Layer `number` with the input [x_1; x_2; …]; all but the first layer's word have size H or F."""
        layer, H = self.layers[number], self.config.hidden_size
        rest = layer.fused.input_size - H * (len(values) - 1)
        sizes = [rest, *[H] * (len(values) - 1)]
        if self.config.input_feeding and number == 0:
            sizes = [self.config.embedding_size, self.config.features_size]
        output, after = layer_step(self.graph, layer, input_parts(layer, values, sizes, bounds), state)
        grows = isinstance(layer, LSTMNLayer)
        if hidden_is_coded(layer, int8=self.graph.int8):
            self.after.append((self.graph.codes(after[0], 1.0), UINT8, [H]))
            after = after[1:]
        self.after += [(one, FLOAT, ["t", H] if grows and i else [H]) for i, one in enumerate(after)]
        return output

    def _climb(self, x: str, states: Sequence[list[str]], first: int, context: str | None = None) -> str:
        """Through the layers from number `first` up: x ← RNN(x), or RNN([x; c])."""
        for i, state in enumerate(states, first):
            values = [x] if context is None else [x, context]
            s = self._step(i, values, [self.bound] * len(values), state)
            x = self.graph("Add", x, s) if self.config.residual else s
        return x

    def _plain(self, y: str, bound: float, states: Sequence[list[str]]) -> tuple[str, str | None]:
        c = None
        values, bounds = [y], [bound]
        if self.config.context_every_step:
            H = self.config.hidden_size
            summary = self.graph.input("memory_summary", FLOAT, ["B", 1, H])
            shape = self.graph("Concat", self.graph("Shape", self.tokens), self.graph.constant([H]), axis=0)
            c = self.graph("Expand", summary, shape)  # (B, K, H)
            values, bounds = [y, c], [bound, 1.0]
        return self._climb(self._step(0, values, bounds, states[0]), states[1:], 1), c

    def _parallel(
        self, decoder: LuongDecoder | GNMTDecoder, y: str, bound: float, states: Sequence[list[str]]
    ) -> tuple[str, str, str]:
        below = 1 if isinstance(decoder, GNMTDecoder) else len(states)  # layers up to the one that attends
        s = self._climb(self._step(0, [y], [bound], states[0]), states[1:below], 1)
        c, alpha = self._attend(decoder, s, self.bound)
        return self._climb(s, states[below:], below, c), c, alpha

    def _bahdanau(
        self, decoder: BahdanauDecoder, y: str, bound: float, states: Sequence[list[str]]
    ) -> tuple[str, str, str]:
        """c_t = attend(s_{t-1});  s_t = GRU([y_{t-1}; c_t], s_{t-1})"""
        top = states[-1]
        s = top[0]
        if isinstance(self.layers[-1], LSTMNLayer):  # its h_{t-1} is the last one in its memory
            s = self.graph("Gather", top[2], self.graph.constant(-1), axis=2)
        c, alpha = self._attend(decoder, s, 1.0)
        return self._climb(self._step(0, [y, c], [bound, self.bound], states[0]), states[1:], 1), c, alpha

    def _feeding(
        self, decoder: LuongFeedingDecoder, y: str, bound: float, states: Sequence[list[str]]
    ) -> tuple[str, str | None, float | None]:
        """s_t = LSTM([y_{t-1}; h̃_{t-1}], s_{t-1});  h̃_t = readout(s_t, attend(s_t))"""
        F = self.config.features_size
        fed = self.state(F)
        s = self._climb(self._step(0, [y, fed], [bound, 1.0], states[0]), states[1:], 1)
        c, alpha = self._attend(decoder, s, self.bound)
        features = self._readout(s, y, c, bound)
        self.after.append((features, FLOAT, [F]))
        return features, alpha, 1.0

    def _attend(self, decoder: AttentionDecoder[Any], q: str, bound: float | None) -> tuple[str, str]:
        """c (B, K, H) and α (B, K, S)"""
        graph, score, H = self.graph, decoder.attention.score, self.config.hidden_size
        values = graph.input("memory_values", FLOAT, ["B", "S", H])
        mask = graph.input("memory_mask", FLOAT, ["B", 1, "S"])
        if isinstance(score, Additive):
            keys = graph.input("memory_keys", FLOAT, ["B", 1, "S", score.W.out_features])
            q = graph.unsqueeze(graph.linear(q, score.W, bound=bound), 2)  # (B, K, 1, A)
            hidden = graph("Tanh", graph("Add", q, keys))  # (B, K, S, A)
            e = graph.squeeze(graph("MatMul", hidden, graph.weight(score.v.weight.t())), 3)
        else:
            size = score.g.out_features if isinstance(score, ProjectedDot) else H
            keys = graph.input("memory_keys", FLOAT, ["B", size, "S"])
            if isinstance(score, ProjectedDot):
                q = graph.linear(q, score.f, bound=bound)
            e = graph("MatMul", q, keys)
        alpha = graph("Softmax", graph("Add", e, mask), axis=-1)
        return graph("MatMul", alpha, values), alpha

    def _readout(self, s: str, y: str, c: str | None, word_bound: float) -> str:
        graph, readout = self.graph, self.network.decoder.readout
        if isinstance(readout, AttentionalState):
            assert c is not None
            parts = [(c, self.bound), (s, self.bound)]
            return graph("Tanh", self._linear(parts, readout.W_c))
        if isinstance(readout, DeepOutput):
            parts = [(s, self.bound), (y, word_bound), *([] if c is None else [(c, self.bound)])]
            t = self._linear(parts, readout.W)
            return graph("Tanh", t) if readout.pieces == 1 else graph("Max", *graph.split(t, 2))
        return s

    def _linear(self, parts: Sequence[tuple[str, float | None]], layer: nn.Linear) -> str:
        """W [x_1; x_2; …] + b; all parts but a word have size H."""
        H, E = self.config.hidden_size, self.config.embedding_size
        values, bounds = zip(*parts, strict=True)
        sizes = [H] * len(parts)
        if layer.in_features != H * len(parts):
            sizes[1] = E
        Ws = torch.split(layer.weight, sizes, dim=1)
        return self.graph.products(list(zip(values, Ws, bounds, strict=True)), layer.bias)

    def _features_bound(self) -> float | None:
        """A bound for the features: a tanh, or the states of cells."""
        if self.config.readout == "state":
            return self.bound
        return None if self.config.readout == "maxout" else 1.0


class _TransformerStep(_Step):
    """One position of a Transformer with its KV cache; compare `nmt_cli.model.transformer`."""

    def run(self) -> tuple[str, str | None, float | None]:
        graph, decoder = self.graph, self.network.decoder
        assert isinstance(decoder, TransformerDecoder)
        H, n = self.config.hidden_size, self.config.heads
        assert n is not None
        mask = graph.input("memory_mask", FLOAT, ["B", 1, 1, "S"])
        caches = [(self.state(n, "t", H // n), self.state(n, "t", H // n)) for _ in decoder.layers]
        t = graph("Shape", caches[0][0], start=3, end=4)  # (1,)
        y, _ = self.embedded()
        x = embed(graph, decoder.entrance, y, graph("Cast", t, to=FLOAT), H)  # (B, K, H)
        alpha = ""
        for i, (layer, cache) in enumerate(zip(decoder.layers, caches, strict=True)):
            x = self._self_attend(layer, x, cache, n)
            keys = graph.input(f"memory_keys_{i}", FLOAT, ["B", n, H // n, "S"])
            values = graph.input(f"memory_values_{i}", FLOAT, ["B", n, "S", H // n])
            z = enter(graph, x, layer.around_attention)
            f, alpha = attend_heads(graph, layer.attention, z, keys, values, mask, H)
            x = feed(graph, layer, leave(graph, x, f, layer.around_attention))
        attention = graph("ReduceMean", alpha, axes=[1], keepdims=0)  # (B, K, S)
        return graph.norm(x, decoder.norm), attention, None

    def _self_attend(self, layer: TransformerLayer, x: str, cache: tuple[str, str], n: int) -> str:
        """Self-attention of one step: each hypothesis has its own past (B, K, n, t, d)."""
        graph, H = self.graph, self.config.hidden_size
        attention = layer.self_attention.attention
        assert isinstance(attention.score, HeadedScore)
        assert isinstance(attention.reader, HeadedReader)
        d = H // n
        z = enter(graph, x, layer.around_self)
        new = [graph.linear(z, W) for W in (attention.score.W_k, attention.reader.W_v)]
        keys, values = (
            graph("Concat", past, graph.unsqueeze(graph.reshape(one, [0, 0, n, d]), 3), axis=3)
            for past, one in zip(cache, new, strict=True)
        )  # (B, K, n, t + 1, d)
        self.after += [(keys, FLOAT, [n, "t", d]), (values, FLOAT, [n, "t", d])]
        q = graph("Mul", graph.linear(z, attention.score.W_q), graph.constant(1 / math.sqrt(d)))
        q = graph.reshape(q, [0, 0, n, d, 1])
        e = graph("Softmax", graph("MatMul", keys, q), axis=3)  # (B, K, n, t + 1, 1)
        weights = graph("Transpose", e, perm=[0, 1, 2, 4, 3])  # (B, K, n, 1, t + 1)
        c = graph.reshape(graph("MatMul", weights, values), [0, 0, H])
        return leave(graph, x, graph.linear(c, layer.self_attention.W_o), layer.around_self)
