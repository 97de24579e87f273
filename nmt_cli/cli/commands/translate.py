"""`nmt translate`: text to text, line by line."""

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineWarnings, write_windows
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import check_runs, choose_one
from nmt_cli.config.defaults import BATCH_TOKENS, DEVICE, WINDOW
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.translator import Translation


def translate(
    runs: translation.Runs,
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

    Search uses the settings of the run unless they are changed here, as with
    [cyan]--set search.length_penalty=0.6[/]
    """
    output = choose_one(("tsv", "json"), (tsv, json), default="text")
    _check_format(output, n_best=n_best, alignments=alignments, tokens=tokens, attention=attention)
    check_runs(runs, text_hint="nmt translate RUN_DIR --input {path}")
    search = shared.search_settings(settings, {"beam_size": beam, "n_best": n_best})

    from nmt_cli.files.line_reader import TextInput

    warnings = LineWarnings(messages())
    lines = TextInput(source, strict=strict, undecodable=warnings.undecodable)

    from nmt_cli.translator import Details
    from nmt_cli.translator.streaming import translate_stream

    limits = {"batch_tokens": batch_tokens, "max_tokens": max_tokens}
    translator = translation.load_translator(
        runs, search, device=device, threads=threads, int8=int8, quiet=quiet, **limits
    )
    translation.require_attention(translator, {"--alignments": alignments, "--attention": attention})
    as_line = _line_format(output, translator.config.n_best, tokens=tokens)
    stream = stream or lines.is_terminal
    details = Details(scores=output != "text", attention=attention, alignment=alignments)
    if lines.is_terminal and sys.stderr.isatty() and not quiet:
        messages().print("one sentence per line; end with Ctrl-D")
    found = translate_stream(
        translator, lines, window=1 if stream else window, details=details, prefix=prefix
    )
    write_windows(
        found, as_line, out, warnings, then=warnings.translated, progress=progress, quiet=quiet or stream
    )


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
