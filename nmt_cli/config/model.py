"""Settings of the section `model`. The defaults are those of the preset `luong2015`."""

import difflib
from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from nmt_cli.config.presets import PRESETS
from nmt_cli.config.section import Section, setting


class ModelConfig(Section):
    """The network. H is `hidden_size`, s_t the decoder state at step t, h_i the encoder state at word i."""

    preset: str = setting("luong2015", "a published system; `nmt presets` lists them")
    embedding_size: int = setting(256, "size of a word vector", ge=1)
    hidden_size: int = setting(
        512, "size H of a decoder state; a bidirectional encoder has half in each direction", ge=1
    )
    encoder_layers: int = setting(2, "recurrent layers of the encoder", ge=1)
    decoder_layers: int = setting(2, "recurrent layers of the decoder", ge=1)
    cell: Literal["rnn", "gru", "lstm"] = setting("lstm", "recurrent cell of encoder and decoder (rnn: tanh)")
    bidirectional: Literal["none", "first", "all"] = setting(
        "all", "encoder layers that read in both directions"
    )
    residual: bool = setting(
        False, "add the input of a recurrent layer to its output, from the second layer on"
    )
    layer_norm: bool = setting(
        False, "normalise the output of every recurrent layer (not inside of the fused cell)"
    )
    initial_state: Literal["copy", "projection", "mean"] = setting(
        "copy",
        "the decoder starts with the encoder's last states (copy), or with tanh(W h) of the last state of "
        "its top layer (projection) or of the mean of its states (mean)",
    )
    attention: Literal["none", "additive", "dot", "scaled_dot", "general", "concat", "projected_dot"] = (
        setting("general", "how a source position is scored against the decoder state")
    )
    attention_size: int | None = setting(
        None, "size in which `additive` and `projected_dot` compare (default: hidden_size)", ge=1
    )
    attention_layer: Literal["top", "bottom"] = setting(
        "top", "decoder layer that attends; `bottom` feeds the context to all layers above it"
    )
    query: Literal["before", "after"] = setting(
        "after", "attend with s_{t-1} before the step or with s_t after it"
    )
    input_feeding: bool = setting(True, "feed the attentional state of a step to the next step")
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
    reverse_source: bool = setting(
        False, "read the source from its last word to its first; <eos> stays at the end"
    )
    tied_embeddings: Literal["auto", "none", "decoder", "all"] = setting(
        "auto",
        "share the weights of target words and vocabulary projection (decoder), of source words too (all); "
        "auto: as much as sizes and vocabulary allow",
    )
    dropout: float = setting(
        0.2, "dropout between recurrent layers and before the vocabulary", ge=0.0, lt=1.0
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
        contradictions = [
            *self._attention_contradictions(),
            *self._readout_contradictions(),
            *self._size_contradictions(),
        ]
        if contradictions:
            raise ValueError("; ".join(contradictions))
        return self

    def _attention_contradictions(self) -> Iterator[str]:
        if self.attention == "none":
            if self.input_feeding:
                yield _contradiction(self, "input_feeding", "attention", "set model.input_feeding = false")
            if self.query == "before":
                yield _contradiction(
                    self, "query", "attention", "set model.query = after or choose an attention"
                )
            if self.attention_layer == "bottom":
                yield _contradiction(self, "attention_layer", "attention", "set model.attention_layer = top")
            if self.readout == "attentional" and not self.context_every_step:
                yield _contradiction(self, "readout", "attention", "set model.readout = state")
        elif self.context_every_step:
            yield _contradiction(self, "context_every_step", "attention", "set model.attention = none")
        if self.query == "before" and self.input_feeding:
            yield _contradiction(self, "input_feeding", "query", "set model.input_feeding = false")
        if self.attention_layer == "bottom":
            if self.decoder_layers == 1:
                yield _contradiction(
                    self, "attention_layer", "decoder_layers", "set model.decoder_layers = 2 or more"
                )
            if self.query == "before":
                yield _contradiction(self, "attention_layer", "query", "set model.query = after")
            if self.input_feeding:
                yield _contradiction(
                    self, "attention_layer", "input_feeding", "set model.input_feeding = false"
                )
        if self.attention_size is not None and self.attention not in ("additive", "projected_dot"):
            yield _contradiction(self, "attention_size", "attention", "leave out model.attention_size")

    def _readout_contradictions(self) -> Iterator[str]:
        if self.input_feeding and self.readout != "attentional":
            yield _contradiction(self, "input_feeding", "readout", "set model.readout = attentional")
        reads_nothing = self.attention != "none" and self.query == "after" and self.attention_layer == "top"
        if self.readout == "state" and reads_nothing and not self.input_feeding:
            yield _contradiction(
                self, "readout", "query", "the context would be used nowhere; set model.readout = attentional"
            )
        if self.readout == "state" and self.readout_size is not None:
            yield _contradiction(self, "readout_size", "readout", "leave out model.readout_size")
        if self.tied_embeddings in ("decoder", "all") and self.features_size != self.embedding_size:
            size = "hidden_size" if self.readout == "state" else "readout_size"
            yield _contradiction(self, "tied_embeddings", size, f"set model.{size} = {self.embedding_size}")

    def _size_contradictions(self) -> Iterator[str]:
        if self.bidirectional != "none" and self.hidden_size % 2:
            yield _contradiction(self, "bidirectional", "hidden_size", "set an even model.hidden_size")
        if self.initial_state == "copy" and self.encoder_layers != self.decoder_layers:
            yield (
                f"model.initial_state = copy contradicts model.encoder_layers = {self.encoder_layers} with "
                f"model.decoder_layers = {self.decoder_layers}; set model.initial_state = projection"
            )
        if self.residual and self.encoder_layers == self.decoder_layers == 1:
            yield (
                "model.residual = true contradicts model.encoder_layers = 1 with model.decoder_layers = 1; "
                "set model.residual = false"
            )
        if self.variational_dropout and not self.dropout and not self.input_dropout:
            yield _contradiction(
                self, "variational_dropout", "dropout", "set model.variational_dropout = false"
            )


def _contradiction(config: ModelConfig, first: str, second: str, advice: str) -> str:
    one, other = (f"model.{name} = {_shown(config, name)}" for name in (first, second))
    return f"{one} contradicts {other}; {advice}"


def _shown(config: ModelConfig, name: str) -> str:
    value = getattr(config, name)
    return str(value).lower() if isinstance(value, bool) else str(value)
