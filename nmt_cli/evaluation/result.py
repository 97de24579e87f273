"""What an evaluation found. These models are the schema of `--json` (docs/evaluation.schema.json)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of a result: never changed, nothing in it that is not named here."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Notice(Part):
    """Something that is probably not as its owner thinks, and what to do about it."""

    name: str
    message: str
    hint: str


class TextFacts(Part):
    """Which text it was."""

    name: str
    sha256: str
    lines: int


class ScoreInterval(Part):
    """95 % of the resampled scores lie between `low` and `high`; `half_width` is the number after ±."""

    mean: float
    low: float
    high: float
    half_width: float


class MetricScore(Part):
    """One score of one system."""

    metric: str
    score: float
    signature: str
    higher_is_better: bool
    interval: ScoreInterval | None
    p_value: float | None  # against the baseline
    significant: bool | None  # p_value < 0.05


class Bleu(Part):
    """What BLEU is made of."""

    precisions: list[float]
    matches: list[int]
    counts: list[int]
    brevity_penalty: float
    length_ratio: float
    hypothesis_length: int
    reference_length: int


class LengthBucket(Part):
    """BLEU of the sentences whose length lies between `shortest` and `longest`."""

    shortest: int
    longest: int | None  # None: no limit
    sentences: int
    bleu: float


class FrequencyBucket(Part):
    """How many of the words of the reference that occur so often in the training data are in the hypotheses."""

    least: int
    most: int | None
    words: int
    found: int
    recall: float


class Distribution(Part):
    """How many sentences have a chrF of 0–5, 5–10, … 95–100."""

    mean: float
    counts: list[int]


class FaultLines(Part):
    """Lines with a fault: how many, and the first of them."""

    count: int
    of: int
    lines: list[int]


class FaultReport(Part):
    """Faults of single hypotheses."""

    empty: FaultLines
    untranslated: FaultLines | None  # needs the source
    repeated: FaultLines
    dropped_numbers: FaultLines


class Example(Part):
    """A line with a telling score."""

    line: int
    chrf: float
    baseline_chrf: float | None
    source: str | None
    references: list[str]
    hypothesis: str
    baseline: str | None


class Examples(Part):
    """The most telling lines of a system by chrF of the sentence."""

    worst: list[Example]
    best: list[Example]
    gained: list[Example]  # most above the baseline
    lost: list[Example]  # most below the baseline


class RunDetails(Part):
    """How a run translated."""

    path: str
    model_sha256: str
    data_sha256: str
    source_language: str
    target_language: str
    search: dict[str, Any]
    seconds: float


class SystemResult(Part):
    """All about one system."""

    name: str
    kind: Literal["file", "run"]
    text: TextFacts
    run: RunDetails | None
    scores: list[MetricScore]
    bleu: Bleu | None
    length_buckets: list[LengthBucket]
    frequency_buckets: list[FrequencyBucket] | None  # needs the training data
    distribution: Distribution | None
    faults: FaultReport
    examples: Examples | None
    warnings: list[Notice]

    def score(self, metric: str) -> MetricScore:
        """The score of a metric, by its name."""
        return next(score for score in self.scores if score.metric == metric)


class Comparison(Part):
    """How systems were compared."""

    baseline: str
    test: Literal["bootstrap", "randomization"]
    samples: int
    seed: int


class Versions(Part):
    """What computed the scores."""

    nmt: str
    sacrebleu: str
    python: str


class Evaluation(Part):
    """The result of `nmt evaluate`; systems from the best to the worst."""

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
    length_of: Literal["source", "reference"]  # what length buckets go by
    length_unit: Literal["words", "characters"]
    training_data: str | None
    comparison: Comparison | None
    systems: list[SystemResult]
    warnings: list[Notice]

    def all_warnings(self) -> list[Notice]:
        """Those about the test set, then those about each system."""
        return [*self.warnings, *(notice for system in self.systems for notice in system.warnings)]


class AlignmentResult(Part):
    """How well one set of word alignments agrees with the gold ones."""

    name: str
    text: TextFacts
    links: int
    precision: float
    recall: float
    aer: float
    warnings: list[Notice]


class AlignmentEvaluation(Part):
    """The result of `nmt evaluate --alignments`."""

    kind: Literal["alignment"] = "alignment"
    version: Literal[1] = 1
    created: str
    versions: Versions
    gold: TextFacts
    sentences: int
    sure: int
    possible: int
    systems: list[AlignmentResult]
    warnings: list[Notice]

    def all_warnings(self) -> list[Notice]:
        """Those about the gold links, then those about each set."""
        return [*self.warnings, *(notice for system in self.systems for notice in system.warnings)]
