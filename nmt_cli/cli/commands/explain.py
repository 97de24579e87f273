"""`nmt explain`: attention, confidence and alternatives behind a translation."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from nmt_cli.cli.display.console import messages, results
from nmt_cli.cli.display.lines import LineWarnings
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import STANDARD_STREAM, check_runs
from nmt_cli.config.defaults import ALTERNATIVES, DEVICE
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import new_file

if TYPE_CHECKING:
    from nmt_cli.config import ModelConfig
    from nmt_cli.explanation import Explanation


def explain(
    run: translation.Run,
    texts: translation.Sentences = None,
    targets: translation.Targets = None,
    beam: translation.Beam = None,
    alternatives: translation.Alternatives = ALTERNATIVES,
    self_attention: translation.SelfAttention = False,
    settings: shared.Set = None,
    html: translation.Html = None,
    svg: translation.Svg = None,
    json: translation.JsonFile = None,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
) -> None:
    """Explain a translation: attention, confidence, alternatives.

    [cyan]nmt explain RUN_DIR "Ein Hund läuft."[/]

    Prints a heat map of the attention, the confidence of each word, and the
    alternatives at each step. [cyan]--html[/] writes an interactive page that also shows
    the beam.
    """
    files = {name: path for name, path in (("html", html), ("svg", svg), ("json", json)) if path is not None}
    _check_files(files)
    check_runs([run], text_hint="nmt explain RUN_DIR < {path}")
    search = shared.search_settings(settings, {"beam_size": beam})
    sentences = [_as_text(text) for text in texts] if texts else _lines_of_input()
    if svg is not None and len(sentences) > 1:
        raise UsageError(
            f"--svg draws a single sentence, but {len(sentences)} were given",
            hint="give one sentence, or write a page for all of them with --html",
        )
    pairs = list(zip(sentences, _targets(sentences, targets), strict=True))

    from nmt_cli.explanation.explainer import Explainer
    from nmt_cli.model.device import choose_device, set_threads

    set_threads(threads)
    explainer = Explainer.load(run, search=search, device=choose_device(device))
    _check_model(explainer.settings, svg=svg is not None, self_attention=self_attention)
    for number, (text, target) in enumerate(pairs, start=1):
        explainer.check(text, target, name="the sentence" if len(pairs) == 1 else f"sentence {number}")
    explanations = (
        explainer.explain(text, target=target, alternatives=alternatives, self_attention=self_attention)
        for text, target in pairs
    )
    _show(explanations, files)
    if not quiet:
        for path in files.values():
            if path != STANDARD_STREAM:
                messages().print(f"wrote {path}")


def _check_files(files: Mapping[str, Path]) -> None:
    if len({path.resolve() for path in files.values()}) < len(files):
        raise UsageError("--html, --svg and --json name the same file", hint="give each a file of its own")
    if STANDARD_STREAM in (files.get("html"), files.get("svg")):
        raise UsageError("only --json can be written to standard output", hint="give the path of a file")


def _check_model(model: "ModelConfig", *, svg: bool, self_attention: bool) -> None:
    from nmt_cli.explanation.self_attention import has_self_attention

    if svg and model.attention == "none":
        raise UsageError(
            f"{model.preset} has no attention, so there is no heat map to draw",
            hint="omit --svg; --html shows confidence, alternatives and the beam",
        )
    if self_attention and not has_self_attention(model):
        raise UsageError(
            f"{model.preset} has no self-attention",
            hint="omit --self-attention; cheng2016 and vaswani2017 have it, others with model.intra_attention",
        )


def _show(found: "Iterable[Explanation]", files: Mapping[str, Path]) -> None:
    """Show each explanation as soon as it is available; write the files at the end."""
    from nmt_cli.cli.display.explanation import show_explanation

    console = results()
    shown = STANDARD_STREAM not in files.values()
    with ExitStack() as stack:
        # Opened first, so that a file that cannot be written is reported before the work.
        open_files = {name: stack.enter_context(_new_text_file(path)) for name, path in files.items()}
        explanations = []
        for number, explanation in enumerate(found):
            if shown:
                if number:
                    console.print("─" * min(console.width, 80), style="dim")
                show_explanation(console, explanation)
            if files:
                explanations.append(explanation)
        for name, file in open_files.items():
            file.write(_content(name, explanations))


def _lines_of_input() -> list[str]:
    from nmt_cli.files.line_reader import TextInput

    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            "no sentence given", hint='nmt explain RUN_DIR "Ein Hund läuft.", or pipe in lines of text'
        )
    lines = list(TextInput(None, undecodable=LineWarnings(messages()).undecodable))
    if not lines:
        raise UsageError(
            "standard input is empty", hint='nmt explain RUN_DIR "Ein Hund läuft.", or pipe in lines of text'
        )
    return lines


def _targets(sentences: Sequence[str], targets: Sequence[str] | None) -> Sequence[str | None]:
    if targets and len(targets) != len(sentences):
        raise UsageError(
            f"{len(sentences)} sentences, but {len(targets)} targets",
            hint="give one --target for each sentence, in the same order",
        )
    return [_as_text(target) for target in targets] if targets else [None] * len(sentences)


def _as_text(argument: str) -> str:
    """An argument with invalid UTF-8 replaced by U+FFFD."""
    return argument.encode(errors="surrogateescape").decode(errors="replace")


@contextmanager
def _new_text_file(path: Path) -> Iterator[TextIO]:
    if path == STANDARD_STREAM:
        yield sys.stdout
        return
    with new_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _content(name: str, explanations: "Sequence[Explanation]") -> str:
    from nmt_cli.explanation import attention_svg, explanation_page, explanations_json

    if name == "html":
        return explanation_page(explanations)
    if name == "json":
        return explanations_json(explanations)
    (only,) = explanations
    assert only.word_attention is not None
    return attention_svg(only.source_labels, only.target_labels, only.word_attention)
