"""A recurrent layer that reads all its earlier states instead of the last one: the LSTMN.

    e_i = v · tanh(W_h h_i + W_x x_t + W_s s_{t-1});   α = softmax(e)           over the tape h_0 … h_{t-1}
    s_t = Σ_i α_i h_i;   c'_t = Σ_i α_i c_i                                     what replaces h_{t-1} and c_{t-1}
    i, f, o = σ(W [x_t; s_t]);   g = tanh(W [x_t; s_t])
    c_t = f ∘ c'_t + i ∘ g;   h_t = o ∘ tanh(c_t)                    (Cheng, Dong & Lapata 2016, section 3.1)

With the simple cell: h_t = tanh(A [x_t; s_t] + b). The tape begins with the first state h_0, which is 0 in the
encoder; the paper has no h_0, and nothing to read at the first step.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import masked_softmax, weighted_sum
from nmt_cli.model.cells import LayerState
from nmt_cli.model.fast.additive import additive_score
from nmt_cli.model.recurrent import RecurrentLayer
from nmt_cli.model.scores import Additive, Sizes


class TapeReader(nn.Module):
    """α of the tape, by the additive score of what x_t and s_{t-1} ask for."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.score = Additive(Sizes(hidden_size, hidden_size, 0))  # its W is W_s, its U is W_h
        self.W_x = nn.Linear(input_size, hidden_size)

    def forward(self, query: Tensor, s: Tensor, keys: Tensor) -> Tensor:
        """Query W_x x_t (…, H), s_{t-1} (…, H), keys W_h h_i (…, t, H) → α (…, t)."""
        q = (query + self.score.W(s)).flatten(0, -2)[:, None]  # (N, 1, H), N sentences or hypotheses
        K = keys.flatten(0, -3)  # (N, t, H)
        e = additive_score(q, K.to(q.dtype), self.score.v.weight[0])  # (N, 1, t)
        alpha = masked_softmax(e, torch.ones_like(e, dtype=torch.bool))
        return alpha[:, 0].view(keys.shape[:-1])  # (…, t)


class TapeLayer(RecurrentLayer):
    """A state is (h, s, tape of W_h h_i, tape of h_i[, tape of c_i]): (…, H) twice, then (…, t, H)."""

    def __init__(self, cell: str, input_size: int, hidden_size: int, *, layer_norm: bool) -> None:
        # The fused module holds the weights of the gates, which see s_t in place of h_{t-1}; it is never called.
        super().__init__(cell, input_size, hidden_size, layer_norm=layer_norm)
        self.reader = TapeReader(input_size, hidden_size)

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The input side W_ih has the rows of W_x below those of the G gates: (G·H + H, I)."""
        W_ih, W_hh, b_ih, b_hh = super().weights
        W_x = self.reader.W_x
        return torch.cat([W_ih, W_x.weight]), W_hh, torch.cat([b_ih, W_x.bias]), b_hh

    @property
    def has_tape(self) -> bool:
        """It has."""
        return True

    def begin(self, state: LayerState) -> LayerState:
        """The tape holds h_0 (and c_0), each (…, H); s_0 = h_0."""
        h = state[0]
        return h, h, self.reader.score.keys(h)[..., None, :], *(part[..., None, :] for part in state)

    def forward(self, x: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """All steps, one by one: x (B, T, I) → outputs (B, T, H), the state after step T."""
        W_ih, _, b_ih, _ = self.weights
        outputs = []
        for gates in linear(x, W_ih, b_ih).unbind(dim=1):  # (B, G·H + H)
            output, state = self.update(gates, state)
            outputs.append(output)
        return torch.stack(outputs, dim=1), state

    def update(self, gates: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """One step whose input side (…, G·H + H) is known: O(t)."""
        _, s, keys, *tapes = state
        H = self.hidden_size
        alpha = self.reader(gates[..., -H:], s, keys)[..., None, :]  # (…, 1, t)
        read = tuple(weighted_sum(alpha, tape)[..., 0, :] for tape in tapes)  # s_t, c'_t: (…, H)
        now = self.cell.step(gates[..., :-H], self.hidden_gates(read[0]), read)  # (h_t,) or (h_t, c_t)
        added = [self.reader.score.keys(now[0]), *now]
        longer = (
            torch.cat([tape, part.to(tape.dtype)[..., None, :]], dim=-2)  # (…, t + 1, H)
            for tape, part in zip([keys, *tapes], added, strict=True)
        )
        return self.norm(now[0]), (now[0], read[0], *longer)

    def read(self, x: Tensor, mask: Tensor) -> tuple[Tensor, LayerState]:
        """Whole sentences: x (B, S, I), mask (B, S) → outputs (B, S, H), the last real (h,) or (h, c), (B, H).

        Padding stands at the end, where no real position looks back at it.
        """
        zero = x.new_zeros(len(x), self.hidden_size)  # (B, H)
        outputs, (_, _, _, *tapes) = self(x, self.begin((zero,) * self.cell.parts))
        last = (
            mask.sum(dim=1).clamp(min=1)[:, None, None].expand(-1, 1, self.hidden_size)
        )  # the tape has h_0 too
        return outputs, tuple(tape.gather(1, last)[:, 0] for tape in tapes)  # (B, S, H), each (B, H)


def build_layer(config: ModelConfig, input_size: int, size: int, *, side: str) -> RecurrentLayer:
    """A layer of the encoder or decoder (`side`), as the settings describe it."""
    kind = TapeLayer if config.intra_attention in (side, "both") else RecurrentLayer
    return kind(config.cell, input_size, size, layer_norm=config.layer_norm)
