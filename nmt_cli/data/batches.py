"""Batches of padded sentence pairs: for training, prefetched in the order of a plan, and for evaluation, by length."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config.train import TrainConfig
from nmt_cli.data.aligner import unpack_links
from nmt_cli.data.batch_plan import BatchPlan, cut_in_order, load_of, plan_epoch
from nmt_cli.data.media import MediaRows
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.vocabulary.token_ids import Ragged

if TYPE_CHECKING:  # evaluating plain text needs neither Arrow nor a data directory
    from nmt_cli.data.directory import CorpusRows, Split
    from nmt_cli.data.split import StoredLinks
    from nmt_cli.vocabulary import Vocabularies
from typing import NamedTuple, Self

import torch
from torch import Tensor

from nmt_cli.vocabulary.token_ids import BOS, EOS, PAD


class Batch(NamedTuple):
    """B sentence pairs, padded with 0 to the longest source S and the longest target T.

    Lengths stay on the CPU. `positions` is computed on the host, so that the device need not search for real tokens.
    """

    source: Tensor  # (B, S) x_1 … x_n <eos>; images, (B, side, side, 3) or (B, S, D); frames (B, S, D)
    source_lengths: Tensor  # (B,) on the CPU, <eos> included
    target_inputs: Tensor  # (B, T) <bos> y_1 … y_m
    target_lengths: Tensor  # (B,) on the CPU, m + 1
    positions: Tensor  # (N,) flat indices b·T + t of the N real target tokens
    labels: Tensor  # (N,) the tokens to predict there: y_1 … y_m <eos>
    # Word alignment for guided attention: flat indices (b·T + t)·S + s of the L links, and 1 / number of links of y_t.
    links: Tensor | None = None  # (L,)
    link_weights: Tensor | None = None  # (L,)

    def to(self, device: torch.device | str) -> Self:
        """The same batch on `device`; if it is pinned, copying overlaps with computation."""
        return self._replace(
            **{name: tensor.to(device, non_blocking=True) for name, tensor in self._on_device()}
        )

    def pin(self) -> Self:
        """The same batch in page-locked memory."""
        return self._replace(**{name: tensor.pin_memory() for name, tensor in self._on_device()})

    def _on_device(self) -> Iterator[tuple[str, Tensor]]:
        for name in _ON_DEVICE:
            tensor = getattr(self, name)
            if tensor is not None:
                yield name, tensor


_ON_DEVICE = ("source", "target_inputs", "positions", "labels", "links", "link_weights")

Rows = Ragged | Sequence[Sequence[int]]


def collate(
    source: Rows | MediaRows, target: Rows, links: Ragged | None = None, *, reverse_target: bool = False
) -> Batch:
    """Pad rows of token ids to a batch. This is the only place where <bos> and <eos> are added.

    `links` are those of each row, as `Aligner.align` returns them. With `reverse_target`, a batch for a model that
    writes from right to left: <bos> y_m … y_1 and y_m … y_1 <eos>.
    """
    padded, source_lengths = pad_source(source)
    if reverse_target:
        target = (target if isinstance(target, Ragged) else Ragged.from_rows(target)).reversed_rows()
    labels, target_lengths = _with_eos(target)
    assert len(source_lengths) == len(target_lengths) > 0
    inputs = np.empty_like(labels)
    inputs[1:] = labels[:-1]
    inputs[np.cumsum(target_lengths) - target_lengths] = BOS  # replaces the <eos> of the previous row
    real = _real(target_lengths)
    flat, weights = None, None
    if links is not None:
        mirrored = target_lengths if reverse_target else None
        flat, weights = _flat_links(links, real.shape[1], padded.shape[1], mirrored)
    return Batch(
        source=padded,
        source_lengths=source_lengths,
        target_inputs=torch.from_numpy(_pad(inputs, real)),
        target_lengths=torch.from_numpy(target_lengths),
        positions=torch.from_numpy(np.flatnonzero(real)),
        labels=torch.from_numpy(labels),
        links=flat,
        link_weights=weights,
    )


def _flat_links(
    links: Ragged, T: int, S: int, mirrored: NDArray[np.int64] | None = None
) -> tuple[Tensor, Tensor]:
    """Indices of links in the flattened attention (B, T, S), and the share of each in the links of its target token.

    `mirrored`: the lengths (B,) of targets that are reversed, <eos> included.
    """
    t, s = unpack_links(links.values)
    if mirrored is not None:
        t = np.repeat(mirrored - 2, links.lengths) - t
    row = np.repeat(np.arange(len(links)), links.lengths) * T + t  # (L,) b·T + t
    weights = 1 / np.bincount(row)[row].astype(np.float32)  # (L,)
    return torch.from_numpy(row * S + s), torch.from_numpy(weights)


def pad_source(source: Rows | MediaRows) -> tuple[Tensor, Tensor]:
    """Padded sources and their lengths, for translation, where there is no target yet."""
    if isinstance(source, MediaRows):
        return source.padded()
    xs, lengths = _with_eos(source)
    return torch.from_numpy(_pad(xs, _real(lengths))), torch.from_numpy(lengths)


def _with_eos(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All ids in one flat array with <eos> after each row, and the lengths of the rows."""
    ragged = rows if isinstance(rows, Ragged) else Ragged.from_rows(rows)
    lengths = ragged.lengths + 1
    ends = np.cumsum(lengths) - 1
    flat = np.empty(len(ragged.values) + len(ragged), np.int64)
    within = np.ones(len(flat), np.bool_)
    within[ends] = False
    flat[within] = ragged.values
    flat[ends] = EOS
    return flat, lengths


def _real(lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(B, longest), True where a row has a token."""
    real: NDArray[np.bool_] = np.arange(lengths.max()) < lengths[:, None]
    return real


def _pad(flat: NDArray[np.int64], real: NDArray[np.bool_]) -> NDArray[np.int64]:
    padded = np.full(real.shape, PAD, np.int64)
    padded[real] = flat
    return padded


Item = TypeVar("Item")


@dataclass(frozen=True)
class RankBatch:
    """A rank's slice of one global batch, with the counts of the whole batch for averaging over ranks."""

    epoch: int
    index: int  # of the batch in its epoch
    batch: Batch | None  # None if the global batch has too few rows for this rank to get one
    pairs: int  # of the global batch
    tokens: int  # real target tokens of the global batch, <eos> included


class TrainingBatches:
    """Batches of a training split, starting anywhere; their content depends only on (seed, epoch, index).

    Rank r of w has rows r, r + w, r + 2w, … of every global batch, so any number of ranks sees the same batches
    together. With `train.subword_sampling`, raw text is segmented again in each epoch. Its lengths vary, so batches
    are planned by the lengths of the best segmentation and may exceed the budget somewhat.

    To prepare batches in the background: `prefetch(batches.stream(epoch, index), depth)`.
    """

    def __init__(
        self,
        split: Split,
        config: TrainConfig,
        *,
        corpora: Sequence[CorpusRows] = (),
        vocabularies: Vocabularies | None = None,
        links: Ragged | StoredLinks | None = None,
        reverse_target: bool = False,
        rank: int = 0,
        world: int = 1,
        pin: bool = False,
    ) -> None:
        """`corpora` have the weights of rows; `vocabularies` are needed only for subword sampling.

        `links` are the word alignments of all rows, for guided attention: computed, or stored with the rows.
        `reverse_target`: see `collate`.
        """
        assert 0 <= rank < world
        assert links is None or not config.subword_sampling
        if config.subword_sampling:
            assert vocabularies is not None
            _check_sampling(vocabularies)
        self._split = split
        self._config = config
        self._weights = [(corpus.start, corpus.stop, corpus.weight) for corpus in corpora]
        self._vocabularies = vocabularies
        self._links = links
        self._reverse_target = reverse_target
        self._rank, self._world, self._pin = rank, world, pin
        self._planned: tuple[int, BatchPlan] | None = None

    @property
    def alignments(self) -> Literal["given", "computed"] | None:
        """Where the word alignments come from, if there are any."""
        if self._links is None:
            return None
        return "computed" if isinstance(self._links, Ragged) else "given"

    def plan(self, epoch: int) -> BatchPlan:
        """The global batches of an epoch, counted from 1; the last plan is cached."""
        planned = self._planned
        if planned is None or planned[0] != epoch:
            split = self._split
            plan = plan_epoch(split.source_lengths, split.target_lengths, self._config, epoch, self._weights)
            if not len(plan):
                raise DirectoryError(
                    "there are no training pairs", hint="check the weights of the training corpora"
                )
            self._planned = planned = (epoch, plan)
        return planned[1]

    def epoch(self, epoch: int, index: int = 0) -> Iterator[RankBatch]:
        """The batches of one epoch from `index` on."""
        plan = self.plan(epoch)
        return (self._assemble(epoch, index, plan[index]) for index in range(index, len(plan)))

    def stream(self, epoch: int = 1, index: int = 0) -> Iterator[RankBatch]:
        """An endless stream of batches, from batch `index` of `epoch` on."""
        while True:
            yield from self.epoch(epoch, index)
            epoch, index = epoch + 1, 0

    def _assemble(self, epoch: int, index: int, rows: NDArray[Any]) -> RankBatch:
        own = slice(self._rank, None, self._world)
        split = self._split
        source: Ragged | MediaRows
        if self._config.subword_sampling:
            # Every rank samples the whole batch, so that the draws do not depend on the number of ranks.
            source, target = self._sample(epoch, index, rows)
            tokens = len(target.values) + len(rows)
            if self._world > 1:
                mine = np.arange(len(rows))[own]
                source, target = source.take(mine), target.take(mine)
        else:
            tokens = int(split.target_lengths[rows].sum(dtype=np.int64)) + len(rows)
            source, target = split.sources(rows[own]), split.gather(rows[own], "target")
        links = None if self._links is None else self._links.take(rows[own])
        batch = None
        if len(source):
            batch = collate(source, target, links, reverse_target=self._reverse_target)
        if batch is not None and self._pin:
            batch = batch.pin()
        return RankBatch(epoch, index, batch, len(rows), tokens)

    def _sample(self, epoch: int, index: int, rows: NDArray[Any]) -> tuple[Ragged | MediaRows, Ragged]:
        assert self._vocabularies is not None
        split, strength = self._split, self._config.subword_sampling
        seeds = np.random.SeedSequence([self._config.seed, epoch], spawn_key=(index,)).generate_state(2)
        target = self._vocabularies.target.sample(split.texts(rows, "target"), strength, int(seeds[1]))
        if split.media is not None:
            return split.sources(rows), target
        return self._vocabularies.source.sample(split.texts(rows, "source"), strength, int(seeds[0])), target


def _check_sampling(vocabularies: Vocabularies) -> None:
    for vocabulary in (vocabularies.source, vocabularies.target):
        if not vocabulary.has_many_segmentations:
            raise UsageError(
                f"train.subword_sampling has no effect with vocabulary.kind = {vocabulary.kind}, "
                "which has only one segmentation of a text",
                hint="set train.subword_sampling=0, or preprocess with vocabulary.kind=bpe or unigram",
            )


def batches_by_length(
    source: Ragged | MediaRows, target: Ragged, batch_tokens: int, *, reverse_target: bool = False
) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """All pairs in batches of similar lengths, each with its row numbers.

    Longest first, so that running out of memory happens at once. `reverse_target`: see `collate`.
    """
    source_lengths, target_lengths = source.lengths + 1, target.lengths + 1
    order = np.lexsort((source_lengths, target_lengths))[::-1]
    for run in cut_in_order(load_of(source_lengths, target_lengths)[order], batch_tokens):
        rows = order[run]
        yield rows, collate(source.take(rows), target.take(rows), reverse_target=reverse_target)


@dataclass(frozen=True)
class _EndOfStream:
    """The end of the stream, with the error that ended it, if any."""

    error: BaseException | None


def prefetch(items: Iterator[Item], depth: int) -> Iterator[Item]:
    """The same items in the same order, up to `depth` of them produced in advance by a background thread.

    An error in the thread is raised here, after the items before it. Closing the iterator stops the thread.
    """
    queue: Queue[Item | _EndOfStream] = Queue(depth)
    stop = threading.Event()

    def produce() -> None:
        error = None
        try:
            for item in items:
                queue.put(item)
                if stop.is_set():
                    return
        except BaseException as raised:  # passed on to the consumer
            error = raised
        queue.put(_EndOfStream(error))

    thread = threading.Thread(target=produce, name="prefetch", daemon=True)
    thread.start()
    try:
        while not isinstance(item := queue.get(), _EndOfStream):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stop.set()
        while thread.is_alive():
            with suppress(Empty):  # make room for a thread that is blocked in put
                queue.get_nowait()
            thread.join(0.01)
