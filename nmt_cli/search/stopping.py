"""When a sentence is finished, and which rows a batch has: padded on a CPU, and compacted when sentences finish.

A stopping rule is a value: each step returns the next rule and which sentences stop.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.penalties import LengthNormalization
from nmt_cli.vocabulary.token_ids import PAD


class StepScores(NamedTuple):
    """The scores of B sentences after a step; -∞ where there is no such hypothesis."""

    length: int  # |Y| of the hypotheses that ended in this step, <eos> included
    ended: Tensor  # (B, E) their scores
    open_log_p: Tensor  # (B, K) log P of the open hypotheses
    ranked: Tensor  # (B, C) the scores the candidates of this step would have if they ended here
    order: Tensor  # (B, K) indices of the candidates that are open now
    limits: Tensor  # (B,) maximum length, without <eos>


class StoppingRule(Protocol):
    """A rule, together with what it remembers of each sentence."""

    def after(self, step: StepScores) -> tuple[Self, Tensor]:
        """The rule for the next step, and (B,) which sentences stop."""
        ...

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        ...


@dataclass(frozen=True, eq=False)
class Finished:
    """Stop when as many hypotheses have ended as the beam is wide; of each group, in diverse beam search."""

    width: int  # of the beam, or of a group
    ended: Tensor  # (B, groups) number of ended hypotheses

    def after(self, step: StepScores) -> tuple[Self, Tensor]:
        """Count the hypotheses that ended."""
        now = (step.ended > -torch.inf).view(*self.ended.shape, -1).sum(dim=2)  # (B, groups)
        ended = self.ended + now
        return replace(self, ended=ended), (ended >= self.width).all(dim=1)

    def closed(self) -> Tensor:
        """(B, K) the hypotheses of groups that are finished."""
        return (self.ended >= self.width).repeat_interleave(self.width, dim=1)

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        return replace(self, ended=self.ended.index_select(0, rows))


@dataclass(frozen=True, eq=False)
class Exact:
    """Stop when no open hypothesis can overtake the n best, however it continues."""

    normalization: LengthNormalization
    best: Tensor  # (B, n) the best scores so far

    def after(self, step: StepScores) -> tuple[Self, Tensor]:
        """Compare the n-th best score with an upper bound for the best open hypothesis."""
        n = self.best.shape[1]
        best = torch.cat([self.best, step.ended], dim=1).topk(n).values  # (B, n)
        leading = step.open_log_p.amax(dim=1)  # (B,) all open hypotheses have the same length
        bound = self.normalization.bound(leading, step.length + 1, step.limits + 1)  # (B,)
        return replace(self, best=best), best[:, -1] >= bound

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        return replace(self, best=self.best.index_select(0, rows))


@dataclass(frozen=True, eq=False)
class First:
    """Stop when the best hypothesis overall has ended: no open one scores higher at its current length."""

    best: Tensor  # (B,) the best score so far

    def after(self, step: StepScores) -> tuple[Self, Tensor]:
        """Compare the best score with that of the best open hypothesis."""
        best = torch.maximum(self.best, step.ended.amax(dim=1))  # (B,)
        current = step.ranked.gather(1, step.order)  # (B, K)
        current = current.where(step.open_log_p > -torch.inf, -torch.inf)
        stop = (best > -torch.inf) & (best >= current.amax(dim=1))
        return replace(self, best=best), stop

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        return replace(self, best=self.best.index_select(0, rows))


def build_stopping(config: SearchConfig, sentences: int, device: torch.device) -> Finished | Exact | First:
    """The rule `search.stopping`, for B sentences."""
    if config.stopping == "exact":
        nothing = torch.full((sentences, config.n_best), -torch.inf, device=device)
        return Exact(LengthNormalization.of(config), nothing)
    if config.stopping == "first":
        return First(torch.full((sentences,), -torch.inf, device=device))
    groups = config.diversity_groups
    return Finished(config.width // groups, torch.zeros(sentences, groups, dtype=torch.long, device=device))


# Compact when at most this share of the batch is still active (without compaction, beam 5 takes 1.3–1.5 × as long).
_COMPACT_BELOW = 0.9
# On a CPU, a matrix product with fewer rows is summed in a different order, and so is a softmax over fewer columns: the
# last bits of a sentence's scores, and in rare cases its translation, would depend on its batch.
MIN_ROWS = 16
MIN_POSITIONS = 16
CHECK_EVERY = 8  # steps between two checks on an accelerator, where a check waits for the device


def is_time_to_check(done: Tensor, t: int) -> bool:
    """Whether to check after step t which sentences are done (B,)."""
    return done.device.type == "cpu" or t % CHECK_EVERY == CHECK_EVERY - 1


def rows_to_keep(done: Tensor, remaining: int, width: int) -> Tensor | None:
    """The rows (B',) to continue with, or None to keep them all.

    These are the `remaining` rows that are not done; on a CPU, enough others to keep `MIN_ROWS` rows in a product.
    """
    fewest = -(-MIN_ROWS // width) if done.device.type == "cpu" else 0
    count = max(remaining, min(fewest, len(done)))
    if count > _COMPACT_BELOW * len(done):
        return None
    return done.byte().argsort(stable=True)[:count].sort().values


class Sources(Protocol):
    """The sources of a batch: token ids, images or recordings."""

    def __len__(self) -> int: ...

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Some of the rows, in that order."""
        ...


SourcesT = TypeVar("SourcesT", bound=Sources)


def pad_rows(ids: SourcesT) -> SourcesT:
    """Pad batches of 2 to 15 rows to 16, with copies of the last row, which is the shortest.

    A single sentence is not padded, because someone may be waiting: 16 rows take up to 2.5 times as long.
    """
    missing = MIN_ROWS - len(ids)
    if missing <= 0 or len(ids) == 1:
        return ids
    return ids.take(np.append(np.arange(len(ids)), np.full(missing, len(ids) - 1)))


def pad_positions(source: Tensor) -> Tensor:
    """Pad to at least 16 positions: source (B, S) → (B, max(S, 16))"""
    missing = MIN_POSITIONS - source.shape[1]
    return source if missing <= 0 else torch.nn.functional.pad(source, (0, missing), value=PAD)
