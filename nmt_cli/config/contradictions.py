"""Contradictory settings in the section `model`: each message names both settings and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nmt_cli.config.section import default_of, incompatible, shown

if TYPE_CHECKING:
    from nmt_cli.config.model import ModelConfig

# The only possible values in a Transformer.
_TRANSFORMER: dict[str, Any] = {
    "intra_attention": "none",
    "bidirectional": "all",
    "residual": True,
    "layer_norm": True,
    "initial_state": "copy",
    "attention": "scaled_dot",
    "attention_layer": "top",
    "attention_span": "global",
    "hard_attention": False,
    "coverage": False,
    "query": "after",
    "input_feeding": False,
    "readout": "state",
}
# The only possible values in a language model, which has no source.
_LANGUAGE_MODEL: dict[str, Any] = {
    "bidirectional": "none",
    "initial_state": "zero",
    "reverse_source": False,
    "context_every_step": False,
    "attention": "none",
    "attention_layer": "top",
    "attention_span": "global",
    "hard_attention": False,
    "heads": None,
    "query": "after",
    "input_feeding": False,
}
# Of these, a Transformer without a source has its own: what it attends to are its own positions.
_TRANSFORMER_LANGUAGE_MODEL = {
    **_TRANSFORMER,
    **{name: value for name, value in _LANGUAGE_MODEL.items() if name != "heads"},
}
# The only possible values in a model that reads images: there are no source words in an order.
_IMAGES: dict[str, Any] = {"reverse_source": False, "attention_span": "global"}
# What cannot copy: without a source in words there is nothing to copy, and without weights that are known and sum to 1
# there is no distribution over it.
_WITHOUT_COPYING: dict[str, tuple[Any, ...]] = {
    "encoder_layers": (0,),
    "source": ("image", "features", "frames"),
    "cell": ("transformer",),
    "attention": ("none",),
    "attention_span": ("local-p",),
    "hard_attention": (True,),
}
# Settings without effect unless another one has certain values: (setting, the other one, those values).
_DEPENDENT: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    ("attention_size", "attention", ("additive", "projected_dot")),
    ("attention_positions", "attention", ("location",)),
    ("attention_window", "attention_span", ("local-m", "local-p")),
    ("entropy_weight", "hard_attention", (True,)),
    ("expected_context", "hard_attention", (True,)),
    ("context_gate", "query", ("before",)),
    ("image_network", "source", ("image", "features")),
    ("image_grid", "source", ("image",)),
    ("feature_shape", "source", ("features",)),
    ("frame_size", "source", ("frames",)),
    ("pyramidal_layers", "source", ("frames",)),
    ("coverage", "attention", ("additive", "concat")),
    ("coverage_loss", "coverage", (True,)),
    ("feedforward_size", "cell", ("transformer",)),
    ("activation", "cell", ("transformer",)),
    ("norm", "cell", ("transformer",)),
)


def contradictions(config: ModelConfig) -> Iterator[str]:
    """A message for every contradiction."""
    if config.reads_frames and config.cell == "transformer":  # no further advice would help
        yield _contradiction(config, "cell", "source", "set model.cell = lstm")
        return
    if config.is_language_model:
        yield from _in_language_model(config)
    elif config.cell == "transformer":
        yield from _in_transformer(config)
    else:
        yield from _in_recurrent_model(config)
    if not config.is_language_model:
        yield from _in_kind_of_attention(config)
    if config.reads_images:
        yield from _in_image_model(config)
    elif config.has_first_input and config.cell != "transformer":
        yield from _in_first_input(config)
    if config.reads_frames:
        yield from _in_frame_model(config)
    yield from _in_sizes(config)
    if config.copying:
        for name, values in _WITHOUT_COPYING.items():
            if getattr(config, name) in values:
                yield _contradiction(config, "copying", name, "leave out model.copying")
    for name, other, values in _DEPENDENT:
        if getattr(config, name) != default_of(config, name) and getattr(config, other) not in values:
            yield _contradiction(config, name, other, f"leave out model.{name}")


def _in_language_model(config: ModelConfig) -> Iterator[str]:
    if config.cell == "transformer":
        yield from _in_transformer(config)
        return
    for name, value in _LANGUAGE_MODEL.items():
        if getattr(config, name) != value:
            advice = f"leave out model.{name}" if value is None else f"set model.{name} = {shown(value)}"
            yield _contradiction(config, name, "encoder_layers", advice)
    if config.readout == "attentional":
        yield _contradiction(config, "readout", "encoder_layers", "set model.readout = state, tanh or maxout")
    if config.intra_attention in ("encoder", "both"):
        yield _contradiction(
            config, "intra_attention", "encoder_layers", "set model.intra_attention = decoder"
        )
    # No further checks of attention: their advice would not apply to a model without a source.
    yield from _in_layers(config)


def _in_image_model(config: ModelConfig) -> Iterator[str]:
    for name, value in _IMAGES.items():
        if getattr(config, name) != value:
            yield _contradiction(config, name, "source", f"set model.{name} = {shown(value)}")
    if config.is_language_model:
        yield _contradiction(config, "encoder_layers", "source", "set model.encoder_layers = 3")
    if config.feature_shape is not None and (
        len(config.feature_shape) != 2 or not all(0 < size <= 1 << 24 for size in config.feature_shape)
    ):
        yield f"model.feature_shape = {list(config.feature_shape)} is not a number of positions and a size"
    if config.context_every_step:
        yield _contradiction(config, "context_every_step", "source", "set model.context_every_step = false")
    if config.cell == "transformer":
        return
    if config.bidirectional != "none":
        yield _contradiction(config, "bidirectional", "source", "set model.bidirectional = none")
    if config.intra_attention in ("encoder", "both"):
        yield _contradiction(config, "intra_attention", "source", "set model.intra_attention = decoder")
    if config.initial_state in ("copy", "projection"):
        yield _contradiction(config, "initial_state", "source", "set model.initial_state = mean")
    if config.has_first_input:
        yield from _in_first_input(config)
    if config.initial_state == "contrast" and config.feature_shape and config.feature_shape[0] == 1:
        yield _contradiction(config, "initial_state", "feature_shape", "set model.initial_state = input")
    if config.initial_state == "contrast" and config.source == "image" and config.image_grid == 1:
        yield _contradiction(config, "initial_state", "image_grid", "set model.initial_state = input")


def _in_frame_model(config: ModelConfig) -> Iterator[str]:
    if config.reverse_source:
        yield _contradiction(config, "reverse_source", "source", "set model.reverse_source = false")
    if config.is_language_model:
        yield _contradiction(config, "encoder_layers", "source", "set model.encoder_layers = 4")
    elif config.pyramidal_layers > config.encoder_layers:
        advice = f"set model.pyramidal_layers = {config.encoder_layers} or less"
        yield _contradiction(config, "pyramidal_layers", "encoder_layers", advice)
    if config.residual and config.pyramidal_layers:
        yield _contradiction(config, "residual", "pyramidal_layers", "set model.residual = false")


def _in_first_input(config: ModelConfig) -> Iterator[str]:
    """The state after a first input is that of a decoder whose layers read nothing but a word."""
    if config.attention != "none":
        yield _contradiction(config, "initial_state", "attention", "set model.initial_state = mean")
    if config.context_every_step:
        yield _contradiction(
            config, "initial_state", "context_every_step", "set model.initial_state = projection"
        )
    if config.intra_attention in ("decoder", "both"):
        yield _contradiction(config, "initial_state", "intra_attention", "set model.initial_state = mean")


def _in_transformer(config: ModelConfig) -> Iterator[str]:
    required = _TRANSFORMER_LANGUAGE_MODEL if config.is_language_model else _TRANSFORMER
    for name, value in required.items():
        if getattr(config, name) != value:
            other = "cell" if _TRANSFORMER.get(name) == value else "encoder_layers"
            yield _contradiction(config, name, other, f"set model.{name} = {shown(value)}")
    if config.heads is None:
        yield _contradiction(config, "heads", "cell", "set model.heads = 4")


def _in_recurrent_model(config: ModelConfig) -> Iterator[str]:
    yield from _in_attention(config)
    yield from _in_readout(config)
    yield from _in_layers(config)
    if config.initial_state == "copy" and config.encoder_layers != config.decoder_layers:
        yield (
            f"model.initial_state = copy is incompatible with model.encoder_layers = {config.encoder_layers} with "
            f"model.decoder_layers = {config.decoder_layers}; set model.initial_state = projection"
        )
    source_unused = config.attention == "none" and not config.context_every_step
    if config.initial_state == "zero" and source_unused:
        yield _contradiction(
            config,
            "initial_state",
            "attention",
            "the source would not be used; set model.initial_state = copy",
        )


def _in_layers(config: ModelConfig) -> Iterator[str]:
    if config.intra_attention != "none" and config.cell == "gru":
        yield _contradiction(config, "intra_attention", "cell", "set model.cell = lstm or rnn")
    if config.residual and max(config.encoder_layers, config.decoder_layers) == 1:
        yield (
            f"model.residual = true is incompatible with model.encoder_layers = {config.encoder_layers} with "
            "model.decoder_layers = 1; set model.residual = false"
        )


def _in_attention(config: ModelConfig) -> Iterator[str]:
    if config.attention == "none":
        if config.input_feeding:
            yield _contradiction(config, "input_feeding", "attention", "set model.input_feeding = false")
        if config.query == "before":
            yield _contradiction(
                config, "query", "attention", "set model.query = after, or choose an attention"
            )
        if config.attention_layer == "bottom":
            yield _contradiction(config, "attention_layer", "attention", "set model.attention_layer = top")
        if config.readout == "attentional" and not config.context_every_step:
            yield _contradiction(config, "readout", "attention", "set model.readout = state")
    if config.query == "before" and config.input_feeding:
        yield _contradiction(config, "input_feeding", "query", "set model.input_feeding = false")
    if config.attention_layer == "bottom":
        if config.decoder_layers == 1:
            yield _contradiction(
                config, "attention_layer", "decoder_layers", "set model.decoder_layers = 2 or more"
            )
        if config.query == "before":
            yield _contradiction(config, "attention_layer", "query", "set model.query = after")
        if config.input_feeding:
            yield _contradiction(
                config, "attention_layer", "input_feeding", "set model.input_feeding = false"
            )


def _in_kind_of_attention(config: ModelConfig) -> Iterator[str]:
    if config.attention == "none":
        for name, neutral in (("heads", None), ("hard_attention", False), ("attention_span", "global")):
            if getattr(config, name) != neutral:
                yield _contradiction(config, name, "attention", f"leave out model.{name}")
    elif config.context_every_step:
        yield _contradiction(config, "context_every_step", "attention", "set model.attention = none")
    if config.attention_span != "global" and config.attention_window is None:
        yield _contradiction(config, "attention_span", "attention_window", "set model.attention_window = 10")
    if config.reverse_target and config.attention_span == "local-m":  # its window moves from left to right
        yield _contradiction(config, "reverse_target", "attention_span", "set model.attention_span = local-p")
    if config.hard_attention and config.attention_span == "local-p":
        yield _contradiction(
            config, "hard_attention", "attention_span", "set model.attention_span = local-m or global"
        )
    if config.hard_attention and config.coverage_loss:
        yield _contradiction(
            config,
            "coverage_loss",
            "hard_attention",
            "a sampled position has no gradient; set model.coverage_loss = 0.0",
        )
    if config.doubly_stochastic and config.attention == "none":
        yield _contradiction(config, "doubly_stochastic", "attention", "leave out model.doubly_stochastic")
    for name in ("hard_attention", "coverage"):
        if getattr(config, name) and config.heads is not None and config.cell != "transformer":
            yield _contradiction(config, "heads", name, "leave out model.heads")


def _in_readout(config: ModelConfig) -> Iterator[str]:
    if config.input_feeding and config.attention != "none" and config.readout != "attentional":
        yield _contradiction(config, "input_feeding", "readout", "set model.readout = attentional")
    context_unused = (
        config.attention != "none" and config.query == "after" and config.attention_layer == "top"
    )
    if config.readout == "state" and context_unused and not config.input_feeding:
        yield _contradiction(
            config, "readout", "query", "the context would not be used; set model.readout = attentional"
        )


def _in_sizes(config: ModelConfig) -> Iterator[str]:
    if config.readout == "state" and config.readout_size is not None:
        yield _contradiction(config, "readout_size", "readout", "leave out model.readout_size")
    if config.tied_embeddings in ("decoder", "all") and config.features_size != config.embedding_size:
        size = "hidden_size" if config.readout == "state" else "readout_size"
        yield _contradiction(config, "tied_embeddings", size, f"set model.{size} = {config.embedding_size}")
    if config.bidirectional != "none" and config.hidden_size % 2:
        yield _contradiction(config, "bidirectional", "hidden_size", "set an even model.hidden_size")
    if config.heads is not None and config.hidden_size % config.heads:
        whole = config.heads if config.heads % 2 == 0 else 2 * config.heads  # even, for two directions
        nearest = whole * max(1, round(config.hidden_size / whole))
        yield _contradiction(
            config, "heads", "hidden_size", f"set model.hidden_size = {nearest}, or change model.heads"
        )
    if config.head_biases and config.heads is None:
        yield _contradiction(config, "head_biases", "heads", "set model.heads = 4")
    if config.variational_dropout and not config.dropout and not config.input_dropout:
        yield _contradiction(
            config, "variational_dropout", "dropout", "set model.variational_dropout = false"
        )


def _contradiction(config: ModelConfig, first: str, second: str, advice: str) -> str:
    return incompatible("model", config, first, second, advice)
