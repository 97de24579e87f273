"""What a search leaves behind: its trace, the hypotheses read off it by backpointers, and the search tree.

B sentences · B' of them still in the batch · K hypotheses per sentence · E candidates that may end · T steps
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor

from nmt_cli.search.candidates import Candidates, EndedAndOpen
from nmt_cli.vocabulary.token_ids import EOS, mirrored


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One translation: m tokens and <eos>, so |Y| = m + 1. What was not requested is None."""

    tokens: list[int]  # m ids, without <eos>
    score: float | None  # s(Y, X), by which the n best are sorted
    log_probability: float | None  # log P(Y | X), <eos> included
    token_log_probabilities: list[float] | None  # m + 1
    attention: Tensor | None  # (m + 1, S) on the CPU; row t is the attention that produced token t
    alignment: list[int] | None  # m + 1, the position of the maximum of each attention row
    truncated: bool  # the maximum length ended it: another token was more probable than <eos>

    def reversed(self) -> Self:
        """The translation of a model that writes from right to left, in the order in which it is read.

        <eos>, with its log-probability and attention, stays at the end.
        """
        log_p, attention, alignment = self.token_log_probabilities, self.attention, self.alignment
        return replace(
            self,
            tokens=self.tokens[::-1],
            token_log_probabilities=None if log_p is None else mirrored(log_p),
            attention=None if attention is None else torch.cat([attention[:-1].flip(0), attention[-1:]]),
            alignment=None if alignment is None else mirrored(alignment),
        )


class Recorded(NamedTuple):
    """What a search records besides tokens."""

    scores: bool
    attention: bool
    alignment: bool

    def rows(self, alpha: Tensor | None) -> Tensor | None:
        """The attention (B, K, S), if it is recorded."""
        return alpha if self.attention else None

    def maxima(self, alpha: Tensor | None) -> Tensor | None:
        """The position (B, K) of the maximum of each attention row, if it is recorded."""
        return alpha.argmax(dim=-1) if self.alignment and alpha is not None else None


class TraceStep(NamedTuple):
    """One step of the B' sentences that were still in the batch; never reordered afterwards."""

    sentences: Tensor  # (B',) which sentences
    rows: Tensor  # (B,) the row of each sentence; 0 if it has left the batch
    tokens: Tensor  # (B', K') of the hypotheses that stay open
    parents: Tensor  # (B', K')
    log_p: Tensor  # (B', K') of the token
    ended: Tensor  # (B', E) scores of the hypotheses that ended, -∞ elsewhere
    ended_parents: Tensor  # (B', E)
    ended_log_p: Tensor  # (B', E) of <eos>
    attention: Tensor | None  # (B', K, S) of the hypotheses being continued
    alignment: Tensor | None  # (B', K) its argmax
    truncated: Tensor | None  # (B', K) where only the maximum length ends a hypothesis; None: nowhere


class _Paths(NamedTuple):
    """The n best paths of B sentences, over T steps."""

    scores: Tensor  # (B, n) -∞ where there is none
    lengths: Tensor  # (B, n) |Y|
    truncated: Tensor  # (B, n)
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
        """The n best finished hypotheses of each sentence, or as many as there are, best first."""
        paths = self._walk_back(n)
        totals = paths.log_p.double().sum(dim=2).tolist()
        scores, lengths, truncated, tokens, log_p = (column.tolist() for column in paths[:5])
        alignment = None if paths.alignment is None else paths.alignment.tolist()
        attention = None if paths.attention is None else paths.attention.cpu()
        results: list[list[Hypothesis]] = []
        for b, source_length in enumerate(source_lengths.tolist()):
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
                        attention=None if attention is None else attention[b, i, :m, :source_length],
                        alignment=None if alignment is None else alignment[b][i][:m],
                        truncated=truncated[b][i],
                    )
                )
        return results

    def _walk_back(self, n: int) -> _Paths:
        """Follow the parents from the n best ends to the first step, for all sentences at once."""
        scores, last, rank = self._best_ends(n)  # (B, n) each
        slot = torch.zeros_like(last)  # (B, n) index of the path's hypothesis after the step
        truncated = torch.zeros_like(last, dtype=torch.bool)  # (B, n)
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
            slot = parent.masked_fill(last < t, 0)  # paths that ended earlier have not started yet
            if step.truncated is not None:
                truncated |= ends & step.truncated[row, slot]
            column += [table[row, slot] for table in (step.attention, step.alignment) if table is not None]
            columns.append(tuple(column))
        tokens, log_p, *rest = (torch.stack(values[::-1], dim=2) for values in zip(*columns, strict=True))
        attention = rest.pop(0) if self.steps[0].attention is not None else None
        return _Paths(scores, last + 1, truncated, tokens, log_p, attention, rest.pop() if rest else None)

    def _best_ends(self, n: int) -> tuple[Tensor, Tensor, Tensor]:
        """The n best ends: score, step and rank within the step, each (B, n). Ties go to the earlier step."""
        T, E = len(self.steps), max(step.ended.shape[1] for step in self.steps)
        ended = self.steps[0].ended.new_full((self.sentences, T, E), -torch.inf)
        for t, step in enumerate(self.steps):
            ended[step.sentences, t, : step.ended.shape[1]] = step.ended
        scores, index = ended.flatten(1).sort(dim=1, descending=True, stable=True)
        return scores[:, :n], index[:, :n] // E, index[:, :n] % E


class SearchNode(NamedTuple):
    """A candidate of one step of the search tree."""

    token: int
    parent: int  # slot, after the previous step, of the hypothesis being continued
    log_probability: float  # of the token
    total: float  # log P including the token
    slot: int | None  # slot of the hypothesis after this step; None if it ended or was pruned
    ended: bool


@dataclass
class SearchTree:
    """Pass one to `search` to record the candidates of each step."""

    candidates: int = 0  # how many to record; never fewer than twice the beam width
    _steps: list[tuple[Tensor, Candidates, EndedAndOpen]] = field(default_factory=list, repr=False)

    def add(self, sentences: Tensor, candidates: Candidates, split: EndedAndOpen) -> None:
        """A step of the sentences (B',); -1 for those that are done."""
        self._steps.append((sentences, candidates, split))

    def steps(self, sentence: int) -> list[list[SearchNode]]:
        """The candidates of each step of a sentence, best first, until it was done."""
        return [
            _nodes(candidates, split, rows[0])
            for sentences, candidates, split in self._steps
            if (rows := (sentences == sentence).nonzero()[:, 0].tolist())
        ]


def _nodes(candidates: Candidates, split: EndedAndOpen, row: int) -> list[SearchNode]:
    slots = {candidate: slot for slot, candidate in enumerate(split.order[row].tolist())}
    ended = split.ended[row].tolist()
    is_open = (split.open.scores[row] > -torch.inf).tolist()
    columns = (column[row].tolist() for column in candidates)
    nodes = []
    for i, (token, parent, total, log_p) in enumerate(zip(*columns, strict=True)):
        if total == -torch.inf:
            continue
        slot = slots.get(i)
        nodes.append(
            SearchNode(
                token=token,
                parent=parent,
                log_probability=log_p,
                total=total,
                slot=slot if slot is not None and is_open[slot] else None,
                ended=i < len(ended) and ended[i],
            )
        )
    return nodes
