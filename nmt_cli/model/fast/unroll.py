"""`SequentialDecoder.unroll` as a single autograd operation: the forward loop and its derivative, both by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from nmt_cli.model.attention import masked_softmax, weighted_sum
from nmt_cli.model.decoder import AttentionalState
from nmt_cli.model.fast.loop import Architecture, Inputs, Loop, Saved, allocate
from nmt_cli.model.fast.loop_backward import BackwardLoop, OutputGradients
from nmt_cli.model.fast.scores import is_known, parts_of
from nmt_cli.model.recurrent import RecurrentLayer

if TYPE_CHECKING:
    from nmt_cli.model.recurrent_decoders import AttentionMemory, SequentialDecoder


def can_unroll(decoder: SequentialDecoder[Any], words: Tensor) -> bool:
    """Whether `unroll` supports these settings and this precision; `SequentialDecoder.unroll` supports all."""
    attention, device = decoder.attention, words.device.type
    return (
        not (torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device))
        and words.dtype in (torch.float32, torch.float64)
        and attention.normalizer is masked_softmax
        and attention.reader is weighted_sum
        and is_known(attention.score)
        and attention.window is None
        and not attention.hard
        and all(isinstance(layer, RecurrentLayer) for layer in decoder.layers)
        and all(isinstance(layer.norm, nn.Identity) for layer in decoder.layers)
        and not (decoder.residual and len(decoder.layers) > 1)
    )


def unroll(
    decoder: SequentialDecoder[Any],
    words: Tensor,
    W_fed: Tensor,
    memory: AttentionMemory,
    masks: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """s (B, T, H), c (B, T, H), α (B, T, S) and what is fed, c or h̃ (B, T, H or F), of all steps.

    words (B, T, G·H), W_fed (G·H, H or F), masks (B, T or 1, H)
    """
    *lower, top = decoder.layers
    _, W_hh, _, b_hh = top.weights
    score = parts_of(decoder.attention.score, memory.keys)
    products = [Product(W_hh, b_hh)]  # what the top layer's state is multiplied by: see `loop`
    if score.W_q is not None:
        products.append(Product(score.W_q, score.b_q))
    W_c = None
    if not decoder.query_before:
        assert isinstance(decoder.readout, AttentionalState)
        W_c, W_r = decoder.readout.W_c.weight.chunk(2, dim=1)  # (F, H) each: of the context and of the state
        products.append(Product(W_r, None))
    W_s, b_s = stack(products)
    inputs = Inputs(
        x=words,
        W_fed=W_fed,
        keys=score.keys,
        values=memory.values,
        mask=memory.mask,
        v=score.v,
        W_s=W_s,
        b_s=b_s,
        W_c=W_c,
        initial=tuple(part for state in memory.initial for part in state),
        recurrent=tuple(weight for layer in lower for weight in layer.weights[1::2]),
        upwards=tuple(weight for layer in decoder.layers[1:] for weight in layer.weights[0::2]),
        masks=tuple(masks),
    )
    architecture = Architecture(decoder.cell, len(decoder.layers), decoder.query_before)
    s, c, alpha, *fed = run_loop(architecture, inputs)
    return s, c, alpha, fed[0] if fed else c


class Product(NamedTuple):
    """W s + b"""

    W: Tensor  # (O, H)
    b: Tensor | None  # (O,)


def stack(products: Sequence[Product]) -> tuple[Tensor, Tensor]:
    """Several products with the same vector as one: [W¹; W²; …] (O, H), [b¹; b²; …] (O,)"""
    biases = [W.new_zeros(len(W)) if b is None else b for W, b in products]
    return torch.cat([W for W, _ in products]), torch.cat(biases)


def run_loop(architecture: Architecture, inputs: Inputs) -> tuple[Tensor, ...]:
    """→ s (B, T, H) of the top layer, c (B, T, H), α (B, T, S), and h̃ (B, T, F) if it is fed."""
    outputs = _Loop.apply(architecture, *inputs.flat())  # type: ignore[no-untyped-call]
    return tuple(output.transpose(0, 1) for output in outputs)


class _Loop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, architecture: Architecture, *flat: Tensor | None) -> tuple[Tensor, ...]:
        inputs = Inputs.of(flat, architecture)
        loop = Loop(architecture, inputs, allocate(architecture, inputs))
        loop.run()
        saved = loop.saved
        ctx.architecture, ctx.inputs = architecture, len(flat)
        ctx.save_for_backward(*inputs._replace(x=None).flat(), *saved.flat())
        ctx.set_materialize_grads(False)
        fed = () if saved.fed is None else (saved.fed[1:],)
        return saved.states[-1][0][1:], saved.contexts, saved.alpha, *fed

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *d_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        inputs = Inputs.of(tensors[: ctx.inputs], ctx.architecture)
        saved = Saved.of(tensors[ctx.inputs :], ctx.architecture)
        missing = [None] * (len(OutputGradients._fields) - len(d_outputs))
        backward = BackwardLoop(Loop(ctx.architecture, inputs, saved), OutputGradients(*d_outputs, *missing))
        return None, *backward.run().flat()
