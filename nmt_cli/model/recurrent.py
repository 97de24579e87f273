"""A recurrent layer: over all steps in one fused call, or one step at a time with the same weights."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from nmt_cli.model.cells import CELLS, LayerState

_CLOSED = 1e4  # σ(-1e4) = 0 and σ(1e4) = 1 exactly, and fp16 can hold it


class RecurrentLayer(nn.Module):
    """h_t = cell(x_t, h_{t-1}) in one direction; the output is h_t, or LayerNorm(h_t) if `layer_norm`."""

    def __init__(self, cell: str, input_size: int, hidden_size: int, *, layer_norm: bool) -> None:
        super().__init__()
        self.cell = CELLS[cell]
        self.fused = self.cell.fused(input_size, hidden_size, batch_first=True)
        self.norm = nn.LayerNorm(hidden_size) if layer_norm else nn.Identity()
        self.input_sides = nn.ModuleList()  # for single steps, once they are separate
        self.hidden_side: nn.Module | None = None

    def separate(self, sizes: Sequence[int] | None = None) -> None:
        """Make linear layers of W_hh and of W_ih, cut for inputs [x¹; x²; …] of these sizes, for single steps.

        Others may take their place that compute the same faster. The layer learns no more.
        """
        W_ih, _, b_ih, _ = self.weights
        sides = torch.split(W_ih, list(sizes or [W_ih.shape[1]]), dim=1)  # (G·H, I) each
        biases = [b_ih, *(None for _ in sides[1:])]
        self.input_sides.extend(_linear(W, b) for W, b in zip(sides, biases, strict=True))
        self.hidden_side = _linear(*self._hidden_weights)

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W_ih (G·H, I), W_hh (G·H, H), b_ih (G·H,), b_hh (G·H,) of the G gates."""
        fused = self.fused
        return cast(
            tuple[Tensor, Tensor, Tensor, Tensor],
            (fused.weight_ih_l0, fused.weight_hh_l0, fused.bias_ih_l0, fused.bias_hh_l0),
        )

    @property
    def _hidden_weights(self) -> tuple[Tensor, Tensor]:
        """W_hh (G·H, H), b_hh (G·H,)"""
        return cast(tuple[Tensor, Tensor], (self.fused.weight_hh_l0, self.fused.bias_hh_l0))

    @property
    def hidden_size(self) -> int:
        """H"""
        return self.fused.hidden_size

    @property
    def has_tape(self) -> bool:
        """Whether a state holds all earlier ones."""
        return False

    def begin(self, state: LayerState) -> LayerState:
        """What the first step is given, of a first state (h,) or (h, c), each (…, H)."""
        return state

    def forward(self, x: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """All steps: x (B, T, I), state (B, H) → outputs (B, T, H), the state after step T."""
        parts = tuple(part[None].to(x.dtype).contiguous() for part in state)  # (1, B, H), as torch wants them
        h, last = self.fused(x, parts if self.cell.parts == 2 else parts[0])  # (B, T, H)
        last = last if self.cell.parts == 2 else (last,)
        return self.norm(h), tuple(part[0] for part in last)

    def step(self, x: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """One step: x (…, I), state (…, H) → output (…, H), the next state."""
        return self.update(self.input_gates(x), state)

    def update(self, gates: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """One step whose input side W_ih x_t + b_ih (…, G·H) is known."""
        state = self.cell.step(gates, self.hidden_gates(state[0]), state)
        return self.norm(state[0]), state

    def input_gates(self, *x: Tensor) -> Tensor:
        """W_ih [x¹; x²; …] + b_ih of one step: (…, I) each → (…, G·H)"""
        if not self.input_sides:
            W_ih, _, b_ih, _ = self.weights
            return linear(x[0] if len(x) == 1 else torch.cat(x, dim=-1), W_ih, b_ih)
        gates: Tensor = self.input_sides[0](x[0])
        for side, part in zip(self.input_sides[1:], x[1:], strict=True):
            gates = gates + side(part)
        return gates

    def hidden_gates(self, h: Tensor) -> Tensor:
        """W_hh h_{t-1} + b_hh of one step: (…, H) → (…, G·H)"""
        if self.hidden_side is None:
            return linear(h, *self._hidden_weights)
        gates: Tensor = self.hidden_side(h)
        return gates

    def read(self, x: Tensor, mask: Tensor) -> tuple[Tensor, LayerState]:
        """Whole sentences: x (B, S, I), mask (B, S) → outputs (B, S, H), the last real states.

        Padding stands at the end and cannot change what was computed before it, so nothing is packed (packed,
        the forward and backward pass of an LSTM or GRU take 1.5 times as long on a CPU).
        """
        zero = x.new_zeros(1, len(x), self.fused.hidden_size)  # (1, B, H)
        if self.cell.parts == 2:
            h, _, c = self._read_frozen(x, mask, zero)  # (B, S, H), (1, B, H)
        else:
            h = self.fused(x, zero)[0]  # (B, S, H)
        last = mask.sum(dim=1).clamp(min=1) - 1  # (B,) position of the last real token
        h_n = h.gather(1, last[:, None, None].expand(-1, 1, h.shape[-1]))[:, 0]  # (B, H)
        return self.norm(h), (h_n, c[0]) if self.cell.parts == 2 else (h_n,)

    def _read_frozen(self, x: Tensor, mask: Tensor, zero: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The fused LSTM shows c after step S only; padding must not change it: c_t = c_{t-1}, i = 0, f = 1.

        One more input, which is 1 on padding, shuts the gate i and opens f; on real tokens it adds nothing.
        """
        W_ih, W_hh, b_ih, b_hh = self.weights
        column = W_ih.new_zeros(4, W_hh.shape[1])  # (4, H) gates i, f, g, o
        column[0], column[1] = -_CLOSED, _CLOSED
        W_ih = torch.cat([W_ih, column.view(-1, 1)], dim=1)  # (4·H, I + 1)
        x = torch.cat([x, (~mask).to(x.dtype)[..., None]], dim=-1)  # (B, S, I + 1)
        return torch.lstm(x, [zero, zero], [W_ih, W_hh, b_ih, b_hh], True, 1, 0.0, self.training, False, True)


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    with torch.device("meta"):  # nothing is drawn for weights that are there
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.weight = nn.Parameter(weight.detach(), requires_grad=False)
    if bias is not None:
        layer.bias = nn.Parameter(bias.detach(), requires_grad=False)
    return layer
