"""Greedy search: the most probable token at every step. With nothing to compare, a step needs few operations.

It finds what a beam of width 1 finds; a single line takes about a sixth less time this way than through `beam`.
"""

from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.model.protocol import MemoryT, StateT
from nmt_cli.search.constraints import Constraints, History
from nmt_cli.search.penalties import LengthNormalization
from nmt_cli.search.scorer import Scorer
from nmt_cli.search.stopping import is_time_to_check, rows_to_keep
from nmt_cli.search.trace import Hypothesis, Recorded
from nmt_cli.vocabulary.token_ids import BOS, EOS


def greedy_search(
    scorer: Scorer[MemoryT, StateT],
    memory: MemoryT,
    constraints: Constraints,
    done: Tensor,
    normalization: LengthNormalization,
    recorded: Recorded,
) -> "GreedyTrace":
    """Step until all B sentences are done; done (B,) is true from the start for rows that pad the batch.

    If scores are not recorded there is no softmax, and log p is off by a constant.
    """
    tokens = torch.full((len(done), 1), BOS, device=done.device)  # (B, 1)
    sentences = torch.arange(len(done), device=done.device)  # (B,)
    history = constraints.start(1)
    state = scorer.start(memory, 1)
    trace = GreedyTrace(recorded.scores, normalization)
    for t in range(constraints.longest_limit + 1):
        logits, state, alpha = scorer.step(tokens, state, memory)  # (B, 1, V), (B, 1, S)
        log_p = logits.float()
        if recorded.scores and not scorer.normalized:
            torch.log_softmax(log_p, dim=-1, out=log_p)
        best, tokens, truncated = _choose(log_p, constraints, t, history)  # (B, 1) each
        attention, alignment = recorded.rows(alpha), recorded.maxima(alpha)
        trace.steps.append(GreedyStep(sentences, tokens, best, attention, alignment, truncated))
        done = done | (tokens[:, 0] == EOS)  # (B,)
        history = constraints.extend(history, tokens)
        if is_time_to_check(done, t):
            remaining = len(done) - int(done.sum())
            if remaining == 0:
                break
            rows = rows_to_keep(done, remaining, 1)
            if rows is not None:
                tokens, done, sentences = (x.index_select(0, rows) for x in (tokens, done, sentences))
                memory, state = memory.select(rows), state.select(rows)
                history, constraints = history.select(rows), constraints.select(rows)
    return trace


def _choose(
    log_p: Tensor, constraints: Constraints, t: int, history: History
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The best tokens of step t, their log p, and whether only the maximum length ends a hypothesis, (B, 1) each.

    log p (B, 1, V) is overwritten.
    """
    forced = constraints.forced(t)  # (B,)
    if forced is not None:  # read before `exclude`: a forced token may be banned
        forced_log_p = log_p[:, 0].gather(1, forced.clamp(min=0)[:, None])  # (B, 1)
    constraints.exclude(log_p, t, history)
    best, tokens = log_p.max(dim=2)
    if forced is None:
        return best, tokens, None
    free = forced[:, None] < 0  # (B, 1)
    truncated = constraints.truncates(tokens, t)
    return torch.where(free, best, forced_log_p), torch.where(free, tokens, forced[:, None]), truncated


class GreedyStep(NamedTuple):
    """One step of the B' sentences that were still in the batch."""

    sentences: Tensor  # (B',) which sentences; the same tensor object until the batch is compacted
    tokens: Tensor  # (B', 1)
    log_p: Tensor  # (B', 1)
    attention: Tensor | None  # (B', 1, S)
    alignment: Tensor | None  # (B', 1) its argmax
    truncated: Tensor | None  # (B', 1) where only the maximum length ends a hypothesis; None: nowhere


@dataclass
class _Path:
    """All steps of one sentence; whatever follows <eos> does not count."""

    tokens: list[int] = field(default_factory=list)
    log_p: list[float] = field(default_factory=list)
    attention: list[Tensor] = field(default_factory=list)  # (n, S) each
    alignment: list[int] = field(default_factory=list)
    truncated: set[int] = field(default_factory=set)  # the steps at which only the maximum length ends it


@dataclass
class GreedyTrace:
    """The steps of greedy search, from which the hypotheses are read at the end."""

    scores: bool  # whether log P was computed at all
    normalization: LengthNormalization
    steps: list[GreedyStep] = field(default_factory=list)

    def hypotheses(self, n: int, source_lengths: Tensor) -> list[list[Hypothesis]]:
        """The hypothesis of each sentence (n = 1); none if the model returned nan or no token was allowed."""
        paths = [_Path() for _ in source_lengths]
        for _, group in groupby(self.steps, key=lambda step: id(step.sentences)):
            steps = list(group)
            sentences = steps[0].sentences.tolist()
            tokens = torch.cat([step.tokens for step in steps], dim=1).tolist()  # (B', n)
            log_p = torch.cat([step.log_p for step in steps], dim=1).tolist()  # (B', n)
            for b, token_row, log_p_row in zip(sentences, tokens, log_p, strict=True):
                paths[b].tokens += token_row
                paths[b].log_p += log_p_row
            attention = [step.attention for step in steps if step.attention is not None]
            if attention:
                for b, rows in zip(sentences, torch.cat(attention, dim=1).cpu(), strict=True):
                    paths[b].attention.append(rows)  # (n, S)
            alignment = [step.alignment for step in steps if step.alignment is not None]
            if alignment:
                for b, positions in zip(sentences, torch.cat(alignment, dim=1).tolist(), strict=True):
                    paths[b].alignment += positions
        for t, step in enumerate(self.steps):
            if step.truncated is not None:
                for b in step.sentences[step.truncated[:, 0]].tolist():
                    paths[b].truncated.add(t)
        lengths = source_lengths.tolist()
        return [self._hypotheses(path, length)[:n] for path, length in zip(paths, lengths, strict=True)]

    def _hypotheses(self, path: _Path, source_length: int) -> list[Hypothesis]:
        length = path.tokens.index(EOS) + 1 if EOS in path.tokens else 0  # |Y|
        log_p = path.log_p[:length]
        # The comparison is false for nan, too.
        if not log_p or not all(value > -torch.inf for value in log_p):
            return []
        total = torch.tensor(log_p, dtype=torch.float64).sum()
        return [
            Hypothesis(
                tokens=path.tokens[: length - 1],
                score=float(self.normalization.score(total.float(), length)) if self.scores else None,
                log_probability=float(total) if self.scores else None,
                token_log_probabilities=log_p if self.scores else None,
                attention=torch.cat(path.attention)[:length, :source_length] if path.attention else None,
                alignment=path.alignment[:length] if path.alignment else None,
                truncated=length - 1 in path.truncated,
            )
        ]
