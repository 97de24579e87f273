"""Monolingual text is preprocessed like parallel text, with empty sources."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.config import resolve
from nmt_cli.data.directory import DataDirectory, Split
from nmt_cli.errors import DataWarning, UsageError
from nmt_cli.preprocessing import DataCard, PreprocessRequest, Report, preprocess

SENTENCE = "sentence {} of many, which goes on and on for quite a while and has no end that one could see"


def write(path: Path, lines: list[str]) -> str:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return str(path)


def run(
    folder: Path, lines: list[str], *settings: str, reports: list[Report] | None = None, **options: Any
) -> DataCard:
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        train=[write(folder / "train.txt", lines)],
        out=folder / "out",
        settings=resolve(None, ["vocabulary.size=320", *settings]),
        **options,
    )
    return preprocess(request, (reports if reports is not None else []).append)


def texts(split: Split | None) -> list[str]:
    assert split is not None
    rows = np.arange(len(split))
    assert split.texts(rows, "source") == [""] * len(split)
    assert not split.source_lengths.any()
    return split.texts(rows, "target")


def test_the_data_directory_has_the_text_as_target_and_empty_sources(tmp_path: Path) -> None:
    lines = [SENTENCE.format(n) for n in range(40)]
    run(tmp_path, lines, "data.valid_size=0", "data.test_size=0")
    data = DataDirectory.open(tmp_path / "out", hashes=True)
    assert texts(data.train) == lines
    assert data.is_monolingual
    assert (data.source_lang, data.target_lang) == ("", "en")
    assert data.vocabularies.joint
    assert data.resolved.provenance["data.length_ratio"] == "monolingual text"


def test_filters_drop_bad_text_and_nothing_else(tmp_path: Path) -> None:
    good = [SENTENCE.format(n) for n in range(40)] + ["short"]
    bad = ["", "  ", "bad\x01control", good[3], "long " * 300]
    card = run(tmp_path, good + bad, "data.valid_size=0", "data.test_size=0")
    assert texts(DataDirectory.open(tmp_path / "out").train) == good
    assert card.drop_log.counts == {"blank": 2, "control": 1, "duplicate": 1, "too_long": 1}
    dropped = json.loads((tmp_path / "out" / "data-card.json").read_text())["dropped"]
    assert dropped["duplicate"]["examples"] == [
        {"corpus": str(tmp_path / "train.txt"), "line": 45, "source": "", "target": good[3]}
    ]
    assert f"line 45: `{good[3]}`" in (tmp_path / "out" / "data-card.md").read_text()


def test_sets_are_held_out_and_share_no_text_with_train(tmp_path: Path) -> None:
    lines = [SENTENCE.format(n) for n in range(200)]
    reports: list[Report] = []
    run(tmp_path, lines, reports=reports)
    data = DataDirectory.open(tmp_path / "out")
    train, valid, test = texts(data.train), texts(data.valid), texts(data.test)
    assert (len(train), len(valid), len(test)) == (180, 10, 10)
    assert sorted(train + valid + test) == sorted(lines)
    assert (tmp_path / "out" / "valid.en").read_text().split("\n")[:-1] == valid
    assert {path.name for path in (tmp_path / "out").glob("valid.*")} == {"valid.arrow", "valid.en"}
    assert [report for report in reports if isinstance(report, DataWarning)] == []


def test_given_sets_keep_every_line_and_are_removed_from_train(tmp_path: Path) -> None:
    lines = [SENTENCE.format(n) for n in range(40)]
    valid = [lines[5], "", "not in train"]
    card = run(tmp_path, lines, "data.test_size=0", valid=[write(tmp_path / "valid.txt", valid)])
    data = DataDirectory.open(tmp_path / "out")
    assert texts(data.valid) == valid
    assert texts(data.train) == lines[:5] + lines[6:]
    assert card.drop_log.counts == {"in_heldout": 1}


def test_the_card_is_about_one_language(tmp_path: Path) -> None:
    card = run(tmp_path, [SENTENCE.format(n) for n in range(40)], "data.valid_size=0", "data.test_size=0")
    (tokens,) = (table for table in card.tables() if table.title == "Tokens")
    assert [row[:3] for row in tokens.rows] == [("train", "en", "40")]
    markdown = (tmp_path / "out" / "data-card.md").read_text()
    assert markdown.startswith("# Data card: en\n")
    assert "| tokens | en |" in markdown


def test_text_in_another_language_is_a_warning(tmp_path: Path) -> None:
    german = [
        f"das ist der Satz {n} und er ist nicht auf der Liste, die wir mit der Hand haben" for n in range(60)
    ]
    reports: list[Report] = []
    run(tmp_path, german, "data.valid_size=0", "data.test_size=0", reports=reports)
    (warning,) = (report for report in reports if isinstance(report, DataWarning))
    assert warning.name == "wrong-language"


@pytest.mark.parametrize(
    "setting", ["data.length_ratio=true", "data.copy_of_source=true", "vocabulary.joint=false"]
)
def test_settings_that_need_a_source_are_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(UsageError, match=setting.partition("=")[0]) as caught:
        run(tmp_path, ["a"], setting)
    assert "--source-lang" in caught.value.hint


def test_a_vocabulary_can_be_given(tmp_path: Path) -> None:
    lines = [SENTENCE.format(n) for n in range(40)]
    run(tmp_path, lines, "data.valid_size=0", "data.test_size=0")
    first = DataDirectory.open(tmp_path / "out")
    (tmp_path / "again").mkdir()
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        train=[str(tmp_path / "train.txt")],
        out=tmp_path / "again" / "out",
        settings=resolve(None, ["data.valid_size=0", "data.test_size=0"]),
        vocabulary=tmp_path / "out",
    )
    preprocess(request, lambda report: None)
    assert DataDirectory.open(tmp_path / "again" / "out").vocabularies == first.vocabularies


def test_the_data_card_speaks_of_lines_not_of_pairs(tmp_path: Path) -> None:
    lines = [SENTENCE.format(n) for n in range(40)]
    run(tmp_path, [*lines, ""], "data.valid_size=0", "data.test_size=0")
    card = (tmp_path / "out" / "data-card.md").read_text()
    assert "pairs" not in card
    assert "| lines read | lines kept |" in card
    assert "Examples of dropped lines" in card
