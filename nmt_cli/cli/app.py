"""All commands. A command module imports nothing heavy, so that `nmt --help` is instant."""

from typing import Annotated

import typer

from nmt_cli import __version__
from nmt_cli.cli.boundary import Boundary
from nmt_cli.cli.commands import (
    average,
    config,
    demo_data,
    evaluate,
    explain,
    generate,
    preprocess,
    presets,
    recipe,
    score,
    train,
    translate,
)

DATA, TRAINING, TRANSLATION, EVALUATION, INFORMATION = (
    "Data",
    "Training",
    "Translation",
    "Evaluation",
    "Information",
)

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


app.command("preprocess", rich_help_panel=DATA)(preprocess.preprocess)
app.command("demo-data", rich_help_panel=DATA)(demo_data.demo_data)
app.command("train", rich_help_panel=TRAINING)(train.train)
app.command("average", rich_help_panel=TRAINING)(average.average)
app.command("translate", rich_help_panel=TRANSLATION)(translate.translate)
app.command("score", rich_help_panel=TRANSLATION)(score.score)
app.command("generate", rich_help_panel=TRANSLATION)(generate.generate)
app.command("explain", rich_help_panel=TRANSLATION)(explain.explain)
app.command("evaluate", rich_help_panel=EVALUATION)(evaluate.evaluate)
app.command("recipe", rich_help_panel=TRAINING)(recipe.recipe)
app.command("presets", rich_help_panel=INFORMATION)(presets.presets)
app.command("config", rich_help_panel=INFORMATION)(config.config)
