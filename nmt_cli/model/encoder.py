"""The encoder, which turns source words into states, and the bridge from its states to the decoder's first one."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.lstmn import build_layer
from nmt_cli.model.recurrent import CELLS, CellState, Dropout


class Encoded(NamedTuple):
    """The encoded source."""

    states: Tensor  # (B, S, H) h_i of the top layer, in the order in which the encoder reads
    last: tuple[CellState, ...]  # for each layer (h_n,) or (h_n, c_n), each (B, H)


class Encoder(nn.Module):
    """A stack of recurrent layers, some bidirectional: h_i = [h→_i; h←_i]  (Bahdanau et al. 2015, section 3.2)

    Residual connections from the second layer on: Wu et al. 2016, section 3.1; only the first layer bidirectional:
    their section 3.2.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        count = {"none": 0, "first": 1, "all": config.encoder_layers}[config.bidirectional]
        sizes = [config.embedding_size] + [config.hidden_size] * (config.encoder_layers - 1)
        self.layers = nn.ModuleList(
            EncoderLayer(config, size, bidirectional=i < count) for i, size in enumerate(sizes)
        )
        self.residual = config.residual
        self.dropout = Dropout(config.dropout, variational=config.variational_dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Encoded:
        """Word vectors x (B, S, E), mask (B, S) true on real tokens."""
        backwards = reversal(mask.sum(dim=1), x.shape[1])  # (B, S)
        last: list[CellState] = []
        for i, layer in enumerate(self.layers):
            y, state = layer(x if i == 0 else self.dropout(x), mask, backwards)  # (B, S, H)
            x = x + y if self.residual and i > 0 else y
            last.append(state)
        return Encoded(x, tuple(last))


class EncoderLayer(nn.Module):
    """One layer that reads forwards, or in both directions with half the size in each."""

    def __init__(self, config: ModelConfig, input_size: int, *, bidirectional: bool) -> None:
        super().__init__()
        size = config.hidden_size // 2 if bidirectional else config.hidden_size
        self.forwards = build_layer(config, input_size, size, side="encoder")
        self.backwards = build_layer(config, input_size, size, side="encoder") if bidirectional else None

    def forward(self, x: Tensor, mask: Tensor, backwards: Tensor) -> tuple[Tensor, CellState]:
        """Input x (B, S, I), index `backwards` (B, S) → states (B, S, H), last states (B, H)."""
        h, last = self.forwards.read(x, mask)  # (B, S, H), (B, H)
        if self.backwards is None:
            return h, last
        b, first = self.backwards.read(take(x, backwards), mask)  # (B, S, H/2), (B, H/2)
        states = torch.cat([h, take(b, backwards)], dim=-1)  # (B, S, H)
        return states, tuple(torch.cat(pair, dim=-1) for pair in zip(last, first, strict=True))  # (B, H)


def reversal(lengths: Tensor, positions: int) -> Tensor:
    """(B, S) the index that reverses the first `lengths` positions of each row and leaves the rest."""
    i = torch.arange(positions, device=lengths.device)  # (S,)
    return torch.where(i < lengths[:, None], lengths[:, None] - 1 - i, i)  # (B, S)


def take(x: Tensor, index: Tensor) -> Tensor:
    """The vectors x (B, S, I) with their positions in the order `index` (B, S)."""
    return x.gather(1, index[..., None].expand_as(x))


class Bridged(NamedTuple):
    """What the decoder starts with."""

    initial: tuple[CellState, ...]  # s_0 of each layer, each (B, H)
    summary: Tensor | None  # (B, H) c, if it is fed to every step
    first_input: Tensor | None = None  # (B, E) what the decoder reads before the first word


class Bridge(nn.Module):
    """s_0 of every decoder layer from the encoded source.

    copy:        s_0 = h_n, layer by layer                    (Sutskever et al. 2014; Luong et al. 2015)
    projection:  s_0 = tanh(W h_n), h_n of the top layer      (Cho et al. 2014; Bahdanau et al. 2015, A.2.2)
    mean:        s_0 = tanh(W Σ_i h_i / n)                    (Sennrich et al. 2017, Nematus, section 3)
    input:       s_0 = RNN(W Σ_i h_i / n, 0), a first input   (Vinyals et al. 2015, equation 10)
    contrast:    s_0 = RNN(W LN(Σ_i max(0, h_i - h̄) / n), 0),  h̄ = Σ_i h_i / n
    zero:        s_0 = 0                                      (language models, which have no h)

    Each layer (and the cell c_0 of an LSTM) has its own W. A bidirectional h_n concatenates the last states of both
    directions. If the decoder is fed a summary c = tanh(V h_n), the projection starts from it:
    s_0 = tanh(W c)   (Cho et al. 2014, A.1.1). A Transformer has no last states: nothing is copied.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.initial_state
        H = config.hidden_size
        self.hidden_size = H
        self.layers = config.decoder_layers
        self.parts = 0 if config.cell == "transformer" else CELLS[config.cell].parts
        sizes = {"projection": self.layers * self.parts * H, "input": config.embedding_size}
        sizes |= {"mean": sizes["projection"], "contrast": sizes["input"]}
        self.W = nn.Linear(H, sizes[self.kind]) if self.kind in sizes else None
        self.norm = nn.LayerNorm(H) if self.kind == "contrast" else None
        self.V = nn.Linear(H, H) if config.context_every_step else None

    def forward(self, encoded: Encoded, mask: Tensor) -> Bridged:
        """States (B, S, H), mask (B, S) → s_0 (B, H) of each layer, c (B, H)."""
        c = None if self.V is None else torch.tanh(self.V(encoded.last[-1][0]))  # (B, H)
        if self.W is None:
            states = encoded.states
            return Bridged(self.zero(len(states), states) if self.kind == "zero" else encoded.last, c)
        if self.kind in ("mean", "input"):
            h = _mean(encoded.states, mask)  # (B, H)
        elif self.norm is not None:
            above = torch.relu(encoded.states - _mean(encoded.states, mask)[:, None])  # (B, S, H)
            h = self.norm(_mean(above, mask))  # (B, H)
        else:
            h = encoded.last[-1][0] if c is None else c  # (B, H)
        if self.kind in ("input", "contrast"):
            return Bridged(self.zero(len(h), h), c, self.W(h))  # (B, E)
        s_0 = torch.tanh(self.W(h)).chunk(self.layers * self.parts, dim=-1)  # layers × parts of (B, H)
        return Bridged(tuple(s_0[i : i + self.parts] for i in range(0, len(s_0), self.parts)), c)

    def zero(self, sentences: int, like: Tensor) -> tuple[CellState, ...]:
        """s_0 = 0 (B, H) of each layer for B sentences, with the device and dtype of `like`."""
        zero = like.new_zeros(sentences, self.hidden_size)  # (B, H)
        return ((zero,) * self.parts,) * self.layers


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    """The mean (B, H) of states (B, S, H) where mask (B, S) is set."""
    n = mask.sum(dim=1, keepdim=True).clamp(min=1)  # (B, 1)
    return (states * mask[..., None]).sum(dim=1) / n  # (B, H)
