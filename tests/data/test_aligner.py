"""The EM aligner against plain loops, laws of its links, and real gold alignments."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from nmt_cli.data import aligner as module
from nmt_cli.data.aligner import (
    Aligner,
    _digamma,
    _Direction,
    align_texts,
    pack_links,
    symmetrize,
    unpack_links,
)
from nmt_cli.evaluation.alignments import AlignmentRequest, evaluate_alignments
from nmt_cli.files.line_reader import TextInput
from nmt_cli.vocabulary.token_ids import Ragged

Rows = list[list[int]]
NULL = -1


def naive(source: Rows, target: Rows, iterations: int) -> dict[tuple[int, int], float]:
    """t(y | x) after some iterations, cell by cell."""
    pairs = {(x, y) for xs, ys in zip(source, target, strict=True) if xs for x in (NULL, *xs) for y in ys}
    t = dict.fromkeys(pairs, 1.0)
    for _ in range(iterations):
        counts = dict.fromkeys(pairs, 0.0)
        for xs, ys in zip(source, target, strict=True):
            for j, y in enumerate(ys if xs else [], start=1):
                diagonal = [math.exp(-4 * abs(i / len(xs) - j / len(ys))) for i in range(1, len(xs) + 1)]
                prior = [0.2, *(0.8 * value / sum(diagonal) for value in diagonal)]
                p = [share * t[x, y] for share, x in zip(prior, (NULL, *xs), strict=True)]
                for value, x in zip(p, (NULL, *xs), strict=True):
                    counts[x, y] += value / sum(p)
        for x, y in pairs:
            choices = [counts[pair] + 0.01 for pair in pairs if pair[0] == x]
            t[x, y] = math.exp(digamma(counts[x, y] + 0.01) - digamma(sum(choices)))
    return t


def digamma(x: float) -> float:
    """The derivative of log Γ, by differences."""
    return (math.lgamma(x + 1e-5) - math.lgamma(x - 1e-5)) / 2e-5


def some_pairs(count: int, seed: int) -> tuple[Rows, Rows]:
    chance = random.Random(seed)
    rows = [[chance.randrange(9) for _ in range(chance.randrange(7))] for _ in range(count)]
    return rows, [[10 - x for x in chance.sample(row, len(row))][: chance.randrange(7)] for row in rows]


def test_the_digamma_function_is_the_derivative_of_log_gamma() -> None:
    x = np.array([0.01, 0.5, 1.0, 3.7, 250.0])
    assert _digamma(x) == pytest.approx([digamma(float(value)) for value in x], rel=1e-4)


@pytest.mark.parametrize("chunk", [60, 1 << 20])
def test_expectation_maximization_equals_plain_loops_for_any_chunk_size(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(module, "_CHUNK_CELLS", chunk)
    source, target = some_pairs(30, seed=1)
    found = _Direction.train(Ragged.from_rows(source), Ragged.from_rows(target), 11, 3)
    expected = naive(source, target, 3)
    table = {
        (int(key) // 11 - 1, int(key) % 11): value for key, value in zip(found.keys, found.t, strict=True)
    }
    assert table == {pair: pytest.approx(value, rel=1e-3) for pair, value in expected.items()}
    best = found.best(Ragged.from_rows(source), Ragged.from_rows(target))
    wanted = []
    for xs, ys in zip(source, target, strict=True):
        for j, y in enumerate(ys, start=1):
            diagonal = [math.exp(-4 * abs(i / len(xs) - j / len(ys))) for i in range(1, len(xs) + 1)]
            p = [0.2 * expected[NULL, y]]
            p += [0.8 * d / sum(diagonal) * expected[x, y] for d, x in zip(diagonal, xs, strict=True)]
            wanted.append(max(range(len(p)), key=p.__getitem__) - 1)
    assert best.tolist() == wanted


def test_words_that_change_places_are_linked_crosswise() -> None:
    chance = random.Random(3)
    words = [f"w{number}" for number in range(30)]
    lines = [chance.sample(words, 2 * chance.randint(1, 4)) for _ in range(300)]
    source = [" ".join(line) for line in lines]
    target = [" ".join(line[j ^ 1].upper() for j in range(len(line))) for line in lines]
    wanted = [[(j ^ 1, j) for j in range(len(line))] for line in lines]
    found = list(align_texts(source, target))
    right = sum(links == expected for links, expected in zip(found, wanted, strict=True))
    assert right > 0.95 * len(lines)


def test_blank_lines_and_unequal_lengths_have_the_links_they_can() -> None:
    assert list(align_texts(["", "a b", "a", ""], ["", "", "A", "B"])) == [[], [], [(0, 0)], []]
    assert list(align_texts([], [])) == []


def test_links_do_not_depend_on_neighbors_and_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, other = (Ragged.from_rows(side) for side in some_pairs(40, seed=2))
    aligner = Aligner.train(rows, other, (11, 11))
    together = aligner.align(rows, other)
    monkeypatch.setattr(module, "_CHUNK_CELLS", 64)
    assert np.array_equal(aligner.align(rows, other).values, together.values)
    for row in range(len(rows)):
        alone = aligner.align(rows.take(np.array([row])), other.take(np.array([row])))
        assert alone.values.tolist() == together[row].tolist() == sorted(together[row].tolist())
        j, i = unpack_links(together[row])
        assert (j < other.lengths[row]).all()
        assert (i < rows.lengths[row]).all()
        assert pack_links(j, i).tolist() == together[row].tolist()


@given(arrays(bool, (2, 3, 4, 5)))
def test_symmetrized_links_are_between_intersection_and_union(sides: np.ndarray) -> None:
    forward, backward = sides
    links = symmetrize(forward, backward)
    assert (links >= (forward & backward)).all()
    assert (links <= (forward | backward)).all()
    assert np.array_equal(symmetrize(forward, forward), forward)


def test_links_grow_along_the_diagonal_and_final_links_need_two_free_words() -> None:
    forward = np.array([[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]], bool)
    backward = np.array([[[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]], bool)
    # 1-1 is next to 0-0; 3-3 is not, but both of its words are free; word 0 of 4-0 is not.
    assert np.argwhere(symmetrize(forward, backward)[0]).tolist() == [[0, 0], [1, 1], [3, 3]]


def test_real_sentences_are_aligned_much_better_than_by_position(corpora: Path, tmp_path: Path) -> None:
    folder = corpora / "align"
    source, target = (
        [line.lower() for line in TextInput(folder / f"hansards.en-fr.{side}.gz")] for side in ("en", "fr")
    )
    lengths = [(len(x.split()), len(y.split())) for x, y in zip(source, target, strict=True)]
    diagonal = [[(j * words // others, j) for j in range(others)] for words, others in lengths]
    rates = []
    for links in (list(align_texts(source, target)), diagonal):
        file = tmp_path / "links.talp"
        file.write_text("".join(" ".join(f"{i}-{j}" for i, j in row) + "\n" for row in links), "utf-8")
        request = AlignmentRequest([file], folder / "hansards.en-fr.gold.talp.gz")
        rates.append(evaluate_alignments(request).systems[0].aer)
    assert rates[0] < 0.6 * rates[1]
