"""The search loop. Beam search and sampling take the same steps and differ in how candidates are chosen.

B sentences · K hypotheses per sentence · S source positions · V tokens · C candidates per step

The beam is a dimension: no step loops over sentences or hypotheses in Python, the memory (B, S, …) is never
copied or reordered, and a hypothesis consists of backpointers until the end. Sums and comparisons are in float32,
whatever the precision of the model.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import NmtError
from nmt_cli.model.protocol import MemoryT, StateT, padding_mask
from nmt_cli.search.candidates import (
    Candidates,
    EndedAndOpen,
    best_candidates,
    diverse_candidates,
    force,
    sample_candidates,
    split_ended,
    uniforms,
)
from nmt_cli.search.constraints import BannedWords
from nmt_cli.search.greedy import GreedyTrace, greedy_search
from nmt_cli.search.hypotheses import OpenHypotheses, Sentences, start_sentences
from nmt_cli.search.penalties import LengthNormalization, coverage_penalty
from nmt_cli.search.phrases import Phrase, PhraseProgress, check_constrained, choose, constrained_candidates
from nmt_cli.search.scorer import Scorer
from nmt_cli.search.stopping import StepScores, is_time_to_check, rows_to_keep
from nmt_cli.search.trace import Hypothesis, Recorded, SearchTree, Trace, TraceStep


@torch.inference_mode()
def search(
    scorer: Scorer[MemoryT, StateT],
    memory: MemoryT,
    source_lengths: Tensor,
    config: SearchConfig,
    *,
    banned: Sequence[int] = (),
    words: Sequence[BannedWords] = (),
    prefix: Sequence[Sequence[int]] | None = None,
    required: Sequence[Sequence[Phrase]] = (),
    continues: Tensor | None = None,
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
    words            words that no translation may contain, in any segmentation
    prefix           for each sentence, the ids that its translation starts with; part of the result
    required         for each sentence, the phrases that its translation must contain, if search can find a way
    continues        (V,) whether a token continues the word before it (default: none does)
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
    if any(required):
        check_constrained(config)
    sentences = start_sentences(
        config,
        source_lengths,
        scorer.device,
        banned=banned,
        words=words,
        prefix=prefix,
        required=required,
        continues=continues,
        numbers=numbers,
        real=real,
    )
    recorded = Recorded(scores, attention, alignment)
    trace: Trace | GreedyTrace
    if _is_greedy(config, tree):
        normalization = LengthNormalization.of(config)
        trace = greedy_search(scorer, memory, sentences.constraints, sentences.done, normalization, recorded)
    else:
        trace = _beam_search(scorer, memory, sentences, config, recorded, tree)
    return _hypotheses(trace, config, source_lengths, real)


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
    sentences: Sentences,
    config: SearchConfig,
    recorded: Recorded,
    tree: SearchTree | None,
) -> Trace:
    """Step until all sentences are done; the hypotheses are read off the trace afterwards."""
    B, width = len(sentences.done), config.width
    # Before the first step all hypotheses of a sentence are equal: one is enough, unless they are sampled.
    hypotheses = OpenHypotheses.start(sentences, width if config.sampling else 1)
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
        candidates, split, progress, missing = _choose(log_p, hypotheses, sentences, config, t, count)
        truncated = _truncated(log_p, sentences, t)  # (B, K)
        ranked = _final_scores(candidates, hypotheses, sentences, config, t + 1)  # (B, C)
        ended = ranked[:, : split.ended.shape[1]].masked_fill(
            ~split.ended | sentences.cannot_end(), -torch.inf
        )
        if missing is not None:
            sentences, ended, ranked = sentences.keep_best_ended(ended, ranked, missing)
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
                progress = None if progress is None else progress.select(rows)
        if width > 1 and not config.sampling:  # otherwise each hypothesis continues itself
            state = state.reorder(chosen.parents)
        hypotheses = hypotheses.extend(chosen, progress, sentences.constraints)
    return trace


class _Choice(NamedTuple):
    """What a step chooses."""

    candidates: Candidates  # (B, C)
    split: EndedAndOpen  # (B, E), (B, K'), (B, K')
    progress: PhraseProgress | None = None  # (B, K', …) of the open candidates, if there are required phrases
    missing: Tensor | None = None  # (B, C, G) tokens of each required phrase that a candidate lacks


def _choose(
    log_p: Tensor,
    hypotheses: OpenHypotheses,
    sentences: Sentences,
    config: SearchConfig,
    t: int,
    count: int,
) -> _Choice:
    """Candidates of step t from log p (B, K, V), which is overwritten, and those that end or stay open."""
    scores, constraints, required = hypotheses.scores, sentences.constraints, sentences.required
    forced, forced_log_p = constraints.forced(t), None  # (B,)
    if forced is not None:  # read before `exclude`: a forced token may be banned
        index = forced.clamp(min=0)[:, None, None].expand(*log_p.shape[:2], 1)
        forced_log_p = log_p.gather(2, index)[..., 0]  # (B, K)
    constraints.exclude(log_p, t, hypotheses.history)
    if config.diversity_groups > 1:
        groups, strength = config.diversity_groups, config.diversity_strength
        return _Choice(
            *diverse_candidates(log_p, scores, groups, strength, config.width, forced, forced_log_p)
        )
    if sentences.seeds is not None:
        uniform = uniforms(sentences.seeds, t, log_p.shape[1])  # (B, K)
        candidates = sample_candidates(log_p, scores, uniform, config)
    elif required is not None and hypotheses.progress is not None:
        candidates = constrained_candidates(log_p, scores, required, hypotheses.progress, count)
    else:
        candidates = best_candidates(log_p, scores, count)
    if forced is not None and forced_log_p is not None:
        candidates = force(candidates, forced, forced_log_p, scores)
    if required is not None and hypotheses.progress is not None:
        return _Choice(*choose(candidates, required, hypotheses.progress, config.width))
    return _Choice(candidates, split_ended(candidates, config.width))


def _truncated(log_p: Tensor, sentences: Sentences, t: int) -> Tensor | None:
    """(B, K) where only the maximum length ends a hypothesis in step t; log p (B, K, V) without excluded tokens."""
    constraints = sentences.constraints
    return None if t < constraints.shortest_limit else constraints.truncates(log_p.argmax(dim=2), t)


def _final_scores(
    candidates: Candidates,
    hypotheses: OpenHypotheses,
    sentences: Sentences,
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
    sentences: Sentences,
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
