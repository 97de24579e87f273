"""The decoder without a loop over time: what attention finds never goes back into the layer that asked."""

from torch import Tensor

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.attention import Reading
from nmt_cli.model.cells import LayerState
from nmt_cli.model.decoder import Decoded, DecoderState, RecurrentDecoder, SourceMemory, join


class ParallelDecoder(RecurrentDecoder):
    """Every layer runs over all target positions in one fused call, all positions attend in one product.

    top attends:     s = RNN(y);  c = attend(s);  readout(s, y, c)          (Luong et al. 2015, no feeding)
    bottom attends:  s¹ = RNN¹(y);  c = attend(s¹);  xˡ⁺¹ = RNNˡ([xˡ; c])   (Wu et al. 2016, section 3)
    nobody attends:  s = RNN(y)                                             (Sutskever et al. 2014)
                     s = RNN([y; c]), c a summary of the source             (Cho et al. 2014)

    Wu et al. attend with the bottom layer's state of the step before; here with its new one, which knows
    y_{t-1}.
    """

    def __init__(self, config: ModelConfig) -> None:
        H = config.hidden_size
        upwards = config.attention_layer == "bottom"
        super().__init__(
            config,
            input_size=config.embedding_size + H * config.context_every_step,
            upper_size=H + H * upwards,
        )
        self.context_upwards = upwards
        self.attending_layer = (
            None if config.attention == "none" else 0 if upwards else config.decoder_layers - 1
        )

    def decode(self, memory: SourceMemory, y: Tensor, *, attention: bool = True) -> Decoded:
        """Word vectors y (B, T, E) of all steps → features (B, T, F), attention (B, T, S)."""
        initial = tuple(layer.begin(state) for layer, state in zip(self.layers, memory.initial, strict=True))
        features, _, reading = self._run(y, DecoderState(initial), memory, one_step=False)
        return (
            Decoded(features, None) if reading is None else Decoded(features, reading.alpha, reading.chances)
        )

    def step(
        self, y: Tensor, state: DecoderState, memory: SourceMemory
    ) -> tuple[Tensor, DecoderState, Tensor | None]:
        """Word vectors y (B, K, E) of one step → features (B, K, F), next state, attention (B, K, S)."""
        features, layers, reading = self._run(y, state, memory, one_step=True)
        if reading is None:
            return features, DecoderState(layers), None
        return features, DecoderState(layers, None, state.focus.after(reading.alpha)), reading.alpha

    def _run(
        self, y: Tensor, state: DecoderState, memory: SourceMemory, *, one_step: bool
    ) -> tuple[Tensor, tuple[LayerState, ...], Reading | None]:
        """All T steps of y (B, T, E), or one step of the K hypotheses y (B, K, E); Q is T or K."""
        context, reading = None, None
        if memory.summary is not None:
            context = memory.summary[:, None].expand(-1, y.shape[1], -1)  # (B, Q, H)
        x = join(y, context)  # (B, Q, E), or (B, Q, E + H)
        after: list[LayerState] = []
        for i, (layer, before) in enumerate(zip(self.layers, state.layers, strict=True)):
            inputs = x if i == 0 else self.dropout(x)  # (B, Q, H)
            if i > 0 and self.context_upwards:
                inputs = join(inputs, context)  # (B, Q, 2·H)
            s, now = layer.step(inputs, before) if one_step else layer(inputs, before)  # (B, Q, H)
            x = x + s if self.residual and i > 0 else s
            after.append(now)
            if i == self.attending_layer:
                reading = self.attend(x, memory, state.focus) if one_step else self._attend_at_once(x, memory)
                context = reading.context  # (B, Q, H)
        return self.dropout(self.readout(x, y, context)), tuple(after), reading

    def _attend_at_once(self, query: Tensor, memory: SourceMemory) -> Reading:
        """Query (B, T, H) of all steps → context (B, T, H), α (B, T, S)."""
        assert self.attention is not None
        assert memory.keys is not None
        assert memory.values is not None
        return self.attention.all_steps(query, memory.keys, memory.values, memory.mask)
