"""Options that several commands share, written once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.display.console import Verbosity

SETTINGS = "Settings"
OUTPUT = "Output"
MACHINE = "Machine"
MESSAGES = "Messages"


def _complete_setting(incomplete: str) -> list[str]:
    from nmt_cli.config import setting_names

    return [f"{name}=" for name in setting_names() if name.startswith(incomplete)]


def complete_preset(incomplete: str) -> list[str]:
    """Names of presets that begin like this."""
    from nmt_cli.config import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="TOML file of settings.", rich_help_panel=SETTINGS),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        help="Change a setting; repeatable. `nmt config` lists them all.",
        rich_help_panel=SETTINGS,
        autocompletion=_complete_setting,
    ),
]
PresetOption = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Short for --set model.preset=NAME.",
        rich_help_panel=SETTINGS,
        autocompletion=complete_preset,
    ),
]
OverwriteOption = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace an output directory that nmt wrote.", rich_help_panel=OUTPUT),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.", rich_help_panel=MESSAGES)
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.", rich_help_panel=MESSAGES)]

DeviceOption = Annotated[
    str,
    typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, cuda:1 or mps.", rich_help_panel=MACHINE),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        help="CPU threads.",
        rich_help_panel=MACHINE,
        show_default="all cores",
    ),
]


def verbosity(*, quiet: bool, verbose: bool) -> Verbosity:
    """The one verbosity that the two flags name."""
    if quiet and verbose:
        raise typer.BadParameter("--quiet and --verbose contradict each other")
    return Verbosity.QUIET if quiet else Verbosity.VERBOSE if verbose else Verbosity.NORMAL


def use_of(run: Path) -> str:
    """What a new model can be used for, for the last message of a command."""
    from nmt_cli.run import RunDirectory

    if RunDirectory.open(run).config.model.is_language_model:
        return f'continue text with: nmt generate {run} "The"'
    return f"translate with: nmt translate {run}"


def assignments(settings: Sequence[str] | None, preset: str | None = None) -> list[str]:
    """`--preset NAME` as the assignment it is short for, then the `--set` texts."""
    return ([f"model.preset={preset}"] if preset else []) + list(settings or [])
