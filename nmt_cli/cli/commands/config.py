"""`nmt config`: every setting, or the resolved result of a file and `--set`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.display.console import results
from nmt_cli.cli.options.shared import PresetOption, SetOption, assignments

if TYPE_CHECKING:
    from nmt_cli.config import Resolved

_TABLE_WIDTH = 120  # columns of a terminal from which on a table of settings is readable


def config(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="TOML file of settings.")] = None,
    settings: SetOption = None,
    preset: PresetOption = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="The reference as Markdown.")] = False,
) -> None:
    """Show every setting with its type, default and meaning; with FILE, --preset or --set, the resolved result.

    The resolved result is TOML with the layer of each value as a comment, and can be used as a FILE again.
    """
    from nmt_cli.config import resolve
    from nmt_cli.config.reference import reference_markdown, to_toml

    if markdown:
        typer.echo(reference_markdown(), nl=False)
    elif file is None and not settings and not preset:
        _show_reference()
    else:
        resolved: Resolved = resolve(file, assignments(settings, preset))
        typer.echo(to_toml(resolved), nl=False)


def _show_reference() -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from nmt_cli.config.reference import describe_settings

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
