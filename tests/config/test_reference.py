"""The reference of the settings is generated from the schema."""

import re
from pathlib import Path

from nmt_cli.config import resolve, setting_names
from nmt_cli.config.layers import describe_settings, reference_markdown, to_toml

REPOSITORY = Path(__file__).resolve().parents[2]


def test_every_setting_has_a_type_and_one_line_of_help() -> None:
    rows = list(describe_settings())
    assert [row.name for row in rows] == setting_names()
    assert len(rows) > 20
    for row in rows:
        assert row.type, row.name
        assert 10 < len(row.meaning) < 180, row.name
        assert not row.meaning.endswith("."), row.name
        assert not re.search(r"(?<!`)<\w+>", row.meaning), f"{row.name}: Markdown drops HTML tags"


def test_the_resolved_settings_written_as_toml_resolve_to_the_same(tmp_path: Path) -> None:
    resolved = resolve(
        None,
        [
            "train.seed=5",
            'vocabulary.symbols=["<\\"b\\">"]',
            "data.max_ratio=3",
            "data.normalization=a b.tsv",
        ],
    )
    file = tmp_path / "again.toml"
    file.write_text(to_toml(resolved), encoding="utf-8")
    assert resolve(file).config == resolved.config


def test_the_reference_page_is_up_to_date() -> None:
    page = REPOSITORY / "docs" / "configuration.md"
    assert page.read_text(encoding="utf-8") == reference_markdown(), (
        "run: nmt config --markdown > docs/configuration.md"
    )
