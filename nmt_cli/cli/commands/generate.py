"""`nmt generate`: text that a language model makes up."""

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.line_warnings import LineNotes
from nmt_cli.cli.options.shared import DeviceOption, QuietOption, SetOption, ThreadsOption
from nmt_cli.cli.options.translation import INPUT, Int8Option, JsonOption, LinesOutOption, StrictOption, load

if TYPE_CHECKING:
    from nmt_cli.translator import Translation

SEARCH = "Search"
_AT_ONCE = 256  # texts that grow at the same time


def generate(
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A language model that `nmt train` wrote.")],
    beginning: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT",
            help="How the text begins; '' leaves it open.",
            show_default="standard input, one beginning a line",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--input", "-i", metavar="FILE", help="Beginnings, one a line.", rich_help_panel=INPUT),
    ] = None,
    strict: StrictOption = False,
    out: LinesOutOption = None,
    json: JsonOption = False,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            "-n",
            metavar="N",
            help="Texts for each beginning; short for --set search.n_best=N.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Of what is drawn; short for --set search.seed=N.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    settings: SetOption = None,
    int8: Int8Option = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Continue text with a language model: [cyan]nmt generate RUN_DIR "A man" --samples 3[/]

    Words are drawn at random, more cautiously with [cyan]--set search.temperature=0.7[/], [cyan]search.top_k=20[/] or
    [cyan]search.top_p=0.9[/]. The most probable continuation: [cyan]--set search.sampling=false[/]
    """
    from nmt_cli.config.layers import section_assignments
    from nmt_cli.errors import UsageError
    from nmt_cli.files.line_reader import TextInput
    from nmt_cli.files.line_writer import line_output

    if beginning is not None and source is not None:
        raise UsageError("TEXT contradicts --input", hint="give beginnings in one of the two ways")
    short = {"n_best": samples, "seed": seed}
    search: dict[str, Any] = {
        **section_assignments("search", settings or ()),
        **{name: value for name, value in short.items() if value is not None},
    }
    console = messages()
    notes = LineNotes(console)
    lines: TextInput | list[str] = (
        TextInput(source, strict=strict, undecodable=notes.undecodable) if beginning is None else [beginning]
    )

    from nmt_cli.translator import Details
    from nmt_cli.translator.streaming import windows

    translator = load(
        [run], search, device=device, threads=threads, int8=int8, quiet=quiet, language_model=True
    )
    typed = isinstance(lines, TextInput) and lines.is_terminal
    if typed and not quiet:
        console.print("one beginning a line; Ctrl-D ends")
    first = 0
    with line_output(out) as write, notes:
        for window in windows(lines, 1 if typed else max(1, _AT_ONCE // translator.config.width)):
            found = translator.generate(window, details=Details(scores=json), first_line=first)
            for number, (start, text) in enumerate(zip(window, found, strict=True), start=first + 1):
                texts = text.n_best or (text,)
                write(_as_json(number, start, each) if json else each.text for each in texts)
                notes.generated(number, texts)
            first += len(window)


def _as_json(number: int, beginning: str, text: "Translation") -> str:
    content = {
        "line": number,
        "beginning": beginning,
        "text": text.text,
        "log_probability": round(text.log_probability or 0.0, 6),
        "perplexity": round(text.perplexity or 1.0, 6),
        "tokens": len(text.target_pieces),
    }
    return dumps(content, ensure_ascii=False)
