"""The Transformer: attention in place of recurrence   (Vaswani et al. 2017)

    x = √E word + position
    x ← x + MultiHead(x, x, x)              self-attention (decoder: only to earlier positions)
    x ← x + MultiHead(x, h, h)              decoder only: attention to the source; a language model has none
    x ← x + W_2 relu(W_1 x)                 or gelu

Each sublayer is wrapped in layer normalization: `pre` x + f(LN(x)), with one more LN at the end (Wang et al. 2019),
or `post` LN(x + f(x)), as in the paper, which needs a longer warm-up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import Attention, AttentionOutput, HeadedReader, HeadedScore, fused_attention
from nmt_cli.model.decoder import Decoded, Decoder
from nmt_cli.model.encoder import Bridged, Encoded
from nmt_cli.model.protocol import Memory, State
from nmt_cli.model.recurrent import Dropout
from nmt_cli.model.scores import ScaledDot, Sizes


class KeysValues(NamedTuple):
    """What attention compares and reads. In search they are a KV cache: those of all earlier positions."""

    keys: Tensor  # (B, n, S, d) of the source; cache (B, K, n, t, d)
    values: Tensor  # the same shape


@dataclass(frozen=True, eq=False)
class TransformerMemory(Memory):
    """The encoded source."""

    mask: Tensor  # (B, S) true on real tokens
    layers: tuple[KeysValues, ...]  # for each decoder layer (B, n, S, d); none in a language model


@dataclass(frozen=True, eq=False)
class TransformerState(State):
    """The KV cache."""

    layers: tuple[KeysValues, ...]  # for each decoder layer (B, K, n, t, d) after t steps


def positions(first: int, count: int, like: Tensor) -> Tensor:
    """p_{t,2i} = sin(t / 10000^{2i/H}),  p_{t,2i+1} = cos(…)   (section 3.5): (count, H) for any t"""
    exact = torch.promote_types(like.dtype, torch.float32)
    H = like.shape[-1]
    t = torch.arange(first, first + count, device=like.device, dtype=exact)[:, None]  # (T, 1)
    i = torch.arange(0, H, 2, device=like.device, dtype=exact)  # (H/2,)
    angles = t * torch.exp(i * (-math.log(10000.0) / H))  # (T, H/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).to(like.dtype)  # (T, H)


class InputEmbedding(nn.Module):
    """√E word; if E is not H, a projection follows."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        E, H = config.embedding_size, config.hidden_size
        self.scale = math.sqrt(E)
        self.W = nn.Identity() if E == H else nn.Linear(E, H, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        """Word vectors (B, T, E) → (B, T, H)."""
        x: Tensor = self.W(words * self.scale)
        return x


class MultiHead(nn.Module):
    """W_o [c^1; …; c^n],  c^i = softmax(W_q^i q · W_k^i h / √d) W_v^i h   (section 3.2.2)"""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        H, n, biases = config.hidden_size, config.heads, config.head_biases
        assert n is not None
        score = HeadedScore(ScaledDot(Sizes(H // n, H // n, 0)), H, n, biases=biases)
        self.attention = Attention(score, reader=HeadedReader(H, n, biases=biases))
        self.W_o = nn.Linear(H, H)

    def keys_values(self, states: Tensor) -> KeysValues:
        """Keys and values of (B, S, H), each (B, n, S, d)."""
        return KeysValues(self.attention.keys(states), self.attention.values(states))

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool = False
    ) -> Tensor:
        """Query (B, Q, H), keys and values (B, n, S, d), mask (B, S) → (B, Q, H), without the weights."""
        queries = cast(HeadedScore, self.attention.score).queries(query)  # (B, n, Q, d)
        out: Tensor = self.W_o(fused_attention(queries, keys, values, mask, causal=causal))
        return out

    def with_weights(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The same, with the mean of α over the heads (B, Q, S); mask (B, S) or (B, Q, S)."""
        output: AttentionOutput = self.attention(query, keys, values, mask)
        return self.W_o(output.context), output.alpha


class FeedForward(nn.Sequential):
    """W_2 relu(W_1 x)   (section 3.3), or gelu(a) = a Φ(a) instead   (Radford et al. 2018)"""

    def __init__(self, config: ModelConfig) -> None:
        H, inner = config.hidden_size, config.feedforward_size or 4 * config.hidden_size
        dropout = Dropout(config.dropout, variational=config.variational_dropout)
        activation = nn.GELU() if config.activation == "gelu" else nn.ReLU()
        super().__init__(nn.Linear(H, inner), activation, dropout, nn.Linear(inner, H))


class SubLayer(nn.Module):
    """Wraps a function f: y = x + f(LN(x)), or y = LN(x + f(x)), with dropout on the output of f."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden_size)
        self.before = config.norm == "pre"
        self.dropout = Dropout(config.dropout, variational=config.variational_dropout)

    def pre(self, x: Tensor) -> Tensor:
        """The input of f: x (B, T, H) → (B, T, H)"""
        return self.norm(x) if self.before else x

    def post(self, x: Tensor, f: Tensor) -> Tensor:
        """y, from x and the output of f, each (B, T, H)."""
        y = x + self.dropout(f)
        return y if self.before else self.norm(y)  # type: ignore[no-any-return]


class TransformerLayer(nn.Module):
    """Self-attention, in a decoder attention to the source, feed-forward   (section 3.1)"""

    def __init__(self, config: ModelConfig, *, reads_source: bool) -> None:
        super().__init__()
        self.self_attention, self.around_self = MultiHead(config), SubLayer(config)
        if reads_source:
            self.attention, self.around_attention = MultiHead(config), SubLayer(config)
        self.feed_forward, self.around_feed = FeedForward(config), SubLayer(config)

    def self_attend(self, x: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
        """Self-attention of all positions at once: x (B, T, H), mask (B, T) → (B, T, H)"""
        z = self.around_self.pre(x)  # (B, T, H)
        keys, values = self.self_attention.keys_values(z)  # (B, n, T, d) each
        return self.around_self.post(x, self.self_attention(z, keys, values, mask, causal=causal))

    def self_attend_step(self, x: Tensor, cache: KeysValues) -> tuple[Tensor, KeysValues]:
        """Self-attention of one step: x (B, K, H), KV cache (B, K, n, t, d) → (B, K, H), the extended cache."""
        B, K, H = x.shape
        z = self.around_self.pre(x).reshape(B * K, 1, H)  # each hypothesis has its own past
        new = self.self_attention.keys_values(z)  # (B·K, n, 1, d) each
        grown = [  # (B, K, n, t + 1, d) each
            torch.cat([past, one.view(B, K, *one.shape[1:]).to(past.dtype)], dim=3)
            for past, one in zip(cache, new, strict=True)
        ]
        cache = KeysValues(*grown)
        keys, values = (past.flatten(0, 1).to(z.dtype) for past in cache)  # (B·K, n, t + 1, d)
        f = self.self_attention(z, keys, values, None)  # (B·K, 1, H)
        return self.around_self.post(x, f.view(B, K, H)), cache

    def read(
        self, x: Tensor, source: KeysValues, mask: Tensor, *, weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attention to the source: x (B, Q, H), its keys and values → (B, Q, H), α (B, Q, S) if `weights`."""
        z, alpha = self.around_attention.pre(x), None
        if weights:
            f, alpha = self.attention.with_weights(z, *source, mask)
        else:
            f = self.attention(z, *source, mask)
        return self.around_attention.post(x, f), alpha

    def feed(self, x: Tensor) -> Tensor:
        """The feed-forward network: x (B, T, H) → (B, T, H)"""
        return self.around_feed.post(x, self.feed_forward(self.around_feed.pre(x)))


class TransformerEncoder(nn.Module):
    """Source words → h_i, each of which has seen the whole source."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.entrance = InputEmbedding(config)
        self.layers = _layers(config, config.encoder_layers, reads_source=False)
        self.norm = nn.LayerNorm(config.hidden_size) if config.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor) -> Encoded:
        """Word vectors x (B, S, E), mask (B, S) true on real tokens."""
        x = self.entrance(x)
        x = x + positions(0, x.shape[1], x)  # (B, S, H)
        for layer in self.layers:
            x = layer.feed(layer.self_attend(x, mask, causal=False))
        return Encoded(self.norm(x), ())


class TransformerDecoder(Decoder[TransformerMemory, TransformerState]):
    """Training: all positions at once, each blind to later ones. Search: one step at a time with a KV cache.

    The attention it reports is that of the last layer to the source, averaged over the heads.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.entrance = InputEmbedding(config)
        self.heads = config.heads
        self.layers = _layers(config, config.decoder_layers, reads_source=not config.is_language_model)
        self.norm = nn.LayerNorm(config.hidden_size) if config.norm == "pre" else nn.Identity()

    def build_memory(self, states: Tensor, bridged: Bridged, mask: Tensor) -> TransformerMemory:
        """Keys and values (B, n, S, d) of h (B, S, H) for each layer."""
        return TransformerMemory(mask, tuple(layer.attention.keys_values(states) for layer in self.layers))

    def start(self, memory: TransformerMemory, beam: int) -> TransformerState:
        """An empty cache (B, K, n, 0, d)."""
        if not memory.layers:  # a language model
            weight, n = self.layers[0].around_self.norm.weight, cast(int, self.heads)  # (H,)
            none = weight.new_empty(len(memory.mask), beam, n, 0, len(weight) // n)
            return TransformerState((KeysValues(none, none),) * len(self.layers))
        empty = (
            KeysValues(*(part[:, None, :, :0].expand(-1, beam, -1, -1, -1) for part in source))
            for source in memory.layers
        )
        return TransformerState(tuple(empty))

    def _sources(self, memory: TransformerMemory) -> Sequence[KeysValues | None]:
        """What each layer reads of the source; nothing in a language model."""
        return memory.layers or [None] * len(self.layers)

    def decode(self, memory: TransformerMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F), attention (B, T, S) if requested."""
        x, alpha = self.entrance(y), None
        x = x + positions(0, x.shape[1], x)  # (B, T, H)
        for layer, source in zip(self.layers, self._sources(memory), strict=True):
            weights = attention and layer is self.layers[-1]
            x = layer.self_attend(x, None, causal=True)  # padding comes last: no real position sees it
            if source is not None:
                x, alpha = layer.read(x, source, memory.mask, weights=weights)
            x = layer.feed(x)
        return Decoded(self.norm(x), alpha)

    def step(
        self, y: Tensor, state: TransformerState, memory: TransformerMemory
    ) -> tuple[Tensor, TransformerState, Tensor | None]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), the longer cache, attention (B, K, S)."""
        t = state.layers[0].keys.shape[3]
        x, alpha = self.entrance(y), None
        x = x + positions(t, 1, x)  # (B, K, H) all hypotheses are at the same step
        after: list[KeysValues] = []
        for layer, cache, source in zip(self.layers, state.layers, self._sources(memory), strict=True):
            x, cache = layer.self_attend_step(x, cache)
            if source is not None:
                x, alpha = layer.read(x, source, memory.mask, weights=layer is self.layers[-1])
            x = layer.feed(x)
            after.append(cache)
        return self.norm(x), TransformerState(tuple(after)), alpha


def _layers(config: ModelConfig, count: int, *, reads_source: bool) -> Sequence[TransformerLayer]:
    layers = [TransformerLayer(config, reads_source=reads_source) for _ in range(count)]
    return cast(Sequence[TransformerLayer], nn.ModuleList(layers))
