"""Backward pass of the fast loop, and the autograd operation that joins both passes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from nmt_cli.model.attention import masked_softmax, weighted_sum
from nmt_cli.model.decoder import AttentionalState
from nmt_cli.model.device import autocast_dtype, no_autocast
from nmt_cli.model.fast.loop import Architecture, Inputs, Loop, Saved, allocate, multiply
from nmt_cli.model.fast.scores import is_known, parts_of
from nmt_cli.model.recurrent import RecurrentLayer

if TYPE_CHECKING:
    from nmt_cli.model.recurrent_decoders import AttentionMemory, SequentialDecoder

_tanh_backward = torch.ops.aten.tanh_backward.grad_input
_softmax_backward = torch.ops.aten._softmax_backward_data.out


class OutputGradients(NamedTuple):
    """The gradients of the loop's outputs, each (T, B, …); None if an output was not used."""

    states: Tensor | None
    contexts: Tensor | None
    alpha: Tensor | None
    fed: Tensor | None


class BackwardLoop:
    """d_… has the shape of what it is the gradient of."""

    def __init__(self, loop: Loop, d_outputs: OutputGradients) -> None:
        self.loop, self.d_outputs = loop, d_outputs
        saved, empty = loop.saved, torch.empty_like
        self.d_gates = [empty(gates) for gates in saved.gates]
        self.d_products = [empty(product) for product in saved.products]
        self.d_energies = empty(saved.alpha)  # (T, B, S)
        self.d_contexts = empty(saved.contexts)
        # For each layer, what is known so far of dh (and dc) of the state that the loop has reached.
        self.d_state = [tuple(torch.zeros_like(part[0]) for part in parts) for parts in saved.states]
        new = loop.inputs.values.new_empty
        self.d_alpha = new(loop.saved.alpha.shape[1:])  # (B, S)
        self.d_query = new(loop.query(0).shape)  # (B, A)
        if not loop.architecture.query_before:
            self.d_products[-1][0, :, loop.GH :] = 0  # state 0 has no query
            self.d_products[-1][-1, :, : loop.GH] = 0  # no step follows state T

    def run(self) -> Inputs:
        """All steps, from the last to the first → the gradients of the inputs."""
        before = self.loop.architecture.query_before
        d_s, d_products, W_s = self.d_state[-1][0], self.d_products[-1], self.loop.inputs.W_s
        for t in range(self.loop.T, 0, -1):
            if not before:
                self.read_out(t)
                self.attend(t, t)
            if t < len(d_products):
                multiply(d_products[t], W_s, d_s, plus=d_s)  # ds_t += W_sᵀ dp_t
            if self.d_outputs.states is not None:
                d_s.add_(self.d_outputs.states[t - 1])
            self.update(t)
            if before:
                multiply(self.d_gates[0][t - 1], self.loop.inputs.W_fed, self.d_contexts[t - 1])
                self.attend(t - 1, t)
        multiply(d_products[0], W_s, d_s, plus=d_s)
        return self.gradients()

    def read_out(self, t: int) -> None:
        """dh̃_t = W_fedᵀ dx_{t+1};  dr = (1 - h̃_t²) ∘ dh̃_t;  dc_t = W_cᵀ dr"""
        loop, d_fed = self.loop, self.d_outputs.fed
        assert loop.saved.fed is not None
        assert loop.inputs.W_c is not None
        feed = loop.saved.fed[t]  # (B, F)
        d_feed = torch.zeros_like(feed) if d_fed is None else d_fed[t - 1]
        if t < loop.T:
            d_feed = multiply(self.d_gates[0][t], loop.inputs.W_fed, torch.empty_like(feed), plus=d_feed)
        d_r = self.d_products[-1][t][:, loop.GH + loop.A :]  # (B, F)
        _tanh_backward(d_feed, feed, grad_input=d_r)
        multiply(d_r, loop.inputs.W_c, self.d_contexts[t - 1])

    def attend(self, state: int, t: int) -> None:
        """dα_s = dc_t · h_s;  de = α ∘ (dα - Σ_s α_s dα_s);  dq by the score"""
        loop, d_outputs = self.loop, self.d_outputs
        d_context, d_energy = self.d_contexts[t - 1], self.d_energies[t - 1]  # (B, H), (B, S)
        if d_outputs.contexts is not None:
            d_context.add_(d_outputs.contexts[t - 1])
        torch.bmm(loop.inputs.values, d_context[..., None], out=self.d_alpha[..., None])
        if d_outputs.alpha is not None:
            self.d_alpha.add_(d_outputs.alpha[t - 1])
        alpha = loop.saved.alpha[t - 1]  # zero on padding, and so is de
        _softmax_backward(self.d_alpha, alpha, -1, alpha.dtype, grad_input=d_energy)
        loop.score.backward(loop.query(state), d_energy, self.d_query)
        if loop.A:
            self.d_products[-1][state][:, loop.GH : loop.GH + loop.A] = self.d_query
        else:
            self.d_state[-1][0].add_(self.d_query)

    def update(self, t: int) -> None:
        """dx, du of all layers, from the top to the first;  dh_{t-1} += W_hhᵀ du;  ds_t below += mask ∘ W_ihᵀ dx"""
        loop, inputs, saved = self.loop, self.loop.inputs, self.loop.saved
        for layer in range(loop.top, -1, -1):
            x, dx = saved.gates[layer][t - 1], self.d_gates[layer][t - 1]  # (B, G·H)
            u, du = (p[layer][t - 1][:, : loop.GH] for p in (saved.products, self.d_products))  # (B, G·H)
            before, after = loop.state(layer, t - 1), loop.state(layer, t)
            loop.architecture.in_place.backward(x, u, before, after, self.d_state[layer], dx, du)
            if layer < loop.top:  # that of the top layer is in W_s
                d_h = self.d_state[layer][0]
                multiply(du, inputs.recurrent[2 * layer], d_h, plus=d_h)
            if layer > 0:
                d_h = self.d_state[layer - 1][0]
                below = multiply(dx, inputs.upwards[2 * layer - 2], torch.empty_like(d_h))  # (B, H)
                d_h.add_(loop.dropped(below, layer, t))

    def gradients(self) -> Inputs:
        """One product for each weight, over all steps and sentences."""
        loop, inputs, saved, T = self.loop, self.loop.inputs, self.loop.saved, self.loop.T
        before, GH, A = loop.architecture.query_before, loop.GH, loop.A
        outer = partial(_outer, half=loop.architecture.half)
        queries = saved.products[-1][..., GH : GH + A] if A else saved.states[-1][0]  # (T or T + 1, B, A)
        d_keys, d_v = loop.score.collected(queries[:T] if before else queries[1:], self.d_energies)
        fed = saved.contexts if saved.fed is None else saved.fed[:T]  # (T, B, H or F)
        top, d_top = saved.states[-1][0], self.d_products[-1]
        recurrent: list[Tensor] = []
        upwards: list[Tensor] = []
        for layer in range(loop.top):
            below, above = saved.states[layer][0], self.d_gates[layer + 1]
            recurrent += [outer(self.d_products[layer], below[:T]), summed(self.d_products[layer])]
            x = below[1:] * loop.masks[layer] if loop.masks else below[1:]  # (T, B, H)
            upwards += [outer(above, x), summed(above)]
        return Inputs(
            x=self.d_gates[0].transpose(0, 1),  # (B, T, G·H)
            W_fed=outer(self.d_gates[0], fed),
            keys=d_keys,
            values=torch.bmm(saved.alpha.permute(1, 2, 0), self.d_contexts.transpose(0, 1)),  # Σ_t α_ts dc_t
            mask=None,
            v=d_v,
            W_s=outer(d_top, top[: len(d_top)]),
            b_s=summed(d_top),
            W_c=None if before else outer(d_top[1:, :, GH + A :], saved.contexts),
            initial=tuple(part for parts in self.d_state for part in parts),
            recurrent=tuple(recurrent),
            upwards=tuple(upwards),
            masks=(None,) * len(inputs.masks),
        )


def _outer(d_y: Tensor, x: Tensor, half: torch.dtype | None) -> Tensor:
    """dW of y = W x: Σ dy xᵀ over all steps and sentences, (T, B, Y) and (T, B, X) → (Y, X)."""
    if half is not None:
        d_y, x = d_y.to(half), x.to(half)
    return d_y.flatten(0, 1).t() @ x.flatten(0, 1)


def summed(d_y: Tensor) -> Tensor:
    """db of y = W x + b: (T, B, Y) → (Y,)."""
    return d_y.sum(dim=(0, 1))


# ------------------------------------------------------------------------------------------------------------
# `SequentialDecoder.unroll` as a single autograd operation.


def can_unroll(decoder: SequentialDecoder[Any], words: Tensor) -> bool:
    """Whether `fast_unroll` supports these settings and this precision; `SequentialDecoder.unroll` supports all."""
    attention = decoder.attention
    return (
        (words.dtype in (torch.float32, torch.float64) or autocast_dtype(words.device.type) is not None)
        and attention.normalizer is masked_softmax
        and attention.reader is weighted_sum
        and is_known(attention.score)
        and attention.window is None
        and not attention.is_hard
        and decoder.gate is None
        and all(isinstance(layer, RecurrentLayer) for layer in decoder.layers)
        and all(isinstance(layer.norm, nn.Identity) for layer in decoder.layers)
        and not (decoder.residual and len(decoder.layers) > 1)
    )


def fast_unroll(
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
    half = autocast_dtype(words.device.type)
    architecture = Architecture(decoder.cell, len(decoder.layers), decoder.query_before, half)
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
        if architecture.half is not None:
            inputs = inputs.in_precision(architecture.half)
        with no_autocast(inputs.values.device.type):
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
        """Each gradient in the precision it was computed in; autograd converts it to that of the input."""
        tensors = ctx.saved_tensors
        inputs = Inputs.of(tensors[: ctx.inputs], ctx.architecture)
        saved = Saved.of(tensors[ctx.inputs :], ctx.architecture)
        missing = [None] * (len(OutputGradients._fields) - len(d_outputs))
        with no_autocast(inputs.values.device.type):
            loop = Loop(ctx.architecture, inputs, saved)
            return None, *BackwardLoop(loop, OutputGradients(*d_outputs, *missing)).run().flat()
