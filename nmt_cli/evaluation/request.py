"""What to evaluate, and the test set, target language and tokenizer that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nmt_cli.config.defaults import (
    BOOTSTRAP_SAMPLES,
    DEVICE,
    RANDOMIZATION_TRIALS,
    RESAMPLING_SEED,
    SIGNIFICANCE_TEST,
)
from nmt_cli.errors import UsageError
from nmt_cli.evaluation.systems import System
from nmt_cli.evaluation.texts import AlignedTexts, Text, language_of, read_lines
from nmt_cli.export.opening import language_of_export
from nmt_cli.files.languages import text_names
from nmt_cli.metrics.corpus_metric import best_tokenizer_for, check_tokenizer


@dataclass(frozen=True)
class EvaluateRequest:
    """The systems to score, and how."""

    systems: Sequence[Path]  # hypothesis files and run directories
    references: Sequence[Path] = ()  # none: the test set of the run
    source: Path | None = None
    baseline: str | None = None  # a system, by path or name; None: the first
    metrics: Sequence[str] = ()  # none: BLEU and chrF, or WER and CER of recordings
    tokenize: str | None = None  # None: chosen by the target language
    target_language: str | None = None  # None: that of the run, or by the file names
    lowercase: bool = False
    samples: int = BOOTSTRAP_SAMPLES  # 0: no intervals and no tests
    test: Literal["bootstrap", "randomization"] = SIGNIFICANCE_TEST
    trials: int = RANDOMIZATION_TRIALS
    seed: int = RESAMPLING_SEED
    train: Sequence[Path] = ()  # target side of the training data; none: that of the run, if still there
    examples: bool = False  # keep the best and worst sentences
    search: Mapping[str, Any] = field(default_factory=dict)  # overrides the search settings of runs
    device: str = DEVICE
    workers: int = 1  # processes; the result does not depend on it


class StoredTestSet(NamedTuple):
    """The test set stored in a run directory."""

    names: tuple[str, str]
    source: list[str]
    target: list[str]


@dataclass(frozen=True)
class TestSet:
    """References and source: in files, or stored in a run directory."""

    __test__ = False  # not a test for pytest

    reference_files: tuple[Path, ...]
    source_file: Path | None
    stored: StoredTestSet | None

    def references(self) -> list[Text]:
        """The references, to be read from the beginning."""
        if self.reference_files:
            return [Text.open(path) for path in self.reference_files]
        assert self.stored is not None
        return [Text.of_lines(self.stored.names[1], self.stored.target)]

    def source(self) -> Text | None:
        """The source, to be read from the beginning, if there is one."""
        if self.source_file is not None:
            return Text.open(self.source_file)
        return Text.of_lines(self.stored.names[0], self.stored.source) if self.stored is not None else None

    def check_lengths(self) -> None:
        """Report a reference of another length than the source before anything is translated.

        What can be read only once, such as a pipe, is checked after translation.
        """
        files = (*self.reference_files, *filter(None, [self.source_file]))
        if all(path.is_file() for path in files):
            AlignedTexts(self.references(), self.source(), []).check_lengths()

    def source_lines(self) -> list[str]:
        """All lines of the source, for a run to translate."""
        if self.source_file is not None:
            return read_lines(self.source_file)
        assert self.stored is not None
        return self.stored.source


def find_test_set(request: EvaluateRequest, systems: Sequence[System]) -> TestSet:
    """The files in the request, or else the test set stored in the runs."""
    runs = [system for system in systems if system.run is not None]
    for system in systems:
        if system.exported is not None and request.source is None and not runs:
            raise UsageError(
                f"{system.path} is an exported model, which has no test set",
                hint="choose one: --source FILE --reference FILE",
            )
    if request.references and (request.source is not None or not runs):
        return TestSet(tuple(request.references), request.source, None)
    if not runs:
        raise UsageError(
            "no reference to score against",
            hint="add one: nmt evaluate HYPOTHESES --reference FILE (a run directory has its own test set)",
        )
    if request.source is not None:
        raise UsageError(
            "--source needs --reference",
            hint="add the reference translations of that source with --reference",
        )
    stored = [_stored_test_set(system) for system in runs]
    for system, other in zip(runs[1:], stored[1:], strict=True):
        if other[1:] != stored[0][1:]:
            raise UsageError(
                f"{system.path} and {runs[0].path} have different test sets",
                hint="choose one for all: --source FILE --reference FILE",
            )
    return TestSet(tuple(request.references), None, stored[0])


def target_language(
    request: EvaluateRequest, systems: Sequence[System], references: Sequence[Path]
) -> tuple[str | None, str]:
    """The language of the hypotheses, and how it is known."""
    if request.target_language is not None:
        return request.target_language, "--target-lang"
    for system in systems:
        if system.run is not None:
            return system.run.facts.target_lang, f"of {system.name}"
        if system.exported is not None:
            return language_of_export(system.exported), f"of {system.name}"
    for path in (*references, *(system.path for system in systems)):
        if language := language_of(path):
            return language, f"by the name {path.name}"
    return None, "unknown"


def choose_tokenizer(request: EvaluateRequest, language: str | None, known: str) -> tuple[str, str]:
    """The tokenizer for BLEU, and the reason for it."""
    if request.tokenize is not None:
        name, reason = request.tokenize, "--tokenize"
    elif language is not None:
        name, reason = best_tokenizer_for(language), f"target language {language}, {known}"
    else:
        name, reason = best_tokenizer_for(""), "target language unknown"
    if "bleu" in request.metrics:
        check_tokenizer(name)
    return name, reason


def _stored_test_set(system: System) -> StoredTestSet:
    assert system.run is not None
    texts = system.run.held_out("test")
    if texts is None:
        raise UsageError(f"{system.path} has no test set", hint="choose one: --source FILE --reference FILE")
    facts = system.run.facts
    source, target = (
        f"{system.name}/{name}" for name in text_names("test", facts.source_lang, facts.target_lang)
    )
    return StoredTestSet((source, target), *texts)
