"""The description of the settings is made from the schema and can be read back."""

from pathlib import Path

from nmt_cli.config import resolve, setting_names
from nmt_cli.config.reference import describe_settings, reference_markdown, to_toml

REPOSITORY = Path(__file__).resolve().parents[2]


def test_every_setting_has_a_type_and_a_meaning() -> None:
    rows = list(describe_settings())
    assert [row.name for row in rows] == setting_names()
    assert len(rows) > 20
    for row in rows:
        assert row.type, row.name
        assert 10 < len(row.meaning) < 180, row.name
        assert not row.meaning.endswith("."), row.name


def test_the_resolved_result_is_a_file_with_the_same_result(tmp_path: Path) -> None:
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
