"""The tables of presets in the documentation are those of the code."""

import re
from pathlib import Path

import pytest

from nmt_cli.config import PRESETS

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/models.md"])
def test_the_preset_table_has_one_row_per_preset_with_its_summary(page: str) -> None:
    text = (REPOSITORY / page).read_text("utf-8")
    table = text.partition("| preset | system |\n")[2].partition("\n\n")[0]
    rows = [
        (re.findall(r"`(\w+)`", names), summary.strip())
        for names, summary in re.findall(r"^\|([^|]+)\|([^|]+)\|$", table, re.MULTILINE)
        if not names.strip().startswith("---")
    ]
    assert rows == [([name], preset.summary) for name, preset in PRESETS.items()]
