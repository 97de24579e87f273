"""What systems are scored against: references, sources, and the language that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli.data.text_files import text_names
from nmt_cli.errors import UsageError
from nmt_cli.evaluation.request import Request
from nmt_cli.evaluation.systems import System
from nmt_cli.evaluation.texts import Text, language_of, read_lines
from nmt_cli.metrics.tokenizers import best_tokenizer_for, check_tokenizer


class Kept(NamedTuple):
    """The test set that a run keeps."""

    names: tuple[str, str]
    source: list[str]
    target: list[str]


@dataclass(frozen=True)
class TestSet:
    """Where the texts of a test set are: in files, or in memory, as those that a run keeps."""

    __test__ = False  # pytest takes the name for that of a test

    reference_files: tuple[Path, ...]
    source_file: Path | None
    kept: Kept | None

    def references(self) -> list[Text]:
        """The references from the beginning."""
        if self.reference_files:
            return [Text.open(path) for path in self.reference_files]
        assert self.kept is not None
        return [Text.of_lines(self.kept.names[1], self.kept.target)]

    def source(self) -> Text | None:
        """The source from the beginning, if there is one."""
        if self.source_file is not None:
            return Text.open(self.source_file)
        return Text.of_lines(self.kept.names[0], self.kept.source) if self.kept is not None else None

    def source_lines(self) -> list[str]:
        """The source as a whole, for a run to translate."""
        if self.source_file is not None:
            return read_lines(self.source_file)
        assert self.kept is not None
        return self.kept.source


def find_test_set(request: Request, systems: Sequence[System]) -> TestSet:
    """What was named, or else the test set that the runs keep."""
    runs = [system for system in systems if system.run is not None]
    if request.references and (request.source is not None or not runs):
        return TestSet(tuple(request.references), request.source, None)
    if not runs:
        raise UsageError(
            "there is no reference to score against",
            hint="name one: nmt evaluate HYPOTHESES --reference FILE (a run directory brings its own test set)",
        )
    if request.source is not None:
        raise UsageError(
            "--source is given without --reference",
            hint="name the translations of that source with --reference",
        )
    kept = [_kept(system) for system in runs]
    for system, other in zip(runs[1:], kept[1:], strict=True):
        if other[1:] != kept[0][1:]:
            raise UsageError(
                f"{system.path} and {runs[0].path} keep different test sets",
                hint="name one for all: --source FILE --reference FILE",
            )
    return TestSet(tuple(request.references), None, kept[0])


def target_language(
    request: Request, systems: Sequence[System], references: Sequence[Path]
) -> tuple[str | None, str]:
    """The language of the hypotheses, and how it is known."""
    if request.target_language is not None:
        return request.target_language, "--target-lang"
    for system in systems:
        if system.run is not None:
            return system.run.facts.target_lang, f"of {system.name}"
    for path in (*references, *(system.path for system in systems)):
        if language := language_of(path):
            return language, f"by the name {path.name}"
    return None, "unknown"


def choose_tokenizer(request: Request, language: str | None, known: str) -> tuple[str, str]:
    """BLEU's tokenizer, and why it is this one."""
    if request.tokenize is not None:
        name, reason = request.tokenize, "--tokenize"
    elif language is not None:
        name, reason = best_tokenizer_for(language), f"target language {language}, {known}"
    else:
        name, reason = best_tokenizer_for(""), "target language unknown"
    if "bleu" in request.metrics:
        check_tokenizer(name)
    return name, reason


def _kept(system: System) -> Kept:
    assert system.run is not None
    texts = system.run.held_out("test")
    if texts is None:
        raise UsageError(f"{system.path} keeps no test set", hint="name one: --source FILE --reference FILE")
    facts = system.run.facts
    source, target = (
        f"{system.name}/{name}" for name in text_names("test", facts.source_lang, facts.target_lang)
    )
    return Kept((source, target), *texts)
