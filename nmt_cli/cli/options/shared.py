"""The panels of the help page. Each makes options, so that an alias is one or two lines:

    Threads = Annotated[int | None, machine("--threads N", "Number of CPU threads.", min=1)]

An option is spelled as it appears in the help: its names, then its metavar. A flag has no metavar.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nmt_cli.cli.display.console import Verbosity
from nmt_cli.cli.options.checks import check_device
from nmt_cli.config.defaults import MAX_THREADS
from nmt_cli.errors import UsageError


def _panel(title: str) -> Callable[..., Any]:
    def option(spelling: str, text: str, **more: Any) -> Any:
        words = spelling.split()
        names = [word for word in words if word.startswith("-")]
        metavar = " ".join(words[len(names) :])
        return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=title, **more)

    return option


def argument(metavar: str, text: str, **more: Any) -> Any:
    """A positional argument; its panel is typer's."""
    return typer.Argument(metavar=metavar, help=text, **{"show_default": False, **more})


corpora = _panel("Corpora")
inputs = _panel("Input")
documents = _panel("Documents")
test_set = _panel("Test set")
scores = _panel("Scores")
comparison = _panel("Comparison")
alignment_format = _panel("Alignment format")
run = _panel("Run")
search = _panel("Search")
models = _panel("Models")
terminology = _panel("Terminology")
contents = _panel("Contents")
settings = _panel("Settings")
output = _panel("Output")
network = _panel("Network")
access = _panel("Access")
limits = _panel("Limits")
machine = _panel("Machine")
messages = _panel("Messages")


# ------------------------------------------------------------------------------------------------------------
# Options of most commands: settings, output, machine and messages.


def _complete_setting(incomplete: str) -> list[str]:
    from nmt_cli.config import setting_names

    return [f"{name}=" for name in setting_names() if name.startswith(incomplete)]


def _complete_preset(incomplete: str) -> list[str]:
    from nmt_cli.config import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


Config = Annotated[Path | None, settings("--config -c FILE", "TOML file with settings.")]
Set = Annotated[
    list[str] | None,
    settings(
        "--set SECTION.KEY=VALUE",
        "Change a setting; repeatable. `nmt config` lists all settings.",
        autocompletion=_complete_setting,
    ),
]
Preset = Annotated[
    str | None,
    settings("--preset NAME", "Shorthand for --set model.preset=NAME.", autocompletion=_complete_preset),
]
PresetName = Annotated[
    str | None, argument("NAME", "Show this preset in full.", autocompletion=_complete_preset)
]
ConfigFile = Annotated[Path | None, argument("FILE", "TOML file with settings.")]
ConfigSection = Annotated[
    str | None, argument("SECTION", "Show only this section: data, vocabulary, model, train or search.")
]
Changed = Annotated[bool, output("--changed", "Show only settings that differ from the defaults.")]
MarkdownReference = Annotated[bool, output("--markdown", "Print the reference of all settings as Markdown.")]

Overwrite = Annotated[bool, output("--overwrite", "Replace the output directory if nmt created it.")]

Device = Annotated[
    str, machine("--device NAME", "Device to run on: auto, cpu, cuda, cuda:N or mps.", callback=check_device)
]
Threads = Annotated[
    int | None,
    machine("--threads N", "Number of CPU threads.", min=1, max=MAX_THREADS, show_default="all cores"),
]
Workers = Annotated[
    int | None,
    machine(
        "--workers N",
        "Number of worker processes; does not affect the result.",
        min=1,
        max=MAX_THREADS,
        show_default="one per core",
    ),
]

Quiet = Annotated[bool, messages("--quiet -q", "Show only warnings and errors.")]
Verbose = Annotated[bool, messages("--verbose -v", "Show more detail.")]


def verbosity(*, quiet: bool, verbose: bool = False) -> Verbosity:
    """The verbosity chosen by the two flags."""
    if quiet and verbose:
        raise UsageError("--quiet and --verbose cannot be used together", hint="choose one of them")
    return Verbosity.QUIET if quiet else Verbosity.VERBOSE if verbose else Verbosity.NORMAL


def assignments(values: Sequence[str] | None, preset: str | None = None) -> list[str]:
    """`--preset NAME` as the assignment it is a shorthand for, followed by the values of `--set`."""
    return ([f"model.preset={preset}"] if preset else []) + list(values or [])


def search_settings(
    file: Path | None, values: Sequence[str] | None, shorthands: Mapping[str, Any]
) -> dict[str, Any]:
    """Search settings of a file, overridden by `--set`, overridden by options that are shorthands for one of them."""
    from nmt_cli.config.layers import section_assignments, section_of_file

    given = {name: value for name, value in shorthands.items() if value is not None}
    if given.get("sampling") and "beam_size" in given:
        raise UsageError(
            "--beam contradicts --sample", hint="samples are drawn without a beam; --n-best says how many"
        )
    in_file = section_of_file("search", file) if file is not None else {}
    return in_file | section_assignments("search", values or ()) | given


def available_cores() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
