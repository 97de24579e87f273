"""One step of a recurrent cell, written out.

The fused `nn.RNN`, `nn.GRU` and `nn.LSTM` compute the same over all steps in one call. Where decoding has to
go one step at a time, these functions take the two sides of the gates apart, so that the input side can be
computed for all steps before: `x` = W_ih x_t + b_ih and `u` = W_hh h_{t-1} + b_hh, both (…, gates·H).

The GRU here is the fused one: its reset gate acts after the product, n = tanh(W x + r ∘ (U h)). That of Cho
et al. 2014 and Bahdanau et al. 2015 acts before it, n = tanh(W x + U (r ∘ h)).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

LayerState = tuple[Tensor, ...]  # (h,), or (h, c) of an LSTM; each (…, H)


def rnn_cell(x: Tensor, u: Tensor, state: LayerState) -> LayerState:
    """h_t = tanh(W x_t + U h_{t-1})   (Elman 1990)"""
    return (torch.tanh(x + u),)  # (…, H)


def gru_cell(x: Tensor, u: Tensor, state: LayerState) -> LayerState:
    """r, z = σ(W x_t + U h_{t-1});  n = tanh(W x_t + r ∘ U h_{t-1});  h_t = (1-z) ∘ n + z ∘ h_{t-1}

    (Cho et al. 2014, section 2.3)
    """
    (h,) = state
    size = h.shape[-1]
    r, z = torch.sigmoid(x[..., : 2 * size] + u[..., : 2 * size]).chunk(2, dim=-1)  # (…, H) each
    n = torch.tanh(torch.addcmul(x[..., 2 * size :], r, u[..., 2 * size :]))  # (…, H)
    return (torch.lerp(n, h.to(n.dtype), z),)  # (…, H)  n + z ∘ (h - n)


def lstm_cell(x: Tensor, u: Tensor, state: LayerState) -> LayerState:
    """i, f, o = σ(W x_t + U h_{t-1});  g = tanh(W x_t + U h_{t-1})

    c_t = f ∘ c_{t-1} + i ∘ g;  h_t = o ∘ tanh(c_t)   (Hochreiter & Schmidhuber 1997; Gers et al. 2000)
    """
    _, c = state
    i, f, g, o = (x + u).chunk(4, dim=-1)  # (…, H) each
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)  # (…, H)
    return torch.sigmoid(o) * torch.tanh(c), c


class Cell(NamedTuple):
    """A kind of cell: its fused module and its single step."""

    fused: Callable[..., nn.RNNBase]
    step: Callable[[Tensor, Tensor, LayerState], LayerState]
    gates: int  # rows of the weights, in multiples of H
    parts: int  # tensors of a state


CELLS = {
    "rnn": Cell(nn.RNN, rnn_cell, gates=1, parts=1),
    "gru": Cell(nn.GRU, gru_cell, gates=3, parts=1),
    "lstm": Cell(nn.LSTM, lstm_cell, gates=4, parts=2),
}
