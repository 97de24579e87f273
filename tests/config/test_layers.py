"""Layers of settings, and the errors for wrong ones."""

import json
from pathlib import Path

import pytest

from nmt_cli.config import TRANSLATION_PRESETS, Config, load_resolved, resolve, setting_names
from nmt_cli.errors import ConfigError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_without_layers_everything_is_a_default() -> None:
    resolved = resolve()
    assert resolved.config == Config()
    assert set(resolved.provenance) == set(setting_names())
    assert set(resolved.provenance.values()) == {"default"}


def test_a_file_overrides_defaults_and_set_overrides_a_file(tmp_path: Path) -> None:
    file = write(tmp_path / "a.toml", "[train]\nseed = 3\nbatch_tokens = 100\n[vocabulary]\nsize = 500\n")
    resolved = resolve(file, ["train.seed=4", "vocabulary.kind=unigram"])
    assert (resolved.config.train.seed, resolved.config.train.batch_tokens) == (4, 100)
    assert (resolved.config.vocabulary.size, resolved.config.vocabulary.kind) == (500, "unigram")
    assert resolved.provenance["train.seed"] == "--set"
    assert resolved.provenance["train.batch_tokens"] == f"file {file}"
    assert resolved.provenance["search.beam_size"] == "default"


@pytest.mark.parametrize("name", TRANSLATION_PRESETS)
def test_a_preset_overrides_defaults_and_a_file_overrides_the_preset(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "a.toml", f'[model]\npreset = "{name}"\nembedding_size = 17\n')
    resolved = resolve(file)
    assert resolved.config.model.preset == name
    assert resolved.config.model.embedding_size == 17
    assert resolved.provenance["model.embedding_size"] == f"file {file}"
    for key, value in TRANSLATION_PRESETS[name].settings.items():
        if key != "embedding_size":
            assert getattr(resolved.config.model, key) == value
            assert resolved.provenance[f"model.{key}"] == f"preset {name}"


def test_a_later_set_wins() -> None:
    assert resolve(None, ["train.seed=1", "train.seed=2"]).config.train.seed == 2


def test_set_parses_numbers_booleans_lists_and_plain_text() -> None:
    texts = [
        "data.max_ratio=2.5",
        "data.blank=false",
        'vocabulary.symbols=["<a>", "<b>"]',
        "data.normalization=x y.tsv",
    ]
    config = resolve(None, texts).config
    assert config.data.max_ratio == 2.5
    assert config.data.blank is False
    assert config.vocabulary.symbols == ("<a>", "<b>")
    assert config.data.normalization == Path("x y.tsv")


def test_norwegian_is_not_parsed_as_a_boolean(tmp_path: Path) -> None:
    file = write(tmp_path / "a.toml", '[vocabulary]\nsymbols = ["no", "off", "yes"]\n')
    assert resolve(file).config.vocabulary.symbols == ("no", "off", "yes")


def test_all_errors_are_reported_together_with_file_and_key(tmp_path: Path) -> None:
    file = write(tmp_path / "bad.toml", "seed = 1\n[train]\nsed = 3\n[vocabulary]\nsize = 0\n")
    with pytest.raises(ConfigError) as caught:
        resolve(file, ["serch.beam_size=3", "search.beam_size=0", "nonsense"])
    message = caught.value.message
    assert f"{file}: seed is outside of any [section]" in message
    assert f"{file}: train.sed is not a setting (did you mean train.seed?)" in message
    assert f"vocabulary.size = 0 (file {file})" in message
    assert "--set serch.beam_size is not a setting (did you mean search.beam_size?)" in message
    assert "search.beam_size = 0 (--set): input should be greater than or equal to 1" in message
    assert "--set nonsense: expected section.key=value" in message


def test_a_key_without_its_section_suggests_the_section() -> None:
    with pytest.raises(ConfigError, match=r"did you mean train\.batch_tokens"):
        resolve(None, ["batch_tokens=3"])


def test_a_contradiction_names_both_settings() -> None:
    with pytest.raises(ConfigError, match=r"vocabulary\.kind = word.*vocabulary\.byte_fallback"):
        resolve(None, ["vocabulary.kind=word", "vocabulary.byte_fallback=true"])


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"luong2015"):
        resolve(None, ["model.preset=luong2016"])


@pytest.mark.parametrize("content", ["[train\nseed=1", "[train]\nseed = \n", "[train]\nseed = no\n"])
def test_invalid_toml_is_a_single_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigError, match="is not valid TOML") as caught:
        resolve(write(tmp_path / "a.toml", content))
    assert caught.value.hint


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*no\.toml"):
        resolve(tmp_path / "no.toml")


def test_resolved_settings_survive_a_round_trip_through_json(tmp_path: Path) -> None:
    resolved = resolve(None, ["train.seed=7", "data.normalization=a.tsv", 'vocabulary.symbols=["<x>"]'])
    path = write(tmp_path / "config.json", resolved.to_json())
    assert load_resolved(path.read_bytes()) == resolved
    assert json.loads(path.read_text())["provenance"]["train.seed"] == "--set"
