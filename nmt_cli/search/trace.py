"""Hypotheses, and the trace of a search from which they are read back at its end."""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.search.candidates import Candidates, Split
from nmt_cli.vocabulary.token_ids import EOS


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One translation. m tokens and <eos> make |Y| = m + 1; what was not asked for is None."""

    tokens: list[int]  # m ids, without <eos>
    score: float | None  # by which the n best are sorted: s(Y, X)
    log_probability: float | None  # log P(Y | X), <eos> included
    token_log_probabilities: list[float] | None  # m + 1
    attention: Tensor | None  # (m + 1, S) on the CPU; row t is where the model looked when it said token t
    alignment: list[int] | None  # m + 1, the position with the highest weight in each of these rows


class TraceStep(NamedTuple):
    """What one step leaves behind of the B' sentences that were still there; it is never reordered later."""

    sentences: Tensor  # (B',) which sentences
    rows: Tensor  # (B,) the row of each sentence; 0 if it is not there
    tokens: Tensor  # (B', K') of the hypotheses that go on
    parents: Tensor  # (B', K')
    log_p: Tensor  # (B', K') of the token
    ended: Tensor  # (B', E) scores of the hypotheses that ended, -∞ elsewhere
    ended_parents: Tensor  # (B', E)
    ended_log_p: Tensor  # (B', E) of <eos>
    attention: Tensor | None  # (B', K, S) of the hypotheses before the step
    alignment: Tensor | None  # (B', K) its argmax


class _Paths(NamedTuple):
    """The n best paths of B sentences, over T steps."""

    scores: Tensor  # (B, n) -∞ where there is none
    lengths: Tensor  # (B, n) |Y|
    tokens: Tensor  # (B, n, T)
    log_p: Tensor  # (B, n, T)
    attention: Tensor | None  # (B, n, T, S)
    alignment: Tensor | None  # (B, n, T)


@dataclass
class Trace:
    """The steps of a search over B sentences."""

    sentences: int
    scores: bool  # whether log P was computed at all
    steps: list[TraceStep] = field(default_factory=list)

    def hypotheses(self, n: int, source_lengths: Tensor) -> list[list[Hypothesis]]:
        """The n best finished hypotheses of each sentence, or as many as there are, the best first."""
        paths = self._walk_back(n)
        totals = paths.log_p.double().sum(dim=2).tolist()
        scores, lengths, tokens, log_p = (part.tolist() for part in paths[:4])
        alignment = None if paths.alignment is None else paths.alignment.tolist()
        attention = None if paths.attention is None else paths.attention.cpu()
        results: list[list[Hypothesis]] = []
        for b, positions in enumerate(source_lengths.tolist()):
            results.append([])
            for i in range(len(scores[b])):
                if scores[b][i] == -torch.inf:
                    break
                m = lengths[b][i]
                results[b].append(
                    Hypothesis(
                        tokens=tokens[b][i][: m - 1],
                        score=scores[b][i] if self.scores else None,
                        log_probability=totals[b][i] if self.scores else None,
                        token_log_probabilities=log_p[b][i][:m] if self.scores else None,
                        attention=None if attention is None else attention[b, i, :m, :positions],
                        alignment=None if alignment is None else alignment[b][i][:m],
                    )
                )
        return results

    def _walk_back(self, n: int) -> _Paths:
        """From the n best ends along the parents to the first step, for all sentences at once."""
        scores, last, rank = self._best_ends(n)  # (B, n) each
        slot = torch.zeros_like(last)  # (B, n) the hypothesis that the path was after the step
        columns: list[tuple[Tensor, ...]] = []
        for t, step in reversed(list(enumerate(self.steps))):
            row = step.rows[:, None]  # (B, 1)
            ends = last == t  # (B, n)
            end = (row, rank.clamp(max=step.ended.shape[1] - 1))
            parent = torch.where(ends, step.ended_parents[end], step.parents[row, slot])
            column = [
                torch.where(ends, EOS, step.tokens[row, slot]),
                torch.where(ends, step.ended_log_p[end], step.log_p[row, slot]).masked_fill(last < t, 0.0),
            ]
            slot = parent.masked_fill(last < t, 0)  # the path is longer than this, or it begins here
            column += [part[row, slot] for part in (step.attention, step.alignment) if part is not None]
            columns.append(tuple(column))
        tokens, log_p, *rest = (torch.stack(part[::-1], dim=2) for part in zip(*columns, strict=True))
        attention = rest.pop(0) if self.steps[0].attention is not None else None
        return _Paths(scores, last + 1, tokens, log_p, attention, rest.pop() if rest else None)

    def _best_ends(self, n: int) -> tuple[Tensor, Tensor, Tensor]:
        """The n best ends: score, step and rank in that step, each (B, n). The earlier wins a tie."""
        T, E = len(self.steps), max(step.ended.shape[1] for step in self.steps)
        ended = self.steps[0].ended.new_full((self.sentences, T, E), -torch.inf)
        for t, step in enumerate(self.steps):
            ended[step.sentences, t, : step.ended.shape[1]] = step.ended
        scores, index = ended.flatten(1).sort(dim=1, descending=True, stable=True)
        return scores[:, :n], index[:, :n] // E, index[:, :n] % E


# The tree of everything that a search considered, for those who want to look at it.


class Considered(NamedTuple):
    """A candidate of one step."""

    token: int
    parent: int  # slot of the hypothesis it continues, among those of the step before
    log_probability: float  # of the token
    total: float  # log P with the token
    slot: int | None  # where the hypothesis stands after this step; None if it ended or was dropped
    ended: bool


@dataclass
class SearchTree:
    """Give one to `search` and look at it afterwards; `candidates` are recorded at each step, or more."""

    candidates: int = 0  # at least twice the width of the beam
    _steps: list[tuple[Tensor, Candidates, Split]] = field(default_factory=list, repr=False)

    def add(self, sentences: Tensor, candidates: Candidates, split: Split) -> None:
        """A step of the sentences (B',) that are still looked at."""
        self._steps.append((sentences, candidates, split))

    def steps(self, sentence: int) -> list[list[Considered]]:
        """The candidates of each step of a sentence, best first, until it was done."""
        return [
            _considered(candidates, split, rows[0])
            for sentences, candidates, split in self._steps
            if (rows := (sentences == sentence).nonzero()[:, 0].tolist())
        ]


def _considered(candidates: Candidates, split: Split, row: int) -> list[Considered]:
    slots = {candidate: slot for slot, candidate in enumerate(split.order[row].tolist())}
    ended = split.ended[row].tolist()
    live = (split.live.scores[row] > float("-inf")).tolist()
    columns = (part[row].tolist() for part in candidates)
    result = []
    for i, (token, parent, total, log_p) in enumerate(zip(*columns, strict=True)):
        if total == float("-inf"):
            continue
        slot = slots.get(i)
        result.append(
            Considered(
                token=token,
                parent=parent,
                log_probability=log_p,
                total=total,
                slot=slot if slot is not None and live[slot] else None,
                ended=i < len(ended) and ended[i],
            )
        )
    return result
