"""The Transformer: attention in place of recurrence   (Vaswani et al. 2017)

    x = √E word + position
    x ← x + MultiHead(x, x, x)              every position attends to all (decoder: to none after it)
    x ← x + MultiHead(x, h, h)              decoder only: to the source
    x ← x + W_2 relu(W_1 x)

Each part is wrapped in layer normalization: `pre` x + f(LN(x)), with one more LN at the end (Wang et al. 2019),
or `post` LN(x + f(x)), as in the paper, which needs a longer warm-up.
"""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import Attention, HeadedReader, HeadedScore, Reading, fused_attention
from nmt_cli.model.cells import LayerState
from nmt_cli.model.decoder import Decoded, Decoder, DecoderState, SourceMemory
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.encoder import Encoded
from nmt_cli.model.scores import ScaledDot, Sizes


def positions(first: int, count: int, like: Tensor) -> Tensor:
    """p_{t,2i} = sin(t / 10000^{2i/H}),  p_{t,2i+1} = cos(…)   (section 3.5): (count, H) for any t"""
    exact = torch.promote_types(like.dtype, torch.float32)
    H = like.shape[-1]
    t = torch.arange(first, first + count, device=like.device, dtype=exact)[:, None]  # (T, 1)
    i = torch.arange(0, H, 2, device=like.device, dtype=exact)  # (H/2,)
    angles = t * torch.exp(i * (-math.log(10000.0) / H))  # (T, H/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).to(like.dtype)  # (T, H)


class Entrance(nn.Module):
    """√E word + position; a word vector of another size than H is projected first."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        E, H = config.embedding_size, config.hidden_size
        self.scale = math.sqrt(E)
        self.W = nn.Identity() if E == H else nn.Linear(E, H, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        """Word vectors (B, T, E) → (B, T, H), without positions."""
        x: Tensor = self.W(words * self.scale)
        return x


class MultiHead(nn.Module):
    """W_o [c^1; …; c^n],  c^i = softmax(W_q^i q · W_k^i h / √d) W_v^i h   (section 3.2.2)"""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        H, n = config.hidden_size, config.heads
        assert n is not None
        score = HeadedScore(ScaledDot(Sizes(H // n, H // n, 0)), H, n)
        self.attention = Attention(score, reader=HeadedReader(H, n))
        self.W_o = nn.Linear(H, H)

    def remember(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of (B, S, H), each (B, n, S, d)."""
        return self.attention.keys(states), self.attention.values(states)

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool = False
    ) -> Tensor:
        """Query (B, Q, H), keys and values (B, n, S, d), mask (B, S) → (B, Q, H), in one kernel."""
        queries = cast(HeadedScore, self.attention.score).queries(query)  # (B, n, Q, d)
        out: Tensor = self.W_o(fused_attention(queries, keys, values, mask, causal=causal))
        return out

    def shown(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The same with α (B, Q, S), the mean over the heads; mask (B, S) or (B, Q, S)."""
        reading: Reading = self.attention(query, keys, values, mask)
        return self.W_o(reading.context), reading.alpha


class FeedForward(nn.Sequential):
    """W_2 relu(W_1 x)   (section 3.3)"""

    def __init__(self, config: ModelConfig) -> None:
        H, inner = config.hidden_size, config.feedforward_size or 4 * config.hidden_size
        dropout = Dropout(config.dropout, variational=config.variational_dropout)
        super().__init__(nn.Linear(H, inner), nn.ReLU(), dropout, nn.Linear(inner, H))


class Part(nn.Module):
    """Around each f: y = x + f(LN(x)), or y = LN(x + f(x)); what f gives is dropped out."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden_size)
        self.before = config.norm == "pre"
        self.dropout = Dropout(config.dropout, variational=config.variational_dropout)

    def enter(self, x: Tensor) -> Tensor:
        """What f is given: x (B, T, H) → (B, T, H)"""
        return self.norm(x) if self.before else x

    def leave(self, x: Tensor, f: Tensor) -> Tensor:
        """y, from x and what f has given, each (B, T, H)."""
        y = x + self.dropout(f)
        return y if self.before else self.norm(y)  # type: ignore[no-any-return]


class TransformerLayer(nn.Module):
    """Self-attention, in a decoder attention to the source, feed-forward   (section 3.1)"""

    def __init__(self, config: ModelConfig, *, reads_source: bool) -> None:
        super().__init__()
        self.self_attention, self.around_self = MultiHead(config), Part(config)
        if reads_source:
            self.attention, self.around_attention = MultiHead(config), Part(config)
        self.feed_forward, self.around_feed = FeedForward(config), Part(config)

    def look_around(self, x: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
        """Self-attention of all positions at once: x (B, T, H), mask (B, T) → (B, T, H)"""
        z = self.around_self.enter(x)
        keys, values = self.self_attention.remember(z)  # (B, n, T, d) each
        return self.around_self.leave(x, self.self_attention(z, keys, values, mask, causal=causal))

    def look_back(self, x: Tensor, tapes: LayerState) -> tuple[Tensor, LayerState]:
        """Self-attention of one step: x (B, K, H) and the tapes (B, K, n, t, d) → (B, K, H), longer tapes."""
        B, K, H = x.shape
        z = self.around_self.enter(x).reshape(B * K, 1, H)  # each hypothesis has a past of its own
        new = self.self_attention.remember(z)  # (B·K, n, 1, d) each
        tapes = tuple(
            torch.cat([tape, one.view(B, K, *one.shape[1:]).to(tape.dtype)], dim=3)  # (B, K, n, t + 1, d)
            for tape, one in zip(tapes, new, strict=True)
        )
        keys, values = (tape.flatten(0, 1).to(z.dtype) for tape in tapes)  # (B·K, n, t + 1, d)
        f = self.self_attention(z, keys, values, None)  # (B·K, 1, H)
        return self.around_self.leave(x, f.view(B, K, H)), tapes

    def read(
        self, x: Tensor, source: tuple[Tensor, Tensor], mask: Tensor, *, shown: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attention to the source: x (B, Q, H), its keys and values → (B, Q, H), α (B, Q, S) if `shown`."""
        z, alpha = self.around_attention.enter(x), None
        if shown:
            f, alpha = self.attention.shown(z, *source, mask)
        else:
            f = self.attention(z, *source, mask)
        return self.around_attention.leave(x, f), alpha

    def feed(self, x: Tensor) -> Tensor:
        """The feed-forward network: x (B, T, H) → (B, T, H)"""
        return self.around_feed.leave(x, self.feed_forward(self.around_feed.enter(x)))


class TransformerEncoder(nn.Module):
    """Source words → h_i, each of which has seen the whole source."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.entrance = Entrance(config)
        self.layers = _layers(config, config.encoder_layers, reads_source=False)
        self.norm = nn.LayerNorm(config.hidden_size) if config.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor) -> Encoded:
        """Word vectors x (B, S, E), mask (B, S) true on real tokens."""
        x = self.entrance(x)
        x = x + positions(0, x.shape[1], x)  # (B, S, H)
        for layer in self.layers:
            x = layer.feed(layer.look_around(x, mask, causal=False))
        return Encoded(self.norm(x), ())


class TransformerDecoder(Decoder):
    """Training: all positions at once, each blind for what comes after it. Search: tapes of keys and values.

    What is shown is the attention of the last layer to the source, as the mean over the heads.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.entrance = Entrance(config)
        self.layers = _layers(config, config.decoder_layers, reads_source=True)
        self.norm = nn.LayerNorm(config.hidden_size) if config.norm == "pre" else nn.Identity()

    def remember(
        self, states: Tensor, initial: tuple[LayerState, ...], summary: Tensor | None, mask: Tensor
    ) -> SourceMemory:
        """Keys and values (B, n, S, d) of h (B, S, H) for each layer."""
        layers = tuple(layer.attention.remember(states) for layer in self.layers)
        return SourceMemory((), None, None, None, mask, layers)

    def start(self, memory: SourceMemory, beam: int) -> DecoderState:
        """Empty tapes (B, K, n, 0, d)."""
        tapes = (
            tuple(part[:, None, :, :0].expand(-1, beam, -1, -1, -1) for part in source)
            for source in memory.layers
        )
        return DecoderState(tuple(tapes))

    def decode(self, memory: SourceMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F), attention (B, T, S) if it is asked for."""
        x, alpha = self.entrance(y), None
        x = x + positions(0, x.shape[1], x)  # (B, T, H)
        for i, (layer, source) in enumerate(zip(self.layers, memory.layers, strict=True)):
            shown = attention and i == len(self.layers) - 1
            x = layer.look_around(x, None, causal=True)  # padding stands at the end, where nobody looks
            x, alpha = layer.read(x, source, memory.mask, shown=shown)
            x = layer.feed(x)
        return Decoded(self.norm(x), alpha)

    def step(
        self, y: Tensor, state: DecoderState, memory: SourceMemory
    ) -> tuple[Tensor, DecoderState, Tensor | None]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), longer tapes, attention (B, K, S)."""
        t = state.layers[0][0].shape[3]
        x, alpha = self.entrance(y), None
        x = x + positions(t, 1, x)  # (B, K, H) all hypotheses are at the same step
        after: list[LayerState] = []
        for i, (layer, tapes, source) in enumerate(
            zip(self.layers, state.layers, memory.layers, strict=True)
        ):
            x, longer = layer.look_back(x, tapes)
            x, alpha = layer.read(x, source, memory.mask, shown=i == len(self.layers) - 1)
            x = layer.feed(x)
            after.append(longer)
        return self.norm(x), DecoderState(tuple(after)), alpha


def _layers(config: ModelConfig, count: int, *, reads_source: bool) -> Sequence[TransformerLayer]:
    layers = [TransformerLayer(config, reads_source=reads_source) for _ in range(count)]
    return cast(Sequence[TransformerLayer], nn.ModuleList(layers))
