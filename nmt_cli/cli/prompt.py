"""The prompt of `nmt translate` in a terminal: line editing, history, and alternatives on request."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from nmt_cli.cli.display.console import say
from nmt_cli.cli.display.lines import LineWarnings
from nmt_cli.info.machine import history_file

if TYPE_CHECKING:
    from nmt_cli.translator import Details, Translation, Translator

ALTERNATIVES = "?"
"""The line that asks for alternatives to the last translation."""
GREETING = f"type a sentence; {ALTERNATIVES} shows alternatives to the last translation, Ctrl-D ends"

_ALTERNATIVES_SHOWN = 5
_HISTORY_LINES = 1000
_NO_HISTORY = "NMT_NO_HISTORY"  # an environment variable: what is typed may be confidential


def run_prompt(
    translator: "Translator",
    as_line: "Callable[[int, str, Translation], str]",
    warnings: LineWarnings,
    *,
    details: "Details",
    prefix: str,
) -> None:
    """Translate each line as it is typed, until Ctrl-D. Ctrl-C drops the line, or stops its translation."""
    number, last = 0, ""
    warnings.shown = sys.maxsize  # nobody waits for the count at the end
    prompt = prompt_text(translator.languages, sys.stdout.encoding)
    with warnings, _history():
        while True:
            try:
                line = _typed_line(prompt)
                if line is None:
                    return
                if line.strip() == ALTERNATIVES:
                    _print(alternatives(translator, last, prefix) if last else ["nothing is translated yet"])
                elif line.strip():
                    number, last = number + 1, line
                    _print(_translated(translator, number, line, as_line, warnings, details, prefix))
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


def alternatives(translator: "Translator", text: str, prefix: str = "") -> list[str]:
    """The best translations of `text` with their scores, one per line, best first."""
    from nmt_cli.translator import Details

    groups = translator.config.diversity_groups  # must divide the beam
    width = -(-max(_ALTERNATIVES_SHOWN, translator.config.beam_size) // groups) * groups
    wider = translator.with_search(n_best=_ALTERNATIVES_SHOWN, beam_size=width)
    [best] = wider.translate([text], details=Details(scores=True), prefixes=[prefix])
    found = best.n_best or (best,)
    return [f"{rank:3}  {one.score:7.3f}  {one.text}" for rank, one in enumerate(found, start=1)]


def _translated(
    translator: "Translator",
    number: int,
    line: str,
    as_line: "Callable[[int, str, Translation], str]",
    warnings: LineWarnings,
    details: "Details",
    prefix: str,
) -> list[str]:
    from nmt_cli.translator.streaming import LineWindow

    found = translator.translate([line], details=details, prefixes=[prefix], first_line=number - 1)
    warnings.translated(LineWindow(number - 1, [line], found))
    return [as_line(number, line, found[0])]


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
