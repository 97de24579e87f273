"""The readout: decoder state, previous word and context to the features that the vocabulary sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import NOTHING, Focus, Reading, build_attention
from nmt_cli.model.cells import LayerState
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.lstmn import build_layer
from nmt_cli.model.protocol import Memory, State
from nmt_cli.model.recurrent import RecurrentLayer


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


# What all decoders share: their state, the memory they read, and the parts of the recurrent ones.


@dataclass(frozen=True, eq=False)
class SourceMemory(Memory):
    """A batch of encoded sentences."""

    initial: tuple[LayerState, ...]  # s_0 of each decoder layer, each (B, H)
    summary: Tensor | None  # (B, H) what is fed to every step instead of attention
    values: Tensor | None  # (B, S, H) what attention reads: h_i
    keys: Tensor | None  # (B, S, A) what attention compares
    mask: Tensor  # (B, S) true on real tokens
    layers: tuple[tuple[Tensor, Tensor], ...] = ()  # Transformer: keys and values of each layer


@dataclass(frozen=True, eq=False)
class DecoderState(State):
    """What one step hands to the next."""

    layers: tuple[LayerState, ...]  # of each layer (h,) or (h, c), each (B, K, H), or its tapes (B, K, t, H)
    feed: Tensor | None = None  # (B, K, F) h̃_{t-1}, with input feeding
    focus: Focus = NOTHING  # (B, K, …) what attention has to know of the steps before


class Decoded(NamedTuple):
    """What the T steps of teacher forcing find."""

    features: Tensor  # (B, T, F)
    attention: Tensor | None  # (B, T, S)
    chances: Tensor | None = None  # (B, T, S) hard attention: what each position was drawn from


class Decoder(nn.Module):
    """Target words so far + memory → features. Subclasses decide what may run over all steps at once."""

    is_sequential = (
        False  # whether teacher forcing goes step by step, so that a step may see what came out before
    )

    def remember(
        self, states: Tensor, initial: tuple[LayerState, ...], summary: Tensor | None, mask: Tensor
    ) -> SourceMemory:
        """The memory of h (B, S, H), with all that does not depend on the target."""
        raise NotImplementedError

    def start(self, memory: SourceMemory, beam: int) -> DecoderState:
        """The state before the first step, for `beam` hypotheses of every sentence."""
        raise NotImplementedError

    def decode(self, memory: SourceMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F).

        Without `attention` it may be left out, if that is faster.
        """
        raise NotImplementedError

    def step(
        self, y: Tensor, state: DecoderState, memory: SourceMemory
    ) -> tuple[Tensor, DecoderState, Tensor | None]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), next state, attention (B, K, S)."""
        raise NotImplementedError

    def separate(self) -> None:
        """Make a linear layer of every product of a single step, so that faster ones can take their place."""


class RecurrentDecoder(Decoder):
    """Attention, a stack of recurrent layers and a readout."""

    def __init__(self, config: ModelConfig, input_size: int, upper_size: int) -> None:
        super().__init__()
        self.attention = build_attention(config)
        sizes = [input_size] + [upper_size] * (config.decoder_layers - 1)
        layers = [build_layer(config, size, config.hidden_size, side="decoder") for size in sizes]
        self.layers = cast(Sequence[RecurrentLayer], nn.ModuleList(layers))
        self.readout = build_readout(config)
        self.dropout = Dropout(config.dropout, variational=config.variational_dropout)
        self.residual = config.residual

    def remember(
        self, states: Tensor, initial: tuple[LayerState, ...], summary: Tensor | None, mask: Tensor
    ) -> SourceMemory:
        """Keys and values of h (B, S, H) for attention, if there is one."""
        if self.attention is None:
            return SourceMemory(initial, summary, None, None, mask)
        return SourceMemory(
            initial, summary, self.attention.values(states), self.attention.keys(states), mask
        )

    def start(self, memory: SourceMemory, beam: int) -> DecoderState:
        """s_0 for `beam` hypotheses of every sentence."""
        focus = NOTHING if self.attention is None else self.attention.focus(memory.mask, beam)
        return DecoderState(self.first_layers(memory, beam), None, focus)

    def first_layers(self, memory: SourceMemory, beam: int) -> tuple[LayerState, ...]:
        """The states (B, K, …) that the layers begin with; those (B, H) of memory are not copied."""
        return tuple(
            layer.begin(tuple(part[:, None].expand(-1, beam, -1) for part in initial))
            for layer, initial in zip(self.layers, memory.initial, strict=True)
        )

    def separate(self) -> None:
        """Those of the recurrent layers."""
        for layer in self.layers:
            layer.separate()

    def attend(self, query: Tensor, memory: SourceMemory, focus: Focus) -> Reading:
        """Query (B, K, H) of one step → context (B, K, H), α (B, K, S)."""
        assert self.attention is not None
        reading: Reading = self.attention(query, memory.keys, memory.values, memory.mask, focus)
        return reading


def join(x: Tensor, context: Tensor | None) -> Tensor:
    """[x; c]: (…, I) and (…, H) → (…, I + H); x itself if there is no context."""
    return x if context is None else torch.cat([x, context], dim=-1)
