"""A result that can be passed on: a report says nothing about the directories of the machine it was made on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nmt_cli.errors import DataWarning
from nmt_cli.evaluation.result import Evaluation, SystemResult, TextFacts
from nmt_cli.evaluation.texts import distinct_names


def without_absolute_paths(evaluation: Evaluation) -> Evaluation:
    """The result with the names of files and directories in place of their absolute paths."""
    texts = [*evaluation.references, *filter(None, [evaluation.source])]
    names = [text.name for text in (*texts, *(system.text for system in evaluation.systems))]
    names += [system.run.path for system in evaluation.systems if system.run is not None]
    names += [evaluation.training_data] if evaluation.training_data is not None else []
    absolute = [Path(name) for name in dict.fromkeys(names) if Path(name).is_absolute()]
    shorter = dict(zip(map(str, absolute), distinct_names(absolute), strict=True))
    return evaluation.model_copy(
        update={
            "references": [_text(text, shorter) for text in evaluation.references],
            "source": _text(evaluation.source, shorter) if evaluation.source is not None else None,
            "training_data": shorter.get(evaluation.training_data or "", evaluation.training_data),
            "systems": [_system(system, shorter) for system in evaluation.systems],
            "warnings": [_warning(warning, shorter) for warning in evaluation.warnings],
        }
    )


def _text(text: TextFacts, shorter: Mapping[str, str]) -> TextFacts:
    return text.model_copy(update={"name": shorter.get(text.name, text.name)})


def _system(system: SystemResult, shorter: Mapping[str, str]) -> SystemResult:
    run = system.run
    if run is not None:
        run = run.model_copy(update={"path": shorter.get(run.path, run.path)})
    warnings = [_warning(warning, shorter) for warning in system.warnings]
    return system.model_copy(update={"text": _text(system.text, shorter), "run": run, "warnings": warnings})


def _warning(warning: DataWarning, shorter: Mapping[str, str]) -> DataWarning:
    message, hint = warning.message, warning.hint
    for path in sorted(shorter, key=len, reverse=True):  # a path may be the beginning of another
        message, hint = message.replace(path, shorter[path]), hint.replace(path, shorter[path])
    return DataWarning(warning.name, message, hint)
