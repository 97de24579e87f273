"""`nmt translate`: text to text, line by line."""

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineWarnings, is_terminal, write_windows
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import (
    STANDARD_STREAM,
    as_text,
    check_lines_of_text,
    check_runs,
    choose_one,
    split_arguments,
)
from nmt_cli.cli.prompt import GREETING, run_prompt
from nmt_cli.config.defaults import BATCH_TOKENS, DEVICE, WINDOW
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.translator import Translation


def translate(
    arguments: translation.RunsAndSentences,
    source: translation.Input = None,
    strict: translation.Strict = False,
    max_tokens: translation.MaxTokens = None,
    out: translation.Output = None,
    tsv: translation.Tsv = False,
    json: translation.Json = False,
    alignments: translation.Alignments = False,
    tokens: translation.Tokens = False,
    attention: translation.Attention = False,
    beam: translation.Beam = None,
    n_best: translation.NBest = None,
    prefix: translation.Prefix = "",
    settings: shared.Set = None,
    stream: translation.Stream = False,
    window: translation.Window = WINDOW,
    batch_tokens: translation.BatchTokens = BATCH_TOKENS,
    int8: translation.Int8 = False,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    progress: translation.Progress = None,
    quiet: shared.Quiet = False,
) -> None:
    """Translate text line by line.

    [cyan]nmt translate RUN_DIR < input > output[/]
    [cyan]nmt translate RUN_DIR "Ein Hund läuft."[/]

    Without sentences or input, a terminal shows a prompt.

    Search uses the settings of the run unless they are changed here, as with
    [cyan]--set search.length_penalty=0.6[/]
    """
    output = choose_one(("tsv", "json"), (tsv, json), default="text")
    _check_format(output, n_best=n_best, alignments=alignments, tokens=tokens, attention=attention)
    runs, sentences = split_arguments(arguments)
    check_runs(runs, text_hint="nmt translate RUN_DIR --input {path}")
    search = shared.search_settings(settings, {"beam_size": beam, "n_best": n_best})
    warnings = LineWarnings(messages())
    lines = _lines(source, sentences, warnings, strict=strict)

    from nmt_cli.translator import Details
    from nmt_cli.translator.streaming import translate_stream

    limits = {"batch_tokens": batch_tokens, "max_tokens": max_tokens}
    translator = translation.load_translator(
        runs, search, device=device, threads=threads, int8=int8, quiet=quiet, **limits
    )
    translation.require_attention(translator, {"--alignments": alignments, "--attention": attention})
    as_line = _line_format(output, translator.config.n_best, tokens=tokens)
    details = Details(scores=output != "text", attention=attention, alignment=alignments)
    is_typed = not sentences and source in (None, STANDARD_STREAM) and sys.stdin.isatty()
    if is_typed and is_terminal(out):
        if not quiet:
            warnings.console.print(GREETING)
        run_prompt(translator, as_line, warnings, details=details, prefix=prefix)
        return
    stream = stream or is_typed
    found = translate_stream(
        translator, lines, window=1 if stream else window, details=details, prefix=prefix
    )
    quiet = quiet or stream or bool(sentences)
    write_windows(found, as_line, out, warnings, then=warnings.translated, progress=progress, quiet=quiet)


def _lines(
    source: Path | None, sentences: Sequence[str], warnings: LineWarnings, *, strict: bool
) -> Iterable[str]:
    """The sentences on the command line, or the lines of a file or of standard input."""
    if sentences and source is not None:
        raise UsageError(
            "--input contradicts the sentence on the command line", hint="give the text in one way only"
        )
    if sentences:
        return [as_text(sentence) for sentence in sentences]
    check_lines_of_text(None if source == STANDARD_STREAM else source)

    from nmt_cli.files.line_reader import TextInput

    return TextInput(source, strict=strict, undecodable=warnings.undecodable)


def _check_format(output: str, **wanted: Any) -> None:
    """Only some formats can hold what is asked for."""
    formats = {
        "n_best": ("tsv", "json"),
        "alignments": ("tsv", "json"),
        "tokens": ("json",),
        "attention": ("json",),
    }
    for name, value in wanted.items():
        if value and output not in formats[name] and not (name == "n_best" and value == 1):
            raise UsageError(
                f"--{name.replace('_', '-')} cannot be written as {'TSV' if output == 'tsv' else 'plain text'}",
                hint=f"add {' or '.join(f'--{choice}' for choice in formats[name])}",
            )


def _line_format(output: str, n_best: int, *, tokens: bool) -> "Callable[[int, str, Translation], str]":
    from nmt_cli.translator.streaming import as_json, as_text, as_tsv

    if output == "json":
        return partial(as_json, tokens=tokens)
    if output == "tsv":
        return partial(as_tsv, n_best=n_best)
    if n_best > 1:
        raise UsageError(
            f"search.n_best = {n_best}, but plain text has one translation per line",
            hint="add --tsv or --json, or set search.n_best = 1",
        )
    return as_text
