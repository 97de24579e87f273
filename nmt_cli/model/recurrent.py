"""Recurrent cells and layers.

A cell is one step, written out. The fused `nn.RNN`, `nn.GRU` and `nn.LSTM` compute the same for all steps in one
call; a layer uses them wherever the whole sequence is known. A cell is given both sides of its gates separately,
so that the input side can be computed for all steps beforehand: `x` = W_ih x_t + b_ih and
`u` = W_hh h_{t-1} + b_hh, both (…, G·H) for G gates.

The GRU is the fused one: its reset gate acts after the product, n = tanh(W x + r ∘ (U h)). That of Cho et al. 2014
and Bahdanau et al. 2015 acts before it, n = tanh(W x + U (r ∘ h)).
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, linear

CellState = tuple[Tensor, ...]  # (h,), or (h, c) of an LSTM; each (…, H)
LayerState = tuple[Any, ...]  # what a layer keeps between steps: a CellState, or more
LayerStateT = TypeVar("LayerStateT", bound=LayerState)


def rnn_cell(x: Tensor, u: Tensor, state: CellState) -> CellState:
    """h_t = tanh(W x_t + U h_{t-1})   (Elman 1990)"""
    return (torch.tanh(x + u),)  # (…, H)


def gru_cell(x: Tensor, u: Tensor, state: CellState) -> CellState:
    """r, z = σ(W x_t + U h_{t-1});  n = tanh(W x_t + r ∘ U h_{t-1});  h_t = (1-z) ∘ n + z ∘ h_{t-1}

    (Cho et al. 2014, section 2.3)
    """
    (h,) = state
    H = h.shape[-1]
    r, z = torch.sigmoid(x[..., : 2 * H] + u[..., : 2 * H]).chunk(2, dim=-1)  # (…, H) each
    n = torch.tanh(torch.addcmul(x[..., 2 * H :], r, u[..., 2 * H :]))  # (…, H)
    return (torch.lerp(n, h.to(n.dtype), z),)  # (…, H)  n + z ∘ (h - n)


def lstm_cell(x: Tensor, u: Tensor, state: CellState) -> CellState:
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
    step: Callable[[Tensor, Tensor, CellState], CellState]
    gates: int  # G, rows of the weights in multiples of H
    parts: int  # tensors in a state


CELLS = {
    "rnn": Cell(nn.RNN, rnn_cell, gates=1, parts=1),
    "gru": Cell(nn.GRU, gru_cell, gates=3, parts=1),
    "lstm": Cell(nn.LSTM, lstm_cell, gates=4, parts=2),
}

_CLOSED = 1e4  # σ(-1e4) = 0 and σ(1e4) = 1 exactly, and fp16 can represent it


class Layer(nn.Module, Generic[LayerStateT]):
    """A layer that reads in one direction; its output is h_t, or LayerNorm(h_t) if `layer_norm`.

    Subclasses decide what a step sees of the past: the last state, or all of them.
    """

    def __init__(self, cell: str, input_size: int, hidden_size: int, *, layer_norm: bool) -> None:
        super().__init__()
        self.cell = CELLS[cell]
        self.fused = self.cell.fused(input_size, hidden_size, batch_first=True)
        self.norm = nn.LayerNorm(hidden_size) if layer_norm else nn.Identity()

    @property
    def hidden_size(self) -> int:
        """H"""
        return self.fused.hidden_size

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W_ih (G·H, I), W_hh (G·H, H), b_ih (G·H,), b_hh (G·H,)"""
        fused = self.fused
        return cast(
            tuple[Tensor, Tensor, Tensor, Tensor],
            (fused.weight_ih_l0, fused.weight_hh_l0, fused.bias_ih_l0, fused.bias_hh_l0),
        )

    def initial_state(self, state: CellState) -> LayerStateT:
        """What the first step is given: from (h_0,) or (h_0, c_0), each (…, H)."""
        raise NotImplementedError

    def forward(self, x: Tensor, state: LayerStateT) -> tuple[Tensor, LayerStateT]:
        """All steps: x (B, T, I) → outputs (B, T, H), the state after step T."""
        raise NotImplementedError

    def step(self, x: Tensor, state: LayerStateT) -> tuple[Tensor, LayerStateT]:
        """One step: x (…, I) → output (…, H), the next state."""
        return self.update(self.input_gates(x), state)

    def update(self, gates: Tensor, state: LayerStateT) -> tuple[Tensor, LayerStateT]:
        """One step, given the input side of its gates (…, G·H)."""
        raise NotImplementedError

    def read(self, x: Tensor, mask: Tensor) -> tuple[Tensor, CellState]:
        """Whole sentences: x (B, S, I), mask (B, S) → outputs (B, S, H), the states at the last real token (B, H).

        Padding comes last and cannot change what was computed before it, so nothing needs to be packed.
        """
        raise NotImplementedError

    def input_gates(self, x: Tensor) -> Tensor:
        """W_ih x_t + b_ih: (…, I) → (…, G·H)"""
        W_ih, _, b_ih, _ = self.weights
        return linear(x, W_ih, b_ih)

    def hidden_gates(self, h: Tensor) -> Tensor:
        """W_hh h_{t-1} + b_hh: (…, H) → (…, G·H)"""
        return linear(h, *cast(tuple[Tensor, Tensor], (self.fused.weight_hh_l0, self.fused.bias_hh_l0)))


class RecurrentLayer(Layer[CellState]):
    """h_t = cell(x_t, h_{t-1})"""

    def initial_state(self, state: CellState) -> CellState:
        """The first state itself."""
        return state

    def forward(self, x: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """All steps in one fused call: x (B, T, I), state (B, H) → outputs (B, T, H), the state after step T."""
        parts = tuple(part[None].to(x.dtype).contiguous() for part in state)  # (1, B, H), the layout of torch
        h, last = self.fused(x, parts if self.cell.parts == 2 else parts[0])  # (B, T, H)
        last = last if self.cell.parts == 2 else (last,)
        return self.norm(h), tuple(part[0] for part in last)

    def update(self, gates: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """h_t = cell(W_ih x_t + b_ih, W_hh h_{t-1} + b_hh)"""
        state = self.cell.step(gates, self.hidden_gates(state[0]), state)  # (…, H) each
        return self.norm(state[0]), state

    def read(self, x: Tensor, mask: Tensor) -> tuple[Tensor, CellState]:
        """Not packed: packing makes forward and backward of an LSTM or GRU 1.5 times as slow on a CPU."""
        zero = x.new_zeros(1, len(x), self.hidden_size)  # (1, B, H)
        if self.cell.parts == 2:
            h, _, c = self._read_frozen(x, mask, zero)  # (B, S, H), (1, B, H)
        else:
            h = self.fused(x, zero)[0]  # (B, S, H)
        last = mask.sum(dim=1).clamp(min=1) - 1  # (B,) position of the last real token
        h_n = h.gather(1, last[:, None, None].expand(-1, 1, h.shape[-1]))[:, 0]  # (B, H)
        return self.norm(h), (h_n, c[0]) if self.cell.parts == 2 else (h_n,)

    def _read_frozen(self, x: Tensor, mask: Tensor, zero: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The fused LSTM only returns c after step S, so padding must keep c_t = c_{t-1}: i = 0, f = 1.

        An extra input that is 1 on padding closes the gate i and opens f; on real tokens it adds nothing.
        """
        W_ih, W_hh, b_ih, b_hh = self.weights
        column = W_ih.new_zeros(4, W_hh.shape[1])  # (4, H) gates i, f, g, o
        column[0], column[1] = -_CLOSED, _CLOSED
        W_ih = torch.cat([W_ih, column.view(-1, 1)], dim=1)  # (4·H, I + 1)
        x = torch.cat([x, (~mask).to(x.dtype)[..., None]], dim=-1)  # (B, S, I + 1)
        return torch.lstm(x, [zero, zero], [W_ih, W_hh, b_ih, b_hh], True, 1, 0.0, self.training, False, True)


# Kinds of dropout: per element, with one mask for all steps (variational), of whole words.


class Dropout(nn.Module):
    """Zero elements with probability p; variational: the same ones at all steps (Gal & Ghahramani 2016)."""

    def __init__(self, p: float, *, variational: bool) -> None:
        super().__init__()
        self.p = p
        self.variational = variational

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, T, …)"""
        if x.device.type != "cpu" and not self.variational:
            return dropout(x, self.p, self.training)  # one kernel
        mask = self.mask(x)
        return x if mask is None else x * mask

    def mask(self, x: Tensor) -> Tensor | None:
        """The factors 0 or 1/(1-p) for x (B, T, …): (B, T or 1, …); None if nothing is dropped."""
        if not self.training or self.p == 0:
            return None
        return draw_mask(x[:, :1] if self.variational else x, self.p)


class WordDropout(nn.Module):
    """Zero whole word vectors with probability p (Sennrich et al. 2016, Edinburgh systems for WMT 16)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, T, E)"""
        if not self.training or self.p == 0:
            return x
        return x * draw_mask(x[..., :1], self.p)  # (B, T, 1)


def draw_mask(like: Tensor, p: float) -> Tensor:
    """0 with probability p, else 1/(1-p), in the shape of `like`.

    On a CPU one draw of 64 bits serves four elements, which rounds p to 16 bits; torch draws once per element and
    takes 2.5 to 3 times as long.
    """
    if like.device.type != "cpu":
        return dropout(torch.ones_like(like), p)
    draws = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[: like.numel()].view(like.shape)  # uniform over -32768 … 32767
    return (bits >= round(p * 2**16) - 2**15).to(like.dtype).mul_(1 / (1 - p))
