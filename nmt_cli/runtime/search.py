"""Beam search on NumPy arrays: the same search as `nmt_cli.search`, as far as a deployed model needs it.

B sentences · K hypotheses per sentence · C candidates per step · N target tokens (all, or a shortlist)

A model step returns the best candidates of all hypotheses of a sentence, so no loop here runs over tokens. A beam of
one is greedy search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from nmt_cli.runtime.folder import Floats, Integers, RuntimeFailure, SearchSettings

PAD, UNK, BOS, EOS = 0, 1, 2, 3
_COMPACT_BELOW = 0.8  # compact the batch when at most this share of it is still active


class Step(NamedTuple):
    """The C best continuations of each sentence, best first."""

    scores: Floats  # (B, C) log P including the token; -∞ where there is no such continuation
    choices: Integers  # (B, C) hypothesis · N + token
    peak: Floats  # (B, K) log p of the most probable token after each hypothesis
    attention: Floats | None  # (B, K, S)


class Decoder(Protocol):
    """A model that has read B sentences."""

    ids: Integers  # (N,) the target tokens that a step chooses from, ascending

    def step(
        self, tokens: Integers, parents: Integers | None, scores: Floats, exclude: Floats, count: int
    ) -> Step:
        """Continue row parents[b, k] of the last step with tokens[b, k], a position in `ids`.

        Without parents each row continues itself. scores (B, K) are log P so far; exclude (1 or B, N) is -∞ for
        tokens that may not follow.
        """
        ...

    def select(self, rows: Integers) -> None:
        """Continue with these sentences only."""
        ...


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One translation of m tokens, without <eos>; the lists include <eos>."""

    tokens: list[int]
    score: float
    token_log_probabilities: list[float]  # m + 1
    attention: Floats | None  # (m + 1, S)
    truncated: bool = False  # the maximum length ended it: another token was more probable than <eos>

    @property
    def log_probability(self) -> float:
        """log P(Y | X), <eos> included."""
        return float(np.sum(self.token_log_probabilities))


class _Ended(NamedTuple):
    score: float
    step: int
    parent: int
    log_p: float
    truncated: bool


class _Constraints:
    """Which tokens may follow: banned ones, minimum and maximum length, prefixes."""

    def __init__(
        self,
        ids: Integers,
        settings: SearchSettings,
        source_lengths: Integers,
        banned: Integers,
        prefixes: list[list[int]] | None,
    ) -> None:
        self.limits = settings.limits(source_lengths)
        self.eos = int(np.searchsorted(ids, EOS))
        self._min_length = settings.min_length
        self._free = np.zeros((1, len(ids)), np.float32)
        at = np.minimum(np.searchsorted(ids, banned), len(ids) - 1)
        self._free[0, at[ids[at] == banned]] = -np.inf
        self._early = self._free.copy()
        self._early[0, self.eos] = -np.inf
        self._prefix: Integers | None = None
        if prefixes is not None and any(prefixes):
            self._prefix = np.full((len(prefixes), max(map(len, prefixes))), -1)
            for row, tokens in zip(self._prefix, prefixes, strict=True):
                row[: len(tokens)] = np.searchsorted(ids, tokens)
            self.limits = np.maximum(self.limits, (self._prefix >= 0).sum(axis=1))
        self.shortest = int(self.limits.min())

    def exclude(self, sentences: Integers, t: int) -> Floats:
        """What is added to log p at step t: (1, N), or (B', N) if a token is forced."""
        general = self._early if t < self._min_length else self._free
        in_prefix = self._prefix is not None and t < self._prefix.shape[1]
        if not in_prefix and t < self.shortest:
            return general
        forced = np.full(len(sentences), -1)
        if self._prefix is not None and in_prefix:
            forced = self._prefix[sentences, t]
        forced = np.where(self.limits[sentences] <= t, self.eos, forced)
        exclude = np.repeat(general, len(sentences), axis=0)
        rows = np.flatnonzero(forced >= 0)
        exclude[rows] = -np.inf
        exclude[rows, forced[rows]] = 0.0
        return exclude


class _Stopping:
    """Which sentences need no further step."""

    def __init__(self, settings: SearchSettings, sentences: int) -> None:
        self._settings = settings
        self._count = np.zeros(sentences, np.int64)
        self._best = np.full((sentences, settings.n_best), -np.inf, np.float32)  # descending

    def after(self, sentences: Integers, t: int, ended: Floats, opened: Floats, limits: Integers) -> Any:
        """ended (B', K) scores, opened (B', K) log P, -∞ where there is none → (B',) which are done"""
        settings = self._settings
        nothing_open = ~(opened > -np.inf).any(axis=1)  # also true if all are nan
        if settings.stopping == "finished":
            self._count[sentences] += (ended > -np.inf).sum(axis=1)
            return nothing_open | (self._count[sentences] >= settings.beam_size)
        best = np.sort(np.concatenate([self._best[sentences], ended], axis=1), axis=1)[:, ::-1]
        self._best[sentences] = best = best[:, : settings.n_best]
        leading = opened.max(axis=1)
        if settings.stopping == "first":
            reached = best[:, 0] >= settings.normalized(leading, t + 1)
            return nothing_open | ((best[:, 0] > -np.inf) & reached)
        # No continuation can raise log P, and every normalization is monotone in the length.
        shortest = settings.length_normalization == "reward" and settings.word_reward < 0
        bound = settings.normalized(leading, t + 2 if shortest else limits[sentences] + 1)
        return nothing_open | (best[:, -1] >= bound)


def search(
    decoder: Decoder,
    source_lengths: Integers,
    settings: SearchSettings,
    *,
    banned: Integers,
    prefixes: list[list[int]] | None = None,
    attention: bool = False,
) -> list[list[Hypothesis]]:
    """The n best translations of each sentence, best first; source_lengths (B,) count <eos>."""
    B, K, N = len(source_lengths), settings.beam_size, len(decoder.ids)
    constraints = _Constraints(decoder.ids, settings, source_lengths, banned, prefixes)
    if K == 1 and settings.stopping != "exact":  # the first hypothesis that ends is the result
        return _greedy_search(decoder, source_lengths, settings, constraints, attention=attention)
    stopping = _Stopping(settings, B)
    trace = _Trace(decoder.ids, B)
    sentences = np.arange(B)  # (B',) those still in the batch
    tokens = np.full((B, 1), np.searchsorted(decoder.ids, BOS))
    parents: Integers | None = None
    scores, done = np.zeros((B, 1), np.float32), np.zeros(B, bool)
    for t in range(int(constraints.limits.max()) + 1):
        width = tokens.shape[1]
        count = min(2 * K, width * N)  # K candidates stay open even if K of 2 K end
        step = decoder.step(tokens, parents, scores, constraints.exclude(sentences, t), count)
        parent, token = np.divmod(step.choices, N)  # (B', C)
        of_parent = np.arange(len(parent))[:, None], parent
        before = scores[of_parent]
        with np.errstate(invalid="ignore"):  # -∞ of hypotheses that do not exist
            log_p = step.scores - before  # of the token alone
        ends = token == constraints.eos
        ended = np.where(
            ends[:, :K] & ~done[:, None], settings.normalized(step.scores[:, :K], t + 1), np.float32(-np.inf)
        )
        cut = None
        if t >= constraints.shortest:
            at_limit = constraints.limits[sentences] <= t
            cut = at_limit[:, None] & (step.scores < before + step.peak[of_parent])
        trace.end(sentences, t, ended, parent, log_p, cut)
        scores = np.where(ends, np.float32(-np.inf), step.scores)
        if token.shape[1] > K:  # the best that stay open, in order
            order = np.argsort(ends, axis=1, kind="stable")[:, :K]
            open_ones = np.arange(len(order))[:, None], order
            token, parent, log_p, scores = (column[open_ones] for column in (token, parent, log_p, scores))
        trace.add(sentences, token, parent, log_p, step.attention if attention else None)
        done = done | stopping.after(sentences, t, ended, scores, constraints.limits)
        tokens, parents = token, parent + np.arange(0, len(sentences) * width, width)[:, None]
        rows = np.flatnonzero(~done)
        if len(rows) == 0:
            break
        if len(rows) <= _COMPACT_BELOW * len(done):
            decoder.select(rows)
            sentences, done = sentences[rows], done[rows]
            tokens, parents, scores = tokens[rows], parents[rows], scores[rows]
    return trace.hypotheses(settings.n_best, source_lengths)


class _Path:
    """The steps of one sentence in greedy search, <eos> included."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.log_p: list[float] = []
        self.attention: list[Floats] = []
        self.ended = self.truncated = False


def _greedy_search(
    decoder: Decoder,
    source_lengths: Integers,
    settings: SearchSettings,
    constraints: _Constraints,
    *,
    attention: bool,
) -> list[list[Hypothesis]]:
    """A beam of one, with nothing to compare: a step needs few operations."""
    paths = active = [_Path() for _ in source_lengths]
    sentences = np.arange(len(paths))
    tokens, scores = (
        np.full((len(paths), 1), np.searchsorted(decoder.ids, BOS)),
        np.zeros((len(paths), 1), "f"),
    )
    parents: Integers | None = None
    for t in range(int(constraints.limits.max()) + 1):
        step = decoder.step(tokens, parents, scores, constraints.exclude(sentences, t), 1)
        tokens, parents, waiting = step.choices, None, 0
        for row, (path, token, log_p) in enumerate(
            zip(active, tokens.ravel().tolist(), step.scores.ravel().tolist(), strict=True)
        ):
            if path.ended:  # it waits for the batch to be compacted
                waiting += 1
                continue
            path.tokens.append(token)
            path.log_p.append(log_p)
            if attention and step.attention is not None:
                path.attention.append(step.attention[row, 0])
            if token == constraints.eos:
                path.ended, waiting = True, waiting + 1
                at_limit = t >= constraints.limits[sentences[row]]
                path.truncated = bool(at_limit and log_p < step.peak[row, 0])
        if waiting == len(active):
            break
        if len(active) - waiting <= _COMPACT_BELOW * len(active):
            rows = np.array([row for row, path in enumerate(active) if not path.ended])
            decoder.select(rows)
            active, sentences = [active[row] for row in rows], sentences[rows]
            tokens, scores, parents = tokens[rows], scores[rows], rows[:, None]
    _check_found([all(log_p > -math.inf for log_p in path.log_p) for path in paths])  # also false for nan
    return [
        [_greedy_hypothesis(path, decoder.ids, settings, length)]
        for path, length in zip(paths, source_lengths.tolist(), strict=True)
    ]


def _greedy_hypothesis(
    path: _Path, ids: Integers, settings: SearchSettings, source_length: int
) -> Hypothesis:
    score = float(settings.normalized(np.float32(np.sum(path.log_p)), len(path.log_p)))
    matrix = np.stack(path.attention)[:, :source_length] if path.attention else None
    return Hypothesis(ids[path.tokens[:-1]].tolist(), score, path.log_p, matrix, path.truncated)


def _check_found(found: Sequence[bool]) -> None:
    """Whether each sentence has a translation."""
    missing = sum(not one for one in found)
    if missing:
        raise RuntimeFailure(
            f"search found no translation for {missing} of {len(found)} sentences",
            "either the model's outputs are not numbers (nan), or search.min_length leaves no token to choose",
        )


class _Trace:
    """Backpointers of all steps, and the hypotheses that ended."""

    def __init__(self, ids: Integers, sentences: int) -> None:
        self._ids = ids
        self._ended: list[list[_Ended]] = [[] for _ in range(sentences)]
        self._steps: list[tuple[Any, ...]] = []
        self._rows = np.zeros(sentences, np.int64)
        self._sentences: Integers | None = None

    def add(
        self, sentences: Integers, tokens: Integers, parents: Integers, log_p: Floats, alpha: Floats | None
    ) -> None:
        """The open hypotheses (B', K) after a step."""
        if self._sentences is not sentences:
            self._sentences = sentences
            self._rows = np.zeros_like(self._rows)
            self._rows[sentences] = np.arange(len(sentences))
        self._steps.append((self._rows, tokens, parents, log_p, alpha))

    def end(
        self, sentences: Integers, t: int, scores: Floats, parents: Integers, log_p: Floats, cut: Any
    ) -> None:
        """The hypotheses that ended at step t: scores (B', K), -∞ for all others; cut (B', C): truncated ones."""
        for row, rank in zip(*(axis.tolist() for axis in np.nonzero(scores > -np.inf)), strict=True):
            truncated = cut is not None and bool(cut[row, rank])
            parent, value = int(parents[row, rank]), float(log_p[row, rank])
            end = _Ended(float(scores[row, rank]), t, parent, value, truncated)
            self._ended[sentences[row]].append(end)

    def hypotheses(self, n: int, source_lengths: Integers) -> list[list[Hypothesis]]:
        """The n best of each sentence; ties go to the one that ended earlier."""
        _check_found([bool(ended) for ended in self._ended])
        best = (sorted(ended, key=lambda end: -end.score)[:n] for ended in self._ended)
        return [
            [self._walk_back(b, end, int(source_lengths[b])) for end in ends] for b, ends in enumerate(best)
        ]

    def _walk_back(self, b: int, end: _Ended, source_length: int) -> Hypothesis:
        tokens, parts, slot = [], [end.log_p], end.parent
        attention = (
            [] if self._steps[0][4] is None else [self._steps[end.step][4][self._row(end.step, b), slot]]
        )
        for t in range(end.step - 1, -1, -1):
            rows, token, parent, log_p, alpha = self._steps[t]
            row = rows[b]
            tokens.append(int(token[row, slot]))
            parts.append(float(log_p[row, slot]))
            slot = int(parent[row, slot])
            if alpha is not None:
                attention.append(alpha[row, slot])
        matrix = np.stack(attention[::-1])[:, :source_length] if attention else None
        return Hypothesis(self._ids[tokens[::-1]].tolist(), end.score, parts[::-1], matrix, end.truncated)

    def _row(self, t: int, b: int) -> int:
        return int(self._steps[t][0][b])
