"""`nmt translate`: text to text, line by line."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.line_progress import LineProgress
from nmt_cli.cli.display.line_warnings import LineNotes
from nmt_cli.cli.options.shared import (
    MACHINE,
    MESSAGES,
    OUTPUT,
    DeviceOption,
    QuietOption,
    SetOption,
    ThreadsOption,
)
from nmt_cli.cli.options.translation import (
    INPUT,
    BatchTokensOption,
    Int8Option,
    JsonOption,
    LinesOutOption,
    RunsArgument,
    StrictOption,
    WindowOption,
    check_formats,
    check_runs,
    load,
    need_attention,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.translator import Translation

SEARCH = "Search"


def translate(
    runs: RunsArgument,
    source: Annotated[
        Path | None,
        typer.Option(
            "--input",
            "-i",
            metavar="FILE",
            help="Text to translate, plain or .gz.",
            rich_help_panel=INPUT,
            show_default="standard input",
        ),
    ] = None,
    strict: StrictOption = False,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            metavar="N",
            min=1,
            help="Translate lines with more tokens in parts.",
            rich_help_panel=INPUT,
            show_default="data.max_tokens of the run",
        ),
    ] = None,
    out: LinesOutOption = None,
    tsv: Annotated[
        bool, typer.Option("--tsv", help="Write source, translation and score.", rich_help_panel=OUTPUT)
    ] = False,
    json: JsonOption = False,
    alignments: Annotated[
        bool,
        typer.Option(
            "--alignments", help="Add word alignments (Pharaoh) to --tsv or --json.", rich_help_panel=OUTPUT
        ),
    ] = False,
    tokens: Annotated[
        bool,
        typer.Option("--tokens", help="Add tokens and their log p to --json.", rich_help_panel=OUTPUT),
    ] = False,
    attention: Annotated[
        bool,
        typer.Option("--attention", help="Add attention between tokens to --json.", rich_help_panel=OUTPUT),
    ] = False,
    beam: Annotated[
        int | None,
        typer.Option(
            "--beam",
            "-b",
            metavar="N",
            help="Short for --set search.beam_size=N; 1 is greedy.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    n_best: Annotated[
        int | None,
        typer.Option(
            "--n-best",
            "-n",
            metavar="N",
            help="Short for --set search.n_best=N; needs --tsv or --json.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(
            "--prefix", metavar="TEXT", help="What every translation begins with.", rich_help_panel=SEARCH
        ),
    ] = "",
    settings: SetOption = None,
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Answer each line at once, as at a terminal.", rich_help_panel=MACHINE),
    ] = False,
    window: WindowOption = None,
    batch_tokens: BatchTokensOption = None,
    int8: Int8Option = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    progress: Annotated[
        bool | None,
        typer.Option(
            "--progress/--no-progress",
            help="Show lines and lines/s.",
            rich_help_panel=MESSAGES,
            show_default="at a terminal",
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Translate text, one line for one line: [cyan]nmt translate RUN_DIR < input > output[/]

    Settings of search are those of the run, unless they are changed here: [cyan]--set search.length_penalty=0.6[/]
    """
    check_formats(tsv=tsv, json=json)
    _check_places(
        tsv=tsv, json=json, n_best=n_best, alignments=alignments, tokens=tokens, attention=attention
    )
    check_runs(runs, "nmt translate RUN_DIR --input {path}")

    from nmt_cli.files.line_reader import TextInput
    from nmt_cli.files.line_writer import line_output

    console = messages()
    notes = LineNotes(console)
    lines = TextInput(source, strict=strict, undecodable=notes.undecodable)
    search = _search_settings(settings, beam, n_best)

    from nmt_cli.config.defaults import WINDOW
    from nmt_cli.translator import Details
    from nmt_cli.translator.streaming import translate_stream

    translator = load(
        runs,
        search,
        device=device,
        threads=threads,
        batch_tokens=batch_tokens,
        max_tokens=max_tokens,
        int8=int8,
        quiet=quiet,
    )
    need_attention(translator, alignments, "--alignments")
    need_attention(translator, attention, "--attention")
    write_line = _line_format(translator.config.n_best, tsv=tsv, json=json, tokens=tokens)
    stream = stream or lines.is_terminal
    found = translate_stream(
        translator,
        lines,
        window=1 if stream else window or WINDOW,
        details=Details(scores=tsv or json, attention=attention, alignment=alignments),
        prefix=prefix,
    )
    if lines.is_terminal and sys.stderr.isatty() and not quiet:
        console.print("one sentence a line; Ctrl-D ends")
    bar = LineProgress(console, out=out, wanted=progress, quiet=quiet or stream)
    with line_output(out) as write, bar, notes:
        for part in found:
            pairs = enumerate(zip(part.sources, part.translations, strict=True), start=part.first + 1)
            write(write_line(number, *pair) for number, pair in pairs)
            notes.translated(part)
            bar.advance(len(part.sources))


def _check_places(*, tsv: bool, json: bool, **asked: Any) -> None:
    """What was asked for needs a place to be written to."""
    places = {"n_best": tsv or json, "alignments": tsv or json, "tokens": json, "attention": json}
    for name, value in asked.items():
        if value and not places[name] and not (name == "n_best" and value == 1):
            raise UsageError(
                f"--{name.replace('_', '-')} has no place in {'TSV' if tsv else 'plain text'}",
                hint="add --json" if name in ("tokens", "attention") else "add --tsv or --json",
            )


def _search_settings(settings: Sequence[str] | None, beam: int | None, n_best: int | None) -> dict[str, Any]:
    from nmt_cli.config.layers import section_assignments

    short = {"beam_size": beam, "n_best": n_best}
    return {
        **section_assignments("search", settings or ()),
        **{name: value for name, value in short.items() if value is not None},
    }


def _line_format(
    n_best: int, *, tsv: bool, json: bool, tokens: bool
) -> "Callable[[int, str, Translation], str]":
    from nmt_cli.translator.output_formats import as_json, as_text, as_tsv

    if json:
        return partial(as_json, tokens=tokens)
    if tsv:
        return partial(as_tsv, n_best=n_best)
    if n_best > 1:
        raise UsageError(
            f"search.n_best = {n_best}, but plain text has one translation a line",
            hint="add --tsv or --json, or set search.n_best = 1",
        )
    return as_text
