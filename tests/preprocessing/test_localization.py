"""Preprocessing localization files: what is skipped is counted, explained and located."""

import json
from pathlib import Path

from nmt_cli.data.directory import DataDirectory

from .conftest import Runner, numbered, write_pairs
from .test_preprocess import NO_HOLDOUT, pairs_of

HEADER = 'msgid ""\nmsgstr "Language: de\\nContent-Type: text/plain; charset=UTF-8\\n"\n\n'


def po(path: Path, count: int, *, first: int = 0, more: str = "") -> Path:
    """English–German entries `first` to `first + count`, five lines each."""
    entries = [
        f'# note\nmsgid "sentence {n} of many"\nmsgstr ""\n"Satz {n} von vielen"\n\n'
        for n in range(first, first + count)
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEADER + "".join(entries) + more, "utf-8")
    return path


def test_the_card_counts_and_locates_what_was_skipped(run: Runner, tmp_path: Path) -> None:
    fuzzy = '#, fuzzy\nmsgid "old"\nmsgstr "alt"\n\nmsgid "new"\nmsgstr ""\n'
    po(tmp_path / "po" / "a.po", 30)
    second = po(tmp_path / "po" / "b.po", 20, first=30, more=fuzzy)
    card = run(str(tmp_path / "po"), *NO_HOLDOUT, dropped=tmp_path / "dropped.tsv")
    assert pairs_of(DataDirectory.open(tmp_path / "out").train) == numbered(50)
    assert card.drop_log.counts == {"fuzzy": 1, "untranslated": 1}
    assert list(card.pairs_read) == [52]
    example = json.loads((tmp_path / "out" / "data-card.json").read_text())["dropped"]["fuzzy"]["examples"]
    assert example == [{"corpus": str(second), "line": 105, "source": "alt", "target": "old"}]
    assert f"{second} line 105" in (tmp_path / "out" / "data-card.md").read_text()
    rows = (tmp_path / "dropped.tsv").read_text().split("\n")
    assert rows[2] == f"{second}\t108\tuntranslated\t\tnew"


def test_pairs_dropped_later_have_their_file_and_line(run: Runner, tmp_path: Path) -> None:
    po(tmp_path / "po" / "a.po", 30)
    second = po(tmp_path / "po" / "b.po", 21, first=29)
    run(str(tmp_path / "po"), *NO_HOLDOUT, dropped=tmp_path / "dropped.tsv")
    assert (tmp_path / "dropped.tsv").read_text().split("\n")[1].startswith(f"{second}\t5\tduplicate\t")


def test_a_held_out_set_leaves_unfinished_entries_out_and_says_so(run: Runner, tmp_path: Path) -> None:
    valid = po(tmp_path / "valid" / "x.po", 3, first=90, more='msgid "new"\nmsgstr ""\n')
    card = run(numbered(40), "data.test_size=0", valid=[str(valid)])
    assert card.origins["valid"] == f"{valid} (skipped: untranslated 1)"
    assert card.splits["valid"].pairs == 3


def test_mixed_and_ambiguous_variants_are_warnings(run: Runner, tmp_path: Path) -> None:
    units = "".join(
        f'<tu><tuv xml:lang="de-{"DE" if n % 3 else "AT"}"><seg>{source}</seg></tuv>'
        f'<tuv xml:lang="en-US"><seg>{target}</seg></tuv><tuv xml:lang="en-GB"><seg>x</seg></tuv></tu>'
        for n, (source, target) in enumerate(numbered(30))
    )
    (tmp_path / "x.tmx").write_text(f"<tmx><body>{units}</body></tmx>")
    card = run(str(tmp_path / "x.tmx"), *NO_HOLDOUT)
    messages = {warning.name: warning.message for warning in card.warnings}
    assert "30 units have several variants" in messages["several-variants"]
    assert messages["mixed-variants"].endswith("the source mixes variants of de: de-DE (20), de-AT (10)")


def test_formats_can_be_combined(run: Runner, tmp_path: Path) -> None:
    prefix = write_pairs(tmp_path / "a", numbered(20))
    path = po(tmp_path / "po" / "x.po", 20, first=20)
    card = run(None, *NO_HOLDOUT, train=[prefix, f"{path}@weight=2"])
    assert [corpus.weight for corpus in card.corpora] == [1, 2]
    assert card.splits["train"].pairs == 40
