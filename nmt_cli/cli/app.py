"""The command `nmt` and its subcommands. A command module imports nothing heavy, so that `nmt --help` is instant."""

from typing import Annotated

import typer

from nmt_cli import __version__
from nmt_cli.cli.boundary import Boundary, PlainCommand
from nmt_cli.cli.commands import (
    align,
    align_eval,
    average,
    caption,
    config,
    demo_data,
    evaluate,
    explain,
    export,
    generate,
    info,
    preprocess,
    presets,
    recipe,
    rerank,
    score,
    selftest,
    serve,
    train,
    transcribe,
    translate,
)

# In the order of the help page: panel, and the functions whose names are the names of the commands.
COMMANDS = {
    "Data": (preprocess.preprocess, demo_data.demo_data),
    "Training": (train.train, average.average, recipe.recipe),
    "Translation": (
        translate.translate,
        score.score,
        rerank.rerank,
        generate.generate,
        caption.caption,
        transcribe.transcribe,
        explain.explain,
        export.export,
        serve.serve,
    ),
    "Evaluation": (evaluate.evaluate, align.align, align_eval.align_eval),
    "Information": (info.info, presets.presets, config.config, selftest.selftest),
}

app = typer.Typer(
    name="nmt",
    cls=Boundary,
    help="Train, run and understand attention-based neural machine translation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nmt {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Train, run and understand attention-based neural machine translation."""


for _panel, _functions in COMMANDS.items():
    for _function in _functions:
        _name = _function.__name__.replace("_", "-")
        app.command(_name, cls=PlainCommand, rich_help_panel=_panel)(_function)
