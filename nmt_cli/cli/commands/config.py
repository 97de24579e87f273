"""`nmt config`: every setting, or the settings that result from a file and `--set`."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nmt_cli.cli.display.console import results
from nmt_cli.cli.options import shared
from nmt_cli.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from nmt_cli.config import Resolved

_TABLE_WIDTH = 120  # columns of a terminal in which a table of settings is readable


def config(
    file: shared.ConfigFile = None,
    section: shared.ConfigSection = None,
    settings: shared.Set = None,
    preset: shared.Preset = None,
    changed: shared.Changed = False,
    markdown: shared.MarkdownReference = False,
) -> None:
    """List all settings, or show the result of FILE and --set.

    Without FILE, --set or --preset, lists every setting, or those of SECTION,
    with its type, default and meaning. Otherwise the output is TOML that can be
    used as FILE again; a comment names the origin of each value.
    """
    from nmt_cli.config import resolve
    from nmt_cli.config.layers import reference_markdown, sections, to_toml

    known = [name for name, _ in sections()]
    if file is not None and not file.exists() and file.name == str(file) and not file.suffix:
        # A section: either may come first, and either may be missing.
        file, section = (None if section is None else Path(section)), str(file)
    if section is not None and section not in known:
        raise UsageError(
            f"there is no section {section}{did_you_mean(section, known)}",
            hint=f"give a TOML file or one of the sections {', '.join(known)}",
        )
    if markdown:
        typer.echo(reference_markdown(), nl=False)
    elif file is None and not settings and not preset and not changed:
        _show_reference(section)
    else:
        resolved: Resolved = resolve(file, shared.assignments(settings, preset))
        typer.echo(to_toml(resolved, only=section, changed=changed), nl=False)


def _show_reference(section: str | None) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from nmt_cli.config.layers import describe_settings

    rows = [row for row in describe_settings() if section in (None, row.name.partition(".")[0])]
    console = results()
    if console.width < _TABLE_WIDTH:
        for row in rows:
            console.print(Text.assemble((row.name, "bold"), f" = {row.default}  ({row.type})"))
            console.print(Padding(Text(row.meaning), (0, 0, 0, 4)))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("setting", "type", "default", "meaning"):
        table.add_column(heading, style="bold" if heading == "setting" else "", no_wrap=heading == "setting")
    for row in rows:
        table.add_row(row.name, Text(row.type), Text(row.default), Text(row.meaning))
    console.print(table)
