"""What a model did with one sentence, as plain data: `Explanation`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import exp
from typing import TYPE_CHECKING, Any

from nmt_cli.config import ModelConfig

if TYPE_CHECKING:
    from nmt_cli.search import SearchNode

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


# The search tree as plain data, and the beginnings of translations that the beam went on with.


Prefix = tuple[int, ...]


def beam_nodes(
    steps: Sequence[Sequence[SearchNode]], best: Sequence[int], label: Callable[[int], str]
) -> tuple[tuple[BeamNode, ...], ...]:
    """The candidates of every step; those on the way to `best`, ids that end in <eos>, are marked."""
    return tuple(
        tuple(
            BeamNode(
                piece=label(node.token),
                parent=node.parent if t else 0,  # samples have a root each, all the same
                probability=exp(node.log_probability),
                log_probability=node.total,
                slot=node.slot,
                ended=node.ended,
                best=_goes_on(node) and prefix == tuple(best[: t + 1]),
            )
            for node, prefix in step
        )
        for t, step in enumerate(_with_prefixes(steps))
    )


def kept_prefixes(steps: Sequence[Sequence[SearchNode]]) -> set[Prefix]:
    """The beginnings of translations that were in the beam, with <eos> where they ended."""
    return {prefix for step in _with_prefixes(steps) for node, prefix in step if _goes_on(node)}


def _goes_on(node: SearchNode) -> bool:
    return node.slot is not None or node.ended


def _with_prefixes(
    steps: Sequence[Sequence[SearchNode]],
) -> Iterator[list[tuple[SearchNode, Prefix]]]:
    """Each candidate with all that was said up to it."""
    prefixes: dict[int, Prefix] = {}  # by slot; none before the first step
    for step in steps:
        nodes = [(node, (*prefixes.get(node.parent, ()), node.token)) for node in step]
        yield nodes
        prefixes = {node.slot: prefix for node, prefix in nodes if node.slot is not None}


# What the rows of an attention map are, for each kind of model.


_NONE = (
    "This model has no attention: the source reaches the decoder as one vector, so there is no map of "
    "where it looked. Confidence, alternatives and the beam are there."
)
_BEFORE = (
    "A row is where the model looked in order to say its word. It is computed from the decoder state s(t-1), "
    "before the decoder reads the word that it said last: all words but that one decide it."
)
_AFTER = (
    "A row is where the model looked in order to say its word. It is computed from the decoder state s(t), "
    "after the decoder has read the word that it said last."
)
_TRANSFORMER = (
    "A row is where the last layer looked in order to say its word, after all that was said before. "
    "Lower layers look, too, and are not shown."
)


def attention_note(model: ModelConfig) -> str:
    """What attends to what in a model of these settings, and when."""
    return " ".join(_sentences(model))


def _sentences(model: ModelConfig) -> Iterator[str]:
    if model.attention == "none":
        yield _NONE
        return
    if model.cell == "transformer":
        yield _TRANSFORMER
    else:
        yield _BEFORE if model.query == "before" else _AFTER
    if model.heads is not None and model.heads > 1:
        yield f"It is the mean of {model.heads} heads, which may look at different places."
    if model.hard_attention:
        yield "Attention is hard: all the weight is on the most probable position."
    if model.attention_span != "global":
        yield "Attention is local: outside of its window there is no weight."
