"""The LSTMN: a recurrent layer that reads all its past states instead of the last one.

    e_i = v · tanh(W_h h_i + W_x x_t + W_s s_{t-1});   α = softmax(e)           over the memory h_0 … h_{t-1}
    s_t = Σ_i α_i h_i;   c'_t = Σ_i α_i c_i                                     in place of h_{t-1} and c_{t-1}
    i, f, o = σ(W [x_t; s_t]);   g = tanh(W [x_t; s_t])
    c_t = f ∘ c'_t + i ∘ g;   h_t = o ∘ tanh(c_t)                    (Cheng, Dong & Lapata 2016, section 3.1)

With the simple cell: h_t = tanh(W [x_t; s_t] + b). The memory begins with the first state h_0, which is 0 in the
encoder; the paper has no h_0 and nothing to read at the first step.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import masked_softmax, weighted_sum
from nmt_cli.model.recurrent import CellState, Layer, RecurrentLayer
from nmt_cli.model.scores import Additive, Sizes


class LSTMNState(NamedTuple):
    """What one step leaves to the next."""

    h: Tensor  # (…, H) h_{t-1}
    s: Tensor  # (…, H) s_{t-1}
    keys: Tensor  # (…, t, H) W_h h_i of the memory
    memory: CellState  # h_i, or h_i and c_i, of all past states: each (…, t, H)


class IntraAttention(nn.Module):
    """α = softmax(e),  e_i = v · tanh(W_h h_i + W_x x_t + W_s s_{t-1})"""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.score = Additive(Sizes(hidden_size, hidden_size, 0))  # its W is W_s, its U is W_h
        self.W_x = nn.Linear(input_size, hidden_size)

    def forward(self, W_x_x: Tensor, s_before: Tensor, keys: Tensor) -> Tensor:
        """W_x x_t (…, H), s_{t-1} (…, H), keys W_h h_i (…, t, H) → α (…, t)."""
        q = (W_x_x + self.score.W(s_before)).flatten(0, -2)[:, None]  # (N, 1, H) of N sentences or hypotheses
        K = keys.flatten(0, -3)  # (N, t, H)
        e = self.score.compare(q, K.to(q.dtype))  # (N, 1, t)  v · tanh(q + K_i)
        alpha = masked_softmax(e, torch.ones_like(e, dtype=torch.bool))
        return alpha[:, 0].view(keys.shape[:-1])  # (…, t)


class LSTMNLayer(Layer[LSTMNState]):
    """The gates see s_t in place of h_{t-1}; the fused module holds their weights and is never called."""

    def __init__(self, cell: str, input_size: int, hidden_size: int, *, layer_norm: bool) -> None:
        super().__init__(cell, input_size, hidden_size, layer_norm=layer_norm)
        self.reader = IntraAttention(input_size, hidden_size)

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W_ih has the rows of W_x below those of the G gates, so that one product serves both: (G·H + H, I)."""
        W_ih, W_hh, b_ih, b_hh = super().weights
        W_x = self.reader.W_x
        return torch.cat([W_ih, W_x.weight]), W_hh, torch.cat([b_ih, W_x.bias]), b_hh

    def initial_state(self, state: CellState) -> LSTMNState:
        """The memory holds h_0 (and c_0), each (…, H); s_0 = h_0."""
        h = state[0]
        keys = self.reader.score.keys(h)[..., None, :]  # (…, 1, H)
        return LSTMNState(h, h, keys, tuple(part[..., None, :] for part in state))

    def forward(self, x: Tensor, state: LSTMNState) -> tuple[Tensor, LSTMNState]:
        """All steps, one by one: x (B, T, I) → outputs (B, T, H), the state after step T."""
        W_ih, _, b_ih, _ = self.weights
        outputs = []
        for gates in linear(x, W_ih, b_ih).unbind(dim=1):  # (B, G·H + H)
            output, state = self.update(gates, state)
            outputs.append(output)
        return torch.stack(outputs, dim=1), state

    def update(self, gates: Tensor, state: LSTMNState) -> tuple[Tensor, LSTMNState]:
        """One step, given W x_t + b and below it W_x x_t, (…, G·H + H). Its cost grows with t."""
        H = self.hidden_size
        x, W_x_x = gates[..., :-H], gates[..., -H:]  # (…, G·H) W x_t + b, (…, H) W_x x_t
        # α = softmax(e),  e_i = v · tanh(W_h h_i + W_x x_t + W_s s_{t-1})
        alpha = self.reader(W_x_x, state.s, state.keys)[..., None, :]  # (…, 1, t)
        # s_t = Σ_i α_i h_i;  c'_t = Σ_i α_i c_i
        read = tuple(weighted_sum(alpha, past)[..., 0, :] for past in state.memory)  # (…, H) each
        s = read[0]  # (…, H)
        # i, f, o = σ(W [x_t; s_t]);  g = tanh(W [x_t; s_t]);  c_t = f ∘ c'_t + i ∘ g;  h_t = o ∘ tanh(c_t)
        now = self.cell.step(x, self.hidden_gates(s), read)  # (…, H) each
        h = now[0]  # (…, H)
        keys = _append(state.keys, self.reader.score.keys(h))  # (…, t + 1, H)
        memory = tuple(_append(past, new) for past, new in zip(state.memory, now, strict=True))
        return self.norm(h), LSTMNState(h, s, keys, memory)

    def read(self, x: Tensor, mask: Tensor) -> tuple[Tensor, CellState]:
        """As every layer reads a sentence: padding comes last, where no real position looks at it."""
        zero = x.new_zeros(len(x), self.hidden_size)  # (B, H)
        outputs, state = self(x, self.initial_state((zero,) * self.cell.parts))  # (B, S, H)
        # The memory has h_0 too, so the last of n real tokens is at position n.
        last = mask.sum(dim=1).clamp(min=1)  # (B,)
        last = last[:, None, None].expand(-1, 1, self.hidden_size)  # (B, 1, H)
        return outputs, tuple(past.gather(1, last)[:, 0] for past in state.memory)  # each (B, H)


def _append(past: Tensor, new: Tensor) -> Tensor:
    """(…, t, H) and (…, H) → (…, t + 1, H)"""
    return torch.cat([past, new.to(past.dtype)[..., None, :]], dim=-2)


def build_layer(config: ModelConfig, input_size: int, size: int, *, side: str) -> RecurrentLayer | LSTMNLayer:
    """A layer of the encoder or decoder (`side`), as the settings describe it."""
    kind = LSTMNLayer if config.intra_attention in (side, "both") else RecurrentLayer
    return kind(config.cell, input_size, size, layer_norm=config.layer_norm)
