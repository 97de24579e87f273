"""`nmt translate --memory`: the translation memory of a command, and lines that go through it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.documents.memory import TranslationMemory

Window = TypeVar("Window")
AsLine = Callable[[int, str, Any], str]


def open_memory(
    path: Path | None,
    threshold: float | None,
    runs: Sequence[Path],
    folder: Path | None,
    refused: Mapping[str, bool],
) -> "TranslationMemory | None":
    """The memory in the languages of the model; None if there is none. `refused` options contradict it."""
    if path is None:
        if threshold is not None:
            raise UsageError("--memory-threshold needs a memory", hint="add --memory FILE")
        return None
    if option := next((name for name, is_given in refused.items() if is_given), None):
        raise UsageError(f"{option} cannot be used together with --memory", hint="omit one of them")

    from nmt_cli.documents.memory import DEFAULT_THRESHOLD, TranslationMemory

    return TranslationMemory.load(
        path, *_languages(runs, folder), threshold=DEFAULT_THRESHOLD if threshold is None else threshold
    )


def _languages(runs: Sequence[Path], folder: Path | None) -> tuple[str, str]:
    if folder is not None:
        from nmt_cli.export.opening import languages_of_export

        return languages_of_export(folder)
    from nmt_cli.run import RunDirectory

    facts = RunDirectory.open(runs[0]).facts
    return facts.source_lang, facts.target_lang


class ThroughMemory:
    """Lines, windows of translated lines, and their format, all of which pass unchanged if there is no memory."""

    def __init__(self, memory: "TranslationMemory | None", lines: Iterable[str]) -> None:
        self._memory = memory
        self.lines = lines
        if memory is not None:
            from nmt_cli.documents.memory import MemoryLines

            self.lines = self._matched = MemoryLines(memory, lines)

    def windows(self, windows: Iterable[Window]) -> Iterable[Window]:
        """Translated windows, with the translations that the memory has."""
        return windows if self._memory is None else self._matched.restored(windows)

    def format(self, as_line: AsLine, output: str) -> AsLine:
        """A JSON object also has the match; other formats cannot mark it."""
        if self._memory is None or output != "json":
            return as_line

        def with_match(number: int, source: str, translation: Any) -> str:
            line = as_line(number, source, translation)
            match = self._matched.matches.get(number)
            if match is None:
                return line
            fields = {
                "similarity": round(match.similarity, 2),
                "source": match.source,
                "target": match.target,
            }
            return json.dumps({**json.loads(line), "memory": fields}, ensure_ascii=False)

        return with_match

    def facts(self) -> dict[str, Any]:
        """What translations depend on, for a command that is continued after an interruption."""
        return {} if self._memory is None else {"memory": self._memory.digest()}

    def summary(self) -> str:
        """Counts of matches, for people; empty without a memory."""
        return "" if self._memory is None else self._memory.summary()
