"""`Translation`: everything known about a translated line, from its segments, and how it is written."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.runtime.folder import Floats, SearchSettings
from nmt_cli.runtime.segments import join_texts
from nmt_cli.runtime.words import Groups, Links, group_pieces, pharaoh


class Derived:
    """What follows from the pieces and the log-probability of a translation."""

    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    whole_words: tuple[bool, bool]
    log_probability: float | None
    alignment: Links | None

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


@dataclass(frozen=True, eq=False)
class Translation(Derived):
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
        alignment=joined_links(segments),
        parts=sum(segment.parts for segment in segments),
        reached_limit=any(segment.reached_limit for segment in segments),
        whole_words=segments[0].whole_words,
    )


def joined_links(segments: Sequence[Derived]) -> Links | None:
    """The word alignment of a line. The words of a segment are counted from the end of the previous segments."""
    links: list[tuple[int, int]] = []
    i = j = 0
    for segment in segments:
        if segment.alignment is None:
            return None
        links += [(i + source, j + target) for source, target in segment.alignment]
        i, j = i + len(segment.source_groups), j + len(segment.target_groups)
    return tuple(links)


# Output formats: one output line per input line in every format

COLUMN = str.maketrans("\t\r\n", "   ")


def as_text(number: int, source: str, translation: Any) -> str:
    """The translation alone."""
    return str(translation.text)


def as_tsv(number: int, source: str, translation: Any, *, n_best: int = 1) -> str:
    """Source; translation and score, `n_best` times; word alignment, if requested.

    Tabs within a text become spaces. Columns are empty where there are fewer than `n_best` translations.
    """
    columns = [source]
    for one in translation.n_best or (translation,):
        columns += [one.text, number_text(one.score)]
    columns += [""] * (1 + 2 * n_best - len(columns))
    if translation.alignment is not None:
        columns.append(pharaoh(translation.alignment))
    return "\t".join(column.translate(COLUMN) for column in columns)


def as_json(number: int, source: str, translation: Any, *, tokens: bool = False) -> str:
    """A JSON object; lines are numbered from 1.

    `tokens` adds the pieces of both sides and the log-probability of each target piece.
    """
    content: dict[str, Any] = {"line": number, "source": source, **_fields(translation)}
    if translation.parts > 1:
        content["parts"] = translation.parts
    if translation.n_best is not None:
        content["n_best"] = [_fields(one) for one in translation.n_best]
    if tokens:
        content["source_tokens"], content["target_tokens"] = (
            translation.source_pieces,
            translation.target_pieces,
        )
        log_p = translation.token_log_probabilities or ()
        content["token_log_probabilities"] = [round(value, 4) for value in log_p]
    return json.dumps(content, ensure_ascii=False)


def _fields(translation: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"translation": translation.text}
    if translation.score is not None and translation.log_probability is not None:
        fields["score"] = round(translation.score, 6)
        fields["log_probability"] = round(translation.log_probability, 6)
    if translation.alignment is not None:
        fields["alignment"] = pharaoh(translation.alignment)
    if terms := getattr(translation, "terms", ()):  # an exported model knows none
        fields["terms"] = [{"source": one.source, "target": one.target, "met": one.met} for one in terms]
    if translation.attention is not None:
        fields["attention"] = [[round(a, 4) for a in row] for row in translation.attention.tolist()]
    return fields


def as_score(number: int, source: str, translation: Any) -> str:
    """log P and perplexity; an empty line for two blank lines."""
    if not translation.parts:
        return ""
    return f"{number_text(translation.log_probability)}\t{number_text(translation.perplexity)}"


def as_links(number: int, source: str, translation: Any) -> str:
    """The word alignment alone."""
    return pharaoh(translation.alignment or ())


def as_score_tsv(number: int, source: str, translation: Any) -> str:
    """Source, target, log P, perplexity, number of tokens; word alignment, if requested."""
    fields = number_text(translation.log_probability), number_text(translation.perplexity)
    columns = [source, translation.text, *fields, str(len(translation.target_pieces))]
    if translation.alignment is not None:
        columns.append(pharaoh(translation.alignment))
    return "\t".join(column.translate(COLUMN) for column in columns)


def as_score_json(
    number: int, source: str, translation: Any, *, tokens: bool = False, monolingual: bool = False
) -> str:
    """A JSON object: as for a translation, with target, perplexity and number of tokens.

    `monolingual` text was scored by a language model, and has no source.
    """
    content = json.loads(as_json(number, source, translation, tokens=tokens))
    if monolingual:
        content.pop("source")
        content.pop("source_tokens", None)
    content["target"] = content.pop("translation")
    content["perplexity"] = round(translation.perplexity or 1.0, 6)
    content["tokens"] = len(translation.target_pieces)
    return json.dumps(content, ensure_ascii=False)


def number_text(value: float | None) -> str:
    """Four decimals, or nothing."""
    return "" if value is None else f"{value:.4f}"
