"""The prompt of `nmt translate` in a terminal: line editing, history, and alternatives on request."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import say
from nmt_cli.cli.display.lines import LineWarnings
from nmt_cli.info.machine import history_file

if TYPE_CHECKING:
    from nmt_cli.runtime.translate import ExportedTranslator
    from nmt_cli.runtime.translation import Translation as ExportedTranslation
    from nmt_cli.translator import Details, Translation, Translator

ALTERNATIVES = "?"
"""The line that asks for alternatives to the last translation."""
GREETING = f"type a sentence; {ALTERNATIVES} shows alternatives to the last translation, Ctrl-D ends"

_ALTERNATIVES_SHOWN = 5
_HISTORY_LINES = 1000
_NO_HISTORY = "NMT_NO_HISTORY"  # an environment variable: what is typed may be confidential


@dataclass(frozen=True)
class Answers:
    """What the prompt asks of a translator."""

    languages: tuple[str, str] | None
    translation: "Callable[[int, str], Translation | ExportedTranslation]"  # of a line and its number
    best: "Callable[[str], Translation | ExportedTranslation]"  # with an n-best list and scores

    @classmethod
    def of(cls, translator: "Translator", details: "Details", prefix: str) -> "Answers":
        """Answers of the model of a run."""
        from nmt_cli.translator import Details

        def translation(number: int, line: str) -> "Translation":
            return translator.translate([line], details=details, prefixes=[prefix], first_line=number - 1)[0]

        def best(line: str) -> "Translation":
            groups = translator.config.diversity_groups  # must divide the beam
            width = -(-max(_ALTERNATIVES_SHOWN, translator.config.beam_size) // groups) * groups
            shown = min(_ALTERNATIVES_SHOWN, translator.config.mbr_samples)  # there may be fewer samples
            wider = translator.with_search(n_best=shown, beam_size=width)
            return wider.translate([line], details=Details(scores=True), prefixes=[prefix])[0]

        return cls(translator.languages, translation, best)

    @classmethod
    def of_export(
        cls, translator: "ExportedTranslator", folder: Path, wanted: dict[str, bool], prefix: str
    ) -> "Answers":
        """Answers of an exported model."""
        from nmt_cli.export.opening import languages_of_export, runtime_errors

        wider = copy(translator)
        width = max(_ALTERNATIVES_SHOWN, translator.config.beam_size)
        wider.config = translator.config.changed(n_best=_ALTERNATIVES_SHOWN, beam_size=width)

        def translation(number: int, line: str) -> "ExportedTranslation":
            with runtime_errors():
                return translator.translate([line], prefixes=[prefix], **wanted)[0]

        def best(line: str) -> "ExportedTranslation":
            with runtime_errors():
                return wider.translate([line], prefixes=[prefix], scores=True)[0]

        return cls(languages_of_export(folder), translation, best)


def run_prompt(
    answers: Answers, as_line: Callable[[int, str, Any], str], warnings: LineWarnings, *, quiet: bool
) -> None:
    """Translate each line as it is typed, until Ctrl-D. Ctrl-C drops the line, or stops its translation."""
    number, last = 0, ""
    warnings.shown = sys.maxsize  # nobody waits for the count at the end
    prompt = prompt_text(answers.languages, sys.stdout.encoding)
    if not quiet:
        warnings.console.print(GREETING)
    with warnings, _history():
        while True:
            try:
                line = _typed_line(prompt)
                if line is None:
                    return
                if line.strip() == ALTERNATIVES:
                    _print(_alternatives(answers.best(last)) if last else ["nothing is translated yet"])
                elif line.strip():
                    number, last = number + 1, line
                    found = answers.translation(number, line)
                    warnings.translated_line(number, found)
                    _print([as_line(number, line, found)])
            except KeyboardInterrupt:
                _print([""])
            except UnicodeDecodeError:
                say(warnings.console, "warning", "the line is not valid UTF-8 and was ignored")


def prompt_text(languages: tuple[str, str] | None, encoding: str | None) -> str:
    """`en → de › `, or plain ASCII for a terminal that cannot show it."""
    text = f"{' → '.join(languages)} › " if languages else "› "
    try:
        text.encode(encoding or "ascii")
    except UnicodeEncodeError:
        return text.replace("→", "->").replace("›", ">")
    return text


def _alternatives(best: "Translation | ExportedTranslation") -> list[str]:
    """The best translations with their scores, one per line, best first."""
    found = best.n_best or (best,)
    return [f"{rank:3}  {one.score:7.3f}  {one.text}" for rank, one in enumerate(found, start=1)]


def _typed_line(prompt: str) -> str | None:
    """One line, or None at the end of the input."""
    try:
        return input(prompt)
    except EOFError:
        _print([""])  # the cursor is still behind the prompt
        return None


def _print(lines: list[str]) -> None:
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    sys.stdout.flush()


@contextmanager
def _history() -> Iterator[None]:
    """Line editing, with a history that lasts from one session to the next, where the system has readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    path = None if os.environ.get(_NO_HISTORY) else history_file()
    if path is not None and path.exists() and not path.is_file():  # a pipe would block, a device never end
        path = None
    readline.set_history_length(_HISTORY_LINES)
    if path is not None:
        with suppress(OSError):
            readline.read_history_file(path)
    try:
        yield
    finally:
        if path is not None:
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(mode=0o600)
                readline.write_history_file(path)
