"""All commands. A command module imports nothing heavy, so that `nmt --help` is instant."""

from typing import Annotated

import typer

from nmt_cli import __version__
from nmt_cli.cli import average, config, demo_data, preprocess, presets, train
from nmt_cli.cli.boundary import Boundary

DATA, TRAINING, INFORMATION = "Data", "Training", "Information"

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
app.command("presets", rich_help_panel=INFORMATION)(presets.presets)
app.command("config", rich_help_panel=INFORMATION)(config.config)
