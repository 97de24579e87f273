"""When a sentence needs no further step. A rule is a value: each step gives the next one and its verdict."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.penalties import LengthNormalization


class Standing(NamedTuple):
    """Where B sentences stand after a step; -∞ where there is no such hypothesis."""

    length: int  # |Y| of the hypotheses that ended in this step, <eos> included
    ended: Tensor  # (B, E) their scores
    open_log_p: Tensor  # (B, K) log P of the open hypotheses
    ranked: Tensor  # (B, C) what the candidates of this step score as they are
    order: Tensor  # (B, K) which of the candidates are open now
    limits: Tensor  # (B,) longest length, without <eos>


class Stopping(Protocol):
    """A rule and what it remembers of each sentence."""

    def after(self, standing: Standing) -> tuple[Self, Tensor]:
        """The rule for the next step, and (B,) which sentences stop."""
        ...

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        ...


@dataclass(frozen=True, eq=False)
class Finished:
    """As many hypotheses have ended as the beam is wide."""

    width: int
    ended: Tensor  # (B,) how many

    def after(self, standing: Standing) -> tuple[Self, Tensor]:
        """Count those that ended."""
        ended = self.ended + (standing.ended > -torch.inf).sum(dim=1)
        return replace(self, ended=ended), ended >= self.width

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        return replace(self, ended=self.ended.index_select(0, rows))


@dataclass(frozen=True, eq=False)
class Exact:
    """No open hypothesis can overtake the n best, whatever it says until its longest length."""

    normalization: LengthNormalization
    best: Tensor  # (B, n) the best scores so far

    def after(self, standing: Standing) -> tuple[Self, Tensor]:
        """Compare the n-th best score with the bound for the best open hypothesis."""
        n = self.best.shape[1]
        best = torch.cat([self.best, standing.ended], dim=1).topk(n).values  # (B, n)
        leading = standing.open_log_p.amax(dim=1)  # (B,) all have the same length
        bound = self.normalization.bound(leading, standing.length + 1, standing.limits + 1)  # (B,)
        return replace(self, best=best), best[:, -1] >= bound

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        return replace(self, best=self.best.index_select(0, rows))


@dataclass(frozen=True, eq=False)
class First:
    """The best path overall ends in <eos>: no open hypothesis has a better score as it stands."""

    best: Tensor  # (B,) the best score so far

    def after(self, standing: Standing) -> tuple[Self, Tensor]:
        """Compare the best score with that of the best open hypothesis."""
        best = torch.maximum(self.best, standing.ended.amax(dim=1))  # (B,)
        present = standing.ranked.gather(1, standing.order)  # (B, K)
        present = present.where(standing.open_log_p > -torch.inf, -torch.inf)
        stop = (best > -torch.inf) & (best >= present.amax(dim=1))
        return replace(self, best=best), stop

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only."""
        return replace(self, best=self.best.index_select(0, rows))


def build_stopping(config: SearchConfig, sentences: int, device: torch.device) -> Finished | Exact | First:
    """The rule that the settings name, for B sentences."""
    if config.stopping == "exact":
        nothing = torch.full((sentences, config.n_best), -torch.inf, device=device)
        return Exact(LengthNormalization.of(config), nothing)
    if config.stopping == "first":
        return First(torch.full((sentences,), -torch.inf, device=device))
    return Finished(config.width, torch.zeros(sentences, dtype=torch.long, device=device))
