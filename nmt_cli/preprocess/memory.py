"""How much memory training will take, from the settings alone: an estimate, made without building the model."""

from nmt_cli.config import Config, ModelConfig

_FLOAT = 4
_GATES = {"rnn": 1, "gru": 3, "lstm": 4, "transformer": 12}  # kept for each token, in multiples of H


def count_parameters(model: ModelConfig, source_size: int, target_size: int, *, joint: bool) -> int:
    """The weights of a model with vocabularies of these sizes."""
    E, H, F = model.embedding_size, model.hidden_size, model.features_size
    tying = model.tying(joint=joint)
    words = target_size * E + (0 if tying == "all" or model.is_language_model else source_size * E)
    output = target_size * ((0 if tying != "none" else F) + 1)
    if model.cell == "transformer":
        return words + _transformer(model, E, H) + output
    return words + _encoder(model, E, H) + _decoder(model, E, H, F) + _attention(model, H) + output


def estimate_training_memory(
    config: Config, source_size: int, target_size: int, *, joint: bool, mean_length: float, longest: int
) -> int:
    """Bytes: the weights, their gradients, two moments of the optimizer and the moving average, and one batch.

    For the backward pass each layer keeps its gates, states and outputs of every token, source and target.
    """
    model, train = config.model, config.train
    weights = count_parameters(model, source_size, target_size, joint=joint)
    tokens = train.batch_sentences * mean_length if train.batch_sentences else train.batch_tokens
    layers = model.encoder_layers + model.decoder_layers
    kept = (
        layers * (_GATES[model.cell] + 3) * model.hidden_size
        + 4 * model.embedding_size
        + 6 * model.hidden_size
    )
    attention = 0 if model.attention == "none" else 3 * longest
    logits = 2 * min(model.loss_chunk_tokens, tokens) * target_size
    return int(_FLOAT * (5 * weights + tokens * (kept + attention) + logits))


def _layer(model: ModelConfig, inputs: int, size: int) -> int:
    return _GATES[model.cell] * size * (inputs + size + 2)


def _transformer(model: ModelConfig, E: int, H: int) -> int:
    attention, feed_forward = 4 * H * H, 2 * H * (model.feedforward_size or 4 * H)
    layers = model.encoder_layers * (attention + feed_forward)
    layers += model.decoder_layers * (2 * attention + feed_forward)
    return layers + (2 * E * H if E != H else 0)


def _encoder(model: ModelConfig, E: int, H: int) -> int:
    total = 0
    for number in range(model.encoder_layers):
        both = model.bidirectional == "all" or (model.bidirectional == "first" and number == 0)
        inputs = E if number == 0 else H
        size = H // 2 if both else H
        total += (2 if both else 1) * (_layer(model, inputs, size) + _tape(model, inputs, size, "encoder"))
    return total


def _decoder(model: ModelConfig, E: int, H: int, F: int) -> int:
    fed = H if model.query == "before" or model.context_every_step else F if model.input_feeding else 0
    upper = 2 * H if model.attention_layer == "bottom" else H
    layers = _layer(model, E + fed, H) + (model.decoder_layers - 1) * _layer(model, upper, H)
    layers += _tape(model, E + fed, H, "decoder") + (model.decoder_layers - 1) * _tape(
        model, upper, H, "decoder"
    )
    projected = model.initial_state in ("projection", "mean")
    first_state = model.decoder_layers * H * (H + 1) if projected else 0
    first_state += H * (H + 1) if model.context_every_step else 0
    if model.readout == "state":
        return layers + first_state
    if model.readout == "attentional":
        return layers + first_state + 2 * H * F
    return layers + first_state + (2 * H + E) * F * (2 if model.readout == "maxout" else 1)


def _tape(model: ModelConfig, inputs: int, size: int, side: str) -> int:
    return size * (inputs + 2 * size) if model.intra_attention in (side, "both") else 0


def _attention(model: ModelConfig, H: int) -> int:
    projections = 0 if model.heads is None else 3 * H * H
    H //= model.heads or 1
    A = model.attention_size or H
    sizes = {
        "general": H * H,
        "additive": 2 * H * A + A,
        "concat": 2 * H * H + H,
        "projected_dot": 2 * A * (H + 1),
        "location": H * model.attention_positions,
    }
    return projections + sizes.get(model.attention, 0)
