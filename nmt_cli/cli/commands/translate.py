"""`nmt translate`: text to text, line by line, and documents."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineProgress, LineWarnings, is_terminal, write_windows
from nmt_cli.cli.documents import DocumentSettings, split_documents, translate_documents
from nmt_cli.cli.line_translation import LineTranslation
from nmt_cli.cli.memory import ThroughMemory, open_memory
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import (
    STANDARD_STREAM,
    as_text,
    check_lines_of_text,
    check_runs,
    check_texts,
    choose_one,
    exported_model,
    refuse_for_export,
    split_arguments,
)
from nmt_cli.cli.processes import check_shareable, is_first, launch, world_size
from nmt_cli.cli.prompt import GREETING, run_prompt
from nmt_cli.config.defaults import (
    BATCH_TOKENS,
    DEVICE,
    TERMS_CASE,
    TERMS_INFLECTION,
    WINDOW,
    TermsCase,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.runtime.translate import ExportedTranslator
    from nmt_cli.runtime.translate import LineWindow as ExportedWindow
    from nmt_cli.translator import Translator


def translate(
    arguments: translation.RunsAndSentences,
    source: translation.Input = None,
    json_input: translation.JsonInput = False,
    strict: translation.Strict = False,
    max_tokens: translation.MaxTokens = None,
    out: translation.Output = None,
    format_name: translation.Format = None,
    in_place: translation.InPlace = False,
    redo: translation.All = False,
    no_fuzzy: translation.NoFuzzy = False,
    line_length: translation.LineLength = None,
    placeholders: translation.Placeholder = None,
    tsv: translation.Tsv = False,
    json: translation.Json = False,
    alignments: translation.Alignments = False,
    tokens: translation.Tokens = False,
    attention: translation.Attention = False,
    beam: translation.Beam = None,
    n_best: translation.NBest = None,
    sample: translation.Sample = False,
    prefix: translation.Prefix = "",
    memory_file: translation.Memory = None,
    memory_threshold: translation.MemoryThreshold = None,
    terms: translation.Terms = None,
    terms_case: translation.TermsCaseOption = TERMS_CASE,
    terms_inflection: translation.TermsInflection = TERMS_INFLECTION,
    banned: translation.Banned = None,
    config: shared.Config = None,
    settings: shared.Set = None,
    stream: translation.Stream = False,
    window: translation.Window = WINDOW,
    batch_tokens: translation.BatchTokens = BATCH_TOKENS,
    int8: translation.Int8 = False,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    processes: translation.Processes = 1,
    progress: translation.Progress = None,
    quiet: shared.Quiet = False,
) -> None:
    """Translate text line by line, or documents as a whole.

    [cyan]nmt translate RUN_DIR < input > output[/]
    [cyan]nmt translate RUN_DIR "Ein Hund läuft."[/]
    [cyan]nmt translate RUN_DIR movie.srt -o movie.de.srt[/]

    Documents are PO, XLIFF, SRT, WebVTT, Markdown, HTML, JSON, Android strings
    and properties. Without sentences or input, a terminal shows a prompt.

    Search uses the settings of the run unless they are changed here, as with
    [cyan]--set search.length_penalty=0.6[/]
    """
    output = choose_one(("tsv", "json"), (tsv, json), default="text")
    _check_format(output, n_best=n_best, alignments=alignments, tokens=tokens, attention=attention)
    settings_of_documents = DocumentSettings(
        format_name, in_place, redo, not no_fuzzy, line_length, placeholders or ()
    )
    rest, documents = split_documents(arguments, source, format_name)
    limits: Any = {"threads": threads, "batch_tokens": batch_tokens, "max_tokens": max_tokens}
    several = max(processes, world_size()) > 1
    if documents:
        check_shareable({"documents": several})
        flags = {
            "--tsv": tsv,
            "--json": json,
            "--prefix": bool(prefix),
            "--stream": stream,
            "--sample": sample,
            "--json-input": json_input,
        }
        check_texts([terms, banned])
        translate_documents(
            rest,
            documents,
            settings_of_documents,
            out=out,
            search=shared.search_settings(config, settings, {"beam_size": beam}),
            refused=flags | {"--n-best": (n_best or 1) > 1},
            device=device,
            int8=int8,
            window=window,
            progress=progress,
            quiet=quiet,
            limits=limits,
            memory=(memory_file, memory_threshold),
            with_terms=partial(
                _with_terms, terms=terms, banned=banned, case=terms_case, inflection=terms_inflection
            ),
            terminology={"--terms": bool(terms), "--banned": bool(banned)},
        )
        return
    settings_of_documents.check_unused()
    runs, sentences = split_arguments(arguments)
    check_runs(runs, text_hint="nmt translate RUN_DIR --input {path}", exported=True)
    folder = exported_model(runs, device=device, int8=int8)
    terminology = {"--terms": terms, "--banned": banned, "--json-input": json_input}
    refuse_for_export(folder, {name: bool(given) for name, given in terminology.items()})
    check_texts([terms, banned])
    shorthands = {"beam_size": beam, "n_best": n_best, "sampling": sample or None}
    search = shared.search_settings(config, settings, shorthands)
    is_file = source is not None and source.is_file() and out is not None and _is_ordinary(out)
    if several:
        check_shareable(
            {
                "text that is not in a file": not is_file,
                "--stream": stream,
                "--memory": memory_file is not None,
                "an exported model": folder is not None,
            }
        )
        if world_size() == 1:
            launch(processes, threads=threads)
            return
    warnings = LineWarnings(messages())
    lines = _lines(source, sentences, warnings, strict=strict)
    is_typed = not sentences and source in (None, STANDARD_STREAM) and sys.stdin.isatty()
    contradictions = {"--prefix": bool(prefix), "a prompt": is_typed and is_terminal(out)}
    memory = open_memory(memory_file, memory_threshold, runs, folder, contradictions)
    through = ThroughMemory(memory, lines)
    window = 1 if stream or is_typed else window
    calm = quiet or window == 1 or bool(sentences)
    bar = LineProgress(warnings.console, out=out, wanted=progress if is_first() else False, quiet=calm)
    if folder is not None:
        exported = translation.load_exported(folder, search, **limits)
        translation.require_attention(exported, {"--alignments": alignments, "--attention": attention})
        as_line = through.format(_line_format(output, exported.config.n_best, tokens=tokens), output)
        wanted = {"scores": output != "text", "attention": attention, "alignment": alignments}
        found = through.windows(_exported_windows(exported, through.lines, window, prefix, wanted))
        _write_exported(found, as_line, out, warnings, bar)
        _show_summary(through, quiet=quiet)
        return

    from nmt_cli.translator import Details

    translator = translation.load_translator(runs, search, device=device, int8=int8, quiet=quiet, **limits)
    translation.require_attention(translator, {"--alignments": alignments, "--attention": attention})
    translator = _with_terms(translator, terms, banned, case=terms_case, inflection=terms_inflection)
    as_line = through.format(_line_format(output, translator.config.n_best, tokens=tokens), output)
    warnings.counts_terms = not quiet
    warnings.calibration = None if translator.config.sampling else translator.calibration
    scores = output != "text" or (warnings.calibration is not None and translator.config.beam_size > 1)
    details = Details(scores=scores, attention=attention, alignment=alignments)
    if is_typed and is_terminal(out) and not json_input:
        if not quiet:
            warnings.console.print(GREETING)
        run_prompt(translator, as_line, warnings, details=details, prefix=prefix)
        return
    task = LineTranslation(translator, through, as_line, details, prefix, json_input, window, warnings, bar)
    if is_file and source is not None and out is not None:
        task.write_file(source, out, runs, several=several, format=output, tokens=tokens, int8=int8)
    else:
        task.write(source, out)
    _show_summary(through, quiet=quiet)


def _show_summary(through: ThroughMemory, *, quiet: bool) -> None:
    if not quiet and (summary := through.summary()):
        messages().print(summary)


def _exported_windows(
    translator: "ExportedTranslator", lines: Iterable[str], window: int, prefix: str, wanted: dict[str, bool]
) -> "Iterator[ExportedWindow]":
    from nmt_cli.export.opening import runtime_errors

    with runtime_errors():
        yield from translator.windows(lines, window, prefix, **wanted)


def _write_exported(
    windows: "Iterable[ExportedWindow]",
    as_line: Callable[[int, str, Any], str],
    out: Path | None,
    warnings: LineWarnings,
    progress: LineProgress,
) -> None:
    from nmt_cli.files.line_writer import line_output

    write_windows(windows, as_line, line_output(out), warnings, then=warnings.translated, progress=progress)


def _with_terms(
    translator: "Translator", terms: Path | None, banned: Path | None, *, case: TermsCase, inflection: int
) -> "Translator":
    """The translator with the terms and banned words of these files."""
    from nmt_cli.translator.terminology import read_banned, read_terms

    return translator.with_terms(
        [] if terms is None else read_terms(terms),
        case=case,
        inflection=inflection,
        banned=[] if banned is None else read_banned(banned),
    )


def _is_ordinary(out: Path) -> bool:
    """Whether `out` is, or will be, a file, rather than a pipe, a device or a directory."""
    return out != STANDARD_STREAM and (out.is_file() or not out.exists())


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


def _line_format(output: str, n_best: int, *, tokens: bool) -> "Callable[[int, str, Any], str]":
    from nmt_cli.runtime.translation import as_json, as_text, as_tsv

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
