"""The recurrent decoders, one paper after the other.

PlainDecoder          no attention                        Sutskever et al. 2014, Cho et al. 2014, language models
LuongDecoder          attention after the recurrence      Luong et al. 2015
GNMTDecoder           attention after the bottom layer    Wu et al. 2016
BahdanauDecoder       attention before the recurrence     Bahdanau et al. 2015
LuongFeedingDecoder   attention after it, fed back        Luong et al. 2015, input feeding

In the first three nothing flows from one step's attention into the next, so in training every layer runs over all
target positions in one fused call. The last two run step by step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import NO_HISTORY, AttentionHistory, AttentionOutput, build_attention, join_steps
from nmt_cli.model.copying import CopySwitch
from nmt_cli.model.decoder import Decoded, RecurrentDecoder, RecurrentMemory, RecurrentState, RecurrentStateT
from nmt_cli.model.encoder import Bridged
from nmt_cli.model.fast.unroll import can_unroll, fast_unroll
from nmt_cli.model.recurrent import CellState, LayerState


@dataclass(frozen=True, eq=False)
class PlainMemory(RecurrentMemory):
    """All that a decoder without attention sees of the source."""

    summary: Tensor | None  # (B, H) c, if it is fed to every step


class PlainDecoder(RecurrentDecoder[PlainMemory, RecurrentState]):
    """The source is known only through s_0, or through a summary c as well.

    s_t = RNN(y_{t-1}, s_{t-1});  readout(s_t, y_{t-1})            (Sutskever et al. 2014; language models)
    s_t = RNN([y_{t-1}; c], s_{t-1});  readout(s_t, y_{t-1}, c)    (Cho et al. 2014)
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        H = config.hidden_size
        self.add_layers(config, config.embedding_size + H * config.context_every_step, upper_size=H)

    def build_memory(self, states: Tensor, bridged: Bridged, mask: Tensor) -> PlainMemory:
        """s_0 and c; the states h (B, S, H) are not needed any more."""
        initial = bridged.initial
        if bridged.first_input is not None:
            _, layers = self.run_layers(bridged.first_input[:, None], initial, one_step=False)  # (B, 1, H)
            initial = cast(tuple[CellState, ...], layers)
        return PlainMemory(mask, initial, bridged.summary)

    def start(self, memory: PlainMemory, beam: int) -> RecurrentState:
        """s_0 for `beam` hypotheses of every sentence."""
        return RecurrentState(self.initial_layers(memory, beam), NO_HISTORY)

    def decode(self, memory: PlainMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F)."""
        features, _ = self._run(y, self.initial_layers(memory), memory, one_step=False)
        return Decoded(features, None)

    def step(
        self, y: Tensor, state: RecurrentState, memory: PlainMemory
    ) -> tuple[Tensor, RecurrentState, None]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), the next state."""
        features, layers = self._run(y, state.layers, memory, one_step=True)
        return features, RecurrentState(layers, NO_HISTORY), None

    def _run(
        self, y: Tensor, states: Sequence[LayerState], memory: PlainMemory, *, one_step: bool
    ) -> tuple[Tensor, tuple[LayerState, ...]]:
        """All T steps of y (B, T, E), or one step of K hypotheses y (B, K, E); Q is T or K."""
        if memory.summary is None:
            c, x = None, y  # (B, Q, E)
        else:
            c = memory.summary[:, None].expand(-1, y.shape[1], -1)  # (B, Q, H)
            x = torch.cat([y, c], dim=-1)  # (B, Q, E + H)
        s, layers = self.run_layers(x, states, one_step=one_step)  # (B, Q, H)
        return self.dropout(self.readout(s, y, c)), layers  # (B, Q, F)


@dataclass(frozen=True, eq=False)
class AttentionMemory(RecurrentMemory):
    """The source as attention sees it."""

    keys: Tensor  # (B, S, A) what queries are compared with
    values: Tensor  # (B, S, H) what is read: h_s
    expected: Tensor | None  # (B,) hard attention: the sentences that get the expected context
    source: Tensor | None = None  # (B, S) x_s, the token ids, if the model copies


class AttentionDecoder(RecurrentDecoder[AttentionMemory, RecurrentStateT]):
    """A recurrent decoder that attends to the source."""

    def __init__(self, config: ModelConfig, input_size: int, upper_size: int) -> None:
        super().__init__()
        self.attention = build_attention(config)  # first: weights are initialized in the order of the modules
        self.add_layers(config, input_size, upper_size)
        self.switch = CopySwitch(config) if config.copying else None

    def build_memory(self, states: Tensor, bridged: Bridged, mask: Tensor) -> AttentionMemory:
        """Keys and values of h (B, S, H)."""
        return AttentionMemory(
            mask,
            bridged.initial,
            keys=self.attention.keys(states),
            values=self.attention.values(states),
            expected=self.attention.draw_expected(mask),
        )

    def start(self, memory: AttentionMemory, beam: int) -> RecurrentStateT:
        """s_0 for `beam` hypotheses of every sentence, before any attention."""
        history = self.attention.initial_history(memory.mask, beam)
        return cast(RecurrentStateT, RecurrentState(self.initial_layers(memory, beam), history))

    def attend(self, query: Tensor, memory: AttentionMemory, history: AttentionHistory) -> AttentionOutput:
        """e_s = score(q, h_s);  α = softmax(e);  c = Σ_s α_s h_s: one step, query (B, K, H)"""
        output: AttentionOutput = self.attention(
            query, memory.keys, memory.values, memory.mask, history, memory.expected
        )
        return output

    def attend_all(self, queries: Tensor, memory: AttentionMemory) -> AttentionOutput:
        """The same for all T steps at once, queries (B, T, H)."""
        return self.attention.all_steps(queries, memory.keys, memory.values, memory.mask, memory.expected)

    def output(self, readout: Tensor, s: Tensor, y: Tensor, c: Tensor) -> Tensor:
        """The features: the readout (B, Q, F), after dropout, or [readout; u_t] (B, Q, F + 1) if the model copies."""
        f = self.dropout(readout)
        return f if self.switch is None else torch.cat([f, self.switch(c, s, y)], dim=-1)


class LuongDecoder(AttentionDecoder[RecurrentState]):
    """The context is read with the new state and never returns to the recurrence, so all positions attend at once.

    Luong et al. 2015, section 3, without input feeding:

    s_t = LSTM(y_{t-1}, s_{t-1})                            `recurrent.lstm_cell`
    e_ts = s_t · W h_s                                      `scores.General`
    α_t = softmax(e_t);  c_t = Σ_s α_ts h_s                 `attention.Attention`
    h̃_t = tanh(W_c [c_t; s_t])                             `decoder.AttentionalState`
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, config.embedding_size, upper_size=config.hidden_size)

    def decode(self, memory: AttentionMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F), attention (B, T, S)."""
        s, _ = self.run_layers(y, self.initial_layers(memory), one_step=False)  # (B, T, H)
        c, alpha, probabilities = self.attend_all(s, memory)
        features = self.output(self.readout(s, y, c), s, y, c)  # (B, T, F)
        return Decoded(features, alpha, probabilities)

    def step(
        self, y: Tensor, state: RecurrentState, memory: AttentionMemory
    ) -> tuple[Tensor, RecurrentState, Tensor]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), the next state, attention (B, K, S)."""
        s, layers = self.run_layers(y, state.layers, one_step=True)  # (B, K, H) s_t = LSTM(y_{t-1}, s_{t-1})
        c, alpha, _ = self.attend(s, memory, state.history)  # (B, K, H), (B, K, S) c_t = Σ_s α_ts h_s
        h = self.readout(s, y, c)  # (B, K, F) h̃_t = tanh(W_c [c_t; s_t])
        return self.output(h, s, y, c), RecurrentState(layers, state.history.after(alpha)), alpha


class GNMTDecoder(AttentionDecoder[RecurrentState]):
    """The context is read with the bottom layer's state and enters all layers above it   (Wu et al. 2016, section 3)

    s¹_t = LSTM¹(y_{t-1}, s¹_{t-1});  c_t = attend(s¹_t);  xˡ⁺¹_t = LSTMˡ([xˡ_t; c_t], sˡ_{t-1})

    Wu et al. attend with the previous state of the bottom layer; here it is the new one, which knows y_{t-1}. So the
    context never returns to the layer that attends, and all positions attend at once.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, config.embedding_size, upper_size=2 * config.hidden_size)

    def decode(self, memory: AttentionMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F), attention (B, T, S)."""
        bottom, *upper = self.initial_layers(memory)
        s, _ = self.run_layers(y, [bottom], one_step=False)  # (B, T, H)
        c, alpha, probabilities = self.attend_all(s, memory)
        x, _ = self.run_layers(s, upper, first=1, context=c, one_step=False)  # (B, T, H)
        return Decoded(
            self.output(self.readout(x, y, c), x, y, c), alpha, probabilities
        )  # (B, T, F), (B, T, S)

    def step(
        self, y: Tensor, state: RecurrentState, memory: AttentionMemory
    ) -> tuple[Tensor, RecurrentState, Tensor]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), the next state, attention (B, K, S)."""
        s, bottom = self.run_layers(y, state.layers[:1], one_step=True)  # (B, K, H) s¹_t
        c, alpha, _ = self.attend(s, memory, state.history)  # (B, K, H), (B, K, S) c_t = attend(s¹_t)
        x, upper = self.run_layers(s, state.layers[1:], first=1, context=c, one_step=True)  # (B, K, H)
        features = self.output(self.readout(x, y, c), x, y, c)  # (B, K, F)
        return features, RecurrentState((*bottom, *upper), state.history.after(alpha)), alpha


class Steps(NamedTuple):
    """What one step of the K hypotheses computes, or T steps of teacher forcing; Q is K or T."""

    s: Tensor  # (B, Q, H) s_t, the output of the top layer
    context: Tensor  # (B, Q, H) c_t
    alpha: Tensor  # (B, Q, S) α_t
    fed: Tensor  # (B, Q, H or F) what enters the recurrence: c_t (Bahdanau) or h̃_t (Luong)
    probabilities: Tensor | None = None  # (B, Q, S) hard attention: the distribution of each chosen position


Map = Callable[[Tensor], Tensor]
Masks = Sequence[Tensor]  # dropout masks (B, T or 1, H) of the upper layers; empty if nothing is dropped


class SequentialDecoder(AttentionDecoder[RecurrentStateT]):
    """Attention and recurrence depend on each other: `advance` is one step.

    The first layer reads [y_{t-1}; v], where v is fed by attention: W_ih [y; v] + b = (W_y y + b) + W_fed v. Only
    what depends on the previous step stays in the loop: the word side W_y y + b is computed for all steps
    beforehand, a deep readout for all steps afterwards.
    """

    is_sequential = True
    query_before: bool  # whether attention comes before the recurrence

    def __init__(self, config: ModelConfig, fed_size: int) -> None:
        super().__init__(config, config.embedding_size + fed_size, upper_size=config.hidden_size)
        self.cell = config.cell
        self.gate: nn.Linear | None = None  # of the context
        self.input_sizes = [config.embedding_size, fed_size]

    def advance(
        self, word: Tensor, W_fed: Map, state: RecurrentStateT, memory: AttentionMemory, masks: Masks = ()
    ) -> tuple[Steps, RecurrentStateT]:
        """One step, given W_y y + b (B, K, G·H), the map W_fed and dropout masks (B, 1, H) of the upper layers."""
        raise NotImplementedError

    def features(self, y: Tensor, steps: Steps) -> Tensor:
        """The readout: y (B, Q, E) → (B, Q, F)"""
        raise NotImplementedError

    def decode(self, memory: AttentionMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F), attention (B, T, S)."""
        W_y, W_fed, b = self.input_weights()
        words = linear(y, W_y, b)  # (B, T, G·H)
        masks = self.dropout_masks(words)
        if can_unroll(self, words):
            steps = Steps(*fast_unroll(self, words, W_fed, memory, masks))
        else:
            steps = self.unroll(words, W_fed, memory, masks)
        features = self.output(self.features(y, steps), steps.s, y, steps.context)  # (B, T, F)
        return Decoded(features, steps.alpha, steps.probabilities)

    def step(
        self, y: Tensor, state: RecurrentStateT, memory: AttentionMemory
    ) -> tuple[Tensor, RecurrentStateT, Tensor]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), the next state, attention (B, K, S)."""
        now, state = self.advance(self.word_gates(y), self.fed_gates, state, memory)
        return self.output(self.features(y, now), now.s, y, now.context), state, now.alpha

    def unroll(self, words: Tensor, W_fed: Tensor, memory: AttentionMemory, masks: Masks) -> Steps:
        """The plain loop over time: words (B, T, G·H), W_fed (G·H, H or F), masks (B, T or 1, H).

        A pure function of its arguments and of the weights of attention, layers and readout. `fast_unroll` computes
        the same faster for the most common settings.
        """
        state, T = self.start(memory, 1), words.shape[1]
        masks = [mask.expand(-1, T, -1) for mask in masks]  # (B, T, H) for each upper layer
        steps: list[Steps] = []
        for t, word in enumerate(words[:, None].unbind(dim=2)):  # (B, 1, G·H)
            masks_t = [mask[:, t : t + 1] for mask in masks]  # (B, 1, H)
            now, state = self.advance(word, partial(linear, weight=W_fed), state, memory, masks_t)
            steps.append(now)
        return join_steps(steps)

    def update(
        self, gates: Tensor, layers: tuple[LayerState, ...], masks: Masks
    ) -> tuple[Tensor, tuple[LayerState, ...]]:
        """One step of all layers, given the input side of the first layer's gates (B, K, G·H) → s_t (B, K, H)."""
        x, state = self.layers[0].update(gates, layers[0])  # (B, K, H)
        after: list[LayerState] = [state]
        for i, layer in enumerate(self.layers[1:]):
            s, state = layer.step(x * masks[i] if masks else x, layers[i + 1])  # (B, K, H)
            x = x + s if self.residual else s
            after.append(state)
        return x, tuple(after)

    def input_weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """W_y (G·H, E), W_fed (G·H, H or F) and b (G·H,) of the first layer."""
        W_ih, _, b, _ = self.layers[0].weights
        W_y, W_fed = torch.split(W_ih, self.input_sizes, dim=1)
        return W_y, W_fed, b

    def word_gates(self, y: Tensor) -> Tensor:
        """W_y y + b: (B, K, E) → (B, K, G·H)"""
        W_y, _, b = self.input_weights()
        return linear(y, W_y, b)

    def fed_gates(self, v: Tensor) -> Tensor:
        """W_fed v: (B, K, H or F) → (B, K, G·H)"""
        _, W_fed, _ = self.input_weights()
        return linear(v, W_fed)

    def dropout_masks(self, words: Tensor) -> list[Tensor]:
        """(B, T or 1, H) for each upper layer; empty if nothing is dropped."""
        like = words[..., : self.layers[0].hidden_size]  # (B, T, H)
        masks = [self.dropout.mask(like) for _ in self.layers[1:]]
        return [mask for mask in masks if mask is not None]


class BahdanauDecoder(SequentialDecoder[RecurrentState]):
    """The context is read with the previous state and enters the new one   (Bahdanau et al. 2015, A.1.2, A.2.2)

    e_ts = v · tanh(W s_{t-1} + U h_s)                      `scores.Additive`
    α_t = softmax(e_t);  c_t = Σ_s α_ts h_s                 `attention.Attention`
    c_t ← β_t c_t,  β_t = σ(w · s_{t-1} + b)                with `context_gate` (Xu et al. 2015, section 4.2.1)
    s_t = GRU([y_{t-1}; c_t], s_{t-1})                      `recurrent.gru_cell`
    t_t = maxout(U_o s_t + V_o y_{t-1} + C_o c_t)           `decoder.DeepOutput`
    """

    query_before = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, fed_size=config.hidden_size)
        if config.context_gate:
            self.gate = nn.Linear(config.hidden_size, 1)

    def advance(
        self, word: Tensor, W_fed: Map, state: RecurrentState, memory: AttentionMemory, masks: Masks = ()
    ) -> tuple[Steps, RecurrentState]:
        """c_t = attend(s_{t-1});  s_t = GRU(W_y y_{t-1} + b + W_fed c_t, s_{t-1})"""
        s_before = state.layers[-1][0]  # (B, K, H) s_{t-1}
        c, alpha, probabilities = self.attend(s_before, memory, state.history)  # (B, K, H), (B, K, S)
        if self.gate is not None:
            c = torch.sigmoid(self.gate(s_before)) * c  # (B, K, H) β_t c_t
        s, layers = self.update(word + W_fed(c), state.layers, masks)  # (B, K, H) s_t
        return Steps(s, c, alpha, c, probabilities), RecurrentState(layers, state.history.after(alpha))

    def features(self, y: Tensor, steps: Steps) -> Tensor:
        """t_t = readout(s_t, y_{t-1}, c_t)"""
        t: Tensor = self.readout(steps.s, y, steps.context)  # (B, Q, F)
        return t


@dataclass(frozen=True, eq=False)
class FeedingState(RecurrentState):
    """h̃ of the previous step is part of the state."""

    fed: Tensor  # (B, K, F)


class LuongFeedingDecoder(SequentialDecoder[FeedingState]):
    """The context is read with the new state, and both are fed to the next step   (Luong et al. 2015, section 3.3)

    s_t = LSTM([y_{t-1}; h̃_{t-1}], s_{t-1})                `recurrent.lstm_cell`
    e_ts = s_t · W h_s                                      `scores.General`
    α_t = softmax(e_t);  c_t = Σ_s α_ts h_s                 `attention.Attention`
    h̃_t = tanh(W_c [c_t; s_t])                             `decoder.AttentionalState`
    """

    query_before = False

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, fed_size=config.features_size)

    def start(self, memory: AttentionMemory, beam: int) -> FeedingState:
        """s_0 for `beam` hypotheses of every sentence, and h̃_0 = 0."""
        fed = memory.values.new_zeros(len(memory.values), beam, self.input_sizes[1])  # (B, K, F)
        history = self.attention.initial_history(memory.mask, beam)
        return FeedingState(self.initial_layers(memory, beam), history, fed)

    def advance(
        self, word: Tensor, W_fed: Map, state: FeedingState, memory: AttentionMemory, masks: Masks = ()
    ) -> tuple[Steps, FeedingState]:
        """s_t = LSTM(W_y y_{t-1} + b + W_fed h̃_{t-1}, s_{t-1});  c_t = attend(s_t);  h̃_t = readout(s_t, c_t)"""
        s, layers = self.update(word + W_fed(state.fed), state.layers, masks)  # (B, K, H) s_t
        c, alpha, probabilities = self.attend(s, memory, state.history)  # (B, K, H), (B, K, S)
        h = self.readout(s, None, c)  # (B, K, F) h̃_t
        return Steps(s, c, alpha, h, probabilities), FeedingState(layers, state.history.after(alpha), h)

    def features(self, y: Tensor, steps: Steps) -> Tensor:
        """h̃_t itself"""
        return steps.fed  # (B, Q, F)
