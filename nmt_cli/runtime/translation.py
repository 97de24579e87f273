"""`Translation`: everything known about a translated line, from its segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nmt_cli.runtime.search import Floats, SearchSettings
from nmt_cli.runtime.segments import join_texts
from nmt_cli.runtime.words import Groups, Links, group_pieces


@dataclass(frozen=True, eq=False)
class Translation:
    """One translated line: S source pieces and T target pieces, <eos> included on both sides."""

    text: str
    source: str
    source_pieces: tuple[str, ...] = ()
    target_pieces: tuple[str, ...] = ()
    score: float | None = None
    log_probability: float | None = None
    token_log_probabilities: tuple[float, ...] | None = None
    attention: Floats | None = None  # (T, S)
    alignment: Links | None = None
    n_best: tuple[Translation, ...] | None = None
    parts: int = 1
    reached_limit: bool = False
    whole_words: tuple[bool, bool] = (False, False)

    @cached_property
    def source_groups(self) -> Groups:
        """For each source word the positions of its pieces."""
        return group_pieces(self.source_pieces, whole_words=self.whole_words[0])

    @cached_property
    def target_groups(self) -> Groups:
        """For each target word the positions of its pieces."""
        return group_pieces(self.target_pieces, whole_words=self.whole_words[1])

    @property
    def perplexity(self) -> float | None:
        """exp(-log P / T), if scores were requested."""
        if self.log_probability is None:
            return None
        return math.exp(min(-self.log_probability / max(1, len(self.target_pieces)), 700.0))


class Wanted(NamedTuple):
    """What to return besides the text."""

    scores: bool
    attention: bool
    alignment: bool

    @property
    def needs_attention(self) -> bool:
        """Whether search must keep the attention."""
        return self.attention or self.alignment


def blank_translation(*, scores: bool, alignment: bool) -> Translation:
    """The translation of a blank line: empty, with probability 1."""
    log_p, tokens = (0.0, ()) if scores else (None, None)
    return Translation("", "", (), (), log_p, log_p, tokens, alignment=() if alignment else None, parts=0)


def join_segments(
    segments: Sequence[Translation], separators: Sequence[str], settings: SearchSettings
) -> Translation:
    """The translation of a line from those of its segments; its i-th best joins the i-th best of each."""
    if len(segments) == 1:
        return segments[0]
    lists = [segment.n_best or (segment,) for segment in segments]
    ranks = [[found[min(i, len(found) - 1)] for found in lists] for i in range(max(map(len, lists)))]
    joined = [_join(rank, separators, settings) for rank in ranks]
    return replace(joined[0], n_best=tuple(joined)) if segments[0].n_best is not None else joined[0]


def _join(
    segments: Sequence[Translation], separators: Sequence[str], settings: SearchSettings
) -> Translation:
    log_p = score = tokens = attention = None
    if segments[0].log_probability is not None:
        log_p = sum(segment.log_probability or 0.0 for segment in segments)
        score = float(settings.normalized(log_p, sum(len(one.target_pieces) for one in segments)))
        tokens = tuple(p for segment in segments for p in segment.token_log_probabilities or ())
    source_pieces = tuple(piece for segment in segments for piece in segment.source_pieces)
    target_pieces = tuple(piece for segment in segments for piece in segment.target_pieces)
    blocks = [segment.attention for segment in segments if segment.attention is not None]
    if blocks:  # block-diagonal: each segment attends to its own source only
        attention = np.zeros((len(target_pieces), len(source_pieces)), np.float32)
        t = s = 0
        for block in blocks:
            attention[t : t + block.shape[0], s : s + block.shape[1]] = block
            t, s = t + block.shape[0], s + block.shape[1]
    return Translation(
        text=join_texts([segment.text for segment in segments], separators),
        source=join_texts([segment.source for segment in segments], separators),
        source_pieces=source_pieces,
        target_pieces=target_pieces,
        score=score,
        log_probability=log_p,
        token_log_probabilities=tokens,
        attention=attention,
        alignment=_joined_links(segments),
        parts=sum(segment.parts for segment in segments),
        reached_limit=any(segment.reached_limit for segment in segments),
        whole_words=segments[0].whole_words,
    )


def _joined_links(segments: Sequence[Translation]) -> Links | None:
    """The words of a segment are counted from the end of the previous segments."""
    links: list[tuple[int, int]] = []
    i = j = 0
    for segment in segments:
        if segment.alignment is None:
            return None
        links += [(i + source, j + target) for source, target in segment.alignment]
        i, j = i + len(segment.source_groups), j + len(segment.target_groups)
    return tuple(links)
