"""Defaults that depend on the size of the corpus."""

from pathlib import Path

import pytest

from nmt_cli.config import CORPUS_SIZES, Config, corpus_defaults, resolve, setting_names
from nmt_cli.data.directory import DataDirectory
from nmt_cli.training.settings import with_data_settings


@pytest.mark.parametrize(("pairs", "row"), [(1, 0), (10_000, 0), (10_001, 1), (25_001, 2), (999_999, 3), (10**9, 4)])
def test_the_corpus_size_selects_the_row(pairs: int, row: int) -> None:
    assert corpus_defaults(pairs) == CORPUS_SIZES[row][1]


@pytest.mark.parametrize("row", range(len(CORPUS_SIZES)))
def test_every_row_is_a_valid_configuration(row: int) -> None:
    settings = CORPUS_SIZES[row][1]
    assert set(settings) <= set(setting_names())
    resolve(None, [f"{name}={value}" for name, value in settings.items()])


def test_more_data_means_larger_batches_fewer_epochs_and_less_dropout() -> None:
    plain = Config()
    batches, epochs, dropout = (
        [
            settings.get(f"{section}.{key}", getattr(getattr(plain, section), key))
            for _, settings in CORPUS_SIZES
        ]
        for section, key in (("train", "batch_tokens"), ("train", "max_epochs"), ("model", "dropout"))
    )
    assert batches == sorted(batches)
    assert epochs == sorted(epochs, reverse=True)
    assert dropout == sorted(dropout, reverse=True)


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
