"""The promises of `nmt demo-data --clauses N`: few words, every length, and no test sentence in training."""

from collections import Counter
from hashlib import sha256

import pytest

from nmt_cli.demo import DemoCorpus, generate
from nmt_cli.demo.corpus import words
from nmt_cli.demo.sentences import DONE, NAMES, THINGS
from nmt_cli.errors import UsageError

CLAUSES = 4


@pytest.fixture(scope="module")
def corpus() -> DemoCorpus:
    return generate(5_000, clauses=CLAUSES)


def test_the_corpus_of_a_seed_never_changes() -> None:
    """Published scores were measured on this text; a change here makes them incomparable."""
    lines = [
        f"{split} {en} | {de}\n"
        for split, pairs in generate(200, clauses=4)._asdict().items()
        for en, de in pairs
    ]
    assert (
        sha256("".join(lines).encode()).hexdigest()
        == "abbddba7f6df076a5dc0693c3168828122e5d8ff71f24af6770dd21a98f5a173"
    )


def test_every_number_of_clauses_occurs_and_none_is_exceeded(corpus: DemoCorpus) -> None:
    for split in corpus:
        counts = Counter(english.count(",") + 1 for english, _ in split)
        assert set(counts) == set(range(1, CLAUSES + 1))
        assert min(counts.values()) >= 0.08 * len(split)


def test_the_splits_are_disjoint_for_any_seed(corpus: DemoCorpus) -> None:
    other = generate(2_000, seed=7, clauses=CLAUSES)
    trained = {english for english, _ in corpus.train} | {english for english, _ in other.train}
    held_out = {english for split in (*corpus[1:], *other[1:]) for english, _ in split}
    assert not trained & held_out


def test_the_lexicon_is_small_and_training_has_every_word(corpus: DemoCorpus) -> None:
    known = {word for pair in corpus.train for word in words(pair)}
    assert known >= {word for pair in (*corpus.valid, *corpus.test) for word in words(pair)}
    assert len({word for word in known if word.startswith("en ")}) < 100
    text = " ".join(english for english, _ in corpus.train)
    assert all(name.english in text for name in NAMES)
    assert all(thing in text for thing in THINGS)
    assert len(DONE) == 12


@pytest.mark.parametrize("clauses", [1, 13])
def test_an_impossible_number_of_clauses_is_refused(clauses: int) -> None:
    with pytest.raises(UsageError, match=f"chains of up to {clauses} clauses"):
        generate(10, clauses=clauses)
