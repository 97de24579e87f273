import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config import TrainConfig, VocabularyConfig
from nmt_cli.data.batches import Batch, RankBatch, TrainingBatches, batches_by_length, collate, pad_source
from nmt_cli.data.directory import CorpusRows, Split, SplitWriter
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.vocabulary import Vocabularies, Vocabulary
from nmt_cli.vocabulary.token_ids import BOS, EOS, PAD, Ragged

torch.set_num_threads(1)

Pairs = list[tuple[list[int], list[int]]]

IDS = st.lists(st.integers(4, 60_000), max_size=12)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=12)
WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "saw",
    "many",
    "dogs",
    "near",
    "old",
    "houses",
    "river",
]


def naive(pairs: Pairs) -> Batch:
    """The definition of a batch, one token after the other."""
    longest_source, longest_target = (max(len(pair[side]) for pair in pairs) + 1 for side in (0, 1))
    source = torch.full((len(pairs), longest_source), PAD)
    inputs = torch.full((len(pairs), longest_target), PAD)
    positions, labels = [], []
    for b, (x, y) in enumerate(pairs):
        for s, token in enumerate([*x, EOS]):
            source[b, s] = token
        for t, (token, label) in enumerate(zip([BOS, *y], [*y, EOS], strict=True)):
            inputs[b, t] = token
            positions.append(b * longest_target + t)
            labels.append(label)
    lengths = [torch.tensor([len(pair[side]) + 1 for pair in pairs]) for side in (0, 1)]
    return Batch(source, lengths[0], inputs, lengths[1], torch.tensor(positions), torch.tensor(labels))


def same(one: Batch, two: Batch) -> bool:
    """Without word alignments, which these batches do not have."""
    return all(
        a is b or (a is not None and b is not None and a.dtype == b.dtype and torch.equal(a, b))
        for a, b in zip(one, two, strict=True)
    )


def pairs_of(batch: Batch) -> Pairs:
    return [
        (x[: int(n) - 1].tolist(), y[1 : int(m)].tolist())
        for x, n, y, m in zip(
            batch.source, batch.source_lengths, batch.target_inputs, batch.target_lengths, strict=True
        )
    ]


@given(pairs=PAIRS)
@settings(deadline=None)
def test_a_batch_is_what_the_definition_says(pairs: Pairs) -> None:
    source, target = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert same(collate(source, target), naive(pairs))
    ragged = [Ragged.from_rows(side, np.uint16) for side in (source, target)]
    assert same(collate(*ragged), naive(pairs))
    ids, lengths = pad_source(source)
    assert torch.equal(ids, naive(pairs).source)
    assert torch.equal(lengths, naive(pairs).source_lengths)


@given(pairs=PAIRS)
@settings(deadline=None)
def test_a_batch_from_right_to_left_is_that_of_reversed_targets(pairs: Pairs) -> None:
    source, target = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    mirrored = collate(source, [row[::-1] for row in target])
    assert same(collate(source, target, reverse_target=True), mirrored)
    ragged = [Ragged.from_rows(side, np.uint16) for side in (source, target)]
    assert same(collate(*ragged, reverse_target=True), mirrored)


@given(pairs=PAIRS, budget=st.integers(1, 60))
@settings(deadline=None)
def test_batches_by_length_have_every_row_once(pairs: Pairs, budget: int) -> None:
    source, target = (Ragged.from_rows([pair[side] for pair in pairs]) for side in (0, 1))
    seen: list[int] = []
    for rows, batch in batches_by_length(source, target, budget):
        assert pairs_of(batch) == [pairs[row] for row in rows]
        assert len(rows) == 1 or batch.target_inputs.numel() <= budget
        seen += rows.tolist()
    assert sorted(seen) == list(range(len(pairs)))


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    vocabulary = Vocabulary.train(
        [" ".join(WORDS[i:] + WORDS[:i]) for i in range(14)] * 5, VocabularyConfig(size=310)
    )
    return Vocabularies(vocabulary, vocabulary)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory, vocabularies: Vocabularies) -> Split:
    random = np.random.default_rng(1)
    texts = [[" ".join(random.choice(WORDS, random.integers(1, 12))) for _ in range(1000)] for _ in range(2)]
    path = tmp_path_factory.mktemp("data") / "train.arrow"
    with SplitWriter(path, len(vocabularies.source), len(vocabularies.target)) as writer:
        writer.write(
            texts[0], texts[1], vocabularies.source.encode(texts[0]), vocabularies.target.encode(texts[1])
        )
    return Split.open(path)


CONFIG = TrainConfig(batch_tokens=200)


def pairs_at(split: Split, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Pairs:
    source, target = split.gather(rows, "source"), split.gather(rows, "target")
    return [(source[i].tolist(), target[i].tolist()) for i in range(len(rows))]


def equal(one: list[RankBatch], two: list[RankBatch]) -> bool:
    return all(
        replace(a, batch=None) == replace(b, batch=None)
        and (a.batch is b.batch or (a.batch and b.batch and same(a.batch, b.batch)))
        for a, b in zip(one, two, strict=True)
    )


def test_an_epoch_follows_its_plan(split: Split) -> None:
    batches = TrainingBatches(split, CONFIG)
    plan = batches.plan(1)
    rank_batches = list(batches.epoch(1))
    assert [(rank_batch.epoch, rank_batch.index) for rank_batch in rank_batches] == [
        (1, index) for index in range(len(plan))
    ]
    for rank_batch, index in zip(rank_batches, range(len(plan)), strict=True):
        assert rank_batch.batch is not None
        assert same(rank_batch.batch, naive(pairs_at(split, plan[index])))
        assert rank_batch.pairs == len(plan[index])
        assert rank_batch.tokens == len(rank_batch.batch.labels)


@pytest.mark.parametrize("sampling", [0.0, 0.2])
@pytest.mark.parametrize("world", [2, 3, 50])
def test_the_ranks_together_have_the_global_batch(
    split: Split, vocabularies: Vocabularies, world: int, sampling: float
) -> None:
    config = CONFIG.model_copy(update={"subword_sampling": sampling})
    whole = TrainingBatches(split, config, vocabularies=vocabularies).epoch(2)
    ranks = [
        TrainingBatches(split, config, vocabularies=vocabularies, rank=r, world=world).epoch(2)
        for r in range(world)
    ]
    for rank_batch, *parts in islice(zip(whole, *ranks, strict=True), 12):
        assert rank_batch.batch is not None
        together = [pair for part in parts if part.batch is not None for pair in pairs_of(part.batch)]
        assert sorted(together) == sorted(pairs_of(rank_batch.batch))
        assert {replace(part, batch=None) for part in parts} == {replace(rank_batch, batch=None)}
        assert all(part.batch is None for part in parts[rank_batch.pairs :])
        assert all(part.batch is not None for part in parts[: rank_batch.pairs])


@pytest.mark.parametrize("sampling", [0.0, 0.2])
def test_seeking_is_skipping(split: Split, vocabularies: Vocabularies, sampling: float) -> None:
    config = CONFIG.model_copy(update={"subword_sampling": sampling})
    batches = TrainingBatches(split, config, vocabularies=vocabularies)
    count = len(batches.plan(1))
    through = list(islice(batches.stream(), count + 5))
    assert (through[count].epoch, through[count].index) == (2, 0)
    for position in (1, count - 2, count):
        fresh = TrainingBatches(split, config, vocabularies=vocabularies)
        found = list(islice(fresh.stream(through[position].epoch, through[position].index), 4))
        assert equal(found, through[position : position + 4])


def test_the_end_of_an_epoch_is_a_position_too(split: Split) -> None:
    batches = TrainingBatches(split, CONFIG)
    rank_batch = next(batches.stream(1, len(batches.plan(1))))
    assert (rank_batch.epoch, rank_batch.index) == (2, 0)


def test_sampling_changes_the_segmentation_but_not_the_text(split: Split, vocabularies: Vocabularies) -> None:
    config = CONFIG.model_copy(update={"subword_sampling": 0.3})
    batches = TrainingBatches(split, config, vocabularies=vocabularies)
    epochs = []
    for epoch in (1, 2):
        splits = {}
        for rank_batch in batches.epoch(epoch):
            assert rank_batch.batch is not None
            rows = batches.plan(epoch)[rank_batch.index]
            for row, text, pair in zip(
                rows.tolist(), split.texts(rows, "source"), pairs_of(rank_batch.batch), strict=True
            ):
                assert vocabularies.source.decode(pair[0]) == text
                splits[row] = pair[0]
        epochs.append(splits)
    assert sum(epochs[0][row] != epochs[1][row] for row in epochs[0]) > 500


@pytest.mark.parametrize("kind", ["char", "word"])
def test_sampling_from_a_single_segmentation_is_refused(
    split: Split, vocabularies: Vocabularies, kind: str
) -> None:
    config = CONFIG.model_copy(update={"subword_sampling": 0.1})
    other = Vocabulary.train([" ".join(WORDS)] * 5, VocabularyConfig.model_validate({"kind": kind}))
    with pytest.raises(UsageError, match=f"train.subword_sampling .* vocabulary.kind = {kind}") as failed:
        TrainingBatches(split, config, vocabularies=Vocabularies(vocabularies.source, other))
    assert "train.subword_sampling=0" in failed.value.hint
    TrainingBatches(split, CONFIG, vocabularies=Vocabularies(other, other))


def test_weights_come_from_the_corpora(split: Split) -> None:
    corpora = [CorpusRows("a", 0, 900, 0.0), CorpusRows("b", 900, 1000, 3.0)]
    plan = TrainingBatches(split, CONFIG, corpora=corpora).plan(1)
    assert sorted(plan.rows.tolist()) == sorted([*range(900, 1000)] * 3)


def test_no_pairs_at_all_is_an_error(split: Split) -> None:
    with pytest.raises(DirectoryError, match="no training pairs"):
        TrainingBatches(split, CONFIG, corpora=[CorpusRows("a", 0, 1000, 0.0)]).plan(1)


@given(seed=st.integers(0, 2**32), index=st.integers(0, 10))
@settings(max_examples=10, deadline=None)
def test_any_batch_can_be_made_without_the_ones_before(split: Split, seed: int, index: int) -> None:
    config = CONFIG.model_copy(update={"seed": seed})
    one, two = (TrainingBatches(split, config) for _ in range(2))
    assert equal([next(one.epoch(7, index))], [list(islice(two.epoch(7), index + 1))[-1]])


def test_batches_need_no_arrow(tmp_path: Path) -> None:
    code = "import sys, nmt_cli.data.batches; print({'datasets', 'pandas', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
