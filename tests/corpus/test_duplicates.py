"""Duplicates are found in bounded memory; no held-out sentence is in train."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.corpus import duplicates
from nmt_cli.corpus.duplicates import (
    FingerprintFile,
    choose_held_out,
    fingerprints,
    pair_fingerprints,
    repeated_rows,
    rows_sharing,
)

Pair = tuple[str, str]
WORDS = st.sampled_from("abcde")


def file_of(pairs: list[Pair], folder: Path, blocks: int = 3) -> FingerprintFile:
    file = FingerprintFile(folder / "fingerprints")
    for block in np.array_split(np.arange(len(pairs)), blocks):
        own = [pairs[row] for row in block]
        file.append(fingerprints([source for source, _ in own]), fingerprints([target for _, target in own]))
    file.finish()
    return file


def repeats(pairs: list[Pair]) -> list[int]:
    return [row for row, pair in enumerate(pairs) if pair in pairs[:row]]


@given(
    pairs=st.lists(st.tuples(WORDS, WORDS), max_size=60), at_once=st.integers(1, 70), read=st.integers(1, 70)
)
def test_the_first_of_equal_pairs_is_kept_however_many_fit_into_memory(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair], at_once: int, read: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_GROUP_ROWS", at_once)
        patch.setattr(duplicates, "_READ_ROWS", read)
        file = file_of(pairs, tmp_path_factory.mktemp("rows"))
        found = sorted(int(row) for rows in repeated_rows(file) for row in rows)
    assert found == repeats(pairs)


def test_a_swapped_pair_is_another_pair() -> None:
    one, two = fingerprints(["a"]), fingerprints(["b"])
    assert pair_fingerprints(one, two) != pair_fingerprints(two, one)


def test_fingerprints_are_the_same_on_every_machine() -> None:
    assert fingerprints(["a", "ä"]).tolist() == [3405396810240292928, 4152366542966443504]


@given(pairs=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=80, unique=True), seed=st.integers(0, 9))
def test_no_sentence_is_in_two_sets(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair], seed: int
) -> None:
    file = file_of(pairs, tmp_path_factory.mktemp("rows"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt_cli.corpus.duplicates.LARGEST_SHARE", 0.3)
        held = choose_held_out(file, np.ones(len(pairs), dtype=bool), valid=3, test=2, seed=seed)
    sharing = {int(row) for rows in rows_sharing(file, held.sentences) for row in rows}
    sets = [set(held.valid.tolist()), set(held.test.tolist()), set(range(len(pairs))) - sharing]
    assert sets[0] | sets[1] <= sharing
    for side in (0, 1):
        sentences = [{pairs[row][side] for row in rows} for rows in sets]
        assert not sentences[0] & sentences[1]
        assert not (sentences[0] | sentences[1]) & sentences[2]


def test_the_draw_depends_on_the_seed_and_not_on_the_order(tmp_path: Path) -> None:
    pairs = [(f"s{number}", f"t{number}") for number in range(2000)]

    def drawn(pairs: list[Pair], seed: int) -> set[Pair]:
        file = file_of(pairs, tmp_path)
        held = choose_held_out(file, np.ones(len(pairs), dtype=bool), valid=40, test=40, seed=seed)
        assert (len(held.valid), len(held.test)) == (40, 40)
        return {pairs[row] for row in [*held.valid, *held.test]}

    assert drawn(pairs, 1) == drawn(pairs[::-1], 1)
    assert len(drawn(pairs, 1) & drawn(pairs, 2)) < 20


def test_at_most_a_twentieth_is_held_out(tmp_path: Path) -> None:
    pairs = [(f"s{number}", f"t{number}") for number in range(100)]
    held = choose_held_out(file_of(pairs, tmp_path), np.ones(100, dtype=bool), valid=1000, test=1000, seed=1)
    assert (len(held.valid), len(held.test)) == (5, 5)
