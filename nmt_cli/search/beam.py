"""The search loop. Beam search and sampling take the same steps and differ in how candidates are chosen.

B sentences · K hypotheses per sentence · S source positions · V tokens · C candidates per step

The beam is a dimension: no step loops over sentences or hypotheses in Python, the memory (B, S, …) is never
copied or reordered, and a hypothesis consists of backpointers until the end. Sums and comparisons are in float32,
whatever the precision of the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import NmtError
from nmt_cli.model.protocol import MemoryT, State, StateT, padding_mask
from nmt_cli.search.candidates import (
    Candidates,
    Constraints,
    EndedAndOpen,
    best_candidates,
    build_constraints,
    force,
    sample_candidates,
    sentence_seeds,
    split_ended,
    uniforms,
)
from nmt_cli.search.greedy import GreedyTrace, greedy_search
from nmt_cli.search.penalties import LengthNormalization, coverage_penalty, needs_attention
from nmt_cli.search.scorer import Scorer
from nmt_cli.search.stopping import StepScores, StoppingRule, build_stopping, is_time_to_check, rows_to_keep
from nmt_cli.search.trace import Hypothesis, Recorded, SearchTree, Trace, TraceStep
from nmt_cli.vocabulary.token_ids import BOS


@torch.inference_mode()
def search(
    scorer: Scorer[MemoryT, StateT],
    memory: MemoryT,
    source_lengths: Tensor,
    config: SearchConfig,
    *,
    banned: Sequence[int] = (),
    prefix: Sequence[Sequence[int]] | None = None,
    numbers: Sequence[int] | None = None,
    real: int | None = None,
    scores: bool = True,
    attention: bool = False,
    alignment: bool = False,
    tree: SearchTree | None = None,
) -> list[list[Hypothesis]]:
    """The `search.n_best` best (or sampled) translations of each sentence in `memory`, best first.

    source_lengths   (B,) on the CPU, <eos> included
    banned           ids that no translation may contain
    prefix           for each sentence, the ids that its translation starts with; part of the result
    numbers          of the sentences in the whole input (default: 0, 1, …); with `search.seed` they determine
                     the samples
    real             translate only the first `real` sentences (default: all); the others pad the batch
    scores           without them, greedy search needs no softmax
    attention        return the attention rows, if the model has attention
    alignment        return only the position of the maximum of each row
    tree             records all candidates of all steps

    A list is shorter than n_best if fewer hypotheses ended: `search.stopping = first` does not wait for more. Search
    never compares two sentences, so a sentence gets the same result in any batch that gives it the same logits. On
    a CPU the last bits of the logits depend on the batch if it is small: callers who care pass at least `MIN_ROWS`
    sentences, padded after the `real` ones, and search keeps that many rows.
    """
    if len(source_lengths) == 0:
        return []
    sentences = _start(
        config, source_lengths, scorer.device, banned=banned, prefix=prefix, numbers=numbers, real=real
    )
    recorded = Recorded(scores, attention, alignment)
    trace: Trace | GreedyTrace
    if _is_greedy(config, tree):
        normalization = LengthNormalization.of(config)
        trace = greedy_search(scorer, memory, sentences.constraints, sentences.done, normalization, recorded)
    else:
        trace = _beam_search(scorer, memory, sentences, config, recorded, tree)
    return _hypotheses(trace, config, source_lengths, real)


@dataclass(frozen=True, eq=False)
class _OpenHypotheses(State):
    """The open hypotheses, best first; log P is -∞ where a sentence has fewer."""

    tokens: Tensor  # (B, K) the last token of each
    scores: Tensor  # (B, K) log P so far
    coverage: Tensor | None  # (B, K, S) Σ_t α_t, if there is a coverage penalty
    sequences: Tensor | None  # (B, K, t) all tokens, if n-grams must not be repeated

    @classmethod
    def start(cls, config: SearchConfig, sentences: int, hypotheses: int, device: torch.device) -> Self:
        """<bos> for each hypothesis."""
        tokens = torch.full((sentences, hypotheses), BOS, device=device)
        return cls(
            tokens=tokens,
            scores=torch.zeros_like(tokens, dtype=torch.float32),
            coverage=None,
            sequences=tokens[..., None][..., :0] if config.no_repeat_ngram else None,
        )

    def extend(self, chosen: Candidates) -> Self:
        """Continue with the chosen candidates (B, K')."""
        tokens, parents, scores, _ = chosen
        coverage, sequences = self.coverage, self.sequences
        if coverage is not None:
            coverage = coverage.gather(1, parents[..., None].expand(-1, -1, coverage.shape[2]))
        if sequences is not None:
            sequences = sequences.gather(1, parents[..., None].expand(-1, -1, sequences.shape[2]))
            sequences = torch.cat([sequences, tokens[..., None]], dim=2)  # (B, K', t + 1)
        return replace(self, tokens=tokens, scores=scores, coverage=coverage, sequences=sequences)

    def cover(self, alpha: Tensor | None, config: SearchConfig) -> Self:
        """Add the attention (B, K, S) of this step to the coverage, if there is a coverage penalty."""
        if not config.coverage_penalty:
            return self
        if alpha is None:
            raise needs_attention(config)
        alpha = alpha.float()
        return replace(self, coverage=alpha if self.coverage is None else self.coverage + alpha)


@dataclass(frozen=True, eq=False)
class _Sentences:
    """What search knows about each of the B' sentences that are still in the batch."""

    indices: Tensor  # (B',) which of the B sentences
    rows: Tensor  # (B,) the row of each sentence; 0 if it has left the batch
    done: Tensor  # (B',) true where no further step is needed
    lengths: Tensor  # (B',) of the sources, <eos> included
    constraints: Constraints
    stopping: StoppingRule
    seeds: Tensor | None  # (B',) if tokens are sampled

    def select(self, rows: Tensor) -> Self:
        """The sentences in `rows` (B'',) only."""
        indices = self.indices.index_select(0, rows)
        new_rows = torch.arange(len(indices), device=rows.device)
        return replace(
            self,
            indices=indices,
            rows=torch.zeros_like(self.rows).index_copy_(0, indices, new_rows),
            done=self.done.index_select(0, rows),
            lengths=self.lengths.index_select(0, rows),
            constraints=self.constraints.select(rows),
            stopping=self.stopping.select(rows),
            seeds=None if self.seeds is None else self.seeds.index_select(0, rows),
        )

    def after(self, step: StepScores) -> Self:
        """After a step: sentences that stop or have no open hypothesis are done."""
        stopping, stop = self.stopping.after(step)
        nothing_open = ~(step.open_log_p > -torch.inf).any(dim=1)  # (B',) also true if all are nan
        return replace(self, stopping=stopping, done=self.done | stop | nothing_open)


def _start(
    config: SearchConfig,
    source_lengths: Tensor,
    device: torch.device,
    *,
    banned: Sequence[int],
    prefix: Sequence[Sequence[int]] | None,
    numbers: Sequence[int] | None,
    real: int | None,
) -> _Sentences:
    B = len(source_lengths)
    seeds = None
    if config.sampling:
        numbers_ = torch.arange(B) if numbers is None else torch.tensor(numbers)  # (B,)
        seeds = sentence_seeds(config.seed, numbers_).to(device)
    return _Sentences(
        indices=torch.arange(B, device=device),
        rows=torch.arange(B, device=device),
        done=torch.arange(B, device=device) >= (B if real is None else real),
        lengths=source_lengths.to(device, non_blocking=True),
        constraints=build_constraints(config, source_lengths, banned=banned, prefix=prefix, device=device),
        stopping=build_stopping(config, B, device),
        seeds=seeds,
    )


def _is_greedy(config: SearchConfig, tree: SearchTree | None) -> bool:
    """Whether the first hypothesis that ends is the result, and no tree is wanted."""
    return (
        config.width == 1
        and not config.sampling
        and not config.coverage_penalty
        and config.stopping != "exact"
        and tree is None
    )


def _beam_search(
    scorer: Scorer[MemoryT, StateT],
    memory: MemoryT,
    sentences: _Sentences,
    config: SearchConfig,
    recorded: Recorded,
    tree: SearchTree | None,
) -> Trace:
    """Step until all sentences are done; the hypotheses are read off the trace afterwards."""
    B, width = len(sentences.done), config.width
    # Before the first step all hypotheses of a sentence are equal: one is enough, unless they are sampled.
    hypotheses = _OpenHypotheses.start(config, B, width if config.sampling else 1, scorer.device)
    state = scorer.start(memory, hypotheses.tokens.shape[1])
    # K candidates stay open even if K of 2 K end.
    count = max(2 * width, 0 if tree is None else tree.candidates)
    trace = Trace(B, recorded.scores)
    for t in range(sentences.constraints.longest_limit + 1):
        logits, state, alpha = scorer.step(hypotheses.tokens, state, memory)  # (B, K, V), (B, K, S)
        log_p = logits.float()
        if not scorer.normalized:
            torch.log_softmax(log_p, dim=-1, out=log_p)  # in place takes 2/3 of the time
        hypotheses = hypotheses.cover(alpha, config)
        candidates = _choose(log_p, hypotheses, sentences, config, t, count)  # (B, C)
        truncated = _truncated(log_p, sentences, t)  # (B, K)
        split = split_ended(candidates, width)  # (B, E), (B, K'), (B, K')
        ranked = _final_scores(candidates, hypotheses, sentences, config, t + 1)  # (B, C)
        ended = ranked[:, : split.ended.shape[1]].masked_fill(
            ~split.ended | sentences.done[:, None], -torch.inf
        )
        trace.steps.append(_trace_step(sentences, candidates, split, ended, alpha, truncated, recorded))
        if tree is not None:
            tree.add(sentences.indices.masked_fill(sentences.done, -1), candidates, split)
        chosen, limits = split.open, sentences.constraints.limits
        sentences = sentences.after(StepScores(t + 1, ended, chosen.scores, ranked, split.order, limits))
        if is_time_to_check(sentences.done, t):
            remaining = int((~sentences.done).sum())
            if remaining == 0:
                break
            rows = rows_to_keep(sentences.done, remaining, width)
            if rows is not None:
                sentences, hypotheses = sentences.select(rows), hypotheses.select(rows)
                chosen, memory, state = chosen.select(rows), memory.select(rows), state.select(rows)
        if width > 1 and not config.sampling:  # otherwise each hypothesis continues itself
            state = state.reorder(chosen.parents)
        hypotheses = hypotheses.extend(chosen)
    return trace


def _choose(
    log_p: Tensor,
    hypotheses: _OpenHypotheses,
    sentences: _Sentences,
    config: SearchConfig,
    t: int,
    count: int,
) -> Candidates:
    """The candidates (B, C) of step t from log p (B, K, V), which is overwritten."""
    scores, constraints = hypotheses.scores, sentences.constraints
    forced = constraints.forced(t)  # (B,)
    if forced is not None:  # read before `exclude`: a forced token may be banned
        index = forced.clamp(min=0)[:, None, None].expand(*log_p.shape[:2], 1)
        forced_log_p = log_p.gather(2, index)[..., 0]  # (B, K)
    constraints.exclude(log_p, t, hypotheses.sequences)
    if sentences.seeds is not None:
        uniform = uniforms(sentences.seeds, t, log_p.shape[1])  # (B, K)
        candidates = sample_candidates(log_p, scores, uniform, config)
    else:
        candidates = best_candidates(log_p, scores, count)
    return candidates if forced is None else force(candidates, forced, forced_log_p, scores)


def _truncated(log_p: Tensor, sentences: _Sentences, t: int) -> Tensor | None:
    """(B, K) where only the maximum length ends a hypothesis in step t; log p (B, K, V) without excluded tokens."""
    constraints = sentences.constraints
    return None if t < constraints.shortest_limit else constraints.truncates(log_p.argmax(dim=2), t)


def _final_scores(
    candidates: Candidates,
    hypotheses: _OpenHypotheses,
    sentences: _Sentences,
    config: SearchConfig,
    length: int,
) -> Tensor:
    """The scores (B, C) all candidates would have if they ended here, with |Y| = `length`."""
    scores = LengthNormalization.of(config).score(candidates.scores, length)  # (B, C)
    if hypotheses.coverage is None:
        return scores
    mask = padding_mask(sentences.lengths, hypotheses.coverage.shape[2], scores.device)  # (B, S)
    penalty = coverage_penalty(hypotheses.coverage, mask, config.coverage_penalty)  # (B, K)
    return scores + penalty.gather(1, candidates.parents)


def _trace_step(
    sentences: _Sentences,
    candidates: Candidates,
    split: EndedAndOpen,
    ended: Tensor,
    alpha: Tensor | None,
    truncated: Tensor | None,
    recorded: Recorded,
) -> TraceStep:
    """What this step adds to the trace: ended (B', E) are scores, alpha (B', K, S), truncated (B', K)."""
    E = ended.shape[1]
    return TraceStep(
        sentences=sentences.indices,
        rows=sentences.rows,
        tokens=split.open.tokens,
        parents=split.open.parents,
        log_p=split.open.log_p,
        ended=ended,
        ended_parents=candidates.parents[:, :E],
        ended_log_p=candidates.log_p[:, :E],
        attention=recorded.rows(alpha),
        alignment=recorded.maxima(alpha),
        truncated=truncated,
    )


def _hypotheses(
    trace: Trace | GreedyTrace, config: SearchConfig, source_lengths: Tensor, real: int | None
) -> list[list[Hypothesis]]:
    results = trace.hypotheses(config.n_best, source_lengths)[:real]
    missing = sum(not hypotheses for hypotheses in results)
    if missing:
        raise NmtError(
            f"search found no translation for {missing} of {len(results)} sentences",
            hint="either the model's outputs are not numbers (nan), or search.min_length and "
            "search.no_repeat_ngram leave no token to choose: set one of them to 0",
        )
    return results
