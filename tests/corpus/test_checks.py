"""Checks find known problems and raise no false alarms."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from nmt_cli.corpus import Block, parse_spec, read_pairs
from nmt_cli.corpus.checks.inspector import Inspector, compare_sets
from nmt_cli.errors import DataWarning

Pairs = list[tuple[str, str]]

# Every corpus by the text that names it, with its languages.
HEALTHY = [
    f"{name.format(split=split, pair=pair)} {pair}"
    for name, splits, pairs in (
        ("multi30k/{split}", "train val test_2016_flickr", "en-de de-fr fr-cs"),
        ("tatoeba/{split}.{pair}", "train dev test", "en-de en-zh"),
        ("tatoeba/fra-eng.tsv.gz", "all", "en-fr"),
        ("tatoeba/cmn-eng.tsv.gz", "all", "en-zh"),
        ("tatoeba/vie-eng.tsv.gz", "all", "en-vi"),
        ("manpages/{split}.{pair}", "train dev test", "en-de"),
        ("libreoffice-help/{split}.{pair}", "train test", "en-de en-fr en-vi"),
        ("python-docs/{split}.{pair}", "train test", "en-es en-zh"),
        ("europarl20k/{split}.{pair}", "train dev", "de-en"),
        ("enja/{split}.{pair}", "train dev", "en-ja"),
        ("chat/{split}.{pair}", "train dev", "en-de"),
        ("ted-iwslt/iwslt17.{split}.{pair}", "tst2010 tst2013", "en-de en-fr"),
        ("ted-iwslt/iwslt15.{split}.{pair}", "tst2011 tst2012", "en-vi"),
        ("ted-iwslt/iwslt14.{split}.{pair}", "valid", "de-en"),
        ("mafand/{split}.{pair}", "train", "en-sw en-ig fr-wo"),
        ("robustness/noisy-wmt10k.{pair}", "all", "en-de"),
    )
    for split in splits.split()
    for pair in pairs.split()
]
PROCESSED = ("enja/", "iwslt14", "noisy-wmt10k")


def read(corpora: Path, text: str, *, swap: bool = False) -> Iterator[Block]:
    name, _, pair = text.partition(" ")
    source_lang, target_lang = pair.split("-")
    for block in read_pairs(
        parse_spec(str(corpora / name), source_lang=source_lang, target_lang=target_lang)
    ):
        yield block._replace(source=block.target, target=block.source) if swap else block


def inspect(blocks: Iterator[Block], pair: str, label: str = "corpus") -> Inspector:
    source_lang, target_lang = pair.split("-")
    inspector = Inspector(label, source_lang=source_lang, target_lang=target_lang)
    for block in blocks:
        inspector.observe(block)
    return inspector


def inspect_pairs(pairs: Sequence[tuple[str, str]], pair: str = "en-de", label: str = "corpus") -> Inspector:
    source, target = map(list, zip(*pairs, strict=True))
    return inspect(iter([Block(1, source, target, {})]), pair, label)


def names(inspector: Inspector) -> list[str]:
    return [warning.name for warning in inspector.warnings()]


def only(warnings: Sequence[DataWarning], name: str) -> DataWarning:
    [found] = [warning for warning in warnings if warning.name == name]
    assert found.hint
    return found


@pytest.fixture(scope="session")
def multi30k(corpora: Path) -> Pairs:
    return [
        pair
        for block in read(corpora, "multi30k/train en-de")
        for pair in zip(block.source, block.target, strict=True)
    ]


class TestAlignment:
    def test_the_misaligned_stretch_of_the_wolof_corpus_is_found(self, corpora: Path) -> None:
        inspector = inspect(read(corpora, "robustness/misaligned.fr-wo fr-wo"), "fr-wo")
        message = only(inspector.warnings(), "misaligned").message
        first, last = (
            int(word) for word in message.replace(":", " ").split() if word.isdigit() and len(word) == 3
        )
        assert 200 <= first <= 240
        assert 440 <= last <= 480
        assert "31 lines earlier" in message

    def test_a_slip_by_one_line_in_a_known_test_set_is_found(self, corpora: Path) -> None:
        # Read it: from line 1795 on the English of the IWSLT 2014 test set runs one line early, for a talk.
        inspector = inspect(read(corpora, "ted-iwslt/iwslt14.test.de-en de-en"), "de-en")
        message = only(inspector.warnings(), "misaligned").message
        assert "lines 1793 to 1872" in message
        assert "1 line earlier" in message

    @pytest.mark.parametrize("text", HEALTHY)
    def test_real_corpora_raise_no_false_alarm(self, corpora: Path, text: str) -> None:
        pair = text.partition(" ")[2]
        found = set(names(inspect(read(corpora, text), pair)))
        assert not found & {"misaligned", "swapped", "wrong-language", "identical-sides"}
        if not any(name in text for name in PROCESSED):
            assert not found & {
                "bpe-split",
                "piece-split",
                "escaped",
                "hyphen-split",
                "tokenized",
                "segmented",
            }

    @pytest.mark.parametrize("shift", [1, 31, -7])
    @pytest.mark.parametrize(("first", "last"), [(1000, 1150), (8100, 8300), (15_000, 25_000)])
    def test_a_shifted_stretch_is_found_wherever_it_is(
        self, multi30k: Pairs, shift: int, first: int, last: int
    ) -> None:
        source, target = map(list, zip(*multi30k, strict=True))
        shifted = [*target[: first - 1], *target[first - 1 + shift : last + shift], *target[last:]]
        inspector = Inspector("corpus", source_lang="en", target_lang="de")
        for begin in range(0, len(source), 1000):  # blocks of another size than the check's own
            inspector.observe(
                Block(begin + 1, source[begin : begin + 1000], shifted[begin : begin + 1000], {})
            )
        message = only(inspector.warnings(), "misaligned").message
        found = [int(word.strip(":")) for word in message.split() if word.strip(":").isdigit()]
        assert abs(found[0] - first) <= 32
        assert abs(found[1] - last) <= 48
        assert f"{abs(shift)} line" in message
        assert ("later" if shift < 0 else "earlier") in message

    def test_blocks_inspected_apart_and_added_equal_a_corpus_inspected_as_a_whole(
        self, multi30k: Pairs
    ) -> None:
        source, target = map(list, zip(*multi30k[:20_000], strict=True))
        target[9000:9400] = target[9031:9431]
        source[5000] += "\u2028"
        parts = [slice(begin, begin + 6000) for begin in range(0, len(source), 6000)]
        blocks = [Block(part.start + 1, source[part], target[part], {1: "undecodable"}) for part in parts]
        whole = inspect(iter(blocks), "en-de")
        added = Inspector("corpus", source_lang="en", target_lang="de")
        for block in blocks:
            added.add(inspect(iter([block]), "en-de"))
        assert added.pairs == whole.pairs
        assert added.first_pairs == whole.first_pairs
        assert added.source.profile.hits == whole.source.profile.hits
        assert added.source.profile.similarity(whole.source.profile) == pytest.approx(1)
        warnings = whole.warnings()
        assert {"misaligned", "undecodable"} <= {warning.name for warning in warnings}
        assert len(warnings) == 3  # and the separator
        assert added.warnings() == warnings

    def test_a_shuffled_corpus_is_misaligned_throughout(self, multi30k: Pairs) -> None:
        target = [pair[1] for pair in multi30k]
        random.Random(1).shuffle(target)
        shuffled = [(source, other) for (source, _), other in zip(multi30k, target, strict=True)]
        assert "lines 17 to 28992" in only(inspect_pairs(shuffled).warnings(), "misaligned").message

    def test_blank_and_constant_sides_are_not_misaligned(self, multi30k: Pairs) -> None:
        assert "misaligned" not in names(inspect_pairs([(source, "") for source, _ in multi30k[:3000]]))
        assert "misaligned" not in names(inspect_pairs([("a", "b")] * 3000))

    def test_asking_twice_gives_the_same(self, corpora: Path) -> None:
        inspector = inspect(read(corpora, "robustness/misaligned.fr-wo fr-wo"), "fr-wo")
        assert inspector.warnings() == inspector.warnings()


class TestLanguages:
    @pytest.mark.parametrize(
        "text",
        [
            "multi30k/val en-de",
            "multi30k/val fr-cs",
            "tatoeba/dev.en-zh en-zh",
            "enja/dev.en-ja en-ja",
            "python-docs/dev.en-zh en-zh",
            "mafand/dev.en-ig en-ig",
            "mafand/dev.fr-wo fr-wo",
            "chat/dev.en-de en-de",
        ],
    )
    def test_swapped_sides_are_found(self, corpora: Path, text: str) -> None:
        pair = text.partition(" ")[2]
        assert "swapped" in names(inspect(read(corpora, text, swap=True), pair))

    @pytest.mark.parametrize("pair", ["en-de", "en-fr", "en-zh", "en-ru", "en-ig"])
    def test_two_sides_in_one_language_are_found(self, multi30k: Pairs, pair: str) -> None:
        english = [source for source, _ in multi30k[:2000]]
        warning = only(inspect_pairs(list(pairwise(english)), pair).warnings(), "wrong-language")
        assert "target should be" in warning.message
        assert "like the source" in warning.message

    def test_another_language_is_named(self, corpora: Path) -> None:
        inspector = inspect(read(corpora, "multi30k/val en-fr"), "en-de")
        assert "looks like fr" in only(inspector.warnings(), "wrong-language").message

    def test_a_corpus_of_copies_is_found(self, multi30k: Pairs) -> None:
        assert "identical-sides" in names(inspect_pairs([(source, source) for source, _ in multi30k[:500]]))


class TestProcessedText:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("enja/train.en-ja en-ja", {"tokenized", "segmented"}),
            ("ted-iwslt/iwslt14.valid.de-en de-en", {"tokenized", "escaped"}),
            ("ted-iwslt/stanford-tok.tst2012.en-vi en-vi", {"tokenized", "escaped"}),
        ],
    )
    def test_tokenized_corpora_are_found(self, corpora: Path, text: str, expected: set[str]) -> None:
        assert expected <= set(names(inspect(read(corpora, text), text.partition(" ")[2])))

    @pytest.mark.parametrize(
        ("process", "name"),
        [
            (lambda text: text.replace("ing", "@@ ing"), "bpe-split"),
            (lambda text: "▁" + text.replace(" ", " ▁"), "piece-split"),
            (lambda text: text.replace("a", "T @-@ s"), "hyphen-split"),
        ],
    )
    def test_traces_of_tools_are_found_and_counted(
        self, multi30k: Pairs, process: Callable[[str], str], name: str
    ) -> None:
        pairs = [(process(source), target) for source, target in multi30k[:1000]]
        message = only(inspect_pairs(pairs).warnings(), name).message
        assert "the source looks preprocessed" in message
        assert "of 1000 sampled lines" in message


class TestCharacters:
    @pytest.mark.parametrize(
        ("character", "name"),
        [
            ("\0", "nul"),
            ("\x07", "control"),
            ("\r", "control"),
            ("\x7f", "control"),
            ("\x93", "c1-control"),
            ("\x85", "next-line"),
            ("\u2028", "line-separator"),
            ("\u2029", "line-separator"),
            ("\ufeff", "byte-order-mark"),
            ("\ufffd", "replacement"),
        ],
    )
    def test_odd_characters_are_counted(self, multi30k: Pairs, character: str, name: str) -> None:
        pairs = list(multi30k[:300])
        for line in (42, 77):
            pairs[line - 1] = (pairs[line - 1][0], "a" + character + "b")
        warning = only(inspect_pairs(pairs).warnings(), name)
        assert "in the target, 2 lines have" in warning.message
        assert "first line 42" in warning.message

    def test_tabs_and_unusual_spaces_are_ordinary(self, multi30k: Pairs) -> None:
        assert names(inspect_pairs([(f"{a}\t\xa0\u3000\u200bé", b) for a, b in multi30k[:300]])) == []

    def test_what_the_reader_removed_or_marked_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "x.en").write_bytes(b"\xef\xbb\xbfa\r\nb\xff\r\n")
        (tmp_path / "x.de").write_bytes(b"c\nd\n")
        blocks = read_pairs(parse_spec(f"{tmp_path}/x", source_lang="en", target_lang="de"))
        warnings = inspect(blocks, "en-de").warnings()
        assert "2 lines ended with CR LF" in only(warnings, "carriage-return").message
        assert "1 byte-order mark was removed" in only(warnings, "byte-order-mark").message
        assert only(warnings, "undecodable").message.endswith(
            "1 line has bytes or escapes that cannot be decoded, line 2"
        )
        assert len(warnings) == 3

    def test_singular_and_plural_are_distinguished(self, tmp_path: Path) -> None:
        for count, wanted in [
            (1, "1 row is not a pair, line 4"),
            (2, "2 rows are not pairs, the first is 4"),
        ]:
            (tmp_path / "x.tsv").write_text("a\tb\n" * 3 + "c\n" * count)
            blocks = read_pairs(parse_spec(f"{tmp_path}/x.tsv", source_lang="en", target_lang="de"))
            assert only(inspect(blocks, "en-de").warnings(), "malformed").message.endswith(wanted)
            (tmp_path / "x.tsv").write_text("a\tb\n" * 3 + "c\td\r\n" * count)
            blocks = read_pairs(parse_spec(f"{tmp_path}/x.tsv", source_lang="en", target_lang="de"))
            returns = only(inspect(blocks, "en-de").warnings(), "carriage-return").message
            assert f" {count} line{'s'[: count - 1]} ended with CR LF" in returns


class TestSets:
    def test_valid_that_is_test_is_found(self, multi30k: Pairs) -> None:
        valid, test = inspect_pairs(multi30k[:500]), inspect_pairs(multi30k[:500])
        train = inspect_pairs(multi30k[1000:5000])
        found = only(compare_sets({"train": [train], "valid": [valid], "test": [test]}), "valid-is-test")
        assert found.message == "valid and test are identical"

    def test_a_large_overlap_is_counted(self, multi30k: Pairs) -> None:
        found = compare_sets(
            {"valid": [inspect_pairs(multi30k[:500])], "test": [inspect_pairs(multi30k[100:700])]}
        )
        assert only(found, "valid-is-test").message == "valid and test share 400 pairs of 500"

    def test_a_set_that_is_swapped_relative_to_train_is_found(self, corpora: Path) -> None:
        # By codes of which nothing is known, so that only the comparison can tell.
        train = inspect(read(corpora, "mafand/train.fr-wo fr-wo"), "xx-yy", "train corpus")
        right = inspect(read(corpora, "mafand/dev.fr-wo fr-wo"), "xx-yy")
        wrong = inspect(read(corpora, "mafand/test.fr-wo fr-wo", swap=True), "xx-yy", "test corpus")
        found = only(compare_sets({"train": [train], "valid": [right], "test": [wrong]}), "swapped-set")
        assert (
            found.message == "test corpus (test): source and target look swapped, compared with train corpus"
        )

    def test_healthy_sets_are_left_alone(self, corpora: Path) -> None:
        for name, pair in (("multi30k/{} en-de", "en-de"), ("tatoeba/{}.en-zh en-zh", "en-zh")):
            splits = ("train", "val", "test_2016_flickr") if "multi30k" in name else ("train", "dev", "test")
            inspectors = [[inspect(read(corpora, name.format(split)), pair)] for split in splits]
            assert compare_sets(dict(zip(("train", "valid", "test"), inspectors, strict=True))) == []
