"""`nmt config`: every setting, or the settings that result from a file and `--set`."""

from typing import TYPE_CHECKING

import typer

from nmt_cli.cli.display.console import results
from nmt_cli.cli.options import shared

if TYPE_CHECKING:
    from nmt_cli.config import Resolved

_TABLE_WIDTH = 120  # columns of a terminal in which a table of settings is readable


def config(
    file: shared.ConfigFile = None,
    settings: shared.Set = None,
    preset: shared.Preset = None,
    markdown: shared.MarkdownReference = False,
) -> None:
    """List all settings, or show the result of FILE and --set.

    Without arguments, lists every setting with its type, default and meaning.
    Otherwise the output is TOML that can be used as FILE again; a comment names
    the origin of each value.
    """
    from nmt_cli.config import resolve
    from nmt_cli.config.layers import reference_markdown, to_toml

    if markdown:
        typer.echo(reference_markdown(), nl=False)
    elif file is None and not settings and not preset:
        _show_reference()
    else:
        resolved: Resolved = resolve(file, shared.assignments(settings, preset))
        typer.echo(to_toml(resolved), nl=False)


def _show_reference() -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from nmt_cli.config.layers import describe_settings

    console = results()
    if console.width < _TABLE_WIDTH:
        for row in describe_settings():
            console.print(Text.assemble((row.name, "bold"), f" = {row.default}  ({row.type})"))
            console.print(Padding(Text(row.meaning), (0, 0, 0, 4)))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("setting", "type", "default", "meaning"):
        table.add_column(heading, style="bold" if heading == "setting" else "", no_wrap=heading == "setting")
    for row in describe_settings():
        table.add_row(row.name, Text(row.type), Text(row.default), Text(row.meaning))
    console.print(table)
