"""The result of an evaluation. These models define `--json`; their schema is published in the documentation:

python -m nmt_cli.evaluation.result > docs/evaluation.schema.json
"""

from __future__ import annotations

import json
import math
import platform
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from nmt_cli import __version__
from nmt_cli.errors import DataWarning


class Result(BaseModel):
    """Base of all parts of a result: immutable, and without fields that are not declared."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TextFacts(Result):
    """Identifies a text."""

    name: str
    sha256: str
    lines: int


class ScoreInterval(Result):
    """95 % of the resampled scores lie between `low` and `high`; `half_width` is the number after ±."""

    mean: float
    low: float
    high: float
    half_width: float


class MetricScore(Result):
    """The score of one system on one metric."""

    metric: str
    score: float
    signature: str
    higher_is_better: bool
    interval: ScoreInterval | None
    p_value: float | None  # against the baseline
    significant: bool | None  # p_value < 0.05


class Bleu(Result):
    """The components of BLEU."""

    precisions: list[float]
    matches: list[int]
    counts: list[int]
    brevity_penalty: float
    length_ratio: float
    hypothesis_length: int
    reference_length: int


class LengthBucket(Result):
    """BLEU of the sentences whose length is between `shortest` and `longest`."""

    shortest: int
    longest: int | None  # None: no limit
    sentences: int
    bleu: float


class FrequencyBucket(Result):
    """Recall of the reference words that occur between `least` and `most` times in the training data."""

    least: int
    most: int | None
    words: int
    found: int
    recall: float


class Distribution(Result):
    """The number of sentences with a chrF of 0–5, 5–10, … 95–100."""

    mean: float
    counts: list[int]


class ErrorLines(Result):
    """Lines with one kind of output error: how many, out of how many, and the first of them."""

    count: int
    of: int
    lines: list[int]


class OutputErrors(Result):
    """Errors that can be seen in a single hypothesis."""

    empty: ErrorLines
    untranslated: ErrorLines | None  # None without the source
    repeated: ErrorLines
    dropped_numbers: ErrorLines


class Example(Result):
    """A sentence with its chrF."""

    line: int
    chrf: float
    baseline_chrf: float | None
    source: str | None
    references: list[str]
    hypothesis: str
    baseline: str | None


class Examples(Result):
    """The sentences of a system with the most extreme chrF."""

    worst: list[Example]
    best: list[Example]
    gained: list[Example]  # furthest above the baseline
    lost: list[Example]  # furthest below the baseline


class RunDetails(Result):
    """The model of a run directory and how it translated."""

    path: str
    model_sha256: str
    data_sha256: str
    source_language: str
    target_language: str
    search: dict[str, Any]
    seconds: float


class Pointing(Result):
    """How often the word for an object has the most attention on the object, in percent."""

    words: int
    accuracy: float
    chance: float  # the same for a position drawn at random


class Confusion(Result):
    """Which labels were predicted for which; sorted by how often they are references."""

    labels: list[str]  # rows are references, columns are predictions
    counts: list[list[int]]
    missing: list[int]  # for each row, predictions that are none of these labels

    @property
    def others(self) -> int:
        """How many predictions are none of these labels."""
        return sum(self.missing)

    def recall(self, row: int) -> float | None:
        """The share of this label's sentences that are correct."""
        total = sum(self.counts[row]) + self.missing[row]
        return self.counts[row][row] / total if total else None

    def precision(self, column: int) -> float | None:
        """The share of predictions of this label that are correct."""
        total = sum(row[column] for row in self.counts)
        return self.counts[column][column] / total if total else None


class CaptionResult(Result):
    """What can be measured of image captions only."""

    images: int
    exact: float  # percentage of captions that are equal to one of the references
    pointing: Pointing | None  # None without attention, or if no object is known


class SystemResult(Result):
    """Everything about one system."""

    name: str
    kind: Literal["file", "run", "export"]
    text: TextFacts
    run: RunDetails | None
    scores: list[MetricScore]
    bleu: Bleu | None
    length_buckets: list[LengthBucket]
    frequency_buckets: list[FrequencyBucket] | None  # None without the training data
    distribution: Distribution | None
    faults: OutputErrors  # the key of version 1 of the JSON format
    examples: Examples | None
    warnings: list[DataWarning]
    captions: CaptionResult | None = None
    confusion: Confusion | None = None  # with the metric accuracy, if there are few labels

    def score(self, metric: str) -> MetricScore:
        """The score on a metric, by the metric's name."""
        return next(score for score in self.scores if score.metric == metric)


class Comparison(Result):
    """How systems were compared."""

    baseline: str
    test: Literal["bootstrap", "randomization"]
    samples: int
    seed: int

    @property
    def test_name(self) -> str:
        """The test as papers call it."""
        names = {"bootstrap": "paired bootstrap", "randomization": "paired approximate randomization"}
        return names[self.test]

    def shown(self, p_value: float) -> str:
        """A p-value to four decimals; the smallest that so many samples can give is an upper bound."""
        least = 1 / (self.samples + 1)
        if p_value <= least:
            return f"≤ {math.ceil(1e4 * least) / 1e4:g}"
        return f"{p_value:.4f}"


class Versions(Result):
    """The software that computed the scores."""

    nmt: str
    sacrebleu: str
    python: str

    @classmethod
    def current(cls) -> Versions:
        """Of this process."""
        import sacrebleu

        return cls(nmt=__version__, sacrebleu=sacrebleu.__version__, python=platform.python_version())


class Evaluation(Result):
    """The result of `nmt evaluate`; systems are ordered from best to worst."""

    kind: Literal["translation"] = "translation"
    version: Literal[1] = 1
    created: str
    versions: Versions
    references: list[TextFacts]
    source: TextFacts | None
    target_language: str | None
    tokenizer: str
    tokenizer_reason: str
    lowercase: bool
    sentences: int
    length_of: Literal["source", "reference"]  # whose length the length buckets refer to
    length_unit: Literal["words", "characters"]
    training_data: str | None
    comparison: Comparison | None
    systems: list[SystemResult]
    warnings: list[DataWarning]

    def all_warnings(self) -> list[DataWarning]:
        """The warnings about the test set, then those about each system."""
        return [*self.warnings, *(warning for system in self.systems for warning in system.warnings)]


class AlignmentResult(Result):
    """How well one file of word alignments agrees with the gold alignments."""

    name: str
    text: TextFacts
    links: int
    precision: float
    recall: float
    aer: float
    warnings: list[DataWarning]


class AlignmentEvaluation(Result):
    """The result of `nmt align-eval`; systems are ordered from best to worst."""

    kind: Literal["alignment"] = "alignment"
    version: Literal[1] = 1
    created: str
    versions: Versions
    gold: TextFacts
    sentences: int
    sure: int
    possible: int
    systems: list[AlignmentResult]
    warnings: list[DataWarning]

    def all_warnings(self) -> list[DataWarning]:
        """The warnings about the gold alignments, then those about each system."""
        return [*self.warnings, *(warning for system in self.systems for warning in system.warnings)]


def schema_text() -> str:
    """The JSON schema of both results, as published."""
    adapter: TypeAdapter[Evaluation | AlignmentEvaluation] = TypeAdapter(Evaluation | AlignmentEvaluation)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "nmt evaluate --json, nmt align-eval --json",
        **adapter.json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
