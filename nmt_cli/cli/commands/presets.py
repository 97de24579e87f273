"""`nmt presets`: the published systems that can be trained by name."""

from nmt_cli.cli.display.console import results
from nmt_cli.cli.options import shared
from nmt_cli.errors import UsageError, did_you_mean

_VOCABULARY = 8000


def presets(name: shared.PresetName = None) -> None:
    """List the published systems, or show one in full.

    [cyan]nmt presets NAME[/] shows paper, equations, settings and parameter count;
    [cyan]nmt train --preset NAME[/] trains the system.
    """
    from nmt_cli.config import PRESETS

    if name is None:
        _list()
    elif name in PRESETS:
        _show(name)
    else:
        raise UsageError(
            f"there is no preset {name}{did_you_mean(name, PRESETS)}", hint="`nmt presets` lists all presets"
        )


def _list() -> None:
    from rich.table import Table

    from nmt_cli.config import PRESETS

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, preset in PRESETS.items():
        table.add_row(name, preset.summary)
    results().print(table)


def _show(name: str) -> None:
    from rich.text import Text

    from nmt_cli.config import PRESETS, resolve
    from nmt_cli.config.layers import toml_value

    preset = PRESETS[name]
    resolved = resolve(None, [f"model.preset={name}"])
    console = results()
    console.print(Text(name, style="bold"), Text(preset.summary, style="italic"), sep="  ")
    console.print(Text(preset.paper))
    console.print()
    console.print(Text(preset.equations), soft_wrap=True)
    console.print()
    for title, style, own in (("set by the preset", "", True), ("default values", "dim", False)):
        shown = {
            f"model.{key}": value
            for key, value in resolved.config.model
            if key != "preset" and (key in preset.settings) is own
        }
        shown |= preset.others if own else {}
        if shown:
            console.print(Text(f"# {title}", style="dim"))
        for key, value in shown.items():
            console.print(Text(f"{key} = {toml_value(value)}", style=style))
    console.print()
    count = _count_parameters(name)
    console.print(
        Text(f"{count:,} parameters with a joint vocabulary of {_VOCABULARY} tokens"), soft_wrap=True
    )


def _count_parameters(name: str) -> int:
    """The number of parameters of the real model, built on the meta device."""
    import torch

    from nmt_cli.config import resolve
    from nmt_cli.model import build_model

    config = resolve(None, [f"model.preset={name}"]).config.model
    with torch.device("meta"):
        model = build_model(config, _VOCABULARY, _VOCABULARY, shared=True, generator=torch.Generator("cpu"))
    return sum(parameter.numel() for parameter in model.parameters())
