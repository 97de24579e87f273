"""Recurrent cells for loops without an autograd graph: one step in place, and its derivative.

`advance` turns the input side of the gates x (B, G·H) into their activations and writes the new state.
`retreat` turns dh, and the dc of an LSTM, into the gradients dx and du of both sides of the gates, and leaves in dh
and dc what reaches the previous state directly. The equations are those of `nmt_cli.model.recurrent`; u is
W_hh h_{t-1} + b_hh (B, G·H).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.model.recurrent import CellState

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input  # d σ(a) → d a, from σ(a)
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


def rnn_advance(x: Tensor, u: Tensor, before: CellState, after: CellState) -> None:
    """h_t = tanh(x + u)"""
    torch.tanh(x.add_(u), out=after[0])


def rnn_retreat(
    x: Tensor, u: Tensor, before: CellState, after: CellState, d: CellState, dx: Tensor, du: Tensor
) -> None:
    """dx = du = dh ∘ (1 - h_t²)"""
    _tanh_backward(d[0], after[0], grad_input=dx)
    du.copy_(dx)
    d[0].zero_()


def gru_advance(x: Tensor, u: Tensor, before: CellState, after: CellState) -> None:
    """r, z = σ(x + u);  n = tanh(x + r ∘ u);  h_t = n + z ∘ (h_{t-1} - n)"""
    H = after[0].shape[-1]
    x[:, : 2 * H].add_(u[:, : 2 * H]).sigmoid_()
    r, z, n = x.chunk(3, dim=-1)
    n.addcmul_(r, u[:, 2 * H :]).tanh_()
    torch.lerp(n, before[0], z, out=after[0])


def gru_retreat(
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


def lstm_advance(x: Tensor, u: Tensor, before: CellState, after: CellState) -> None:
    """i, f, o = σ(x + u);  g = tanh(x + u);  c_t = f ∘ c_{t-1} + i ∘ g;  h_t = o ∘ tanh(c_t)"""
    h, c = after
    i, f, g, o = x.add_(u).chunk(4, dim=-1)
    x[:, : 2 * h.shape[-1]].sigmoid_()
    g.tanh_()
    o.sigmoid_()
    torch.mul(f, before[1], out=c).addcmul_(i, g)
    torch.tanh(c, out=h).mul_(o)


def lstm_retreat(
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

    advance: Callable[[Tensor, Tensor, CellState, CellState], None]
    retreat: Callable[[Tensor, Tensor, CellState, CellState, CellState, Tensor, Tensor], None]
    gates: int
    parts: int


IN_PLACE = {
    "rnn": InPlace(rnn_advance, rnn_retreat, gates=1, parts=1),
    "gru": InPlace(gru_advance, gru_retreat, gates=3, parts=1),
    "lstm": InPlace(lstm_advance, lstm_retreat, gates=4, parts=2),
}
