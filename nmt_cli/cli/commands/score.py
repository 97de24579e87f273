"""`nmt score`: how probable a model finds given translations."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.line_progress import LineProgress
from nmt_cli.cli.display.line_warnings import LineNotes
from nmt_cli.cli.options.shared import OUTPUT, DeviceOption, QuietOption, SetOption, ThreadsOption
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


def score(
    runs: RunsArgument,
    target: Annotated[
        Path,
        typer.Option(
            "--target", metavar="FILE", help="Its translation, line by line, or -.", rich_help_panel=INPUT
        ),
    ],
    source: Annotated[
        Path | None,
        typer.Option(
            "--source",
            metavar="FILE",
            help="Source text, or - for standard input.",
            rich_help_panel=INPUT,
            show_default="none, for a language model",
        ),
    ] = None,
    strict: StrictOption = False,
    out: LinesOutOption = None,
    tsv: Annotated[
        bool,
        typer.Option(
            "--tsv", help="Write source, target, log P, perplexity and tokens.", rich_help_panel=OUTPUT
        ),
    ] = False,
    json: JsonOption = False,
    alignments: Annotated[
        bool,
        typer.Option(
            "--alignments",
            help="Write word alignments (Pharaoh) alone, or add them to --tsv or --json.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Add tokens and their log p to --json.", rich_help_panel=OUTPUT)
    ] = False,
    settings: SetOption = None,
    window: WindowOption = None,
    batch_tokens: BatchTokensOption = None,
    int8: Int8Option = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Score translations by forced decoding: log P(target | source) and perplexity of each line.

    Without --source, log P(target) of a language model: [cyan]nmt score RUN_DIR --target FILE[/]
    With --alignments, links from attention: [cyan]0-0 1-2[/] is source word 0 with target word 0, 1 with 2.
    """
    check_formats(tsv=tsv, json=json)
    check_runs(runs, "nmt score RUN_DIR --source {path} --target FILE")
    if tokens and not json:
        raise UsageError("--tokens has a place in JSON only", hint="add --json")
    if str(source) == str(target) == "-":
        raise UsageError("only one side can come from standard input", hint="name a file for the other")

    from nmt_cli.config.layers import section_assignments
    from nmt_cli.files.line_reader import Pairs, TextInput
    from nmt_cli.files.line_writer import line_output

    console = messages()
    notes = LineNotes(console)
    texts = [
        TextInput(path, strict=strict, undecodable=partial(notes.undecodable, file=str(path)))
        for path in (source, target)
        if path is not None
    ]
    pairs: Iterable[tuple[str, str]] = Pairs(*texts) if source else (("", line) for line in texts[0])
    search = section_assignments("search", settings or ())

    from nmt_cli.config.defaults import WINDOW
    from nmt_cli.translator import Details
    from nmt_cli.translator.streaming import score_stream

    translator = load(
        runs,
        search,
        device=device,
        threads=threads,
        batch_tokens=batch_tokens,
        int8=int8,
        quiet=quiet,
        language_model=source is None,
    )
    need_attention(translator, alignments, "--alignments")
    write_line = _line_format(tsv=tsv, json=json, alignments=alignments, tokens=tokens)
    found = score_stream(
        translator, pairs, window=window or WINDOW, details=Details(scores=True, alignment=alignments)
    )
    summary = Summary()
    bar = LineProgress(console, out=out, wanted=None, quiet=quiet)
    with line_output(out) as write, bar, notes:
        for part in found:
            lines = enumerate(zip(part.sources, part.translations, strict=True), start=part.first + 1)
            write(write_line(number, *line) for number, line in lines)
            summary.add(part.translations)
            bar.advance(len(part.sources))
    if not quiet:
        console.print(summary.text())


class Summary:
    """Figures of the whole text."""

    def __init__(self) -> None:
        self._lines = self._tokens = 0
        self._log_p = 0.0

    def add(self, translations: "Sequence[Translation]") -> None:
        """Count these lines."""
        for translation in translations:
            self._lines += 1
            self._tokens += len(translation.target_pieces)
            self._log_p += translation.log_probability or 0.0

    def text(self) -> str:
        """One line for a person."""
        if not self._tokens:
            return f"{self._lines:,} lines, no tokens"
        perplexity = math.exp(min(-self._log_p / self._tokens, 700.0))
        return (
            f"{self._lines:,} lines, {self._tokens:,} tokens, log P {self._log_p:,.2f}, "
            f"perplexity {perplexity:.4g} a token"
        )


def _line_format(
    *, tsv: bool, json: bool, alignments: bool, tokens: bool
) -> "Callable[[int, str, Translation], str]":
    from nmt_cli.translator.output_formats import as_links, as_score, as_score_json, as_score_tsv

    if json:
        return partial(as_score_json, tokens=tokens)
    return as_score_tsv if tsv else as_links if alignments else as_score
