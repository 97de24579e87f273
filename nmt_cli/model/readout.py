"""The readout: decoder state, previous word and context to the features that the vocabulary sees."""

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig


class Readout(nn.Module):
    """The state itself:  f_t = s_t   (Sutskever et al. 2014; Wu et al. 2016)"""

    def forward(self, s: Tensor, y: Tensor, c: Tensor | None) -> Tensor:
        """State s (…, H), previous word y (…, E), context c (…, H) → features (…, F)."""
        return s


class AttentionalState(Readout):
    """h̃_t = tanh(W_c [c_t; s_t])   (Luong et al. 2015, equation 5)"""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.W_c = nn.Linear(2 * config.hidden_size, config.features_size, bias=False)

    def forward(self, s: Tensor, y: Tensor | None, c: Tensor | None) -> Tensor:
        """[c; s] (…, 2·H) → h̃ (…, F)"""
        assert c is not None
        return torch.tanh(self.W_c(torch.cat([c, s], dim=-1)))  # (…, F)


class DeepOutput(Readout):
    """t_t = maxout(U_o s_t + V_o y_{t-1} + C_o c_t), or tanh in its place

    (Bahdanau et al. 2015, A.2.2; Cho et al. 2014, A.1.2). The appendix of Bahdanau et al. has s_{t-1} here,
    their section 3.1 has s_t, which knows the context that was just read.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        has_context = config.attention != "none" or config.context_every_step
        size = config.hidden_size + config.embedding_size + config.hidden_size * has_context
        self.pieces = 2 if config.readout == "maxout" else 1
        self.W = nn.Linear(size, self.pieces * config.features_size)  # W = [U_o V_o C_o]

    def forward(self, s: Tensor, y: Tensor, c: Tensor | None) -> Tensor:
        """[s; y; c] (…, 2·H + E) → t (…, F)"""
        t = self.W(torch.cat([s, y] if c is None else [s, y, c], dim=-1))  # (…, F), or (…, 2·F)
        if self.pieces == 1:
            return torch.tanh(t)
        return torch.maximum(*t.chunk(2, dim=-1))  # (…, F)


def build_readout(config: ModelConfig) -> Readout:
    """The readout that the settings describe."""
    if config.readout == "state":
        return Readout()
    return DeepOutput(config) if config.deep_readout else AttentionalState(config)
