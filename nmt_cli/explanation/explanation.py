"""`Explanation`: what a model did with one sentence, as plain data.

It holds words, attention, confidence, alternatives and the beam; the functions below turn a search tree into the beam
and describe what the rows of an attention map are.
"""

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
    """A word as it is shown; its pieces are first ≤ i < end."""

    text: str
    first: int
    end: int


@dataclass(frozen=True)
class Alternative:
    """A piece the model could have produced instead."""

    piece: str
    probability: float
    kept: bool  # whether it stayed in the beam


@dataclass(frozen=True)
class Prediction:
    """One piece of the translation, with its most probable alternatives, best first."""

    piece: str
    probability: float
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True)
class BeamNode:
    """A candidate of one step of the search."""

    piece: str
    parent: int  # slot, after the previous step, of the hypothesis being continued
    probability: float  # of the piece
    log_probability: float  # of the hypothesis up to this piece
    slot: int | None  # slot of the hypothesis after this step; None if it ended or was pruned
    ended: bool
    best: bool  # on the path to the best translation


@dataclass(frozen=True)
class RankedTranslation:
    """One of the n best translations of search."""

    text: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class SelfAttention:
    """The self-attention of one layer, with pieces in the order in which the layer reads them."""

    layer: str  # "encoder, layer 1"
    rows: tuple[str, ...]
    columns: tuple[str, ...]  # <start>, or the piece whose state is attended to
    weights: Matrix


@dataclass(frozen=True)
class DistanceMean:
    """The mean norm of the gradients at one distance; `nmt_cli.explanation.gradients` defines them."""

    distance: int
    norm: float
    pairs: int  # of a target and a source token at this distance


@dataclass(frozen=True)
class Gradients:
    """What the gradients ∂ log p(y_t) / ∂x_i say; rows are target positions, columns source positions."""

    norms: Matrix  # (T, S) ‖∂ log p(y_t) / ∂x_i‖
    products: Matrix  # (T, S) x_i · ∂ log p(y_t) / ∂x_i
    word_norms: Matrix  # (target words, source words)
    word_products: Matrix
    by_distance: tuple[DistanceMean, ...]  # from 1 on

    def shares(self) -> tuple[Matrix, Matrix]:
        """Word norms and products for a heat map: each row is divided by the sum of its absolute values."""
        return _shares(self.word_norms), _shares(self.word_products)


def _shares(matrix: Matrix) -> Matrix:
    return tuple(tuple(value / (sum(map(abs, row)) or 1.0) for value in row) for row in matrix)


def merged_distances(gradients: Sequence[Gradients]) -> tuple[DistanceMean, ...]:
    """The means over the pairs of several sentences."""
    sums: dict[int, tuple[float, int]] = {}
    for one in (each for sentence in gradients for each in sentence.by_distance):
        total, pairs = sums.get(one.distance, (0.0, 0))
        sums[one.distance] = total + one.norm * one.pairs, pairs + one.pairs
    return tuple(DistanceMean(d, total / pairs, pairs) for d, (total, pairs) in sorted(sums.items()))


@dataclass(frozen=True)
class Explanation:
    """One sentence, its translation and how the model produced it; <eos> is the last word of both.

    Attention rows are target positions, columns source positions; a row sums to at most 1. Word attention is summed
    over the pieces of a source word and averaged over the pieces of a target word.
    """

    system: str  # the preset
    source_lang: str
    target_lang: str
    note: str  # what attends to what, and when
    source: str
    translation: str
    forced: bool  # whether the translation was given rather than found by search
    score: float  # by which search compares translations, with length normalization
    log_probability: float
    source_pieces: tuple[str, ...]  # S
    target_pieces: tuple[str, ...]  # T
    source_words: tuple[Word, ...]
    target_words: tuple[Word, ...]
    confidence: tuple[float, ...]  # of each target word: the product of the probabilities of its pieces
    attention: Matrix | None  # (T, S); None if the model has none
    word_attention: Matrix | None  # (target words, source words)
    steps: tuple[Prediction, ...]  # T
    n_best: tuple[RankedTranslation, ...]  # of search, best first
    beam: tuple[tuple[BeamNode, ...], ...]  # the candidates of each search step, best first
    self_attention: tuple[SelfAttention, ...] = ()  # if requested
    gradients: Gradients | None = None  # if requested
    run: str = ""  # the run directory, where several are compared

    @property
    def source_labels(self) -> list[str]:
        """The source words."""
        return [word.text for word in self.source_words]

    @property
    def target_labels(self) -> list[str]:
        """The target words."""
        return [word.text for word in self.target_words]

    def to_data(self) -> dict[str, Any]:
        """The explanation as dictionaries, lists, strings and numbers."""
        return asdict(self)


def explanations_json(explanations: Sequence[Explanation]) -> str:
    """The content of a JSON file: a list with one object per sentence."""
    data = [explanation.to_data() for explanation in explanations]
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


_Prefix = tuple[int, ...]


def beam_nodes(
    steps: Sequence[Sequence[SearchNode]], best: Sequence[int], label: Callable[[int], str]
) -> tuple[tuple[BeamNode, ...], ...]:
    """The search tree as plain data; nodes on the path to `best`, ids that end in <eos>, are marked."""
    return tuple(
        tuple(
            BeamNode(
                piece=label(node.token),
                parent=node.parent if t else 0,  # samples start from separate but equal roots
                probability=exp(node.log_probability),
                log_probability=node.total,
                slot=node.slot,
                ended=node.ended,
                best=_is_kept(node) and prefix == tuple(best[: t + 1]),
            )
            for node, prefix in step
        )
        for t, step in enumerate(_with_prefixes(steps))
    )


def kept_prefixes(steps: Sequence[Sequence[SearchNode]]) -> set[_Prefix]:
    """The prefixes of translations that were in the beam; finished ones end in <eos>."""
    return {prefix for step in _with_prefixes(steps) for node, prefix in step if _is_kept(node)}


def _is_kept(node: SearchNode) -> bool:
    return node.slot is not None or node.ended


def _with_prefixes(
    steps: Sequence[Sequence[SearchNode]],
) -> Iterator[list[tuple[SearchNode, _Prefix]]]:
    """Each candidate with the tokens up to and including it."""
    prefixes: dict[int, _Prefix] = {}  # by slot; empty before the first step
    for step in steps:
        nodes = [(node, (*prefixes.get(node.parent, ()), node.token)) for node in step]
        yield nodes
        prefixes = {node.slot: prefix for node, prefix in nodes if node.slot is not None}


_NONE = (
    "This model has no attention: the decoder sees the source as a single vector, so there is no attention map. "
    "Confidence, alternatives and the beam are available."
)
_BEFORE = (
    "Each row shows the attention that produced its word. It is computed from the decoder state s(t-1), before "
    "the decoder reads the previous target word, so that word does not influence it."
)
_AFTER = (
    "Each row shows the attention that produced its word. It is computed from the decoder state s(t), after "
    "the decoder has read the previous target word."
)
_TRANSFORMER = (
    "Each row shows the cross-attention of the last layer that produced its word. "
    "Lower layers attend to the source as well; they are not shown."
)


def attention_note(model: ModelConfig) -> str:
    """A note for the reader: what the rows of the attention map of such a model are."""
    return " ".join(_sentences(model))


def _sentences(model: ModelConfig) -> Iterator[str]:
    if model.reverse_target:
        yield "This model writes the last word first, so the beam grows from the end of the sentence."
    if model.attention == "none":
        yield _NONE
        return
    if model.cell == "transformer":
        yield _TRANSFORMER
    else:
        yield _BEFORE if model.query == "before" else _AFTER
    if model.heads is not None and model.heads > 1:
        yield f"It is the mean of {model.heads} heads, which may attend to different positions."
    if model.hard_attention:
        yield "Attention is hard: all the weight is on the most probable position."
    if model.attention_span != "global":
        yield "Attention is local: positions outside the window have no weight."
