"""Defaults that depend on the size of the corpus."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.config import (
    CORPUS_SIZES,
    PRESETS,
    TRANSLATION_PRESETS,
    Config,
    CorpusSize,
    corpus_defaults,
    resolve,
    setting_names,
)
from nmt_cli.data.directory import DataDirectory
from nmt_cli.training.settings import with_data_settings


@pytest.mark.parametrize(
    ("pairs", "row"),
    [
        *((1, 0), (10_000, 0), (10_001, 1), (25_000, 1), (25_001, 2), (100_000, 2)),
        *((100_001, 3), (1_000_000, 3), (1_000_001, 4), (10**9, 4)),
    ],
)
def test_the_corpus_size_selects_the_row(pairs: int, row: int) -> None:
    size = CORPUS_SIZES[row]
    assert corpus_defaults(pairs) == size.settings
    assert corpus_defaults(pairs, slower=True) == {**size.settings, **size.slower}


@pytest.mark.parametrize("size", CORPUS_SIZES, ids=lambda size: f"{size.pairs:g}")
def test_every_row_is_a_valid_configuration(size: CorpusSize) -> None:
    settings = {**size.settings, **size.slower}
    assert set(settings) <= set(setting_names())
    resolve(None, [f"{name}={value}" for name, value in settings.items()])


def test_more_data_means_larger_batches_fewer_epochs_and_less_dropout() -> None:
    plain = Config()
    rows = [{**size.settings, **size.slower} for size in CORPUS_SIZES]
    batches, epochs, dropout = (
        [settings.get(f"{section}.{key}", getattr(getattr(plain, section), key)) for settings in rows]
        for section, key in (("train", "batch_tokens"), ("train", "max_epochs"), ("model", "dropout"))
    )
    assert batches == sorted(batches)
    assert epochs == sorted(epochs, reverse=True)
    assert dropout == sorted(dropout, reverse=True)


def test_the_translation_presets_but_the_transformer_use_the_default_learning_rate() -> None:
    lower = {name: preset.others.get("train.learning_rate", 4e-3) for name, preset in PRESETS.items()}
    recurrent = set(TRANSLATION_PRESETS) - {"vaswani2017"}
    assert {name for name, rate in lower.items() if rate == Config().train.learning_rate} == recurrent
    assert max(rate for name, rate in lower.items() if name not in recurrent) == 2e-3


@pytest.mark.parametrize(
    ("preset", "pairs", "rate", "epochs"),
    [
        ("luong2015", 50_000, 4e-3, 6),
        ("vaswani2017", 50_000, 1e-3, 10),
        ("vaswani2017", 500_000, 1e-3, 6),
        ("luong2015", 2_000_000, 2e-3, 5),
        ("vaswani2017", 2_000_000, 1e-3, 5),
    ],
)
def test_presets_with_a_lower_learning_rate_keep_it_and_train_longer(
    preset: str, pairs: int, rate: float, epochs: int, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defaults(_: int, *, slower: bool) -> Mapping[str, Any]:
        return corpus_defaults(pairs, slower=slower)

    monkeypatch.setattr("nmt_cli.training.settings.corpus_defaults", defaults)
    resolved = with_data_settings(resolve(None, [f"model.preset={preset}"]), DataDirectory.open(data))
    assert (resolved.config.train.learning_rate, resolved.config.train.max_epochs) == (rate, epochs)


def test_defaults_by_corpus_size_never_override_explicit_settings(data: Path) -> None:
    opened = DataDirectory.open(data)
    name, value = next(iter(corpus_defaults(len(opened.train)).items()))
    scaled = with_data_settings(resolve(), opened)
    section, _, key = name.partition(".")
    assert getattr(getattr(scaled.config, section), key) == value
    assert scaled.provenance[name] == f"default for {len(opened.train):,} pairs"
    chosen = with_data_settings(resolve(None, [f"{name}={value * 2}"]), opened)
    assert getattr(getattr(chosen.config, section), key) == value * 2
    assert chosen.provenance[name] == "--set"


def test_a_new_recurrent_run_drops_a_third_as_much_of_its_word_vectors(data: Path) -> None:
    opened = DataDirectory.open(data)
    model = with_data_settings(resolve(None, ["model.dropout=0.3"]), opened).config.model
    assert (model.input_dropout, model.input_dropout_rate) == (0.1, 0.1)
    chosen = with_data_settings(resolve(None, ["model.input_dropout=0.2"]), opened).config.model
    assert chosen.input_dropout_rate == 0.2
    transformer = with_data_settings(resolve(None, ["model.preset=vaswani2017"]), opened).config.model
    assert transformer.input_dropout_rate == transformer.dropout


def test_runs_of_earlier_versions_keep_their_dropout() -> None:
    assert (
        Config.model_validate({"model": {"dropout": 0.3, "input_dropout": None}}).model.input_dropout_rate
        == 0.3
    )
