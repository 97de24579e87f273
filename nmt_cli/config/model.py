"""Settings of the section `model`. The defaults are those of the preset `luong2015`."""

import difflib
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from nmt_cli.config.contradictions import contradictions
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.section import Section, setting


class ModelConfig(Section):
    """The network. H is `hidden_size`, s_t the decoder state at step t, h_i the encoder state at word i."""

    preset: str = setting("luong2015", "a published system; `nmt presets` lists them")
    embedding_size: int = setting(256, "size of a word vector", ge=1)
    hidden_size: int = setting(
        512, "size H of a decoder state; a bidirectional encoder has half in each direction", ge=1
    )
    encoder_layers: int = setting(1, "layers of the encoder; 0: none, which makes a language model", ge=0)
    decoder_layers: int = setting(1, "recurrent layers of the decoder", ge=1)
    cell: Literal["rnn", "gru", "lstm", "transformer"] = setting(
        "lstm",
        "what a layer is: a recurrent cell (rnn: tanh), or self-attention and a feed-forward network (transformer)",
    )
    intra_attention: Literal["none", "encoder", "decoder", "both"] = setting(
        "none", "recurrent layers that attend to all their earlier states instead of the last one (LSTMN)"
    )
    bidirectional: Literal["none", "first", "all"] = setting(
        "all", "encoder layers that read in both directions"
    )
    residual: bool = setting(
        False, "add the input of a recurrent layer to its output, from the second layer on"
    )
    layer_norm: bool = setting(
        False, "normalise the output of every recurrent layer (not inside of the fused cell)"
    )
    initial_state: Literal["copy", "projection", "mean", "zero"] = setting(
        "copy",
        "the decoder starts with the encoder's last states (copy), or with tanh(W h) of the last state of "
        "its top layer (projection) or of the mean of its states (mean), or with 0 (zero)",
    )
    attention: Literal[
        "none", "additive", "dot", "scaled_dot", "general", "concat", "projected_dot", "location"
    ] = setting("general", "how a source position is scored against the decoder state")
    attention_size: int | None = setting(
        None, "size in which `additive` and `projected_dot` compare (default: hidden_size)", ge=1
    )
    attention_layer: Literal["top", "bottom"] = setting(
        "top", "decoder layer that attends; `bottom` feeds the context to all layers above it"
    )
    attention_span: Literal["global", "local-m", "local-p"] = setting(
        "global",
        "source positions that are looked at: all, or a window around the step (local-m) or around a predicted "
        "position (local-p)",
    )
    attention_window: int | None = setting(None, "reach D of a local attention: positions to each side", ge=1)
    attention_positions: int = setting(256, "source positions that `location` can attend to", ge=1)
    heads: int | None = setting(
        None,
        "attentions side by side, each with queries, keys and values of its own (not set: one that compares the "
        "states themselves)",
        ge=1,
    )
    hard_attention: bool = setting(
        False, "attend to one position, drawn in training (REINFORCE), instead of a weighted mean of all"
    )
    entropy_weight: float = setting(
        0.01, "hard attention: weight of the entropy of its choices, which keeps them open", ge=0.0
    )
    coverage: bool = setting(
        False, "additive and concat: let the score see how much attention a position has had so far"
    )
    coverage_loss: float = setting(
        0.0, "coverage: weight of the loss Σ_s min(α_s, coverage_s) that punishes repeated attention", ge=0.0
    )
    query: Literal["before", "after"] = setting(
        "after", "attend with s_{t-1} before the step or with s_t after it"
    )
    input_feeding: bool = setting(False, "feed the attentional state of a step to the next step")
    context_every_step: bool = setting(False, "without attention: feed a summary of the source to every step")
    readout: Literal["state", "attentional", "tanh", "maxout"] = setting(
        "attentional",
        "what the vocabulary sees: s_t (state), tanh(W [c; s_t]) (attentional), or a deep output of s_t, the "
        "previous word and the context (tanh, maxout)",
    )
    readout_size: int | None = setting(
        None,
        "size of the readout (default: embedding_size if it is deep or weights are tied, else hidden_size)",
        ge=1,
    )
    feedforward_size: int | None = setting(
        None, "transformer: inner size of the feed-forward networks (default: 4 × hidden_size)", ge=1
    )
    norm: Literal["pre", "post"] = setting(
        "pre",
        "transformer: layer normalization before each part, or after its sum with the input (the paper's)",
    )
    reverse_source: bool = setting(
        False, "read the source from its last word to its first; <eos> stays at the end"
    )
    tied_embeddings: Literal["auto", "none", "decoder", "all"] = setting(
        "auto",
        "share the weights of target words and vocabulary projection (decoder), of source words too (all); "
        "auto: as much as sizes and vocabulary allow",
    )
    dropout: float = setting(
        0.3, "dropout between recurrent layers and before the vocabulary", ge=0.0, lt=1.0
    )
    input_dropout: float | None = setting(
        None, "dropout on word vectors (default: that of `dropout`)", ge=0.0, lt=1.0
    )
    word_dropout: float = setting(0.0, "dropout of whole words, source and target", ge=0.0, lt=1.0)
    variational_dropout: bool = setting(False, "use one dropout mask for all steps of a sentence")
    loss_chunk_tokens: int = setting(
        1024, "target tokens whose logits are held at a time (memory: this × vocabulary size × 4 bytes)", ge=1
    )

    @classmethod
    def from_preset(cls, name: str, **overrides: Any) -> Self:
        """The settings of a preset; `overrides` win."""
        return cls(**{"preset": name, **PRESETS[name].settings, **overrides})

    @property
    def is_language_model(self) -> bool:
        """Whether there is no source side."""
        return self.encoder_layers == 0

    @property
    def deep_readout(self) -> bool:
        """Whether the readout looks at the previous word as well."""
        return self.readout in ("tanh", "maxout")

    @property
    def features_size(self) -> int:
        """Size F of what the vocabulary projection sees."""
        if self.readout == "state":
            return self.hidden_size
        if self.readout_size is not None:
            return self.readout_size
        return (
            self.embedding_size if self.deep_readout or self.tied_embeddings != "none" else self.hidden_size
        )

    def tying(self, *, joint: bool) -> Literal["none", "decoder", "all"]:
        """What is shared where the two sides have a `joint` vocabulary, or one each."""
        if self.tied_embeddings != "auto":
            return self.tied_embeddings
        if self.features_size != self.embedding_size:
            return "none"
        return "all" if joint else "decoder"

    @field_validator("preset")
    @classmethod
    def _preset_exists(cls, name: str) -> str:
        if name not in PRESETS:
            near = difflib.get_close_matches(name, PRESETS, n=1, cutoff=0.0)[0]
            raise ValueError(f"there is no such preset (nearest: {near}; all: {', '.join(PRESETS)})")
        return name

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        found = list(contradictions(self))
        if found:
            raise ValueError("; ".join(found))
        return self
