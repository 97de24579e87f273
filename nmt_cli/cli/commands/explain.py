"""`nmt explain`: where a model looked, how sure it was, and what else it could have said."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from nmt_cli.cli.display.console import messages, results
from nmt_cli.cli.display.line_warnings import LineNotes
from nmt_cli.cli.options.shared import OUTPUT, DeviceOption, QuietOption, SetOption, ThreadsOption
from nmt_cli.cli.options.translation import check_runs
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import new_file

if TYPE_CHECKING:
    from nmt_cli.explanation import Explanation

STDOUT = Path("-")


def explain(
    run: Annotated[
        Path, typer.Argument(metavar="RUN_DIR", help="What `nmt train` wrote.", show_default=False)
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SENTENCE",
            help="What to translate; without it, the lines of standard input.",
            show_default=False,
        ),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="TEXT",
            help="Look at this translation instead of the one that search finds; one for each sentence.",
        ),
    ] = None,
    beam: Annotated[
        int | None,
        typer.Option(
            "--beam", "-b", metavar="N", help="Short for --set search.beam_size=N.", show_default=False
        ),
    ] = None,
    alternatives: Annotated[
        int,
        typer.Option("--alternatives", metavar="N", min=0, max=100, help="How many to show for each piece."),
    ] = 5,
    self_attention: Annotated[
        bool,
        typer.Option("--self-attention", help="Show where the layers look on their own side, too."),
    ] = False,
    settings: SetOption = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write an interactive page.", rich_help_panel=OUTPUT),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg", metavar="FILE", help="Write the heat-map of one sentence.", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write all numbers; - for standard output.", rich_help_panel=OUTPUT
        ),
    ] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Show how a sentence was translated: [cyan]nmt explain RUN_DIR "Ein Hund läuft."[/]

    A heat-map of where the model looked, the confidence of each word, and what it could have said instead.
    [cyan]--html[/] writes the same as a page to explore, with the beam.
    """
    files = {name: path for name, path in (("html", html), ("svg", svg), ("json", json)) if path is not None}
    if len({path.resolve() for path in files.values()}) < len(files):
        raise typer.BadParameter("--html, --svg and --json need files of their own")
    if STDOUT in (html, svg):
        raise typer.BadParameter("only --json can go to standard output")
    check_runs([run], "nmt explain RUN_DIR < {path}")
    sentences = [_as_text(text) for text in texts] if texts else _lines_of_input()
    given = _targets(sentences, targets)
    if svg is not None and len(sentences) > 1:
        raise UsageError(
            f"--svg draws one sentence, and there are {len(sentences)}",
            hint="give one sentence, or write a page of all of them with --html",
        )

    import torch

    from nmt_cli.config.layers import section_assignments
    from nmt_cli.explanation.explainer import Explainer
    from nmt_cli.explanation.self_attention import has_self_attention
    from nmt_cli.model.device import choose_device

    if threads is not None:
        torch.set_num_threads(threads)
    beam_size = [] if beam is None else [f"search.beam_size={beam}"]
    search = section_assignments("search", [*beam_size, *(settings or [])])
    explainer = Explainer.load(run, search=search, device=choose_device(device))
    if svg is not None and explainer.settings.attention == "none":
        raise UsageError(
            f"{explainer.settings.preset} has no attention, so there is no heat-map to draw",
            hint="leave out --svg; --html shows confidence, alternatives and the beam",
        )
    if self_attention and not has_self_attention(explainer.settings):
        raise UsageError(
            f"{explainer.settings.preset} has no self-attention",
            hint="leave out --self-attention; cheng2016 and vaswani2017 have it, others with model.intra_attention",
        )
    pairs = list(zip(sentences, given, strict=True))
    for number, (text, target) in enumerate(pairs, start=1):
        explainer.check(text, target, name="the sentence" if len(pairs) == 1 else f"sentence {number}")
    explanations = (
        explainer.explain(text, target=target, alternatives=alternatives, self_attention=self_attention)
        for text, target in pairs
    )
    _show(explanations, files)
    if not quiet:
        for path in files.values():
            if path != STDOUT:
                messages().print(f"wrote {path}")


def _show(found: "Iterable[Explanation]", files: Mapping[str, Path]) -> None:
    """Show each explanation as soon as it is there; write the files at the end."""
    from nmt_cli.cli.display.explanation import show_explanation

    console = results()
    shown = STDOUT not in files.values()
    with ExitStack() as stack:
        # Opened first: a file that cannot be written is found out before the work.
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
            "there is no sentence",
            hint='nmt explain RUN_DIR "Ein Hund läuft.", or give lines on standard input',
        )
    lines = list(TextInput(None, undecodable=LineNotes(messages()).undecodable))
    if not lines:
        raise UsageError(
            "standard input is empty", hint='nmt explain RUN_DIR "Ein Hund läuft.", or give lines of text'
        )
    return lines


def _targets(sentences: Sequence[str], targets: Sequence[str] | None) -> Sequence[str | None]:
    if targets and len(targets) != len(sentences):
        raise UsageError(
            f"there are {len(sentences)} sentences and {len(targets)} targets",
            hint="give one --target for each sentence, in their order",
        )
    return [_as_text(target) for target in targets] if targets else [None] * len(sentences)


def _as_text(argument: str) -> str:
    """An argument with U+FFFD for bytes that were not UTF-8."""
    return argument.encode(errors="surrogateescape").decode(errors="replace")


@contextmanager
def _new_text_file(path: Path) -> Iterator[TextIO]:
    if path == STDOUT:
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
