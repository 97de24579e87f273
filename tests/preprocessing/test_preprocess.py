"""From text to a data directory: which pairs are kept and dropped, and what is written."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.config import FILTERS, resolve
from nmt_cli.corpus import workers
from nmt_cli.data.directory import DataDirectory, Split
from nmt_cli.errors import CorpusError, UsageError, VocabularyError
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.vocabulary import Vocabularies

from .conftest import Pair, Runner, numbered, write_pairs

NO_HOLDOUT = ("data.valid_size=0", "data.test_size=0")


def pairs_of(split: Split | None) -> list[Pair]:
    assert split is not None
    rows = np.arange(len(split))
    return list(zip(split.texts(rows, "source"), split.texts(rows, "target"), strict=True))


def hashes(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.iterdir())}


def test_the_directory_can_be_opened_and_holds_the_pairs_in_order(run: Runner, tmp_path: Path) -> None:
    pairs = numbered(50)
    card = run(pairs, *NO_HOLDOUT)
    data = DataDirectory.open(tmp_path / "out", hashes=True)
    assert pairs_of(data.train) == pairs
    assert data.valid is None
    assert data.test is None
    assert (data.source_lang, data.target_lang) == ("de", "en")
    assert card.splits["train"].pairs == 50
    for row in (0, 49):
        ids = data.train.gather(np.array([row]), "target")[0]
        assert data.vocabularies.target.decode(ids) == pairs[row][1]


DIRTY: list[tuple[str, Pair]] = [
    ("control", ("mit\x01Steuerzeichen", "with control")),
    ("control", ("NEL", "next\u0085line")),
    ("undecodable", ("Ersatz\ufffdzeichen", "replacement")),
    ("blank", ("", "nothing")),
    ("blank", ("weiß", " \u00a0 ")),
    ("copy_of_source", ("gleich", "gleich")),
    ("duplicate", ("Satz 7 von vielen", "sentence 7 of many")),
    ("too_long", ("lang " * 300, "long " * 300)),
    (
        "length_ratio",
        ("kurz", "this is rather many words for just a single one, is it not, my dear friend, so it goes"),
    ),
]


@pytest.mark.parametrize(("reason", "pair"), DIRTY)
def test_each_filter_drops_the_pair_and_nothing_else(
    run: Runner, tmp_path: Path, reason: str, pair: Pair
) -> None:
    pairs = numbered(40)
    card = run([*pairs[:20], pair, *pairs[20:]], *NO_HOLDOUT)
    assert card.drop_log.counts == {reason: 1}
    assert pairs_of(DataDirectory.open(tmp_path / "out").train) == pairs


@pytest.mark.parametrize(("reason", "pair"), DIRTY)
def test_each_filter_can_be_disabled(run: Runner, tmp_path: Path, reason: str, pair: Pair) -> None:
    card = run([*numbered(40), pair], f"data.{reason}=false", *NO_HOLDOUT)
    assert card.drop_log.total == 0
    assert pairs_of(DataDirectory.open(tmp_path / "out").train)[-1] == pair


def test_without_filters_every_pair_is_kept(run: Runner, tmp_path: Path) -> None:
    pairs = [*numbered(20), *(pair for _, pair in DIRTY)]
    run(pairs, *(f"data.{name}=false" for name in FILTERS), *NO_HOLDOUT)
    assert pairs_of(DataDirectory.open(tmp_path / "out").train) == pairs


def test_every_filter_is_a_setting_and_every_reason_is_counted(run: Runner, tmp_path: Path) -> None:
    valid = write_pairs(tmp_path / "valid", numbered(3))
    card = run([*numbered(40), *(pair for _, pair in DIRTY)], "data.test_size=0", valid=[valid])
    assert set(card.drop_log.counts) == set(FILTERS)
    assert card.splits["train"].pairs + card.drop_log.total == 49


def test_valid_and_test_keep_every_line(run: Runner, tmp_path: Path) -> None:
    dirty = [pair for _, pair in DIRTY] + [("", ""), ("Satz 1 von vielen", "sentence 1 of many")] * 2
    valid, test = ([write_pairs(tmp_path / name, dirty)] for name in ("valid", "test"))
    card = run(numbered(60), valid=valid, test=test)
    data = DataDirectory.open(tmp_path / "out")
    assert pairs_of(data.valid) == pairs_of(data.test) == dirty
    assert (tmp_path / "out" / "valid.de").read_bytes() == (tmp_path / "valid.de").read_bytes()
    assert (tmp_path / "out" / "test.en").read_bytes() == (tmp_path / "test.en").read_bytes()
    assert card.drop_log.counts["in_heldout"] == 2
    assert "valid-is-test" in run.warnings


def test_a_malformed_line_is_dropped_from_train_and_an_error_in_a_test_set(
    run: Runner, tmp_path: Path
) -> None:
    rows = "".join(f"{a}\t{b}\n" for a, b in numbered(30))
    broken = tmp_path / "broken.tsv"
    broken.write_text(rows + "only one column\n" + "letzte\tlast\n", encoding="utf-8")
    card = run(str(broken), *NO_HOLDOUT)
    assert card.drop_log.counts == {"malformed": 1}
    assert pairs_of(DataDirectory.open(tmp_path / "out").train)[-1] == ("letzte", "last")
    with pytest.raises(CorpusError, match="line 31 is not a pair"):
        run(numbered(30), out="other", test=[str(broken)])


def test_held_out_sets_share_no_sentence_with_train_or_each_other(run: Runner, tmp_path: Path) -> None:
    pairs = [(f"s{n % 211}", f"t{n % 307}") for n in range(3000)]
    card = run(pairs, "data.valid_size=30", "data.test_size=30")
    data = DataDirectory.open(tmp_path / "out")
    splits = [pairs_of(split) for split in (data.train, data.valid, data.test)]
    assert all(len(split) > 5 for split in splits)
    for side in (0, 1):
        sentences = [{pair[side] for pair in split} for split in splits]
        assert not sentences[0] & sentences[1]
        assert not sentences[0] & sentences[2]
        assert not sentences[1] & sentences[2]
    assert sum(len(split) for split in splits) + card.drop_log.total == 3000
    assert card.origins == {"valid": "held out from train", "test": "held out from train"}
    dropped = {
        row[0]: row[1] for table in card.tables() if table.title.startswith("Dropped") for row in table.rows
    }
    held_out = sum(card.splits[name].pairs for name in ("valid", "test"))
    assert dropped["not dropped, but held out for valid and test"] == str(held_out)


def test_only_the_missing_set_is_held_out(run: Runner, tmp_path: Path) -> None:
    valid = write_pairs(tmp_path / "valid", [("eins", "one"), ("zwei", "two")])
    run(numbered(200), valid=[valid])
    data = DataDirectory.open(tmp_path / "out")
    assert len(pairs_of(data.valid)) == 2
    assert len(pairs_of(data.test)) == 10


@pytest.mark.parametrize("aligned", [False, True])
def test_the_bytes_do_not_depend_on_the_number_of_workers(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, aligned: bool
) -> None:
    monkeypatch.setattr(workers, "_MIN_ITEMS", 1)
    pairs = [(f"Satz {n} von vielen", f"sentence {n * 7 % 30_000} of many") for n in range(35_000)]
    spec = write_pairs(tmp_path / "train", pairs)
    (tmp_path / "links").write_text("".join(f"{n % 4}-{n % 3} 0-0\n" for n in range(35_000)), "utf-8")
    alignments = [tmp_path / "links"] if aligned else []
    run(spec, out="one", workers=1, alignments=alignments)
    run(spec, out="three", workers=3, alignments=alignments)
    assert hashes(tmp_path / "one") == hashes(tmp_path / "three")


def test_a_second_run_gives_the_same_bytes(run: Runner, tmp_path: Path) -> None:
    spec = write_pairs(tmp_path / "train", numbered(300))
    run(spec, out="one")
    run(spec, out="two")
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")


def test_corpora_keep_their_order_and_weight(tmp_path: Path, run: Runner) -> None:
    first = write_pairs(tmp_path / "first", numbered(30))
    second = write_pairs(tmp_path / "second", [("eins", "one"), ("zwei", "two"), numbered(1)[0]])
    run(None, *NO_HOLDOUT, train=[f"{first}@weight=0.5", f"{second}@weight=3"])
    corpora = DataDirectory.open(tmp_path / "out").corpora
    assert [(corpus.start, corpus.stop, corpus.weight) for corpus in corpora] == [(0, 30, 0.5), (30, 32, 3.0)]


class TestTags:
    def test_the_tag_of_a_corpus_is_one_token_before_each_of_its_sources(
        self, tmp_path: Path, run: Runner
    ) -> None:
        plain = write_pairs(tmp_path / "plain", numbered(30))
        synthetic = write_pairs(tmp_path / "synthetic", [(f"Nummer {n}", f"number {n}") for n in range(30)])
        run(None, *NO_HOLDOUT, train=[plain, f"{synthetic}@tag=<BT>"])
        data = DataDirectory.open(tmp_path / "out")
        assert pairs_of(data.train)[:30] == numbered(30)
        assert pairs_of(data.train)[30:] == [(f"<BT> Nummer {n}", f"number {n}") for n in range(30)]
        tag = data.vocabularies.source.pieces.index("<BT>")
        ids = data.train.gather(np.arange(60), "source")
        assert [tag in ids[row] for row in range(60)] == [False] * 30 + [True] * 30

    def test_filters_see_the_text_without_the_tag(self, tmp_path: Path, run: Runner) -> None:
        plain = write_pairs(tmp_path / "plain", numbered(30))
        synthetic = write_pairs(
            tmp_path / "synthetic", [("gleich", "gleich"), numbered(1)[0], ("neu", "new")]
        )
        valid = write_pairs(tmp_path / "valid", [("neu", "new")])
        card = run(None, "data.test_size=0", train=[plain, f"{synthetic}@tag=<BT>"], valid=[valid])
        assert card.drop_log.counts == {"copy_of_source": 1, "duplicate": 1, "in_heldout": 1}
        assert [warning.name for warning in card.warnings] == ["few-tagged-pairs"]

    def test_a_reference_is_no_target_of_a_tagged_corpus(self, tmp_path: Path, run: Runner) -> None:
        plain = write_pairs(tmp_path / "plain", [*numbered(30), ("echt", "reference 1")])
        synthetic = [(f"Quelle {n}", f"reference {n}") for n in range(6)]
        heldout = [
            write_pairs(tmp_path / name, [(f"{name} {n}", f"reference {n}")])
            for n, name in enumerate(["valid", "test"])
        ]
        train = [plain, write_pairs(tmp_path / "synthetic", synthetic) + "@tag=<BT>"]
        card = run(None, train=train, valid=heldout[:1], test=heldout[1:])
        kept = [target for _, target in pairs_of(DataDirectory.open(tmp_path / "out").train)]
        assert kept[30:] == ["reference 1", *(f"reference {n}" for n in range(2, 6))]
        assert card.drop_log.counts == {"in_heldout": 2}
        assert card.warnings == []

    @pytest.mark.parametrize("name", ["valid", "test"])
    def test_only_training_text_is_tagged(self, tmp_path: Path, run: Runner, name: str) -> None:
        spec = write_pairs(tmp_path / "plain", numbered(30))
        with pytest.raises(UsageError, match="only training text can be tagged"):
            run(None, train=[spec], **dict[str, Any]({name: [f"{spec}@tag=<BT>"]}))

    @pytest.mark.parametrize("setting", ["data.lowercase=true", "data.placeholders=true"])
    def test_a_tag_that_normalization_changes_is_rejected(
        self, tmp_path: Path, run: Runner, setting: str
    ) -> None:
        spec = write_pairs(tmp_path / "plain", numbered(30))
        with pytest.raises(UsageError, match="normalization changes the tag"):
            run(None, setting, train=[f"{spec}@tag=<BT>"])

    def test_sets_are_not_held_out_from_a_tagged_corpus(self, tmp_path: Path, run: Runner) -> None:
        plain = write_pairs(tmp_path / "plain", numbered(300))
        synthetic = write_pairs(tmp_path / "synthetic", [(f"Nummer {n}", f"number {n}") for n in range(300)])
        run(None, "data.valid_size=10", "data.test_size=10", train=[plain, f"{synthetic}@tag=<BT>"])
        data = DataDirectory.open(tmp_path / "out")
        for split in (data.valid, data.test):
            assert split is not None
            assert len(split) == 10
            assert set(pairs_of(split)) <= set(numbered(300))

    def test_a_given_vocabulary_has_to_have_the_tag(self, tmp_path: Path, run: Runner) -> None:
        plain = write_pairs(tmp_path / "plain", numbered(30))
        run(None, *NO_HOLDOUT, train=[f"{plain}@tag=<BT>"], out="tagged")
        run(None, *NO_HOLDOUT, train=[f"{plain}@tag=<BT>"], vocabulary=tmp_path / "tagged")
        with pytest.raises(UsageError, match="no token for the tag <2de>"):
            run(None, *NO_HOLDOUT, train=[f"{plain}@tag=<2de>"], vocabulary=tmp_path / "tagged", out="other")

    def test_word_alignments_of_a_tagged_corpus_are_rejected(self, tmp_path: Path, run: Runner) -> None:
        spec = write_pairs(tmp_path / "plain", numbered(2))
        links = tmp_path / "links"
        links.write_text("0-0\n0-0\n", "utf-8")
        with pytest.raises(UsageError, match="the tag adds a word"):
            run(None, train=[f"{spec}@tag=<BT>"], alignments=[links])


def test_lowercase_and_replacements_change_tokens_and_not_references(run: Runner, tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("ß\tss\n- \t\n", encoding="utf-8")
    valid = write_pairs(tmp_path / "valid", [("- Große Straße", "Big STREET")])
    run(numbered(30), "data.lowercase=true", f"data.normalization={table}", "data.test_size=0", valid=[valid])
    data = DataDirectory.open(tmp_path / "out")
    assert pairs_of(data.valid) == [("grosse strasse", "big street")]
    assert pairs_of(data.train)[0] == ("satz 0 von vielen", "sentence 0 of many")
    assert (tmp_path / "out" / "valid.de").read_text(encoding="utf-8") == "- Große Straße\n"
    assert (tmp_path / "out" / "normalization.tsv").read_text(encoding="utf-8") == table.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("content", ["no tab\n", "\tto nothing\n", "a\tb\tc\n"])
def test_an_invalid_table_of_replacements_is_an_error_with_the_line(
    run: Runner, tmp_path: Path, content: str
) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("fine\tok\n" + content, encoding="utf-8")
    with pytest.raises(CorpusError, match="line 2 is not a replacement"):
        run(numbered(30), f"data.normalization={table}")


def test_separate_vocabularies(run: Runner, tmp_path: Path) -> None:
    run(numbered(60), "vocabulary.joint=false")
    assert {"source.model", "target.model"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert not DataDirectory.open(tmp_path / "out").vocabularies.joint


def test_a_given_vocabulary_is_used_unchanged(run: Runner, tmp_path: Path) -> None:
    run(numbered(60), out="first")
    card = run(
        [("ganz anders", "quite different"), ("ja", "yes")], out="second", vocabulary=tmp_path / "first"
    )
    assert Vocabularies.load(tmp_path / "second") == Vocabularies.load(tmp_path / "first")
    assert "first" in next(row for table in card.tables() for row in table.rows if row[0] == "vocabulary")[1]
    with pytest.raises(VocabularyError, match="has no vocabulary"):
        run(numbered(9), out="third", vocabulary=tmp_path)


def test_the_vocabulary_is_trained_on_a_sample_that_depends_on_the_seed(run: Runner, tmp_path: Path) -> None:
    words = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    pairs = [(words[n % 100] * 2, words[n // 10 % 100] * 2) for n in range(1000)]
    models = {}
    for name, settings in {
        "all": [],
        "sample": ["vocabulary.sample=40"],
        "other": ["vocabulary.sample=40", "data.seed=2"],
    }.items():
        run(pairs, *NO_HOLDOUT, *settings, out=name)
        models[name] = (tmp_path / name / "shared.model").read_bytes()
    assert len(set(models.values())) == 3


def test_dropping_every_pair_is_an_error_that_counts_the_reasons(run: Runner, tmp_path: Path) -> None:
    with pytest.raises(
        CorpusError, match="all 3 training pairs were dropped: copy_of_source 2, blank 1"
    ) as caught:
        run([("a", "a"), ("b", "b"), ("", "c")])
    assert "--keep-all" in caught.value.hint
    assert not (tmp_path / "out").exists()


def test_the_dropped_list_has_every_line_with_its_reason_and_text(run: Runner, tmp_path: Path) -> None:
    pairs = [*numbered(10), ("x\ty", "x\ty"), ("", "back\\slash"), numbered(4)[3]]
    run(pairs, *NO_HOLDOUT, dropped=tmp_path / "dropped.tsv")
    lines = (tmp_path / "dropped.tsv").read_text(encoding="utf-8").split("\n")
    assert lines[0] == "corpus\tline\treason\tsource\ttarget"
    rows = [line.split("\t") for line in lines[1:-1]]
    assert [(row[1], row[2]) for row in rows] == [
        ("11", "copy_of_source"),
        ("12", "blank"),
        ("13", "duplicate"),
    ]
    assert rows[0][3:] == ["x\\ty", "x\\ty"]
    assert rows[1][3:] == ["", "back\\\\slash"]


def test_the_dropped_list_has_the_text_as_it_was_read_for_every_reason(run: Runner, tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("ß\tss\n", encoding="utf-8")
    bad = [
        ("Große Gleichheit", "Große Gleichheit"),
        ("Satz 7 von VIELEN", "sentence 7 of many"),
        ("Länge ß " * 150, "LENGTH " * 150),
    ]
    settings = ("data.lowercase=true", f"data.normalization={table}", *NO_HOLDOUT)
    run([*numbered(30), *bad], *settings, dropped=tmp_path / "dropped.tsv")
    lines = (tmp_path / "dropped.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    assert [row[2] for row in rows] == ["copy_of_source", "duplicate", "too_long"]
    assert [(row[3], row[4]) for row in rows] == bad


def test_the_card_has_counts_examples_lengths_and_shares(run: Runner, tmp_path: Path) -> None:
    valid = write_pairs(tmp_path / "valid", [("語語語", "字")])
    run([*numbered(40), *[(f"copy {n}", f"copy {n}") for n in range(5)]], "data.test_size=0", valid=[valid])
    card = json.loads((tmp_path / "out" / "data-card.json").read_text(encoding="utf-8"))
    assert card["corpora"][0]["read"] == 45
    assert card["corpora"][0]["kept"] == 40
    assert card["dropped"]["copy_of_source"]["count"] == 5
    assert [each["line"] for each in card["dropped"]["copy_of_source"]["examples"]] == [41, 42, 43]
    train = card["splits"]["train"]
    assert train["pairs"] == sum(train["source"]["length_histogram"].values()) == 40
    assert train["source"]["words"] == 160
    assert card["splits"]["valid"]["source"]["byte_share"] > 0.8
    assert card["vocabulary"] == {"kind": "bpe", "joint": True, "source_size": 320, "target_size": 320}
    text = (tmp_path / "out" / "data-card.md").read_text(encoding="utf-8")
    assert "copy_of_source" in text
    assert "line 43" in text
    assert "line 44" not in text


def test_no_training_corpus_is_an_error(tmp_path: Path) -> None:
    request = PreprocessRequest(
        source_lang="de", target_lang="en", train=[], out=tmp_path / "out", settings=resolve()
    )
    with pytest.raises(UsageError, match="no training corpus"):
        preprocess(request, lambda report: None)
