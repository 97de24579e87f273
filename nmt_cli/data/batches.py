"""Batches for training, in the order of a plan, and for evaluation, by length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config.train import TrainConfig
from nmt_cli.data.batch import Batch, collate
from nmt_cli.data.batch_plan import Plan, cut_in_order, load_of, plan_epoch
from nmt_cli.data.ragged import Ragged
from nmt_cli.errors import StoreError, UsageError

if TYPE_CHECKING:  # evaluation of plain text needs neither Arrow nor a data directory
    from nmt_cli.data.directory import CorpusRows, Split
    from nmt_cli.vocabulary import Vocabularies


@dataclass(frozen=True)
class Portion:
    """A rank's portion of one global batch, with the counts of the whole batch for averaging over ranks."""

    epoch: int
    index: int  # of the batch in its epoch
    batch: Batch | None  # None if the global batch has fewer rows than there are ranks before this one
    pairs: int  # of the global batch
    tokens: int  # real target tokens of the global batch, <eos> included


class TrainingBatches:
    """Batches of a training split from any position on; their content depends on (seed, epoch, index) only.

    Rank r of w has rows r, r + w, r + 2w, … of every global batch: together the ranks see the same batch,
    whatever their number. With `train.subword_sampling`, raw text is split anew each epoch. Its lengths
    vary, so batches are planned by the lengths of the best split and go over the budget by what it adds.

    Nothing runs ahead by itself: `prefetch(batches.stream(epoch, index), depth)` does.
    """

    def __init__(
        self,
        split: Split,
        config: TrainConfig,
        *,
        corpora: Sequence[CorpusRows] = (),
        vocabularies: Vocabularies | None = None,
        rank: int = 0,
        world: int = 1,
        pin: bool = False,
    ) -> None:
        """`corpora` give the weights of rows; `vocabularies` are needed for subword sampling only."""
        assert 0 <= rank < world
        if config.subword_sampling:
            assert vocabularies is not None
            _check_splits(vocabularies)
        self._split = split
        self._config = config
        self._weights = [(corpus.start, corpus.stop, corpus.weight) for corpus in corpora]
        self._vocabularies = vocabularies
        self._rank, self._world, self._pin = rank, world, pin
        self._planned: tuple[int, Plan] | None = None

    def plan(self, epoch: int) -> Plan:
        """The global batches of an epoch, counted from 1; the last plan asked for is kept."""
        planned = self._planned
        if planned is None or planned[0] != epoch:
            split = self._split
            plan = plan_epoch(split.source_lengths, split.target_lengths, self._config, epoch, self._weights)
            if not len(plan):
                raise StoreError(
                    "there are no training pairs", hint="check the filters and weights of the training data"
                )
            self._planned = planned = (epoch, plan)
        return planned[1]

    def epoch(self, epoch: int, index: int = 0) -> Iterator[Portion]:
        """The batches of one epoch from `index` on."""
        plan = self.plan(epoch)
        return (self._assemble(epoch, index, plan[index]) for index in range(index, len(plan)))

    def stream(self, epoch: int = 1, index: int = 0) -> Iterator[Portion]:
        """Batches without end, from batch `index` of `epoch` on."""
        while True:
            yield from self.epoch(epoch, index)
            epoch, index = epoch + 1, 0

    def _assemble(self, epoch: int, index: int, rows: NDArray[Any]) -> Portion:
        own = slice(self._rank, None, self._world)
        split = self._split
        if self._config.subword_sampling:
            # Every rank samples the whole batch: the draws must not depend on the number of ranks.
            source, target = self._sample(epoch, index, rows)
            tokens = len(target.values) + len(rows)
            if self._world > 1:
                mine = np.arange(len(rows))[own]
                source, target = source.take(mine), target.take(mine)
        else:
            tokens = int(split.target_lengths[rows].sum(dtype=np.int64)) + len(rows)
            source, target = split.gather(rows[own], "source"), split.gather(rows[own], "target")
        batch = collate(source, target) if len(source) else None
        if batch is not None and self._pin:
            batch = batch.pin()
        return Portion(epoch, index, batch, len(rows), tokens)

    def _sample(self, epoch: int, index: int, rows: NDArray[Any]) -> tuple[Ragged, Ragged]:
        assert self._vocabularies is not None
        strength = self._config.subword_sampling
        seeds = np.random.SeedSequence([self._config.seed, epoch], spawn_key=(index,)).generate_state(2)
        return (
            self._vocabularies.source.sample(self._split.texts(rows, "source"), strength, int(seeds[0])),
            self._vocabularies.target.sample(self._split.texts(rows, "target"), strength, int(seeds[1])),
        )


def _check_splits(vocabularies: Vocabularies) -> None:
    for vocabulary in (vocabularies.source, vocabularies.target):
        if not vocabulary.has_many_splits:
            raise UsageError(
                f"train.subword_sampling has no effect with vocabulary.kind = {vocabulary.kind}, "
                "which splits a text in one way only",
                hint="set train.subword_sampling=0, or preprocess with vocabulary.kind=bpe or unigram",
            )


def batches_by_length(
    source: Ragged, target: Ragged, batch_tokens: int
) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """All pairs in batches of similar lengths, longest first, each with the numbers of its rows.

    Longest first, so that what does not fit in memory fails at once.
    """
    source_lengths, target_lengths = source.lengths + 1, target.lengths + 1
    order = np.lexsort((source_lengths, target_lengths))[::-1]
    for run in cut_in_order(load_of(source_lengths, target_lengths)[order], batch_tokens):
        rows = order[run]
        yield rows, collate(source.take(rows), target.take(rows))
