"""The systems of an evaluation: hypothesis files, and run directories that translate and record their scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nmt_cli.errors import UsageError
from nmt_cli.evaluation.result import CaptionResult, Evaluation, RunDetails, SystemResult
from nmt_cli.evaluation.texts import STANDARD_INPUT, Text, distinct_names, language_of
from nmt_cli.export.opening import is_export, runtime_errors
from nmt_cli.files.byte_stream import Progress, check_readable, uncompressed_name

if TYPE_CHECKING:  # these import torch, which takes seconds and which files do not need
    from nmt_cli.config import SearchConfig
    from nmt_cli.run import RunDirectory
    from nmt_cli.translator import Translator

_LINES_BETWEEN_REPORTS = 500
_GROUP = 256  # texts of similar length that a process translates at once
_PREFIXES = ("hyp.", "hyps.", "hypothesis.", "out.", "output.")


class Processes(Protocol):
    """The processes that share the translation of a test set."""

    @property
    def rank(self) -> int:
        """The number of this one, from 0."""

    @property
    def world(self) -> int:
        """How many there are."""

    def gather(self, value: Any) -> list[Any]:
        """The JSON values of all processes, in rank order."""


class OneProcess(NamedTuple):
    """No other processes."""

    rank: int = 0
    world: int = 1

    def gather(self, value: Any) -> list[Any]:
        """See Processes."""
        return [value]


@dataclass
class System:
    """One system; a run has hypotheses only after it has translated."""

    name: str
    path: Path
    run: RunDirectory | None = None
    exported: Path | None = None  # a folder that `nmt export` wrote
    hypotheses: Sequence[str] | None = None
    details: RunDetails | None = None
    translator: Translator | None = None
    captions: CaptionResult | None = None  # of a captioning model

    def open(self) -> Text:
        """The hypotheses, to be read from the beginning."""
        if self.hypotheses is not None:
            return Text.of_lines(self.name, self.hypotheses)
        return Text.open(self.path)


def find_systems(paths: Sequence[Path]) -> list[System]:
    """The systems at these paths, each with a short unique name."""
    _refuse_duplicates(paths)
    for path in paths:
        if path != STANDARD_INPUT and not path.is_dir():
            check_readable(path)
    names = _short_names(paths)
    return [_find_system(name, path) for name, path in zip(names, paths, strict=True)]


def _find_system(name: str, path: Path) -> System:
    if path == STANDARD_INPUT or not path.is_dir():
        return System(name, path)
    return System(name, path, exported=path) if is_export(path) else System(name, path, run=_open_run(path))


def find_baseline(systems: Sequence[System], wanted: str | None) -> System:
    """The system chosen with `--baseline`, or the first one."""
    if wanted is None:
        return systems[0]
    found = [system for system in systems if wanted in (system.name, str(system.path))] or [
        system for system in systems if Path(wanted).resolve() == system.path.resolve()
    ]
    if not found:
        raise UsageError(
            f"the baseline {wanted} is not one of the systems",
            hint=f"choose one of {', '.join(system.name for system in systems)}",
        )
    return found[0]


def translate(
    system: System,
    sources: Sequence[str],
    *,
    search: Mapping[str, Any],
    device: str,
    report: Callable[[Progress], None],
    processes: Processes,
) -> None:
    """Translate with a run; `search` overrides its search settings.

    Texts are translated in groups of similar length. A group does not depend on the others, so the translations are the
    same however many processes share them.
    """
    assert system.run is not None
    run = system.run
    from nmt_cli.translator import Translator

    translator, model = load_model(run, search, device, Translator)
    system.translator = translator
    began = time.monotonic()
    stage, done = f"translating with {system.name}", 0
    report(Progress(stage, 0, len(sources)))
    order = list(range(len(sources)))
    if not translator.config.sampling:  # samples depend on the numbers of the lines
        order.sort(key=lambda row: -len(sources[row]))
    groups = [order[first : first + _GROUP] for first in range(0, len(order), _GROUP)]
    found: list[tuple[list[int], list[str]]] = []
    for group in groups[processes.rank :: processes.world]:
        translations = translator.translate([sources[row] for row in group], first_line=group[0])
        found.append((group, [translation.text for translation in translations]))
        done = min(done + len(group) * processes.world, len(sources))
        report(Progress(stage, done, len(sources)))
    hypotheses = [""] * len(sources)
    for group, texts in chain.from_iterable(processes.gather(found)):
        for row, text in zip(group, texts, strict=True):
            hypotheses[row] = text
    system.hypotheses = hypotheses
    system.details = run_details(run, model, translator.config, time.monotonic() - began)


def run_details(run: RunDirectory, model: str, search: SearchConfig, seconds: float) -> RunDetails:
    """What the results say of a run; `model` is the hash of its weights."""
    return RunDetails(
        path=str(run.path),
        model_sha256=model,
        data_sha256=run.facts.data_sha256,
        source_language=run.facts.source_lang,
        target_language=run.facts.target_lang,
        search=search.model_dump(mode="json"),
        seconds=round(seconds, 2),
    )


def translate_exported(
    system: System, sources: Sequence[str], *, search: Mapping[str, Any], report: Callable[[Progress], None]
) -> None:
    """Translate with an exported model; `search` overrides its search settings."""
    from nmt_cli.runtime.translate import ExportedTranslator

    assert system.exported is not None
    stage, hypotheses = f"translating with {system.name}", list[str]()
    report(Progress(stage, 0, len(sources)))
    with runtime_errors():
        translator = ExportedTranslator(system.exported, search=dict(search))
        began = time.monotonic()
        for window in translator.windows(sources, _LINES_BETWEEN_REPORTS):
            hypotheses += [translation.text for translation in window.translations]
            report(Progress(stage, len(hypotheses), len(sources)))
    system.hypotheses = hypotheses
    settings = translator.model.settings
    system.details = RunDetails(
        path=str(system.exported),
        model_sha256=settings["model_sha256"],
        data_sha256=settings["data_sha256"],
        source_language=settings["source_language"],
        target_language=settings["target_language"],
        search=asdict(translator.config),
        seconds=round(time.monotonic() - began, 2),
    )


def record_scores(evaluation: Evaluation, system: SystemResult) -> None:
    """Append the scores of a run to its scores.jsonl, and show them in its model card."""
    from nmt_cli.run.logs import ScoresLog
    from nmt_cli.run.model_card import update_scores

    assert system.run is not None
    folder = Path(system.run.path)
    ScoresLog(folder).append(
        {
            "date": evaluation.created,
            "references": [text.model_dump() for text in evaluation.references],
            "source": evaluation.source.model_dump() if evaluation.source is not None else None,
            "test_set": Path(evaluation.references[0].name).name,
            "sentences": evaluation.sentences,
            "scores": [
                {
                    "metric": score.metric,
                    "score": score.score,
                    "interval": score.interval.half_width if score.interval is not None else None,
                    "signature": score.signature,
                }
                for score in system.scores
            ],
            "search": system.run.search,
            "model_sha256": system.run.model_sha256,
            "data_sha256": system.run.data_sha256,
            "hypotheses_sha256": system.text.sha256,
            "versions": evaluation.versions.model_dump(),
        }
    )
    update_scores(folder, model_sha256=system.run.model_sha256)


def load_model(
    run: RunDirectory, search: Mapping[str, Any], device: str, kind: type[Translator]
) -> tuple[Translator, str]:
    """The translator of a run, and the hash of its model."""
    while True:
        model = run.model_sha256
        translator = kind.load(run.path, device=device, search=search)
        if model is not None and run.model_sha256 == model:  # training may publish a new one at any moment
            return translator, model


def _open_run(path: Path) -> RunDirectory:
    from nmt_cli.run import RunDirectory

    run = RunDirectory.open(path)
    run.check_kind(reads=run.reads)
    return run


def _refuse_duplicates(paths: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        resolved = path if path == STANDARD_INPUT else path.resolve()
        if resolved in seen:
            raise UsageError(f"{path} is listed twice", hint="list every system once")
        seen.add(resolved)


def _short_names(paths: Sequence[Path]) -> list[str]:
    """File names without directories, language suffixes and common prefixes; with directories if not unique."""
    names = [_stem(path) for path in paths]
    for prefix in _PREFIXES if len(names) > 1 else ():
        if all(name.startswith(prefix) and len(name) > len(prefix) for name in names):
            names = [name.removeprefix(prefix) for name in names]
    if len(set(names)) == len(names):
        return names
    return distinct_names([path if path == STANDARD_INPUT else path.resolve() for path in paths])


def _stem(path: Path) -> str:
    if path == STANDARD_INPUT:
        return "standard input"
    if path.is_dir():
        return path.resolve().name
    name = uncompressed_name(path.name)
    language = language_of(Path(name))
    return name.removesuffix(f".{language}") if language else name
