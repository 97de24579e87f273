"""Settings of a preset outside of the section `model`, which any explicit setting overrides."""

from pathlib import Path

import pytest

from nmt_cli.config import TRANSLATION_PRESETS, resolve
from nmt_cli.errors import ConfigError
from nmt_cli.training.settings import changed_settings, with_model_settings

TRANSFORMER = "model.preset=vaswani2017"
RATE = "train.learning_rate"


def test_the_transformer_preset_sets_its_learning_rate() -> None:
    default = resolve().config.train.learning_rate
    resolved = resolve(None, [TRANSFORMER])
    assert resolved.config.train.learning_rate == TRANSLATION_PRESETS["vaswani2017"].others[RATE] < default
    assert resolved.provenance[RATE] == "preset vaswani2017"


def test_an_explicit_learning_rate_overrides_the_preset(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[train]\nlearning_rate = 3e-4\n", "utf-8")
    assert resolve(None, [TRANSFORMER, f"{RATE}=4e-4"]).config.train.learning_rate == 4e-4
    assert resolve(file, [TRANSFORMER]).config.train.learning_rate == 3e-4


def test_init_inherits_the_learning_rate_of_the_preset() -> None:
    other = resolve(None, [TRANSFORMER])
    begun = with_model_settings(resolve(), other)
    assert begun.config.model == other.config.model
    assert begun.config.train.learning_rate == other.config.train.learning_rate
    assert begun.provenance[RATE] == "--init"
    assert with_model_settings(resolve(None, [f"{RATE}=1e-4"]), other).config.train.learning_rate == 1e-4


def test_init_inherits_no_other_training_settings() -> None:
    other = resolve(None, ["model.hidden_size=64", f"{RATE}=1e-4"])
    begun = with_model_settings(resolve(), other)
    assert begun.config.model.hidden_size == 64
    assert begun.config.train == resolve().config.train


def test_init_rejects_another_preset_because_it_fixes_the_model() -> None:
    with pytest.raises(
        ConfigError, match="vaswani2017, but --init fixes the model, which is luong2015"
    ) as caught:
        with_model_settings(resolve(None, [TRANSFORMER]), resolve())
    assert "leave out the preset" in caught.value.hint


def test_naming_the_preset_again_with_init_keeps_settings_that_override_it() -> None:
    other = resolve(None, [TRANSFORMER, f"{RATE}=1e-4", "model.encoder_layers=1"])
    begun = with_model_settings(resolve(None, [TRANSFORMER, "model.dropout=0.3"]), other)
    assert begun.config.model.encoder_layers == 1
    assert begun.config.model.dropout == 0.3
    assert begun.config.train.learning_rate == 1e-4


def test_naming_the_preset_again_on_resume_keeps_settings_that_override_it() -> None:
    before = resolve(None, [TRANSFORMER, f"{RATE}=1e-4", "model.encoder_layers=1"])
    changes = changed_settings(before, resolve(None, [TRANSFORMER, "train.max_epochs=20"]))
    assert changes.listed == ("train.max_epochs = 6 → 20",)
    assert changes.resolved.config.train.learning_rate == 1e-4
    assert changes.resolved.config.model.encoder_layers == 1
