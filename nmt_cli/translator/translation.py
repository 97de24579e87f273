"""What is known of one translated line."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from torch import Tensor

from nmt_cli.search import SearchNode
from nmt_cli.translator.words import Groups, Links, group_pieces, links_of, word_attention, words_of


@dataclass(frozen=True)
class Details:
    """What to find out besides the text; what is not asked for is None and costs nothing."""

    scores: bool = False  # score, log-probability in total and of each token
    attention: bool = False  # the matrix between pieces
    alignment: bool = False  # links between words
    tree: bool = False  # everything that search considered


@dataclass(frozen=True, eq=False)
class Translation:
    """One translated line; S pieces of the source and T of the target, <eos> included in both.

    A line that was too long was translated in several `parts`: its pieces stand one after the other, and each part
    has its own <eos>. Its attention is 0 between parts. A blank line has no parts.
    """

    text: str
    source: str  # the line as the vocabulary saw it: normalized
    source_pieces: tuple[str, ...]  # S
    target_pieces: tuple[str, ...]  # T
    score: float | None = None  # by which search compares; of several parts the sum
    log_probability: float | None = None  # log P(text | source), <eos> included; of several parts the sum
    token_log_probabilities: tuple[float, ...] | None = None  # T
    attention: Tensor | None = None  # (T, S) on the CPU
    alignment: Links | None = None  # (source word, target word), counted from 0
    n_best: tuple[Translation, ...] | None = None  # the best first, which is this one, if search.n_best > 1
    tree: tuple[tuple[SearchNode, ...], ...] | None = None  # for each step the candidates, the best first
    parts: int = 1
    reached_limit: bool = False  # the longest length ended it, not the model
    whole_words: tuple[bool, bool] = (False, False)  # whether each piece is a word, source and target

    @cached_property
    def source_groups(self) -> Groups:
        """For each source word the positions of its pieces."""
        return group_pieces(self.source_pieces, whole_words=self.whole_words[0])

    @cached_property
    def target_groups(self) -> Groups:
        """For each target word the positions of its pieces."""
        return group_pieces(self.target_pieces, whole_words=self.whole_words[1])

    @property
    def source_words(self) -> tuple[str, ...]:
        """What stands between the spaces of the source."""
        return words_of(self.source_pieces, self.source_groups)

    @property
    def target_words(self) -> tuple[str, ...]:
        """What stands between the spaces of the translation."""
        return words_of(self.target_pieces, self.target_groups)

    @property
    def word_attention(self) -> Tensor | None:
        """Attention between words (J, I), if attention was asked for."""
        if self.attention is None:
            return None
        return word_attention(self.attention, self.source_groups, self.target_groups)

    @property
    def perplexity(self) -> float | None:
        """exp(-log P / T), if scores were asked for."""
        if self.log_probability is None:
            return None
        return math.exp(min(-self.log_probability / max(1, len(self.target_pieces)), 700.0))


def blank(details: Details) -> Translation:
    """The translation of a blank line: nothing, for certain."""
    log_p = 0.0 if details.scores else None
    return Translation(
        "",
        "",
        (),
        (),
        score=log_p,
        log_probability=log_p,
        token_log_probabilities=() if details.scores else None,
        alignment=() if details.alignment else None,
        parts=0,
    )


def with_links(translation: Translation, attention: Tensor | None) -> Translation:
    """The same with the word alignment that attention (T, S) shows; without attention there is none."""
    if attention is None:
        return translation
    links = links_of(attention, translation.source_groups, translation.target_groups)
    return replace(translation, alignment=links)
