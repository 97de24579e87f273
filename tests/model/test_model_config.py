"""Settings of the section `model`: presets, and contradictions that name both settings."""

from typing import Any

import pytest
from pydantic import ValidationError

from nmt_cli.config.layers import resolve
from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import PRESETS
from nmt_cli.errors import ConfigError

NO_ATTENTION = {"attention": "none", "input_feeding": False, "readout": "state"}
PLAIN = {"input_feeding": False}
CONTRADICTIONS: list[tuple[dict[str, Any], str, str]] = [
    (
        NO_ATTENTION | {"input_feeding": True, "readout": "attentional"},
        "input_feeding = true",
        "attention = none",
    ),
    (NO_ATTENTION | {"query": "before"}, "query = before", "attention = none"),
    (NO_ATTENTION | {"attention_layer": "bottom"}, "attention_layer = bottom", "attention = none"),
    (NO_ATTENTION | {"readout": "attentional"}, "readout = attentional", "attention = none"),
    (PLAIN | {"context_every_step": True}, "context_every_step = true", "attention = general"),
    ({"query": "before"}, "input_feeding = true", "query = before"),
    (
        PLAIN | {"attention_layer": "bottom", "encoder_layers": 1, "decoder_layers": 1},
        "attention_layer = bottom",
        "decoder_layers = 1",
    ),
    (PLAIN | {"attention_layer": "bottom", "query": "before"}, "attention_layer = bottom", "query = before"),
    ({"attention_layer": "bottom"}, "attention_layer = bottom", "input_feeding = true"),
    ({"attention_size": 10}, "attention_size = 10", "attention = general"),
    ({"readout": "maxout"}, "input_feeding = true", "readout = maxout"),
    (PLAIN | {"readout": "state"}, "readout = state", "query = after"),
    (NO_ATTENTION | {"readout_size": 10}, "readout_size = 10", "readout = state"),
    ({"tied_embeddings": "decoder", "readout_size": 10}, "tied_embeddings = decoder", "readout_size = 10"),
    (NO_ATTENTION | {"tied_embeddings": "all"}, "tied_embeddings = all", "hidden_size = 512"),
    ({"hidden_size": 511}, "bidirectional = all", "hidden_size = 511"),
    ({"encoder_layers": 3}, "initial_state = copy", "encoder_layers = 3"),
    ({"residual": True, "encoder_layers": 1, "decoder_layers": 1}, "residual = true", "decoder_layers = 1"),
    ({"variational_dropout": True, "dropout": 0.0}, "variational_dropout = true", "dropout = 0.0"),
]


@pytest.mark.parametrize(("settings", "one", "other"), CONTRADICTIONS)
def test_a_contradiction_names_both_settings_and_says_what_to_do(
    settings: dict[str, Any], one: str, other: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        ModelConfig(**settings)
    messages = str(caught.value).split("; ")
    assert any(f"model.{one}" in message and f"model.{other}" in message for message in messages)
    assert "contradicts" in str(caught.value)
    assert any(message.startswith(("set ", "leave out ", "the context")) for message in messages)


def test_all_contradictions_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignments=["model.attention=none", "model.hidden_size=7"])
    for text in ("model.input_feeding = true", "model.readout = attentional", "model.hidden_size = 7"):
        assert text in caught.value.message


def test_there_are_five_presets_and_each_is_consistent() -> None:
    assert list(PRESETS) == ["sutskever2014", "cho2014", "bahdanau2015", "luong2015", "gnmt2016"]
    for name, preset in PRESETS.items():
        config = ModelConfig.from_preset(name)
        assert config.preset == name
        assert preset.title
        assert preset.paper[-1].isalpha()
        assert "softmax" in preset.equations
        changed = {key for key in preset.settings if getattr(config, key) != getattr(ModelConfig(), key)}
        assert changed == set(preset.settings), "a preset repeats a default"


def test_resolving_a_preset_gives_its_settings() -> None:
    for name in PRESETS:
        assert resolve(assignments=[f"model.preset={name}"]).config.model == ModelConfig.from_preset(name)


def test_an_unknown_preset_is_refused_and_the_nearest_named() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignments=["model.preset=bahdanau2014"])
    assert "nearest: bahdanau2015" in caught.value.message


def test_every_setting_has_one_line_of_meaning() -> None:
    for name, field in ModelConfig.model_fields.items():
        assert field.description, name
        assert "\n" not in field.description
