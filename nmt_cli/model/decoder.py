"""What decoders share: memory and state, the stack of recurrent layers, and the readout.

The decoders themselves follow in `recurrent_decoders` and `transformer`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import AttentionHistory
from nmt_cli.model.encoder import Bridged
from nmt_cli.model.lstmn import build_layer
from nmt_cli.model.protocol import Memory, MemoryT, State, StateT
from nmt_cli.model.recurrent import CellState, Dropout, Layer, LayerState


class Decoded(NamedTuple):
    """The result of T steps of teacher forcing."""

    features: Tensor  # (B, T, F)
    attention: Tensor | None  # (B, T, S)
    probabilities: Tensor | None = None  # (B, T, S) hard attention: the distribution of each chosen position


class Decoder(nn.Module, Generic[MemoryT, StateT]):
    """Target words so far + memory → features. Subclasses decide what can run over all steps at once."""

    is_sequential = False  # whether teacher forcing runs step by step, so that a step can see earlier outputs

    def build_memory(self, states: Tensor, bridged: Bridged, mask: Tensor) -> MemoryT:
        """The memory of a source with states h (B, S, H): everything that does not depend on the target."""
        raise NotImplementedError

    def start(self, memory: MemoryT, beam: int) -> StateT:
        """The state before the first step, for `beam` hypotheses of every sentence."""
        raise NotImplementedError

    def decode(self, memory: MemoryT, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F).

        Without `attention`, the weights may be omitted if that is faster.
        """
        raise NotImplementedError

    def step(self, y: Tensor, state: StateT, memory: MemoryT) -> tuple[Tensor, StateT, Tensor | None]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), the next state, attention (B, K, S)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RecurrentMemory(Memory):
    """What every recurrent decoder knows of the source."""

    mask: Tensor  # (B, S) true on real tokens
    initial: tuple[CellState, ...]  # s_0 of each decoder layer, each (B, H)


@dataclass(frozen=True, eq=False)
class RecurrentState(State):
    """What one step of a recurrent decoder passes to the next."""

    layers: tuple[LayerState, ...]  # of each layer (h,) or (h, c), each (B, K, H), or an LSTMNState
    history: AttentionHistory  # (B, K, …) what attention needs to know of earlier steps


RecurrentMemoryT = TypeVar("RecurrentMemoryT", bound=RecurrentMemory)
RecurrentStateT = TypeVar("RecurrentStateT", bound=RecurrentState)


class RecurrentDecoder(Decoder[RecurrentMemoryT, RecurrentStateT]):
    """A stack of recurrent layers and a readout."""

    def add_layers(self, config: ModelConfig, input_size: int, upper_size: int) -> None:
        """For `__init__`: the layers, the first of `input_size`, and what follows them."""
        sizes = [input_size] + [upper_size] * (config.decoder_layers - 1)
        layers = [build_layer(config, size, config.hidden_size, side="decoder") for size in sizes]
        self.layers = cast(Sequence[Layer[Any]], nn.ModuleList(layers))
        self.readout = build_readout(config)
        self.dropout = Dropout(config.dropout, variational=config.variational_dropout)
        self.residual = config.residual

    def initial_layers(self, memory: RecurrentMemoryT, beam: int | None = None) -> tuple[LayerState, ...]:
        """The states that the layers begin with, (B, …), or (B, K, …) for `beam` hypotheses.

        Hypotheses share the states (B, H) in memory: nothing is copied.
        """
        states = memory.initial
        if beam is not None:
            states = tuple(tuple(part[:, None].expand(-1, beam, -1) for part in state) for state in states)
        return tuple(layer.initial_state(state) for layer, state in zip(self.layers, states, strict=True))

    def run_layers(
        self,
        x: Tensor,
        states: Sequence[LayerState],
        *,
        first: int = 0,
        context: Tensor | None = None,
        one_step: bool,
    ) -> tuple[Tensor, tuple[LayerState, ...]]:
        """Through the layers from number `first` up, one for each of `states`: x ← RNN(x), or RNN([x; c]).

        All T steps of x (B, T, I), or one step of K hypotheses x (B, K, I); Q is T or K
        """
        after: list[LayerState] = []
        for i, before in enumerate(states, first):
            inputs = x if i == 0 else self.dropout(x)  # (B, Q, I)
            if context is not None:
                inputs = torch.cat([inputs, context], dim=-1)  # (B, Q, I + H)
            layer = self.layers[i]
            s, now = layer.step(inputs, before) if one_step else layer(inputs, before)  # (B, Q, H)
            x = x + s if self.residual and i > 0 else s
            after.append(now)
        return x, tuple(after)


# The readout: decoder state, previous word and context → the features that the vocabulary projection sees.


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
    """t_t = maxout(U_o s_t + V_o y_{t-1} + C_o c_t), or tanh in place of maxout

    (Bahdanau et al. 2015, A.2.2; Cho et al. 2014, A.1.2). The appendix of Bahdanau et al. has s_{t-1} here; their
    section 3.1 has s_t, which knows the context that was just read.
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
