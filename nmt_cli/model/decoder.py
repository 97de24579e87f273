"""What all decoders share: their state, the memory they read, and the parts of the recurrent ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import NOTHING, Focus, Reading, build_attention
from nmt_cli.model.cells import LayerState
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.protocol import Memory, State
from nmt_cli.model.readout import build_readout
from nmt_cli.model.recurrent import RecurrentLayer
from nmt_cli.model.tape import build_layer


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
