"""What all decoders share: their state, the memory they read, and their parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import build_attention
from nmt_cli.model.cells import LayerState
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.protocol import Memory, State
from nmt_cli.model.readout import build_readout
from nmt_cli.model.recurrent import RecurrentLayer


@dataclass(frozen=True, eq=False)
class SourceMemory(Memory):
    """A batch of encoded sentences."""

    initial: tuple[LayerState, ...]  # s_0 of each decoder layer, each (B, H)
    summary: Tensor | None  # (B, H) what is fed to every step instead of attention
    values: Tensor | None  # (B, S, H) what attention reads: h_i
    keys: Tensor | None  # (B, S, A) what attention compares
    mask: Tensor  # (B, S) true on real tokens


@dataclass(frozen=True, eq=False)
class DecoderState(State):
    """What one step hands to the next."""

    layers: tuple[LayerState, ...]  # (h,) or (h, c) of each layer, each (B, K, H)
    feed: Tensor | None  # (B, K, F) h̃_{t-1}, with input feeding


class Decoder(nn.Module):
    """Target words so far + memory → features. Subclasses decide what may run over all steps at once."""

    def __init__(self, config: ModelConfig, input_size: int, upper_size: int) -> None:
        super().__init__()
        self.attention = build_attention(config)
        sizes = [input_size] + [upper_size] * (config.decoder_layers - 1)
        H, norm = config.hidden_size, config.layer_norm
        layers = [RecurrentLayer(config.cell, size, H, layer_norm=norm) for size in sizes]
        self.layers = cast(Sequence[RecurrentLayer], nn.ModuleList(layers))
        self.readout = build_readout(config)
        self.dropout = Dropout(config.dropout, variational=config.variational_dropout)
        self.residual = config.residual

    def start(self, memory: SourceMemory, beam: int) -> DecoderState:
        """The state before the first step, for `beam` hypotheses of every sentence."""
        return DecoderState(expand(memory.initial, beam), None)

    def decode(self, memory: SourceMemory, y: Tensor) -> tuple[Tensor, Tensor | None]:
        """Word vectors y (B, T, E) of all steps → features (B, T, F), attention (B, T, S)."""
        raise NotImplementedError

    def step(
        self, y: Tensor, state: DecoderState, memory: SourceMemory
    ) -> tuple[Tensor, DecoderState, Tensor | None]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), next state, attention (B, K, S)."""
        raise NotImplementedError

    def attend(self, query: Tensor, memory: SourceMemory) -> tuple[Tensor, Tensor]:
        """Query (B, Q, H) → context (B, Q, H), α (B, Q, S)."""
        assert self.attention is not None
        context, alpha = self.attention(query, memory.keys, memory.values, memory.mask)
        return context, alpha


def expand(layers: tuple[LayerState, ...], beam: int) -> tuple[LayerState, ...]:
    """The states (B, H) of each layer as (B, K, H), without a copy."""
    return tuple(tuple(part[:, None].expand(-1, beam, -1) for part in layer) for layer in layers)


def join(x: Tensor, context: Tensor | None) -> Tensor:
    """[x; c]: (…, I) and (…, H) → (…, I + H); x itself if there is no context."""
    return x if context is None else torch.cat([x, context], dim=-1)
