"""Reranking: choose among the candidates of `nmt translate --n-best` with models that search could not use.

    s(y) = score(y) + Σ_k w_k · f_k(y)

score is that of search. A feature f_k is a log-probability per token: log P(x | y) / |x| of a reverse model (the noisy
channel, Yee et al. 2019), log P(y | x) / |y| of another model in the same direction, such as one that writes from
right to left (Liu et al. 2016), or log P(y) / |y| of a language model. The models need no common vocabulary. Weights
are tuned for BLEU on a text with references.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import CorpusError
from nmt_cli.metrics.corpus_metric import CorpusMetric
from nmt_cli.translator.translation import Details
from nmt_cli.translator.translator import Translator

Direction = Literal["reverse", "forward", "language model"]
Floats = NDArray[np.float64]

_GRID = np.arange(21) / 10  # weights that tuning tries for each model
_ROUNDS = 3


class CandidateList(NamedTuple):
    """The translations that search found for a line; none for a blank one."""

    line: dict[str, Any]  # as `nmt translate --json` wrote it
    source: str
    texts: tuple[str, ...]
    scores: tuple[float, ...]


class Reranker(NamedTuple):
    """A model that scores candidates, and the weight of its feature."""

    direction: Direction
    translator: Translator
    weight: float

    def features(self, lists: Sequence[CandidateList]) -> list[Floats]:
        """For each list the feature of its candidates."""
        ours = [text for one in lists for text in one.texts]
        sources = [one.source for one in lists for _ in one.texts]
        if self.direction == "reverse":
            pairs = ours, sources
        else:
            pairs = (sources, ours) if self.direction == "forward" else ([""] * len(ours), ours)
        scored = self.translator.score(*pairs, details=Details(scores=True))
        values = np.array([(one.log_probability or 0.0) / max(1, len(one.target_pieces)) for one in scored])
        return np.split(values, np.cumsum([len(one.texts) for one in lists])[:-1])


def parse_candidates(number: int, line: str) -> CandidateList:
    """Line `number` of the output of `nmt translate --json --n-best N`."""
    try:
        content = json.loads(line)
        source, best = content["source"], content.get("n_best", [])
        texts = tuple(one["translation"] for one in best)
        scores = tuple(float(one["score"]) for one in best)
        if not all(isinstance(text, str) for text in (source, *texts)):
            raise TypeError("a text is not a string")
        if not best and content["translation"].strip():
            raise ValueError("there is only one candidate")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorpusError(
            f"line {number} has no list of candidates",
            hint="write it with `nmt translate RUN_DIR --json --n-best 10`",
        ) from error
    return CandidateList(content, source, texts, scores)


def rerank(lists: Sequence[CandidateList], rerankers: Sequence[Reranker]) -> Iterator[dict[str, Any]]:
    """The lines with their candidates in the new order, each with its new score; equal scores keep the old order."""
    features = [reranker.features(lists) for reranker in rerankers]
    for row, found in enumerate(lists):
        if not found.texts:
            yield found.line
            continue
        total = np.array(found.scores)
        for reranker, values in zip(rerankers, features, strict=True):
            total = total + reranker.weight * values[row]
        order = np.argsort(-total, kind="stable").tolist()
        ranked = [{**found.line["n_best"][i], "score": round(float(total[i]), 6)} for i in order]
        yield {**found.line, **ranked[0], "n_best": ranked}


class Tuning(NamedTuple):
    """The weights with the highest BLEU, and what they gain."""

    weights: tuple[float, ...]
    before: float  # BLEU with all weights 0
    after: float


def tune(
    lists: Sequence[CandidateList],
    references: Sequence[str],
    rerankers: Sequence[Reranker],
    *,
    tokenizer: str,
) -> Tuning:
    """Weights between 0 and 2 for BLEU against `references`, one model at a time; ties go to the lower weight."""
    if len(lists) != len(references):
        raise CorpusError(
            f"there are {len(lists):,} lists of candidates and {len(references):,} references",
            hint="line n of both files must belong to the same sentence",
        )
    longest = max((len(one.texts) for one in lists), default=0)
    if not longest:
        raise CorpusError("there are no candidates", hint="tune on text that is not blank")
    scores = _padded([np.array(one.scores) for one in lists], longest, -np.inf)  # (L, N)
    features = [_padded(reranker.features(lists), longest, 0.0) for reranker in rerankers]  # (L, N) each
    metric = CorpusMetric("bleu", tokenize=tokenizer)
    metric.prepare([list(references)])
    columns = [
        metric.statistics([one.texts[i] if i < len(one.texts) else "" for one in lists])
        for i in range(longest)
    ]
    statistics = np.stack(columns, axis=1)  # (L, N, counts)

    def bleu(weights: Sequence[float]) -> float:
        total = scores + sum(w * values for w, values in zip(weights, features, strict=True))
        return metric.score(statistics[np.arange(len(lists)), total.argmax(axis=1)].sum(axis=0))

    best = [0.0] * len(rerankers)
    before = highest = bleu(best)
    for _ in range(_ROUNDS):
        for k in range(len(best)):
            for weight in _GRID.tolist():
                tried = [*best[:k], weight, *best[k + 1 :]]
                if (found := bleu(tried)) > highest:
                    best, highest = tried, found
    return Tuning(tuple(best), before, highest)


def _padded(rows: Sequence[Floats], width: int, value: float) -> Floats:
    """(L, width)"""
    result = np.full((len(rows), width), value)
    for row, values in zip(result, rows, strict=True):
        row[: len(values)] = values
    return result
