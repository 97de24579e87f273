"""The decoder that must go step by step: what attention finds goes into the next state."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import Reading, joined, masked_softmax, weighted_sum
from nmt_cli.model.cells import LayerState
from nmt_cli.model.decoder import AttentionalState, Decoded, DecoderState, RecurrentDecoder, SourceMemory
from nmt_cli.model.fast.loop import Inputs, Plan
from nmt_cli.model.fast.scores import is_known, parts_of
from nmt_cli.model.fast.unroll import unroll


class Step(NamedTuple):
    """All that one step finds."""

    s: Tensor  # (B, K, H) output of the top layer
    reading: Reading  # c_t (B, K, H), α_t (B, K, S)
    feed: Tensor  # c_t (query before) or h̃_t (query after): (B, K, H or F)
    state: DecoderState  # for the next step


class Unrolled(NamedTuple):
    """All that the T steps of teacher forcing find."""

    states: Tensor  # (B, T, H) s_t
    contexts: Tensor  # (B, T, H) c_t
    attention: Tensor  # (B, T, S) α_t
    feeds: Tensor  # (B, T, H or F) c_t or h̃_t
    chances: Tensor | None = None  # (B, T, S) hard attention: what each position was drawn from


class SequentialDecoder(RecurrentDecoder):
    """Attention and recurrence depend on each other:

    query before:  c_t = attend(s_{t-1});  s_t = RNN([y_{t-1}; c_t], s_{t-1})    (Bahdanau et al. 2015, A.2.2)
    query after:   s_t = RNN([y_{t-1}; h̃_{t-1}], s_{t-1});  c_t = attend(s_t);  h̃_t = readout(s_t, c_t)
                                                                (Luong et al. 2015, 3.3, input feeding)

    Only that stays in the loop. Keys, the word side of the gates and the dropout masks are made for all steps
    before it, a deep readout for all steps after it.
    """

    is_sequential = True

    def __init__(self, config: ModelConfig) -> None:
        feed_size = config.hidden_size if config.query == "before" else config.features_size
        super().__init__(config, input_size=config.embedding_size + feed_size, upper_size=config.hidden_size)
        self.cell = config.cell
        self.query_before = config.query == "before"
        self.embedding_size = config.embedding_size
        self.feed_size = feed_size

    def start(self, memory: SourceMemory, beam: int) -> DecoderState:
        """The first step is fed h̃_0 = 0."""
        state = super().start(memory, beam)
        if self.query_before:
            return state
        assert memory.values is not None
        feed = memory.values.new_zeros(len(memory.values), beam, self.feed_size)  # (B, K, F)
        return replace(state, feed=feed)

    def separate(self) -> None:
        """Those of the recurrent layers; the word and what is fed are two products, because their sizes differ."""
        first, *others = self.layers
        first.separate([self.embedding_size, self.feed_size])
        for layer in others:
            layer.separate()

    def decode(self, memory: SourceMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F), attention (B, T, S)."""
        W_y, W_feed, b = self._input_weights()
        gates = linear(y, W_y, b)  # (B, T, G·H) the word side of the first layer's gates
        masks = self._dropout_masks(gates)
        loop = self.unroll_fast if self.is_fast(gates) else self.unroll
        unrolled = loop(gates, W_feed, memory, masks)
        features = (
            self.readout(unrolled.states, y, unrolled.contexts) if self.query_before else unrolled.feeds
        )
        return Decoded(self.dropout(features), unrolled.attention, unrolled.chances)  # (B, T, F), (B, T, S)

    def step(
        self, y: Tensor, state: DecoderState, memory: SourceMemory
    ) -> tuple[Tensor, DecoderState, Tensor]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), next state, attention (B, K, S)."""
        now = self._advance(partial(self.layers[0].input_gates, y), state, memory, masks=())
        features = self.readout(now.s, y, now.reading.context) if self.query_before else now.feed  # (B, K, F)
        return self.dropout(features), now.state, now.reading.alpha

    def unroll(
        self, gates: Tensor, W_feed: Tensor, memory: SourceMemory, masks: Sequence[Tensor]
    ) -> Unrolled:
        """The plain loop over time: gates (B, T, G·H), W_feed (G·H, H or F), masks (B, T or 1, H).

        A pure function of its arguments and the weights of attention, layers and readout: a faster kernel
        must equal it.
        """
        state = self.start(memory, 1)
        T = gates.shape[1]
        masks = [mask.expand(-1, T, -1) for mask in masks]  # (B, T, H) of each upper layer
        steps: list[Step] = []
        for t, gates_t in enumerate(gates[:, None].unbind(dim=2)):  # (B, 1, G·H)
            masks_t = [mask[:, t : t + 1] for mask in masks]  # (B, 1, H)
            steps.append(self._advance(partial(_fed, gates_t, W_feed), state, memory, masks_t))
            state = steps[-1].state
        reading = joined([now.reading for now in steps])
        return Unrolled(
            torch.cat([now.s for now in steps], dim=1),  # (B, T, H)
            reading.context,  # (B, T, H)
            reading.alpha,  # (B, T, S)
            torch.cat([now.feed for now in steps], dim=1),  # (B, T, H or F)
            reading.chances,
        )

    def is_fast(self, gates: Tensor) -> bool:
        """Whether `unroll_fast` serves this combination; `unroll` serves all."""
        attention, device = self.attention, gates.device.type
        return (
            not (torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device))
            and gates.dtype in (torch.float32, torch.float64)
            and attention is not None
            and attention.normaliser is masked_softmax
            and attention.reader is weighted_sum
            and is_known(attention.score)
            and attention.window is None
            and not attention.hard
            and all(isinstance(layer.norm, nn.Identity) and not layer.has_tape for layer in self.layers)
            and not (self.residual and len(self.layers) > 1)
        )

    def unroll_fast(
        self, gates: Tensor, W_feed: Tensor, memory: SourceMemory, masks: Sequence[Tensor]
    ) -> Unrolled:
        """`unroll` without autograd's tape: see `kernels.loop`."""
        assert self.attention is not None
        assert memory.keys is not None
        assert memory.values is not None
        score = parts_of(self.attention.score, memory.keys)
        _, W_hh, _, b_hh = self.layers[-1].weights
        W_s, b_s, W_c = [W_hh], [b_hh], None
        if score.W_q is not None:
            W_s.append(score.W_q)
            b_s.append(b_hh.new_zeros(len(score.W_q)) if score.b_q is None else score.b_q)
        if isinstance(self.readout, AttentionalState) and not self.query_before:
            W_c, W_r = self.readout.W_c.weight.chunk(2, dim=1)  # (F, H) each
            W_s.append(W_r)
            b_s.append(b_hh.new_zeros(len(W_r)))
        inputs = Inputs(
            x=gates,
            W_feed=W_feed,
            keys=score.keys,
            values=memory.values,
            mask=memory.mask,
            v=score.v,
            W_s=torch.cat(W_s),
            b_s=torch.cat(b_s),
            W_c=W_c,
            initial=tuple(part for state in memory.initial for part in state),
            recurrent=tuple(w for layer in self.layers[:-1] for w in layer.weights[1::2]),
            upwards=tuple(w for layer in self.layers[1:] for w in layer.weights[0::2]),
            masks=tuple(masks),
        )
        states, contexts, alpha, *fed = unroll(Plan(self.cell, len(self.layers), self.query_before), inputs)
        return Unrolled(states, contexts, alpha, fed[0] if fed else contexts)

    def _advance(
        self,
        gates: Callable[[Tensor], Tensor],  # of the first layer (B, K, G·H), from what is fed (B, K, H or F)
        state: DecoderState,
        memory: SourceMemory,
        masks: Sequence[Tensor],  # (B, 1, H) for each upper layer, or none
    ) -> Step:
        """One step, in either order."""
        if self.query_before:
            reading = self.attend(state.layers[-1][0], memory, state.focus)  # (B, K, H), (B, K, S)
            s, layers = self._update(gates(reading.context), state.layers, masks)  # (B, K, H)
            feed = reading.context
        else:
            assert state.feed is not None
            s, layers = self._update(gates(state.feed), state.layers, masks)  # (B, K, H)
            reading = self.attend(s, memory, state.focus)  # (B, K, H), (B, K, S)
            feed = self.readout(s, None, reading.context)  # (B, K, F)
        after = DecoderState(layers, None if self.query_before else feed, state.focus.after(reading.alpha))
        return Step(s, reading, feed, after)

    def _update(
        self, gates: Tensor, layers: tuple[LayerState, ...], masks: Sequence[Tensor]
    ) -> tuple[Tensor, tuple[LayerState, ...]]:
        """All layers one step on: gates (B, K, G·H) of the first → output of the last (B, K, H), states."""
        x, state = self.layers[0].update(gates, layers[0])  # (B, K, H)
        after: list[LayerState] = [state]
        for i, layer in enumerate(self.layers[1:]):
            s, state = layer.step(x * masks[i] if masks else x, layers[i + 1])  # (B, K, H)
            x = x + s if self.residual else s
            after.append(state)
        return x, tuple(after)

    def _input_weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """The first layer's W_ih for the word (G·H, E) and for what is fed (G·H, H or F), and its bias."""
        W_ih, _, b_ih, _ = self.layers[0].weights
        W_y, W_feed = torch.split(W_ih, [self.embedding_size, self.feed_size], dim=1)
        return W_y, W_feed, b_ih

    def _dropout_masks(self, gates: Tensor) -> list[Tensor]:
        """(B, T or 1, H) for each upper layer; empty if nothing is dropped."""
        like = gates[..., : self.layers[0].hidden_size]  # (B, T, H)
        masks = [self.dropout.mask(like) for _ in self.layers[1:]]
        return [mask for mask in masks if mask is not None]


def _fed(word_side: Tensor, W_feed: Tensor, feed: Tensor) -> Tensor:
    """Gates (B, K, G·H) of the word side (B, K, G·H) and what is fed (B, K, H or F)."""
    return word_side + linear(feed, W_feed)
