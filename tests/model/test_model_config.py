"""Settings of the section `model`: presets, and contradictions that name both settings."""

from typing import Any

import pytest
from pydantic import ValidationError

from nmt_cli.config.layers import resolve
from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import TRANSLATION_PRESETS
from nmt_cli.errors import ConfigError

NO_ATTENTION = {"attention": "none", "readout": "state"}
FEEDING = {"input_feeding": True}
TRANSFORMER = dict(TRANSLATION_PRESETS["vaswani2017"].settings)
CONTRADICTIONS: list[tuple[dict[str, Any], str, str]] = [
    (
        NO_ATTENTION | {"input_feeding": True, "readout": "attentional"},
        "input_feeding = true",
        "attention = none",
    ),
    (NO_ATTENTION | {"query": "before"}, "query = before", "attention = none"),
    (NO_ATTENTION | {"attention_layer": "bottom"}, "attention_layer = bottom", "attention = none"),
    (NO_ATTENTION | {"readout": "attentional"}, "readout = attentional", "attention = none"),
    ({"context_every_step": True}, "context_every_step = true", "attention = general"),
    (FEEDING | {"query": "before"}, "input_feeding = true", "query = before"),
    (
        {"attention_layer": "bottom", "encoder_layers": 1, "decoder_layers": 1},
        "attention_layer = bottom",
        "decoder_layers = 1",
    ),
    ({"attention_layer": "bottom", "query": "before"}, "attention_layer = bottom", "query = before"),
    (FEEDING | {"attention_layer": "bottom"}, "attention_layer = bottom", "input_feeding = true"),
    ({"attention_size": 10}, "attention_size = 10", "attention = general"),
    (FEEDING | {"readout": "maxout"}, "input_feeding = true", "readout = maxout"),
    ({"readout": "state"}, "readout = state", "query = after"),
    (NO_ATTENTION | {"readout_size": 10}, "readout_size = 10", "readout = state"),
    ({"tied_embeddings": "decoder", "readout_size": 10}, "tied_embeddings = decoder", "readout_size = 10"),
    (NO_ATTENTION | {"tied_embeddings": "all"}, "tied_embeddings = all", "hidden_size = 512"),
    ({"hidden_size": 511}, "bidirectional = all", "hidden_size = 511"),
    ({"encoder_layers": 3}, "initial_state = copy", "encoder_layers = 3"),
    ({"residual": True, "encoder_layers": 1, "decoder_layers": 1}, "residual = true", "decoder_layers = 1"),
    ({"variational_dropout": True, "dropout": 0.0}, "variational_dropout = true", "dropout = 0.0"),
    ({"heads": 3}, "heads = 3", "hidden_size = 512"),
    ({"head_biases": True}, "head_biases = true", "heads = not set"),
    (NO_ATTENTION | {"heads": 4}, "heads = 4", "attention = none"),
    ({"heads": 4, "hard_attention": True}, "heads = 4", "hard_attention = true"),
    ({"heads": 4, "attention": "additive", "coverage": True}, "heads = 4", "coverage = true"),
    ({"attention_span": "local-m"}, "attention_span = local-m", "attention_window = not set"),
    ({"attention_window": 5}, "attention_window = 5", "attention_span = global"),
    (
        NO_ATTENTION | {"attention_span": "local-p", "attention_window": 5},
        "attention_span = local-p",
        "attention = none",
    ),
    (NO_ATTENTION | {"hard_attention": True}, "hard_attention = true", "attention = none"),
    (
        {"hard_attention": True, "attention_span": "local-p", "attention_window": 5},
        "hard_attention = true",
        "attention_span = local-p",
    ),
    ({"entropy_weight": 0.5}, "entropy_weight = 0.5", "hard_attention = false"),
    ({"coverage": True}, "coverage = true", "attention = general"),
    ({"coverage_loss": 1.0}, "coverage_loss = 1.0", "coverage = false"),
    (
        {"coverage_loss": 1.0, "coverage": True, "attention": "concat", "hard_attention": True},
        "coverage_loss = 1.0",
        "hard_attention = true",
    ),
    ({"attention_positions": 100}, "attention_positions = 100", "attention = general"),
    ({"cell": "gru", "intra_attention": "both"}, "intra_attention = both", "cell = gru"),
    ({"feedforward_size": 100}, "feedforward_size = 100", "cell = lstm"),
    ({"norm": "post"}, "norm = post", "cell = lstm"),
    (FEEDING | {"cell": "transformer"}, "input_feeding = true", "cell = transformer"),
    ({"cell": "transformer"}, "heads = not set", "cell = transformer"),
    ({"activation": "gelu"}, "activation = gelu", "cell = lstm"),
    (TRANSFORMER | {"attention": "additive"}, "attention = additive", "cell = transformer"),
    (TRANSFORMER | {"initial_state": "mean"}, "initial_state = mean", "cell = transformer"),
    (TRANSFORMER | {"intra_attention": "encoder"}, "intra_attention = encoder", "cell = transformer"),
    (TRANSFORMER | {"hard_attention": True}, "hard_attention = true", "cell = transformer"),
    (TRANSFORMER | {"residual": False}, "residual = false", "cell = transformer"),
    (TRANSFORMER | {"heads": 5}, "heads = 5", "hidden_size = 256"),
    (TRANSFORMER | {"context_every_step": True}, "context_every_step = true", "attention = scaled_dot"),
    (NO_ATTENTION | {"copying": True}, "copying = true", "attention = none"),
    (TRANSFORMER | {"copying": True}, "copying = true", "cell = transformer"),
    ({"copying": True, "hard_attention": True}, "copying = true", "hard_attention = true"),
    (
        {"copying": True, "attention_span": "local-p", "attention_window": 5},
        "copying = true",
        "attention_span = local-p",
    ),
    ({"copying": True, "encoder_layers": 0}, "copying = true", "encoder_layers = 0"),
    ({"copying": True, "source": "image"}, "copying = true", "source = image"),
]


@pytest.mark.parametrize(("settings", "one", "other"), CONTRADICTIONS)
def test_a_contradiction_names_both_settings_and_says_what_to_do(
    settings: dict[str, Any], one: str, other: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        ModelConfig(**settings)
    messages = str(caught.value).split("; ")
    assert any(f"model.{one}" in message and f"model.{other}" in message for message in messages)
    assert "is incompatible with" in str(caught.value)
    assert any(message.startswith(("set ", "leave out ", "the context")) for message in messages)


def test_all_contradictions_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignments=["model.attention=none", "model.input_feeding=true", "model.hidden_size=7"])
    for text in ("model.input_feeding = true", "model.readout = attentional", "model.hidden_size = 7"):
        assert text in caught.value.message


def test_there_are_seven_presets_and_each_is_consistent() -> None:
    assert list(TRANSLATION_PRESETS) == [
        "sutskever2014",
        "cho2014",
        "bahdanau2015",
        "luong2015",
        "cheng2016",
        "gnmt2016",
        "vaswani2017",
    ]
    for name, preset in TRANSLATION_PRESETS.items():
        config = ModelConfig.from_preset(name)
        assert config.preset == name
        assert preset.summary
        assert preset.paper[-1].isalpha()
        assert "softmax" in preset.equations
        assert all(getattr(config, key) == value for key, value in preset.settings.items())


def test_a_transformer_may_have_sides_of_different_depth() -> None:
    config = ModelConfig.from_preset("vaswani2017", encoder_layers=6, decoder_layers=1)
    assert (config.encoder_layers, config.decoder_layers) == (6, 1)


def test_resolving_a_preset_gives_its_settings() -> None:
    for name in TRANSLATION_PRESETS:
        assert resolve(assignments=[f"model.preset={name}"]).config.model == ModelConfig.from_preset(name)


def test_an_unknown_preset_is_rejected_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignments=["model.preset=bahdanau2014"])
    assert "did you mean bahdanau2015" in caught.value.message


def test_every_setting_has_a_one_line_description() -> None:
    for name, field in ModelConfig.model_fields.items():
        assert field.description, name
        assert "\n" not in field.description
