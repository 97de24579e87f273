"""The bridge from encoder to decoder: the first decoder state, and the summary of the source."""

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.cells import CELLS, LayerState
from nmt_cli.model.encoder import Encoded


class Bridge(nn.Module):
    """s_0 of every decoder layer from what the encoder has read.

    copy:        s_0 = h_n, layer by layer                    (Sutskever et al. 2014; Luong et al. 2015)
    projection:  s_0 = tanh(W h_n), h_n of the top layer      (Cho et al. 2014; Bahdanau et al. 2015, A.2.2)
    mean:        s_0 = tanh(W Σ_i h_i / n)                    (Sennrich et al. 2017, Nematus, section 3)
    zero:        s_0 = 0                                      (a language model, which has no h)

    Each layer (and the cell c_0 of an LSTM) has its own W. A bidirectional h_n joins the last states of both
    directions. If the decoder is fed a summary c = tanh(V h_n), the projection starts from it:
    s_0 = tanh(W c)   (Cho et al. 2014, A.1.1). A Transformer has no last states, and nothing is copied.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.initial_state
        H = config.hidden_size
        self.hidden_size = H
        self.layers = config.decoder_layers
        self.parts = 0 if config.cell == "transformer" else CELLS[config.cell].parts
        self.W = nn.Linear(H, self.layers * self.parts * H) if self.kind in ("projection", "mean") else None
        self.V = nn.Linear(H, H) if config.context_every_step else None

    def forward(self, encoded: Encoded, mask: Tensor) -> tuple[tuple[LayerState, ...], Tensor | None]:
        """→ s_0 (B, H) of each layer, and the summary c (B, H) if the decoder is fed one."""
        c = None if self.V is None else torch.tanh(self.V(encoded.last[-1][0]))  # (B, H)
        if self.W is None:
            states = encoded.states
            return self.zero(len(states), states) if self.kind == "zero" else encoded.last, c
        if self.kind == "mean":
            n = mask.sum(dim=1, keepdim=True).clamp(min=1)  # (B, 1)
            h = (encoded.states * mask[..., None]).sum(dim=1) / n  # (B, H)
        else:
            h = encoded.last[-1][0] if c is None else c  # (B, H)
        s_0 = torch.tanh(self.W(h)).chunk(self.layers * self.parts, dim=-1)  # layers × parts of (B, H)
        return tuple(s_0[i : i + self.parts] for i in range(0, len(s_0), self.parts)), c

    def zero(self, sentences: int, like: Tensor) -> tuple[LayerState, ...]:
        """s_0 = 0 (B, H) of each layer for B sentences, with device and number format of `like`."""
        nothing = like.new_zeros(sentences, self.hidden_size)  # (B, H)
        return ((nothing,) * self.parts,) * self.layers
