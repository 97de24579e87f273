"""`nmt preprocess`: from any parallel corpus to training data."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.display.console import StageProgress, Verbosity, messages, results
from nmt_cli.cli.options.shared import (
    MESSAGES,
    OUTPUT,
    ConfigOption,
    OverwriteOption,
    QuietOption,
    SetOption,
    assignments,
    verbosity,
)

if TYPE_CHECKING:
    from nmt_cli.preprocess import DataCard, Report

CORPORA = "Corpora"
_SPEC = "SPEC"


def preprocess(
    *,
    source_lang: Annotated[
        str | None,
        typer.Option(
            "--source-lang",
            "-s",
            metavar="LANG",
            help="Source language, such as de.",
            rich_help_panel=CORPORA,
            show_default="none: monolingual text, for a language model",
        ),
    ] = None,
    target_lang: Annotated[
        str,
        typer.Option(
            "--target-lang",
            "-t",
            metavar="LANG",
            help="Target language, or that of monolingual text, such as en.",
            rich_help_panel=CORPORA,
        ),
    ],
    train: Annotated[
        list[str],
        typer.Option("--train", metavar=_SPEC, help="Training corpus; repeatable.", rich_help_panel=CORPORA),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory to write.", rich_help_panel=OUTPUT)
    ],
    valid: Annotated[
        list[str] | None,
        typer.Option(
            "--valid",
            metavar=_SPEC,
            help="Validation corpus; held out from train if absent.",
            rich_help_panel=CORPORA,
        ),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            metavar=_SPEC,
            help="Test corpus; held out from train if absent.",
            rich_help_panel=CORPORA,
        ),
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            "--vocabulary",
            metavar="DIR",
            help="Use the sentencepiece models of this directory.",
            rich_help_panel=CORPORA,
        ),
    ] = None,
    keep_all: Annotated[
        bool,
        typer.Option(
            "--keep-all",
            help="Drop no pair from train (--set data.NAME=true switches a filter on).",
            rich_help_panel=CORPORA,
        ),
    ] = False,
    config: ConfigOption = None,
    settings: SetOption = None,
    dropped: Annotated[
        Path | None,
        typer.Option(
            "--dropped",
            metavar="FILE",
            help="List every dropped pair with its line and reason.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help="Processes to use; the result is the same.",
            show_default="one for each core",
        ),
    ] = None,
    quiet: QuietOption = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Show examples of dropped pairs.", rich_help_panel=MESSAGES),
    ] = False,
) -> None:
    """Clean and tokenize a parallel corpus, or text in one language, into a directory that `nmt train` takes.

    SPEC names a corpus:
      [cyan]data/train[/]                 data/train.de + .en, also .gz .xz .bz2 .zst
      [cyan]a.de,a.en[/]                  two files
      [cyan]x.tsv[/] or [cyan]x.tsv#1,3[/]         columns, source first
      [cyan]x.jsonl[/] or [cyan]x.jsonl#a,b[/]     a `translation` object, or two fields
      [cyan]hf:DATASET:CONFIG:SPLIT[/]    from the Hugging Face hub
      [cyan]-[/] or [cyan]-#2,1[/]                 TSV on standard input
    Without --source-lang it is one file, column or field: [cyan]a.en[/], [cyan]x.tsv#2[/], [cyan]x.jsonl#text[/].
    Options follow it: [cyan]@weight=2[/] shows it twice an epoch; for the hub also
    @revision=NAME, @data_files=PATH and @streaming=true.
    """
    from nmt_cli.config import FILTERS, resolve
    from nmt_cli.data.text_files import check_language
    from nmt_cli.preprocess import Request
    from nmt_cli.preprocess import preprocess as run

    if source_lang is not None:
        check_language(source_lang)
    level = verbosity(quiet=quiet, verbose=verbose)
    switched_off = [f"data.{name}=false" for name in FILTERS] if keep_all else []
    request = Request(
        source_lang=source_lang or "",
        target_lang=target_lang,
        train=train,
        valid=valid or (),
        test=test or (),
        out=out,
        settings=resolve(config, switched_off + assignments(settings)),
        vocabulary=vocabulary,
        dropped=dropped,
        workers=workers or _cores(),
        overwrite=overwrite,
    )
    with StageProgress(level) as progress:
        card = run(request, _Reporter(progress))
    if level > Verbosity.QUIET:
        _show(card)
        if level is Verbosity.VERBOSE:
            _show_examples(card)
        messages().print(f"wrote {out} (data card: {out / 'data-card.md'})")


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _show_examples(card: "DataCard") -> None:
    console = messages()
    for reason, corpus, line, text in card.examples():
        console.print(f"{reason}: {corpus} line {line}: {text}")


class _Reporter:
    """Shows the reports of the library."""

    def __init__(self, progress: StageProgress) -> None:
        self._progress = progress

    def __call__(self, report: "Report") -> None:
        from nmt_cli.preprocess import Progress

        if isinstance(report, Progress):
            self._progress.update(report.stage, report.done, report.total)
        else:
            self._progress.warn(report.message, hint=report.hint)


def _show(card: "DataCard") -> None:
    from rich.table import Table

    console = results()
    for title, headings, rows in card.tables():
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for index, heading in enumerate(headings):
            table.add_column(heading, justify="left" if index == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()
