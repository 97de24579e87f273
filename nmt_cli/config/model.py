"""Settings of the section `model`: the architecture. The defaults are the preset `luong2015`."""

from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from nmt_cli.config.contradictions import contradictions
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.section import Section, reject, setting
from nmt_cli.errors import did_you_mean

TRAINING_ONLY = frozenset(
    {
        *("dropout", "input_dropout", "word_dropout", "variational_dropout"),
        *("coverage_loss", "doubly_stochastic", "entropy_weight", "expected_context", "loss_chunk_tokens"),
    }
)
"""Settings of a model that do not change what it computes once it is trained."""


class ModelConfig(Section):
    """The network. H is `hidden_size`, s_t the decoder state at step t, h_i the encoder state of source word i."""

    preset: str = setting("luong2015", "published system to start from; `nmt presets` lists them")
    source: Literal["text", "image", "features", "frames"] = setting(
        "text",
        "what the encoder reads: text, the pixels of an image, features of it computed beforehand, or a sequence of "
        "frames, such as speech",
    )
    image_network: Literal["strided", "pooled"] = setting(
        "strided",
        "image: convolutions of stride 2 (strided), or each followed by normalization and 2 × 2 max-pooling, as in "
        "VGG (pooled)",
    )
    image_grid: int = setting(
        6, "image: cells per row and per column of the grid that the image becomes", ge=1, le=256
    )
    feature_shape: tuple[int, ...] | None = setting(
        None, "features: their number of positions and their size (default: those of the data)"
    )
    frame_size: int = setting(
        40, "frames: their size; `nmt train` sets it to that of the data", ge=1, le=1 << 20
    )
    pyramidal_layers: int = setting(
        0,
        "frames: number of encoder layers, counted from the top, that read two consecutive states of the layer below "
        "as one, halving the number of positions",
        ge=0,
    )
    embedding_size: int = setting(256, "size of the word embeddings", ge=1)
    hidden_size: int = setting(
        512, "size H of the decoder state; a bidirectional encoder has H/2 per direction", ge=1
    )
    encoder_layers: int = setting(
        1,
        "number of encoder layers (image: convolutions, each of which halves width and height); 0 makes it a "
        "language model",
        ge=0,
    )
    decoder_layers: int = setting(1, "number of decoder layers", ge=1)
    cell: Literal["rnn", "gru", "lstm", "transformer"] = setting(
        "lstm",
        "type of layer: a recurrent cell (rnn: tanh), or self-attention and a feed-forward network (transformer)",
    )
    intra_attention: Literal["none", "encoder", "decoder", "both"] = setting(
        "none",
        "where recurrent layers attend to all their earlier states instead of using the last one (LSTMN)",
    )
    bidirectional: Literal["none", "first", "all"] = setting("all", "which encoder layers are bidirectional")
    residual: bool = setting(False, "residual connections around recurrent layers, from the second layer on")
    layer_norm: bool = setting(
        False, "layer normalization of the output of every recurrent layer (not inside the fused cell)"
    )
    initial_state: Literal["copy", "projection", "mean", "input", "contrast", "zero"] = setting(
        "copy",
        "initial decoder state: final encoder states (copy), tanh(W h) of the last (projection) or the mean (mean); "
        "the mean (input) or what exceeds it (contrast) as first input; 0 (zero)",
    )
    attention: Literal[
        "none", "additive", "dot", "scaled_dot", "general", "concat", "projected_dot", "location", "uniform"
    ] = setting(
        "general", "score function between the decoder state and a source position; uniform: the mean context"
    )
    attention_size: int | None = setting(
        None, "inner size of `additive` and `projected_dot` (default: hidden_size)", ge=1
    )
    attention_layer: Literal["top", "bottom"] = setting(
        "top", "decoder layer that attends; `bottom` feeds the context to all layers above"
    )
    attention_span: Literal["global", "local-m", "local-p"] = setting(
        "global",
        "source positions attended to: all, a window around the current step (local-m), or a window around a "
        "predicted position (local-p)",
    )
    attention_window: int | None = setting(
        None, "half-width D of the window of local attention, in source positions", ge=1
    )
    attention_positions: int = setting(256, "number of source positions that `location` can attend to", ge=1)
    heads: int | None = setting(
        None,
        "number of attention heads, each with its own projections of queries, keys and values (not set: one "
        "attention on the unprojected states)",
        ge=1,
    )
    head_biases: bool = setting(
        False, "heads: biases in the projections of queries, keys and values, W x + b instead of W x"
    )
    hard_attention: bool = setting(
        False, "attend to a single position, sampled in training (REINFORCE), instead of a weighted mean"
    )
    entropy_weight: float = setting(
        0.01,
        "hard attention: weight of the entropy bonus, which keeps the distribution from collapsing",
        ge=0.0,
    )
    expected_context: float = setting(
        0.0,
        "hard attention: probability, for each training sentence, of the expected context instead of a sampled one "
        "(0.5 in Xu et al. 2015)",
        ge=0.0,
        le=1.0,
    )
    context_gate: bool = setting(
        False, "query = before: multiply the context by a gate σ(w · s_{t-1} + b), one number per step"
    )
    doubly_stochastic: float = setting(
        0.0,
        "weight of the loss Σ_i (1 - Σ_t α_ti)², which wants every position to receive the same attention in total",
        ge=0.0,
    )
    coverage: bool = setting(
        False, "additive and concat: give the score function the attention each position has received so far"
    )
    coverage_loss: float = setting(
        0.0,
        "coverage: weight of the loss Σ_s min(α_s, coverage_s), which penalizes repeated attention",
        ge=0.0,
    )
    copying: bool = setting(
        False,
        "copy source tokens with the weights of attention: p(w) = p_gen P_vocab(w) + (1 - p_gen) Σ α_i over x_i = w",
    )
    query: Literal["before", "after"] = setting(
        "after", "attend with s_{t-1}, before the recurrent step, or with s_t, after it"
    )
    input_feeding: bool = setting(False, "feed the attentional state of each step into the next one")
    context_every_step: bool = setting(
        False, "without attention: feed the source summary to every decoder step"
    )
    readout: Literal["state", "attentional", "tanh", "maxout"] = setting(
        "attentional",
        "input of the output layer: s_t (state), tanh(W [c; s_t]) (attentional), or a deep output of s_t, the "
        "previous word and the context (tanh, maxout)",
    )
    readout_size: int | None = setting(
        None,
        "size of the readout (default: embedding_size if deep or with tied embeddings, else hidden_size)",
        ge=1,
    )
    feedforward_size: int | None = setting(
        None, "transformer: inner size of the feed-forward networks (default: 4 × hidden_size)", ge=1
    )
    activation: Literal["relu", "gelu"] = setting(
        "relu", "transformer: nonlinearity inside the feed-forward networks"
    )
    norm: Literal["pre", "post"] = setting(
        "pre",
        "transformer: layer normalization before each sublayer, or after each residual sum (as in the paper)",
    )
    reverse_source: bool = setting(False, "reverse the source; `<eos>` stays at the end")
    reverse_target: bool = setting(
        False, "write the translation from right to left, last word first, as a model for reranking"
    )
    tied_embeddings: Literal["auto", "none", "decoder", "all"] = setting(
        "auto",
        "tie target embeddings and output layer (decoder), and source embeddings too (all); auto: as far as "
        "sizes and vocabulary allow",
    )
    dropout: float = setting(0.3, "dropout between layers and before the output layer", ge=0.0, lt=1.0)
    input_dropout: float | None = setting(
        None,
        "dropout on word embeddings (default: a third of `dropout`; transformer: all of it)",
        ge=0.0,
        lt=1.0,
    )
    word_dropout: float = setting(0.0, "probability of dropping whole words, on both sides", ge=0.0, lt=1.0)
    variational_dropout: bool = setting(False, "use the same dropout mask at every time step of a sentence")
    loss_chunk_tokens: int = setting(
        1024, "target tokens per chunk of the loss (memory: this × vocabulary size × 4 bytes)", ge=1
    )

    @classmethod
    def from_preset(cls, name: str, **overrides: Any) -> Self:
        """The settings of a preset; `overrides` take precedence."""
        return cls(**{"preset": name, **PRESETS[name].settings, **overrides})

    @property
    def is_language_model(self) -> bool:
        """Whether there is no source side."""
        return self.encoder_layers == 0

    @property
    def reads_images(self) -> bool:
        """Whether the source is an image, as pixels or features."""
        return self.source in ("image", "features")

    @property
    def reads_frames(self) -> bool:
        """Whether the source is a sequence of frames: speech."""
        return self.source == "frames"

    @property
    def has_first_input(self) -> bool:
        """Whether the decoder reads the source before the first word, as if it were a word."""
        return self.initial_state in ("input", "contrast")

    @property
    def input_dropout_rate(self) -> float:
        """Dropout on word embeddings; `nmt train` sets it in every new run of a recurrent model."""
        return self.dropout if self.input_dropout is None else self.input_dropout

    @property
    def deep_readout(self) -> bool:
        """Whether the readout also reads the previous word."""
        return self.readout in ("tanh", "maxout")

    @property
    def features_size(self) -> int:
        """Size F of the input of the output layer."""
        if self.readout == "state":
            return self.hidden_size
        if self.readout_size is not None:
            return self.readout_size
        return (
            self.embedding_size if self.deep_readout or self.tied_embeddings != "none" else self.hidden_size
        )

    def tying(self, *, joint: bool) -> Literal["none", "decoder", "all"]:
        """Which embeddings are tied, given one `joint` vocabulary or one per side."""
        if self.tied_embeddings != "auto":
            return self.tied_embeddings
        if self.features_size != self.embedding_size:
            return "none"
        return "all" if joint else "decoder"

    @field_validator("preset")
    @classmethod
    def _preset_exists(cls, name: str) -> str:
        if name not in PRESETS:
            raise ValueError(
                f"there is no such preset{did_you_mean(name, PRESETS)}; presets are {', '.join(PRESETS)}"
            )
        return name

    @model_validator(mode="after")
    def _reject_contradictions(self) -> Self:
        reject(contradictions(self))
        return self
