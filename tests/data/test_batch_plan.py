import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nmt_cli.config import TrainConfig, VocabularyConfig
from nmt_cli.data.batch_plan import SOURCE_FACTOR, BatchPlan, _argsort, _shuffled, cut_in_order, plan_epoch
from nmt_cli.vocabulary import Vocabulary

Lengths = tuple[NDArray[np.uint16], NDArray[np.uint16]]

LENGTHS = st.lists(st.tuples(*[st.integers(0, 40) | st.just(300)] * 2), min_size=1, max_size=120).map(
    lambda pairs: (np.array([p[0] for p in pairs], np.uint16), np.array([p[1] for p in pairs], np.uint16))
)
CONFIGS = st.builds(
    TrainConfig,
    seed=st.integers(0, 2**40),
    batch_tokens=st.integers(1, 400),
    batch_sentences=st.just(0) | st.integers(1, 20),
    pool_batches=st.integers(1, 5),
)


def corpus(pairs: int, seed: int = 0) -> Lengths:
    random = np.random.default_rng(seed)
    target = np.maximum(random.normal(14, 5, pairs), 1)
    source = np.maximum(target + random.normal(0, 3, pairs), 1)
    return source.astype(np.uint16), target.astype(np.uint16)


def batches(plan: BatchPlan) -> list[list[int]]:
    return [plan[index].tolist() for index in range(len(plan))]


def padding(lengths: NDArray[Any], plan: BatchPlan) -> float:
    padded = sum(len(rows) * (int(lengths[rows].max()) + 1) for rows in batches(plan))
    return 1 - (int(lengths.sum(dtype=np.int64)) + len(lengths)) / padded


@given(lengths=LENGTHS, config=CONFIGS)
@settings(deadline=None)
def test_every_pair_is_in_exactly_one_batch(lengths: Lengths, config: TrainConfig) -> None:
    plan = plan_epoch(*lengths, config, 1)
    assert sorted(row for batch in batches(plan) for row in batch) == list(range(len(lengths[0])))
    assert all(batches(plan))


@given(lengths=LENGTHS, config=CONFIGS)
@settings(deadline=None)
def test_no_batch_is_above_its_budget_unless_it_is_one_long_pair(
    lengths: Lengths, config: TrainConfig
) -> None:
    source, target = (side.astype(int) + 1 for side in lengths)
    for rows in batches(plan_epoch(*lengths, config, 1)):
        if config.batch_sentences:
            assert len(rows) <= config.batch_sentences
        elif len(rows) > 1:
            assert len(rows) * target[rows].max() <= config.batch_tokens
            assert len(rows) * source[rows].max() <= config.batch_tokens * SOURCE_FACTOR


@given(lengths=LENGTHS, config=CONFIGS, epoch=st.integers(1, 1000))
@settings(max_examples=30, deadline=None)
def test_the_plan_is_a_function_of_seed_and_epoch(lengths: Lengths, config: TrainConfig, epoch: int) -> None:
    assert batches(plan_epoch(*lengths, config, epoch)) == batches(plan_epoch(*lengths, config, epoch))


def test_the_plan_is_the_same_on_every_machine() -> None:
    """Pinned: a run that is resumed elsewhere, or years later, must see the same batches."""
    lengths = np.arange(12, dtype=np.uint8) % 5
    plan = plan_epoch(lengths, lengths, TrainConfig(batch_tokens=12), 3)
    assert batches(plan) == [[7, 2, 3], [9], [5, 10, 0, 11, 1, 6], [8, 4]]


@pytest.mark.parametrize(
    ("budget", "weights", "expected"),
    [
        ({"batch_tokens": 512}, [], "2798c751286b8c41"),
        ({"batch_sentences": 50, "pool_batches": 7}, [], "923cb113228490cd"),
        ({"batch_tokens": 4096}, [(0, 9000, 2.3), (9000, 20_000, 0.4)], "a3adc82db18e35d3"),
    ],
)
def test_the_plan_of_a_corpus_stays_as_it_was(
    budget: dict[str, int], weights: list[tuple[int, int, float]], expected: str
) -> None:
    """Pinned before the plan was made faster."""
    target = (np.random.Philox(1).random_raw(20_000) % 60).astype(np.uint16)
    source = (target + np.random.Philox(2).random_raw(20_000) % 9).astype(np.uint16)
    plan = plan_epoch(source, target, TrainConfig(**budget), 3, weights)
    content = plan.rows.astype(np.int64).tobytes() + plan.starts.tobytes()
    assert hashlib.sha256(content).hexdigest()[:16] == expected


@pytest.mark.parametrize("count", [0, 1, 63, 64, 1000, 5000])
def test_shuffling_in_groups_is_sorting_by_random_keys(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_cli.data.batch_plan._SORTED_BITS", 10)
    monkeypatch.setattr("nmt_cli.data.batch_plan._DRAWN", 100)
    found, random = np.random.Philox(1), np.random.Philox(1)
    keys = random.random_raw(count)
    assert _shuffled(count, found).tolist() == np.argsort(keys, kind="stable").tolist()
    assert found.random_raw() == random.random_raw()  # drawn once, as far as anyone can see


@pytest.mark.parametrize("different", [1, 3, 1000, 2**40])
def test_tied_keys_keep_their_order(different: int) -> None:
    keys = np.random.Philox(1).random_raw(3000) % np.uint64(different)
    assert _argsort(keys, 0).tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize("pairs", [300, 3000, 40_000])
def test_batches_differ_between_epochs_and_seeds(pairs: int) -> None:
    lengths = corpus(pairs)
    plans = [
        plan_epoch(*lengths, TrainConfig(batch_tokens=512, seed=seed), epoch)
        for seed, epoch in ((1, 1), (1, 2), (2, 1))
    ]
    sets = [{frozenset(batch) for batch in batches(plan)} for plan in plans]
    for one, two in ((0, 1), (0, 2), (1, 2)):
        assert len(sets[one] & sets[two]) <= 0.1 * len(sets[one])


def test_the_order_of_batches_is_random() -> None:
    source, target = corpus(20_000)
    plan = plan_epoch(source, target, TrainConfig(batch_tokens=512), 1)
    means = np.array([target[rows].mean() for rows in batches(plan)])
    assert abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < 0.15


def test_batches_are_full() -> None:
    source, target = corpus(40_000)
    plan = plan_epoch(source, target, TrainConfig(batch_tokens=4096), 1)
    assert (int(target.sum()) + len(target)) / len(plan) > 0.9 * 4096


def test_a_sentence_budget_gives_the_fewest_batches() -> None:
    source, target = corpus(5000)
    sizes = [len(rows) for rows in batches(plan_epoch(source, target, TrainConfig(batch_sentences=64), 1))]
    assert max(sizes) == 64
    assert np.mean(np.array(sizes) == 64) > 0.5
    assert len(sizes) == -(-5000 // 64)


def test_an_overlong_pair_adds_one_batch_of_its_own() -> None:
    source, target = corpus(1000)
    target[500] = 60_000
    config = TrainConfig(batch_tokens=1000)
    plan = plan_epoch(source, target, config, 1)
    without = plan_epoch(np.delete(source, 500), np.delete(target, 500), config, 1)
    assert [500] in batches(plan)
    assert abs(len(plan) - len(without) - 1) <= 1  # the other pairs are shuffled differently


@given(weight=st.floats(0, 4), epoch=st.integers(1, 100))
@settings(max_examples=30, deadline=None)
def test_a_weighted_pair_occurs_as_often_as_its_weight_says(weight: float, epoch: int) -> None:
    source, target = corpus(2000)
    plan = plan_epoch(source, target, TrainConfig(), epoch, [(0, 500, 1.0), (500, 2000, weight)])
    times = np.bincount(plan.rows, minlength=2000)
    assert (times[:500] == 1).all()
    assert set(times[500:].tolist()) <= {int(weight), int(weight) + 1}
    assert abs(times[500:].mean() - weight) < 0.07


def test_zero_weights_or_no_pairs_give_no_batches() -> None:
    assert len(plan_epoch(*corpus(10), TrainConfig(), 1, [(0, 10, 0.0)])) == 0
    assert len(plan_epoch(*corpus(0), TrainConfig(), 1)) == 0


@given(load=st.lists(st.integers(1, 50), max_size=60), budget=st.integers(1, 120))
@settings(deadline=None)
def test_cutting_in_order_is_greedy(load: list[int], budget: int) -> None:
    runs = cut_in_order(np.array(load, np.int64), budget)
    assert [value for run in runs for value in load[run]] == load
    for run, following in zip(runs, [*runs[1:], None], strict=False):
        values = load[run]
        assert len(values) == 1 or len(values) * max(values) <= budget
        if following is not None:
            longer = [*values, load[following][0]]
            assert len(longer) * max(longer) > budget


def test_padding_on_multi30k_stays_below_5_percent(corpora: Path) -> None:
    german, english = (
        gzip.decompress((corpora / f"multi30k/train.{language}.gz").read_bytes()).decode().split("\n")[:-1]
        for language in ("de", "en")
    )
    vocabulary = Vocabulary.train(german + english, VocabularyConfig())
    source, target = (vocabulary.encode(side).lengths for side in (german, english))
    for epoch in (1, 2, 3):
        plan = plan_epoch(source, target, TrainConfig(batch_tokens=4096), epoch)
        assert padding(target, plan) < 0.05
        assert padding(source, plan) < 0.10
