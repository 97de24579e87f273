"""What a model did with one sentence, as plain data: `Explanation`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Word:
    """A word as it is shown, and its pieces: first ≤ i < end."""

    text: str
    first: int
    end: int


@dataclass(frozen=True)
class Alternative:
    """A piece that the model could have said instead."""

    piece: str
    probability: float
    kept: bool  # whether the beam went on with it


@dataclass(frozen=True)
class Step:
    """One piece of the translation and what else was likely there, the most probable first."""

    piece: str
    probability: float
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True)
class BeamNode:
    """A candidate of one step of the search."""

    piece: str
    parent: int  # slot of the hypothesis it continues, among those of the step before
    probability: float  # of the piece
    log_probability: float  # of all that was said up to it
    slot: int | None  # where the hypothesis stands after the step; None if it ended or was dropped
    ended: bool
    best: bool  # on the way to the best translation


@dataclass(frozen=True)
class Candidate:
    """One of the translations that the search found."""

    text: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class SelfAttention:
    """Where a layer looked among the pieces of its own side, in the order in which it reads them."""

    layer: str  # "encoder, layer 1"
    rows: tuple[str, ...]
    columns: tuple[str, ...]  # <start>, or the piece whose state was looked at
    weights: Matrix


@dataclass(frozen=True)
class Explanation:
    """One sentence and its translation, looked at from all sides; <eos> is the last word of both.

    Attention rows are target positions, columns source positions; a row sums to 1 at most. A word of several source
    pieces has the sum of their weights, a word of several target pieces the mean of their rows.
    """

    system: str  # the preset
    source_lang: str
    target_lang: str
    note: str  # what attends to what, and when
    source: str
    translation: str
    forced: bool  # whether the translation was given, not found
    score: float  # by which translations are compared, with length normalization
    log_probability: float
    source_pieces: tuple[str, ...]  # S
    target_pieces: tuple[str, ...]  # T
    source_words: tuple[Word, ...]
    target_words: tuple[Word, ...]
    confidence: tuple[float, ...]  # of each target word: the product of the probabilities of its pieces
    attention: Matrix | None  # (T, S); None if the model has none
    word_attention: Matrix | None  # (target words, source words)
    steps: tuple[Step, ...]  # T
    n_best: tuple[Candidate, ...]  # what search found, the best first
    beam: tuple[tuple[BeamNode, ...], ...]  # the candidates of each step of the search, the best first
    self_attention: tuple[SelfAttention, ...] = ()  # if it was asked for

    @property
    def source_labels(self) -> list[str]:
        """The source words."""
        return [word.text for word in self.source_words]

    @property
    def target_labels(self) -> list[str]:
        """The target words."""
        return [word.text for word in self.target_words]

    def to_data(self) -> dict[str, Any]:
        """Dictionaries, lists, texts and numbers only."""
        return asdict(self)


def explanations_json(explanations: Sequence[Explanation]) -> str:
    """All numbers as a JSON file: a list with an object for each sentence."""
    data = [explanation.to_data() for explanation in explanations]
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
