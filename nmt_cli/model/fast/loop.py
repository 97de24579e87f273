"""The loop of the sequential decoders without an autograd graph: its forward pass, and its recurrent cells.

Equal to `SequentialDecoder.unroll` in value and gradient, but

* everything that multiplies the state of the top layer is one product per step: W_s = [W_hh; W_q; W_r], the
  recurrent weights, those of the query, and those of the state in the readout;
* in the backward pass (`fast.unroll`), the loop contains only what depends on the following step; each weight then gets
  its gradient from all steps in one product, and keys and values from one batched product;
* tanh(K + q), B·T·S·A values of an additive score, is recomputed instead of saved.

Under autocast the products with weights are in half precision; states, gates, attention and sums are in fp32.

Indices: the states are 0 … T, the steps 1 … T; step t leads from state t-1 to state t and uses x[t-1].

The cells work in place. `…_forward` turns the input side of the gates x (B, G·H) into their activations and writes the
new state. `…_backward` turns dh, and the dc of an LSTM, into the gradients dx and du of both sides of the gates, and
leaves in dh and dc what reaches the previous state directly. The equations are those of `nmt_cli.model.recurrent`; u
is W_hh h_{t-1} + b_hh (B, G·H).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from nmt_cli.model.fast.scores import AdditiveLoop, DotLoop, ScoreLoop
from nmt_cli.model.recurrent import CellState

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input  # d σ(a) → d a, from σ(a)
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


def rnn_forward(x: Tensor, u: Tensor, before: CellState, after: CellState) -> None:
    """h_t = tanh(x + u)"""
    torch.tanh(x.add_(u), out=after[0])


def rnn_backward(
    x: Tensor, u: Tensor, before: CellState, after: CellState, d: CellState, dx: Tensor, du: Tensor
) -> None:
    """dx = du = dh ∘ (1 - h_t²)"""
    _tanh_backward(d[0], after[0], grad_input=dx)
    du.copy_(dx)
    d[0].zero_()


def gru_forward(x: Tensor, u: Tensor, before: CellState, after: CellState) -> None:
    """r, z = σ(x + u);  n = tanh(x + r ∘ u);  h_t = n + z ∘ (h_{t-1} - n)"""
    H = after[0].shape[-1]
    x[:, : 2 * H].add_(u[:, : 2 * H]).sigmoid_()
    r, z, n = x.chunk(3, dim=-1)
    n.addcmul_(r, u[:, 2 * H :]).tanh_()
    torch.lerp(n, before[0], z, out=after[0])


def gru_backward(
    x: Tensor, u: Tensor, before: CellState, after: CellState, d: CellState, dx: Tensor, du: Tensor
) -> None:
    """dn = (1-z) ∘ dh;  dz = (h_{t-1} - n) ∘ dh;  dr = u_n ∘ dx_n;  du_n = r ∘ dx_n;  h_{t-1} gets z ∘ dh"""
    (dh,), H = d, before[0].shape[-1]
    r, z, n = x.chunk(3, dim=-1)
    dx_r, dx_z, dx_n = dx.chunk(3, dim=-1)
    torch.sub(before[0], n, out=dx_z).mul_(dh)
    torch.addcmul(dh, dh, z, value=-1, out=dx_n)
    _tanh_backward(dx_n, n, grad_input=dx_n)
    torch.mul(dx_n, u[:, 2 * H :], out=dx_r)
    dx_rz = dx[:, : 2 * H]
    _sigmoid_backward(dx_rz, x[:, : 2 * H], grad_input=dx_rz)
    du[:, : 2 * H].copy_(dx_rz)
    torch.mul(dx_n, r, out=du[:, 2 * H :])
    dh.mul_(z)


def lstm_forward(x: Tensor, u: Tensor, before: CellState, after: CellState) -> None:
    """i, f, o = σ(x + u);  g = tanh(x + u);  c_t = f ∘ c_{t-1} + i ∘ g;  h_t = o ∘ tanh(c_t)"""
    h, c = after
    i, f, g, o = x.add_(u).chunk(4, dim=-1)
    x[:, : 2 * h.shape[-1]].sigmoid_()
    g.tanh_()
    o.sigmoid_()
    torch.mul(f, before[1], out=c).addcmul_(i, g)
    torch.tanh(c, out=h).mul_(o)


def lstm_backward(
    x: Tensor, u: Tensor, before: CellState, after: CellState, d: CellState, dx: Tensor, du: Tensor
) -> None:
    """dc += dh ∘ o ∘ (1 - tanh²c_t);  di = dc ∘ g;  df = dc ∘ c_{t-1};  dg = dc ∘ i;  do = dh ∘ tanh c_t;
    c_{t-1} gets f ∘ dc
    """
    dh, dc = d
    H = dh.shape[-1]
    i, f, g, o = x.chunk(4, dim=-1)
    dx_i, dx_f, dx_g, dx_o = dx.chunk(4, dim=-1)
    tanh_c = torch.tanh(after[1])
    torch.mul(dh, tanh_c, out=dx_o)
    _sigmoid_backward(dx_o, o, grad_input=dx_o)
    dc.add_(_tanh_backward(dh.mul_(o), tanh_c, grad_input=dh))
    torch.mul(dc, g, out=dx_i)
    torch.mul(dc, before[1], out=dx_f)
    dx_if = dx[:, : 2 * H]
    _sigmoid_backward(dx_if, x[:, : 2 * H], grad_input=dx_if)
    torch.mul(dc, i, out=dx_g)
    _tanh_backward(dx_g, g, grad_input=dx_g)
    du.copy_(dx)
    dc.mul_(f)
    dh.zero_()


class InPlace(NamedTuple):
    """A kind of cell."""

    forward: Callable[[Tensor, Tensor, CellState, CellState], None]
    backward: Callable[[Tensor, Tensor, CellState, CellState, CellState, Tensor, Tensor], None]
    gates: int
    parts: int


IN_PLACE = {
    "rnn": InPlace(rnn_forward, rnn_backward, gates=1, parts=1),
    "gru": InPlace(gru_forward, gru_backward, gates=3, parts=1),
    "lstm": InPlace(lstm_forward, lstm_backward, gates=4, parts=2),
}


# ------------------------------------------------------------------------------------------------------------
# The forward loop.


class Architecture(NamedTuple):
    """What is not a tensor."""

    cell: str
    layers: int
    query_before: bool
    half: torch.dtype | None = None  # of products with weights under autocast; all else is in full precision

    @property
    def in_place(self) -> InPlace:
        """The cell's functions."""
        return IN_PLACE[self.cell]


class Inputs(NamedTuple):
    """All tensors that the loop depends on."""

    x: Tensor | None  # (B, T, G·H) the word side of the first layer's gates; None in the backward pass
    W_fed: Tensor  # (G·H, H or F) for what is fed: the context, or h̃ of the previous step
    keys: Tensor  # (B, S, A)
    values: Tensor  # (B, S, H)
    mask: Tensor | None  # (B, S) true on real tokens; has no gradient
    v: Tensor | None  # (A,) of an additive score
    W_s: Tensor  # (G·H [+ A] [+ F], H) W_hh of the top layer, W_q if any, W_r if attention comes after the recurrence
    b_s: Tensor  # (G·H [+ A] [+ F],)
    W_c: Tensor | None  # (F, H) of the context in the readout, if attention comes after the recurrence
    initial: tuple[Tensor, ...]  # h, or h and c, of each layer, (B, H)
    recurrent: tuple[Tensor, ...]  # W_hh (G·H, H) and b_hh (G·H,) of each layer but the top
    upwards: tuple[Tensor, ...]  # W_ih (G·H, H) and b_ih (G·H,) of each layer but the first
    masks: tuple[Tensor | None, ...]  # (B, T or 1, H) dropout below each layer but the first; empty without

    def flat(self) -> tuple[Tensor | None, ...]:
        """All tensors in one sequence, as autograd needs them."""
        return (*self[:9], *self.initial, *self.recurrent, *self.upwards, *self.masks)

    @classmethod
    def of(cls, flat: tuple[Any, ...], architecture: Architecture) -> Self:
        """The inverse of `flat`."""
        lists = iter(flat[9:])

        def take(count: int) -> tuple[Tensor, ...]:
            return tuple(next(lists) for _ in range(count))

        between = 2 * (architecture.layers - 1)
        initial, recurrent, upwards = (
            take(architecture.layers * architecture.in_place.parts),
            take(between),
            take(between),
        )
        return cls._make((*flat[:9], initial, recurrent, upwards, tuple(lists)))

    def in_precision(self, half: torch.dtype) -> Self:
        """Weights in half precision, rounded once for all steps; everything else in fp32."""
        return self._replace(
            x=None if self.x is None else self.x.float(),
            W_fed=self.W_fed.to(half),
            keys=self.keys.float(),
            values=self.values.float(),
            v=None if self.v is None else self.v.float(),
            W_s=self.W_s.to(half),
            b_s=self.b_s.float(),
            W_c=None if self.W_c is None else self.W_c.to(half),
            initial=tuple(part.float() for part in self.initial),
            recurrent=tuple(W.to(half) if W.dim() == 2 else W.float() for W in self.recurrent),
            upwards=tuple(W.to(half) if W.dim() == 2 else W.float() for W in self.upwards),
            masks=tuple(None if mask is None else mask.float() for mask in self.masks),
        )


class Saved(NamedTuple):
    """What the loop computes, for its caller and for the backward pass."""

    gates: list[Tensor]  # of each layer (T, B, G·H): activations
    states: list[list[Tensor]]  # of each layer h, or h and c: (T + 1, B, H)
    # of each layer (T, B, G·H) u; of the top (T or T + 1, B, G·H [+ A] [+ F]) W_s s + b_s
    products: list[Tensor]
    alpha: Tensor  # (T, B, S)
    contexts: Tensor  # (T, B, H)
    fed: Tensor | None  # (T + 1, B, F) h̃, if attention comes after the recurrence

    def flat(self) -> list[Tensor]:
        """All tensors in one sequence."""
        last = [] if self.fed is None else [self.fed]
        states = [part for parts in self.states for part in parts]
        return [*self.gates, *states, *self.products, self.alpha, self.contexts, *last]

    @classmethod
    def of(cls, flat: list[Tensor], architecture: Architecture) -> Self:
        """The inverse of `flat`."""
        L, parts, rest = architecture.layers, architecture.in_place.parts, iter(flat)
        gates = [next(rest) for _ in range(L)]
        states = [[next(rest) for _ in range(parts)] for _ in range(L)]
        products = [next(rest) for _ in range(L)]
        return cls(gates, states, products, next(rest), next(rest), next(rest, None))


def allocate(architecture: Architecture, inputs: Inputs) -> Saved:
    """Buffers for all steps; the first layer's gates are initialized with x."""
    assert inputs.x is not None
    x = inputs.x.transpose(0, 1).clone(memory_format=torch.contiguous_format)  # (T, B, G·H)
    (T, B, GH), (_, S, H), new = x.shape, inputs.values.shape, x.new_empty
    L = architecture.layers
    return Saved(
        gates=[x, *(new(T, B, GH) for _ in range(L - 1))],
        states=[[new(T + 1, B, H) for _ in range(architecture.in_place.parts)] for _ in range(L)],
        products=[
            *(new(T, B, GH) for _ in range(L - 1)),
            new(T if architecture.query_before else T + 1, B, len(inputs.W_s)),
        ],
        alpha=new(T, B, S),
        contexts=new(T, B, H),
        fed=None if inputs.W_c is None else x.new_zeros(T + 1, B, len(inputs.W_c)),
    )


def multiply(x: Tensor, W: Tensor, out: Tensor, plus: Tensor | None = None) -> Tensor:
    """out = x W [+ plus]; x is rounded for a weight in half precision, whose product is added in full precision."""
    if x.dtype == W.dtype:
        return torch.mm(x, W, out=out) if plus is None else torch.addmm(plus, x, W, out=out)
    product = x.to(W.dtype) @ W
    return out.copy_(product) if plus is None else torch.add(plus, product, out=out)


class Loop:
    """Inputs, buffers and the forward steps of one loop."""

    def __init__(self, architecture: Architecture, inputs: Inputs, saved: Saved) -> None:
        self.architecture, self.inputs, self.saved = architecture, inputs, saved
        self.score: ScoreLoop = (
            DotLoop(inputs.keys) if inputs.v is None else AdditiveLoop(inputs.keys, inputs.v)
        )
        self.T, _, self.GH = saved.gates[0].shape
        self.top = architecture.layers - 1
        readout = 0 if inputs.W_c is None else len(inputs.W_c)
        self.A = len(inputs.W_s) - self.GH - readout  # 0: the state itself is the query
        assert inputs.mask is not None
        self.mask, self.padding = inputs.mask, ~inputs.mask  # (B, S)
        masks = (mask.transpose(0, 1) for mask in inputs.masks if mask is not None)
        self.masks = [mask.expand(self.T, -1, -1) for mask in masks]  # (T, B, H)

    def state(self, layer: int, t: int) -> CellState:
        """h_t, or h_t and c_t, of a layer: (B, H)."""
        return tuple(part[t] for part in self.saved.states[layer])

    def query(self, t: int) -> Tensor:
        """The query of state t of the top layer: (B, A)."""
        if self.A:
            return self.saved.products[-1][t][:, self.GH : self.GH + self.A]
        return self.saved.states[-1][0][t]

    def run(self) -> None:
        """All steps."""
        initial = iter(self.inputs.initial)
        for parts in self.saved.states:
            for part in parts:
                part[0] = next(initial)
        for t in range(1, self.T + 1):
            x = self.saved.gates[0][t - 1]  # (B, G·H)
            if self.architecture.query_before:
                self.project(t - 1)
                self.attend(t - 1, t)
                multiply(self.saved.contexts[t - 1], self.inputs.W_fed.t(), x, plus=x)  # x += W_fed c_t
                self.update(t)
            else:
                if t == 1:
                    self.project(0)
                else:
                    assert self.saved.fed is not None
                    multiply(self.saved.fed[t - 1], self.inputs.W_fed.t(), x, plus=x)  # x += W_fed h̃_{t-1}
                self.update(t)
                self.project(t)
                self.attend(t, t)
                self.read_out(t)

    def project(self, t: int) -> None:
        """p_t = W_s s_t + b_s = [u; q; r]   s: state of the top layer"""
        inputs, saved = self.inputs, self.saved
        multiply(saved.states[-1][0][t], inputs.W_s.t(), saved.products[-1][t], plus=inputs.b_s)

    def attend(self, state: int, t: int) -> None:
        """e_t = score(q, K);  α_t = softmax(e_t);  c_t = Σ_s α_ts h_s"""
        alpha, context = self.saved.alpha[t - 1], self.saved.contexts[t - 1]  # (B, S), (B, H)
        self.score.energy(self.query(state), alpha)
        alpha.masked_fill_(self.padding, torch.finfo(alpha.dtype).min)
        torch.softmax(alpha, dim=-1, out=alpha).mul_(self.mask)
        torch.bmm(alpha[:, None], self.inputs.values, out=context[:, None])

    def update(self, t: int) -> None:
        """s_t = cell(x, u) of all layers, from the first to the top;  x = W_ih (mask ∘ s_t of the layer below)"""
        inputs, saved = self.inputs, self.saved
        for layer in range(self.architecture.layers):
            x = saved.gates[layer][t - 1]  # (B, G·H)
            if layer > 0:
                W_ih, b_ih = inputs.upwards[2 * layer - 2 : 2 * layer]
                below = saved.states[layer - 1][0][t]  # (B, H)
                multiply(self.dropped(below, layer, t), W_ih.t(), x, plus=b_ih)
            u = saved.products[layer][t - 1][:, : self.GH]  # (B, G·H)
            before = self.state(layer, t - 1)
            if layer < self.top:
                W_hh, b_hh = inputs.recurrent[2 * layer : 2 * layer + 2]
                multiply(before[0], W_hh.t(), u, plus=b_hh)
            self.architecture.in_place.forward(x, u, before, self.state(layer, t))

    def read_out(self, t: int) -> None:
        """h̃_t = tanh(W_c c_t + W_r s_t)"""
        assert self.inputs.W_c is not None
        assert self.saved.fed is not None
        r = self.saved.products[-1][t][:, self.GH + self.A :]  # (B, F)
        multiply(self.saved.contexts[t - 1], self.inputs.W_c.t(), self.saved.fed[t], plus=r).tanh_()

    def dropped(self, x: Tensor, layer: int, t: int) -> Tensor:
        """x (B, H) after the dropout below `layer` at step t."""
        return x * self.masks[layer - 1][t - 1] if self.masks else x
