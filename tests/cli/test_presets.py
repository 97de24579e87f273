"""`nmt presets` shows what there is."""

import pytest

from nmt_cli.config import PRESETS, TRANSLATION_PRESETS

from .conftest import Run


def test_every_preset_has_one_line(nmt: Run) -> None:
    outcome = nmt("presets")
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.stdout.strip().split("\n")] == list(PRESETS)
    assert {"sutskever2014", "cho2014", "bahdanau2015", "luong2015", "gnmt2016"} <= set(TRANSLATION_PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_shown_with_equations_paper_settings_and_parameters(nmt: Run, name: str) -> None:
    outcome = nmt("presets", name)
    assert outcome.code == 0
    preset = PRESETS[name]
    assert preset.paper in outcome.stdout
    assert preset.equations in outcome.stdout
    before, _, after = outcome.stdout.partition("# default values")
    for key in (*(f"model.{key}" for key in preset.settings), *preset.others):
        assert f"\n{key} = " in before
        assert f"\n{key} = " not in after
    assert "parameters with a joint vocabulary of 8000 tokens" in after


def test_an_unknown_preset_names_the_nearest(nmt: Run) -> None:
    outcome = nmt("presets", "bahdanau")
    assert outcome.code == 2
    assert "did you mean bahdanau2015" in outcome.error
