"""What `nmt translate`, `nmt score` and `nmt generate` share."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.options.shared import MACHINE, OUTPUT
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.translator import Translator

INPUT = "Input"

RunsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="RUN_DIR...", help="What `nmt train` wrote; several are an ensemble."),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict", help="Refuse text that is not UTF-8 instead of repairing it.", rich_help_panel=INPUT
    ),
]
LinesOutOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write, whole or not at all; .gz is compressed.",
        rich_help_panel=OUTPUT,
        show_default="standard output",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Write one JSON object a line.", rich_help_panel=OUTPUT)
]
WindowOption = Annotated[
    int | None,
    typer.Option(
        "--window",
        metavar="N",
        min=1,
        help="Lines to read ahead and sort by length.",
        rich_help_panel=MACHINE,
        show_default="2000",
    ),
]
BatchTokensOption = Annotated[
    int | None,
    typer.Option(
        "--batch-tokens",
        metavar="N",
        min=1,
        help="Source tokens of a batch, padding included.",
        rich_help_panel=MACHINE,
        show_default="4096",
    ),
]
Int8Option = Annotated[
    bool,
    typer.Option(
        "--int8",
        help="Products in 8-bit integers on a CPU: faster, a little less exact.",
        rich_help_panel=MACHINE,
    ),
]


def check_runs(runs: Sequence[Path], hint: str) -> None:
    """A file in the place of a run directory is probably the text."""
    for path in runs:
        if path.is_file():
            raise UsageError(f"{path} is a file, not a run directory", hint=hint.format(path=path))


def check_formats(*, tsv: bool, json: bool) -> None:
    """One format at a time."""
    if tsv and json:
        raise UsageError("--tsv contradicts --json", hint="choose one format")


def load(
    runs: Sequence[Path],
    search: dict[str, Any],
    *,
    device: str,
    threads: int | None,
    int8: bool,
    quiet: bool,
    language_model: bool = False,
    **limits: int | None,
) -> "Translator":
    """The translator of these runs, or a language model; limits that are not given are left to their defaults."""
    import torch

    from nmt_cli.translator import Translator

    if threads is not None:
        torch.set_num_threads(threads)
    given: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    translator = Translator.load(
        *runs, device=device, search=search, int8=int8, language_model=language_model, **given
    )
    if int8 and not quiet:
        messages().print(f"8-bit products in {', '.join(translator.quantized)}")
    return translator


def need_attention(translator: "Translator", asked: bool, option: str) -> None:
    """Alignments come from attention."""
    if asked and not translator.has_attention:
        raise UsageError(
            f"{option} needs attention, but the model has none",
            hint="leave it out, or train a preset with attention, such as luong2015",
        )
