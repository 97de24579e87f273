"""What commands that run a model load: runs or an exported model, terms, and a translation memory for lines."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nmt_cli.cli.display.console import messages
from nmt_cli.config.defaults import BATCH_TOKENS, TermsCase
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.documents.memory import TranslationMemory
    from nmt_cli.runtime.translate import ExportedTranslator
    from nmt_cli.translator import Translator

Window = TypeVar("Window")
AsLine = Callable[[int, str, Any], str]


class ModelLoader(NamedTuple):
    """Loads a model as the options of a command say."""

    device: str
    int8: bool
    threads: int | None
    quiet: bool
    batch_tokens: int = BATCH_TOKENS
    max_tokens: int | None = None

    def load_runs(
        self, runs: Sequence[Path], search: dict[str, Any], *, language_model: bool = False
    ) -> "Translator":
        """The translator of one run, or of an ensemble."""
        from nmt_cli.model.device import prepare_device
        from nmt_cli.translator import Translator

        translator = Translator.load(
            *runs,
            device=prepare_device(self.device, self.threads),
            search=search,
            int8=self.int8,
            batch_tokens=self.batch_tokens,
            max_tokens=self.max_tokens,
            language_model=language_model,
        )
        if self.int8 and not self.quiet:
            messages().print(f"int8 arithmetic in {', '.join(translator.quantized)}")
        return translator

    def load_exported(self, folder: Path, search: dict[str, Any]) -> "ExportedTranslator":
        """The translator of an exported model, by the runtime of this package; torch is not imported."""
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy reads it when it is imported

        from nmt_cli.export.opening import runtime_errors
        from nmt_cli.runtime.translate import BATCH_TOKENS as SMALLER
        from nmt_cli.runtime.translate import ExportedTranslator

        # The default for runs is too large here: the more sentences in a batch, the larger their common shortlist.
        tokens = SMALLER if self.batch_tokens == BATCH_TOKENS else self.batch_tokens
        with runtime_errors():
            return ExportedTranslator(
                folder,
                search=search,
                threads=self.threads or 0,
                batch_tokens=tokens,
                max_tokens=self.max_tokens,
            )


@dataclass(frozen=True)
class TermFiles:
    """Files of terms that translations must contain, and of words that they must not."""

    terms: Path | None
    banned: Path | None
    case: TermsCase
    inflection: int

    def options(self) -> dict[str, bool]:
        """Which options are given."""
        return {"--terms": self.terms is not None, "--banned": self.banned is not None}

    def add_to(self, translator: "Translator") -> "Translator":
        """The translator with these terms and banned words."""
        from nmt_cli.translator.terminology import read_banned, read_terms

        return translator.with_terms(
            [] if self.terms is None else read_terms(self.terms),
            case=self.case,
            inflection=self.inflection,
            banned=[] if self.banned is None else read_banned(self.banned),
        )


def require_attention(translator: "Translator | ExportedTranslator", options: Mapping[str, bool]) -> None:
    """Reject options that need attention, if they are given and the model has none."""
    option = next((name for name, is_given in options.items() if is_given), None)
    if option is not None and not translator.has_attention:
        raise UsageError(
            f"{option} needs attention, but the model has none",
            hint=f"omit {option}, or train a preset with attention, such as luong2015",
        )


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
