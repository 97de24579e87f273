"""The loop: beam search and sampling are the same steps with another choice of candidates.

B sentences · K hypotheses a sentence · S source positions · V tokens · C candidates of a step

The beam is a dimension: no step has a Python loop over sentences or hypotheses, the memory (B, S, …) is never
copied or reordered, and a hypothesis is its backpointers until the end. Sums and comparisons are in float32,
whatever the precision of the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError, NmtError
from nmt_cli.model.protocol import MemoryT, State, StateT
from nmt_cli.search.candidates import Candidates, Split, best_candidates, force, split
from nmt_cli.search.compaction import is_time_to_look, staying
from nmt_cli.search.constraints import Constraints, build_constraints
from nmt_cli.search.greedy import GreedyTrace, greedy
from nmt_cli.search.penalties import LengthNormalization, coverage_penalty, source_mask
from nmt_cli.search.sampling import draw_candidates, sentence_seeds, uniforms
from nmt_cli.search.scorer import Scorer
from nmt_cli.search.stopping import Standing, Stopping, build_stopping
from nmt_cli.search.trace import Hypothesis, SearchTree, Trace, TraceStep
from nmt_cli.vocabulary.token_ids import BOS


@dataclass(frozen=True, eq=False)
class _Open(State):
    """The open hypotheses, the best first; where a sentence has fewer, log P is -∞."""

    tokens: Tensor  # (B, K) the last one of each
    scores: Tensor  # (B, K) log P so far
    coverage: Tensor | None  # (B, K, S) Σ_t α_t, if there is a coverage penalty
    sequences: Tensor | None  # (B, K, t) all tokens, if n-grams must not be repeated

    def continued(self, live: Candidates) -> Self:
        """After the candidates (B, K') have been chosen."""
        tokens, parents, scores, _ = live
        coverage, sequences = self.coverage, self.sequences
        if coverage is not None:
            coverage = coverage.gather(1, parents[..., None].expand(-1, -1, coverage.shape[2]))
        if sequences is not None:
            sequences = sequences.gather(1, parents[..., None].expand(-1, -1, sequences.shape[2]))
            sequences = torch.cat([sequences, tokens[..., None]], dim=2)  # (B, K', t + 1)
        return replace(self, tokens=tokens, scores=scores, coverage=coverage, sequences=sequences)


@dataclass(frozen=True, eq=False)
class _Batch:
    """What search knows of each of the B' sentences that are still in the batch."""

    sentences: Tensor  # (B',) which of the B sentences
    rows: Tensor  # (B,) the row of each sentence; 0 if it has left
    done: Tensor  # (B',) true where no further step is needed
    constraints: Constraints
    stopping: Stopping
    mask: Tensor | None  # (B', S) real source positions, if there is a coverage penalty
    seeds: Tensor | None  # (B',) if tokens are sampled

    def select(self, rows: Tensor) -> Self:
        """The sentences in `rows` (B'',) only."""
        sentences = self.sentences.index_select(0, rows)
        return replace(
            self,
            sentences=sentences,
            rows=torch.zeros_like(self.rows).index_copy_(
                0, sentences, torch.arange(len(sentences), device=rows.device)
            ),
            done=self.done.index_select(0, rows),
            constraints=self.constraints.select(rows),
            stopping=self.stopping.select(rows),
            mask=None if self.mask is None else self.mask.index_select(0, rows),
            seeds=None if self.seeds is None else self.seeds.index_select(0, rows),
        )


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
    """The `search.n_best` best (or sampled) translations of each sentence in `memory`, the best first.

    source_lengths   (B,) on the CPU, <eos> included
    banned           ids that no translation may contain
    prefix           for each sentence the ids that its translation begins with, part of the result
    numbers          of the sentences in the whole input (default: 0, 1, …): with `search.seed` they decide what
                     is sampled
    real             only the first so many sentences are wanted (default: all); others fill the batch
    scores           without them greedy search needs no softmax
    attention        give back the attention rows, if the model has any
    alignment        give back only the position where each row is highest
    tree             remembers all candidates of all steps

    There are fewer than n_best where fewer were found: `search.stopping = first` does not wait for them. The
    same sentence gets the same result in any batch, as far as the model gives it the same logits: nothing
    here looks at two sentences. On a CPU the last bits of a model's logits depend on the shape of the batch while
    it is small. Whoever wants the same bits gives at least `ROWS` sentences, with fillers after the `real` ones;
    search keeps products at so many rows.
    """
    B, device, width = len(source_lengths), scorer.device, config.width
    if B == 0:
        return []
    batch = _start(config, source_lengths, device, banned=banned, prefix=prefix, numbers=numbers, real=real)
    if _is_greedy(config, tree):
        picked = greedy(
            scorer,
            memory,
            batch.constraints,
            batch.done,
            LengthNormalization.of(config),
            scores=scores,
            attention=attention,
            alignment=alignment,
        )
        return _found(picked, config, source_lengths, real)
    # Before the first step all hypotheses of a sentence are the same: one is enough, unless they are drawn.
    open_ = _first_open(config, B, width if config.sampling else 1, device)
    state = scorer.start(memory, open_.tokens.shape[1])
    count = _candidates_needed(config, tree)
    trace = Trace(B, scores)

    for t in range(batch.constraints.longest_limit + 1):
        logits, state, alpha = scorer.step(open_.tokens, state, memory)  # (B, K, V), (B, K, S)
        log_p = logits.float()
        if not scorer.normalized:
            torch.log_softmax(log_p, dim=-1, out=log_p)  # in place: 2/3 of the time
        open_ = _cover(open_, alpha, config)
        candidates = _choose(log_p, open_, batch, config, t, count)  # (B, C)
        parts = split(candidates, width)  # (B, E), (B, K'), (B, K')
        ranked = _rank(candidates, open_, batch, config, t + 1)  # (B, C)
        ended = ranked[:, : parts.ended.shape[1]].masked_fill(~parts.ended | batch.done[:, None], -torch.inf)
        trace.steps.append(
            _trace_step(batch, candidates, parts, ended, alpha, attention=attention, alignment=alignment)
        )
        if tree is not None:
            tree.add(batch.sentences.masked_fill(batch.done, -1), candidates, parts)
        live = parts.live
        batch = _stop(
            batch, Standing(t + 1, ended, live.scores, ranked, parts.order, batch.constraints.limits)
        )
        if is_time_to_look(batch.done, t):
            remaining = int((~batch.done).sum())
            if remaining == 0:
                break
            rows = staying(batch.done, remaining, width)
            if rows is not None:
                batch, open_, live = batch.select(rows), open_.select(rows), live.select(rows)
                memory, state = memory.select(rows), state.select(rows)
        if width > 1 and not config.sampling:  # else each hypothesis continues itself
            state = state.reorder(live.parents)
        open_ = open_.continued(live)
    return _found(trace, config, source_lengths, real)


def _trace_step(
    batch: _Batch,
    candidates: Candidates,
    parts: Split,
    ended: Tensor,
    alpha: Tensor | None,
    *,
    attention: bool,
    alignment: bool,
) -> TraceStep:
    """What this step leaves behind: ended (B', E) are scores, alpha (B', K, S)."""
    E = ended.shape[1]
    return TraceStep(
        sentences=batch.sentences,
        rows=batch.rows,
        tokens=parts.live.tokens,
        parents=parts.live.parents,
        log_p=parts.live.log_p,
        ended=ended,
        ended_parents=candidates.parents[:, :E],
        ended_log_p=candidates.log_p[:, :E],
        attention=alpha if attention else None,
        alignment=alpha.argmax(dim=-1) if alignment and alpha is not None else None,
    )


def _stop(batch: _Batch, standing: Standing) -> _Batch:
    """The batch after a step, with those sentences done that need no further one."""
    stopping, stop = batch.stopping.after(standing)
    nothing_open = ~(standing.open_log_p > -torch.inf).any(dim=1)  # (B,) true also for what is not a number
    return replace(batch, stopping=stopping, done=batch.done | stop | nothing_open)


def _start(
    config: SearchConfig,
    source_lengths: Tensor,
    device: torch.device,
    *,
    banned: Sequence[int],
    prefix: Sequence[Sequence[int]] | None,
    numbers: Sequence[int] | None,
    real: int | None,
) -> _Batch:
    B = len(source_lengths)
    seeds = None
    if config.sampling:
        numbers_ = torch.arange(B) if numbers is None else torch.tensor(numbers)  # (B,)
        seeds = sentence_seeds(config.seed, numbers_).to(device)
    return _Batch(
        sentences=torch.arange(B, device=device),
        rows=torch.arange(B, device=device),
        done=torch.arange(B, device=device) >= (B if real is None else real),
        constraints=build_constraints(config, source_lengths, banned=banned, prefix=prefix, device=device),
        stopping=build_stopping(config, B, device),
        mask=source_mask(source_lengths, device) if config.coverage_penalty else None,
        seeds=seeds,
    )


def _first_open(config: SearchConfig, sentences: int, hypotheses: int, device: torch.device) -> _Open:
    tokens = torch.full((sentences, hypotheses), BOS, device=device)
    return _Open(
        tokens=tokens,
        scores=torch.zeros_like(tokens, dtype=torch.float32),
        coverage=None,
        sequences=tokens[..., None][..., :0] if config.no_repeat_ngram else None,
    )


def _is_greedy(config: SearchConfig, tree: SearchTree | None) -> bool:
    """Whether the first hypothesis that ends is the result, and nothing else is asked for."""
    return (
        config.width == 1
        and not config.sampling
        and not config.coverage_penalty
        and config.stopping != "exact"
        and tree is None
    )


def _candidates_needed(config: SearchConfig, tree: SearchTree | None) -> int:
    """2 K, so that K are left if K of them end."""
    return max(2 * config.width, 0 if tree is None else tree.candidates)


def _choose(
    log_p: Tensor, open_: _Open, batch: _Batch, config: SearchConfig, t: int, count: int
) -> Candidates:
    """The candidates (B, C) of step t from log p (B, K, V), which is overwritten."""
    forced = batch.constraints.forced(t)  # (B,)
    if forced is not None:  # a forced token may be banned: its log p is read before
        index = forced.clamp(min=0)[:, None, None].expand(*log_p.shape[:2], 1)
        forced_log_p = log_p.gather(2, index)[..., 0]  # (B, K)
    batch.constraints.exclude(log_p, t, open_.sequences)
    if batch.seeds is not None:
        uniform = uniforms(batch.seeds, t, log_p.shape[1])  # (B, K)
        candidates = draw_candidates(log_p, open_.scores, uniform, config)
    else:
        candidates = best_candidates(log_p, open_.scores, count)
    return candidates if forced is None else force(candidates, forced, forced_log_p, open_.scores)


def _cover(open_: _Open, alpha: Tensor | None, config: SearchConfig) -> _Open:
    """Add the attention (B, K, S) of this step to the coverage, if it is asked for."""
    if not config.coverage_penalty:
        return open_
    if alpha is None:
        raise ConfigError(
            f"search.coverage_penalty = {config.coverage_penalty} needs attention, and the model has none",
            hint="set search.coverage_penalty = 0, or choose a model with attention",
        )
    alpha = alpha.float()
    return replace(open_, coverage=alpha if open_.coverage is None else open_.coverage + alpha)


def _rank(candidates: Candidates, open_: _Open, batch: _Batch, config: SearchConfig, length: int) -> Tensor:
    """The scores (B, C) that all candidates would have if they ended here, with |Y| = `length`."""
    ranked = LengthNormalization.of(config).score(candidates.scores, length)  # (B, C)
    if open_.coverage is None or batch.mask is None:
        return ranked
    penalty = coverage_penalty(open_.coverage, batch.mask, config.coverage_penalty)  # (B, K)
    return ranked + penalty.gather(1, candidates.parents)


def _found(
    trace: Trace | GreedyTrace, config: SearchConfig, source_lengths: Tensor, real: int | None
) -> list[list[Hypothesis]]:
    hypotheses = trace.hypotheses(config.n_best, source_lengths)[:real]
    nothing = sum(not found for found in hypotheses)
    if nothing:
        raise NmtError(
            f"search found no translation for {nothing} of {len(hypotheses)} sentences",
            hint="either the model gives no numbers (nan), or search.min_length and search.no_repeat_ngram "
            "leave no token to choose: set one of them to 0",
        )
    return hypotheses
