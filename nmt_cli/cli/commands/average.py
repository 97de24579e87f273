"""`nmt average`: the mean of several models."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.display.console import Verbosity, messages
from nmt_cli.cli.options.shared import OUTPUT, OverwriteOption, QuietOption, VerboseOption, use_of, verbosity


def average(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR", help="Runs of the same model and vocabulary.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Run directory to write.", rich_help_panel=OUTPUT),
    ],
    last: Annotated[
        int | None,
        typer.Option("--last", metavar="N", min=2, help="Of one run: only its last N checkpoints."),
    ] = None,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Average the weights of several runs, or of all kept checkpoints of one run, into a new run directory.

    A run keeps its best checkpoints ([cyan]train.average_best[/]) and the last one.
    """
    from nmt_cli.run.average import average as write_average

    if last is not None and len(runs) > 1:
        raise typer.BadParameter("--last is for one run")
    names = write_average(runs, out, last=last, overwrite=overwrite)
    if verbosity(quiet=quiet, verbose=verbose) > Verbosity.QUIET:
        for name in names:
            messages().print(f"averaged {name}")
        messages().print(f"wrote {out}; {use_of(out)}")
