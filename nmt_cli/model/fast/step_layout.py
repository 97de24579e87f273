"""The layout for single steps: what makes a step of search fast on a CPU.

A step multiplies one row, or as many as the beam is wide, so it spends most of its time reading weights.

* With weights stored by column such a product takes 0.5 to 0.9 of the time; with many rows about the same. From two
  rows on its bits are unchanged, as long as rows are not too long.
* The first layer's product with a word does not depend on the sentence: it is computed once for all words.
* 8-bit weights are a quarter of the bytes (`Int8Linear`).

`prepare_for_search` is the only entry point. It turns modules of a model into the subclasses
below, which share their weights and override only the products of a single step.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Self

import torch
from torch import Tensor, nn

from nmt_cli.errors import UsageError
from nmt_cli.model.attention import weighted_sum
from nmt_cli.model.decoder import AttentionalState, DeepOutput, RecurrentDecoder
from nmt_cli.model.encoder import Encoder
from nmt_cli.model.lstmn import IntraAttention, LSTMNLayer
from nmt_cli.model.protocol import Memory, State
from nmt_cli.model.recurrent import Layer, RecurrentLayer
from nmt_cli.model.recurrent_decoders import (
    AttentionDecoder,
    BahdanauDecoder,
    LuongFeedingDecoder,
    SequentialDecoder,
)
from nmt_cli.model.seq2seq import Seq2Seq

_SMALLEST = 1 << 14  # weights; smaller products are not worth it
_LONGEST = 768  # inputs; from 1000 on the last bits depend on the number of rows
_TABLE = 1 << 25  # numbers in the table of words: 128 MB


class Int8Linear(nn.Linear):
    """y = W x + b with W in 8 bits, a scale for each row of W, and x in 8 bits, a scale for each x.

    Each x has its own scale, so that the rest of the batch has no influence; if |x| ≤ 1, the scale is 1. Integer sums
    are exact, so the shape of the batch has no influence either. The full-precision weights are kept as well, for code
    that reads them.
    """

    _packed: Any
    _bounded: bool

    @classmethod
    def of(cls, linear: nn.Linear, *, bounded: bool = False) -> Self:
        """The same layer with shared weights; `bounded`: all inputs are within ±1."""
        with torch.device("meta"):
            layer = cls(linear.in_features, linear.out_features, bias=linear.bias is not None)
        layer.weight = linear.weight
        layer.bias = linear.bias
        layer._bounded = bounded
        layer._packed = _pack(linear.weight, linear.bias if bounded else None)
        return layer.eval()

    def forward(self, x: Tensor) -> Tensor:
        """x (…, I) → y (…, O)"""
        if self._bounded:
            return self._product(x)
        scale = x.abs().amax(dim=-1, keepdim=True).clamp_(min=1e-12)  # (…, 1)
        y = self._product(x / scale)
        return y * scale if self.bias is None else torch.addcmul(self.bias, y, scale)  # (…, O)

    def _product(self, x: Tensor) -> Tensor:
        """W x for |x| ≤ 1, with b if the layer is bounded."""
        steps = _steps()
        y: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            x, 1.0 / steps, steps + 1, self._packed
        )
        return y


def quantize(
    model: nn.Module, *, bounded: Collection[nn.Module] = (), kept: Collection[nn.Module] = ()
) -> list[str]:
    """Replace the linear layers that are called as modules; returns their names.

    bounded   layers whose inputs are within ±1
    kept      modules to leave as they are, with everything inside

    Code that uses weights directly is unaffected: recurrent layers over whole sentences, embeddings.
    """
    if torch.backends.quantized.engine not in ("x86", "fbgemm") or not _has_operation():
        raise UsageError(
            "this build of torch does not support int8", hint="leave out --int8; it needs an x86 processor"
        )
    untouched = {inner for module in kept for inner in module.modules()}
    found = [
        (name, module)
        for name, module in model.named_modules()
        if type(module) is nn.Linear and module.weight.numel() >= _SMALLEST and module not in untouched
    ]
    for name, module in found:
        parent, _, child = name.rpartition(".")
        layer = Int8Linear.of(module, bounded=any(module is other for other in bounded))
        setattr(model.get_submodule(parent) if parent else model, child, layer)
    return [name for name, _ in found]


def _has_operation() -> bool:
    return hasattr(torch.ops.quantized, "linear_with_input_q_dq_qweight_dq_output_fp32")


@cache
def _steps() -> int:
    """The largest quantized input: without VNNI, the sum of two 8-bit products can overflow 16 bits."""
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)()
    return 127 if has_vnni else 63


@torch.no_grad()
def _pack(weight: Tensor, bias: Tensor | None) -> Any:
    scales = weight.abs().amax(dim=1).clamp(min=1e-12) / 127  # (O,)
    zeros = torch.zeros_like(scales, dtype=torch.long)
    with warnings.catch_warnings():  # torch announces that this API will move
        warnings.simplefilter("ignore", UserWarning)
        quantized = torch.quantize_per_channel(weight.detach(), scales, zeros, 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(quantized, None if bias is None else bias.detach())


@torch.no_grad()
def prepare_for_search(model: Seq2Seq, *, int8: bool = False) -> list[str]:
    """Make single steps fast, in place; returns the names of the layers that compute in 8 bits.

    In full precision the results are the same as before. The model can no longer be trained: weights that were shared
    are copies now.
    """
    decoder = model.decoder
    if isinstance(decoder, RecurrentDecoder):
        _separate_products(decoder)
        _tabulate_words(model, decoder)
    quantized = quantize(model, bounded=_bounded(model), kept=_kept(model)) if int8 else []
    for module in (model.vocabulary, *decoder.modules()):
        if type(module) is nn.Linear and module.in_features <= _LONGEST:
            module.weight = nn.Parameter(by_column(module.weight), requires_grad=False)
    return quantized


def by_column(weight: Tensor) -> Tensor:
    """The same matrix (O, I), each column contiguous in memory."""
    return weight.detach().t().contiguous().t()


class _Separated(Layer[Any]):
    """A layer whose products in a single step are modules, which can be replaced by faster ones."""

    input_sides: nn.ModuleList  # W_ih x + b_ih, or one product for each part of x
    hidden_side: nn.Module  # W_hh h + b_hh

    def separate(self, sizes: Sequence[int] | None) -> None:
        """Make the modules; `sizes` are those of the parts of x."""
        W_ih, _, b_ih, _ = self.weights
        parts = torch.split(W_ih, list(sizes or [W_ih.shape[1]]), dim=1)  # (G·H, I) each
        biases = [b_ih, *(None for _ in parts[1:])]
        self.input_sides = nn.ModuleList(_linear(W, b) for W, b in zip(parts, biases, strict=True))
        W_hh, b_hh = self.fused.weight_hh_l0, self.fused.bias_hh_l0
        assert isinstance(W_hh, Tensor)
        assert isinstance(b_hh, Tensor)
        self.hidden_side = _linear(W_hh, b_hh)

    def input_gates(self, x: Tensor) -> Tensor:
        gates: Tensor = self.input_sides[0](x)
        return gates

    def hidden_gates(self, h: Tensor) -> Tensor:
        gates: Tensor = self.hidden_side(h)
        return gates


class _SeparatedRecurrentLayer(_Separated, RecurrentLayer):
    pass


class _SeparatedLSTMNLayer(_Separated, LSTMNLayer):
    pass


class _SeparatedDecoder(SequentialDecoder[Any]):
    """A sequential decoder whose first layer is separated: one product for the word, one for what is fed."""

    def word_gates(self, y: Tensor) -> Tensor:
        return self.layers[0].input_gates(y)

    def fed_gates(self, v: Tensor) -> Tensor:
        first = self.layers[0]
        assert isinstance(first, _Separated)
        gates: Tensor = first.input_sides[1](v)
        return gates


class _SeparatedBahdanauDecoder(_SeparatedDecoder, BahdanauDecoder):
    pass


class _SeparatedLuongFeedingDecoder(_SeparatedDecoder, LuongFeedingDecoder):
    pass


class _TabulatedModel(Seq2Seq):
    """A model that looks up the first layer's product with a word instead of the word vector."""

    step_words: nn.Embedding  # (V, G·H) W_y y + b

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor | None]:
        return self.decoder.step(self.step_words(tokens), state, memory)


_SUBCLASSES = {
    RecurrentLayer: _SeparatedRecurrentLayer,
    LSTMNLayer: _SeparatedLSTMNLayer,
    BahdanauDecoder: _SeparatedBahdanauDecoder,
    LuongFeedingDecoder: _SeparatedLuongFeedingDecoder,
    Seq2Seq: _TabulatedModel,
}


def _specialize(module: nn.Module) -> Any:
    """Turn a module into its subclass here; its weights, hooks and place in the model stay."""
    module.__class__ = _SUBCLASSES[type(module)]
    return module


def _separate_products(decoder: RecurrentDecoder[Any, Any]) -> None:
    sizes = None
    if isinstance(decoder, SequentialDecoder):
        sizes = _specialize(decoder).input_sizes
    for i, layer in enumerate(decoder.layers):
        _specialize(layer).separate(sizes if i == 0 else None)


def _tabulate_words(model: Seq2Seq, decoder: RecurrentDecoder[Any, Any]) -> None:
    """Look up W_y y + b (V, G·H) instead of y, if nothing else needs y and the table is not too large."""
    words, first = model.target_words, decoder.layers[0]
    assert isinstance(first, _Separated)
    side = first.input_sides[0]
    assert isinstance(side, nn.Linear)
    switch = isinstance(decoder, AttentionDecoder) and decoder.switch is not None
    needs_word = isinstance(decoder.readout, DeepOutput) or switch
    # Cho's decoder reads the word and a summary of the source.
    has_summary = side.in_features != words.embedding_dim
    if not needs_word and not has_summary and words.num_embeddings * side.out_features <= _TABLE:
        table = nn.Embedding.from_pretrained(side(words.weight))  # type: ignore[no-untyped-call]
        _specialize(model).step_words = table
        first.input_sides[0] = nn.Identity()


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    with torch.device("meta"):  # no random initialization: the weights exist
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.weight = nn.Parameter(weight.detach(), requires_grad=False)
    if bias is not None:
        layer.bias = nn.Parameter(bias.detach(), requires_grad=False)
    return layer


def _kept(model: Seq2Seq) -> list[nn.Module]:
    """What is not part of a step; and W_x of an LSTMN layer, whose rows are below those of the gates."""
    readers = [module.W_x for module in model.decoder.modules() if isinstance(module, IntraAttention)]
    return [*([] if model.encoder is None else [model.encoder]), model.bridge, *readers]


def _bounded(model: Seq2Seq) -> list[nn.Module]:
    """The layers whose input is within ±1: states of cells, weighted means of states, the output of a tanh."""
    decoder = model.decoder
    if not isinstance(decoder, RecurrentDecoder):
        return []
    separated = [layer for layer in decoder.layers if isinstance(layer, _Separated)]
    layers = [layer.hidden_side for layer in separated]
    if isinstance(decoder, LuongFeedingDecoder):  # it is fed h̃; the context may be larger
        layers += separated[0].input_sides[1:]
    if isinstance(decoder.readout, AttentionalState):
        layers.append(model.vocabulary)
        if _context_is_bounded(model.encoder, decoder) and _returns_states(decoder):
            layers.append(decoder.readout.W_c)
    return layers


def _context_is_bounded(encoder: nn.Module | None, decoder: RecurrentDecoder[Any, Any]) -> bool:
    """Whether the context is a weighted mean of encoder states, or else a summary, which is the output of a tanh."""
    if not isinstance(decoder, AttentionDecoder):
        return True
    return decoder.attention.reader is weighted_sum and _returns_states(encoder)


def _returns_states(part: nn.Module | None) -> bool:
    """Whether the output of the encoder or decoder is the state of a cell, without sums or layer normalization."""
    if not isinstance(part, Encoder | RecurrentDecoder) or part.residual:
        return False
    layers = [module for module in part.modules() if isinstance(module, Layer)]
    return all(isinstance(layer.norm, nn.Identity) for layer in layers)
