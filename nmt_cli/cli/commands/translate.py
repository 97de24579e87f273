"""`nmt translate`: text to text, line by line, and documents."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineProgress, LineWarnings, is_terminal, write_windows
from nmt_cli.cli.documents import DocumentSettings, split_documents, translate_documents
from nmt_cli.cli.line_task import LineTask
from nmt_cli.cli.loading import ModelLoader, TermFiles, ThroughMemory, open_memory, require_attention
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
from nmt_cli.cli.processes import are_files, check_shareable, is_first, joined, launch, world_size
from nmt_cli.cli.prompt import Answers, run_prompt
from nmt_cli.config.defaults import (
    BATCH_TOKENS,
    DEVICE,
    TERMS_CASE,
    TERMS_INFLECTION,
    WINDOW,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.runtime.translate import ExportedTranslator
    from nmt_cli.runtime.translate import LineWindow as ExportedWindow
    from nmt_cli.translator import Translator
    from nmt_cli.translator.streaming import LineWindow


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
    mbr: translation.Mbr = None,
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
    wanted = _Wanted(choose_one(("tsv", "json"), (tsv, json), default="text"), tokens, attention, alignments)
    wanted.check(n_best)
    of_documents = DocumentSettings(
        format_name, in_place, redo, not no_fuzzy, line_length, placeholders or ()
    )
    rest, documents = split_documents(arguments, source, format_name)
    loader = ModelLoader(device, int8, threads, quiet, batch_tokens, max_tokens)
    term_files = TermFiles(terms, banned, terms_case, terms_inflection)
    several = max(processes, world_size()) > 1
    if documents:
        check_shareable({"documents": several})
        check_texts([terms, banned])
        search = shared.search_settings(config, settings, {"beam_size": beam, "mbr": mbr})
        refused = {"--tsv": tsv, "--json": json, "--prefix": bool(prefix), "--stream": stream}
        refused |= {"--sample": sample, "--json-input": json_input, "--n-best": (n_best or 1) > 1}
        memory: Any = {"memory": (memory_file, memory_threshold), "terms": term_files}
        shown: Any = {"out": out, "window": window, "progress": progress}
        translate_documents(rest, documents, of_documents, loader, search, refused=refused, **memory, **shown)
        return
    of_documents.check_unused()
    runs, sentences = split_arguments(arguments)
    check_runs(runs, text_hint="nmt translate RUN_DIR --input {path}", exported=True)
    folder = exported_model(runs, device=device, int8=int8)
    refuse_for_export(folder, {**term_files.options(), "--json-input": json_input})
    check_texts([terms, banned])
    shorthands = {"beam_size": beam, "n_best": n_best, "sampling": sample or None, "mbr": mbr}
    search = shared.search_settings(config, settings, shorthands)
    if several:
        is_file = are_files([source], out)
        excluded = {
            "text that is not in a file": not is_file,
            "--stream": stream,
            "--memory": bool(memory_file),
        }
        check_shareable({**excluded, "an exported model": folder is not None})
        if world_size() == 1:
            launch(processes, threads=threads)
            return
    warnings = LineWarnings(messages())
    lines = _lines(source, sentences, warnings, strict=strict)
    is_typed = not sentences and source in (None, STANDARD_STREAM) and sys.stdin.isatty()
    contradictions = {"--prefix": bool(prefix), "a prompt": is_typed and is_terminal(out)}
    through = ThroughMemory(open_memory(memory_file, memory_threshold, runs, folder, contradictions), lines)
    window = 1 if stream or is_typed else window
    calm = quiet or window == 1 or bool(sentences)
    bar = LineProgress(warnings.console, out=out, wanted=progress if is_first() else False, quiet=calm)
    task = _Task(through, wanted, source, out, prefix, window, warnings, bar)
    asks = is_typed and is_terminal(out) and not json_input
    if folder is not None:
        task.run_exported(loader.load_exported(folder, search), folder, prompt=asks, quiet=quiet)
    else:
        translator = loader.load_runs(runs, search)
        task.run(
            translator, runs, term_files, json_input=json_input, prompt=asks, several=several, loader=loader
        )
    if not quiet and (summary := through.summary()):
        messages().print(summary)


class _Wanted(NamedTuple):
    """What to write for each line."""

    output: str  # text, tsv or json
    tokens: bool
    attention: bool
    alignments: bool

    def check(self, n_best: int | None) -> None:
        """Only some formats can hold what is asked for."""
        both, formats = ("tsv", "json"), dict[str, tuple[str, ...]]()
        formats |= {"--n-best": both} if (n_best or 1) > 1 else {}
        formats |= {"--alignments": both} if self.alignments else {}
        formats |= {"--tokens": ("json",)} if self.tokens else {}
        formats |= {"--attention": ("json",)} if self.attention else {}
        for option, possible in formats.items():
            if self.output not in possible:
                raise UsageError(
                    f"{option} cannot be written as {'TSV' if self.output == 'tsv' else 'plain text'}",
                    hint=f"add {' or '.join(f'--{choice}' for choice in possible)}",
                )

    def check_attention(self, translator: "Translator | ExportedTranslator") -> None:
        """Alignments and attention need a model with attention."""
        require_attention(translator, {"--alignments": self.alignments, "--attention": self.attention})


@dataclass(frozen=True)
class _Task:
    """Lines to translate, and how to write and show them."""

    through: ThroughMemory
    wanted: _Wanted
    source: Path | None
    out: Path | None
    prefix: str
    window: int
    warnings: LineWarnings
    progress: LineProgress

    def run_exported(
        self, translator: "ExportedTranslator", folder: Path, *, prompt: bool, quiet: bool
    ) -> None:
        """With an exported model: at a prompt, or to a stream."""
        from nmt_cli.files.line_writer import line_output

        output, _, attention, alignments = self.wanted
        self.wanted.check_attention(translator)
        as_line = self._format(translator.config.n_best)
        details = {"scores": output != "text", "attention": attention, "alignment": alignments}
        if prompt:
            answers = Answers.of_export(translator, folder, details, self.prefix)
            run_prompt(answers, as_line, self.warnings, quiet=quiet)
            return
        found = _exported_windows(translator, self.through.lines, self.window, self.prefix, details)
        write_windows(
            self.through.windows(found),
            as_line,
            line_output(self.out),
            self.warnings,
            then=self.warnings.translated,
            progress=self.progress,
        )

    def run(
        self,
        translator: "Translator",
        runs: Sequence[Path],
        terms: TermFiles,
        *,
        json_input: bool,
        prompt: bool,
        several: bool,
        loader: ModelLoader,
    ) -> None:
        """With a run or an ensemble: at a prompt, to a file that can be continued, or to a stream."""
        from nmt_cli.translator import Details

        output, tokens, attention, alignments = self.wanted
        warnings, prefix = self.warnings, self.prefix
        self.wanted.check_attention(translator)
        translator = terms.add_to(translator)
        as_line = self._format(translator.config.n_best)
        warnings.counts_terms = not loader.quiet
        warnings.calibration = None if translator.config.sampling else translator.calibration
        scores = output != "text" or (warnings.calibration is not None and translator.config.beam_size > 1)
        details = Details(scores=scores, attention=attention, alignment=alignments)
        if prompt:
            answers = Answers.of(translator, details, prefix)
            run_prompt(answers, as_line, warnings, quiet=loader.quiet)
            return
        within = None if several else self.progress.advance_within
        options: Any = {"details": details, "prefix": prefix, "requests": json_input}
        process = partial(_translated, translator, progress=within, **options)
        task = LineTask(
            self.through.lines,
            process,
            as_line,
            self.window,
            warnings.translated,
            warnings,
            self.progress,
            self.through.windows,
        )
        facts = {"details": [asdict(details), prefix, json_input], "format": output, "tokens": tokens}
        self._write(task, lambda: _job(translator, runs, {**facts, "int8": loader.int8}), several=several)

    def _write(self, task: "LineTask[str]", job: "Callable[[], dict[str, Any]]", *, several: bool) -> None:
        """To a file that can be continued, or to a stream."""
        from nmt_cli.files.line_writer import line_output, measure_text

        source, out = self.source, self.out
        if source is None or out is None or not are_files([source], out):
            measured = source is not None and source.is_file() and self.progress.shown
            total = measure_text(source).lines if source is not None and measured else None
            task.write(task.windows(), line_output(out), total)
            return
        with joined() if several else nullcontext() as group:
            if group is not None and not group.is_main:
                task.write_share(out, group)
                return
            size = measure_text(source)
            facts = {"source_sha256": size.sha256, "window": self.window, **self.through.facts()}
            task.write_file(out, {**job(), **facts}, size.lines, group)

    def _format(self, n_best: int) -> "Callable[[int, str, Any], str]":
        plain = _line_format(self.wanted.output, n_best, tokens=self.wanted.tokens)
        return self.through.format(plain, self.wanted.output)


def _translated(translator: "Translator", first: int, lines: Sequence[str], **options: Any) -> "LineWindow":
    from nmt_cli.translator.streaming import translate_window

    return translate_window(translator, lines, first, **options)


def _job(translator: "Translator", runs: Sequence[Path], facts: dict[str, Any]) -> dict[str, Any]:
    """What the translations depend on, besides the text."""
    from nmt_cli.run import RunDirectory

    return {
        "models": [RunDirectory.open(run).model_sha256 for run in runs],
        "search": translator.config.model_dump(mode="json"),
        "terminology": translator.terminology.fingerprint(),
        "batches": [translator.batch_tokens, translator.max_tokens],
        "device": translator.device.type,
        **facts,
    }


def _exported_windows(
    translator: "ExportedTranslator", lines: Iterable[str], window: int, prefix: str, wanted: dict[str, bool]
) -> "Iterator[ExportedWindow]":
    from nmt_cli.export.opening import runtime_errors

    with runtime_errors():
        yield from translator.windows(lines, window, prefix, **wanted)


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

    # Every process reads the whole file.
    return TextInput(source, strict=strict, undecodable=warnings.undecodable if is_first() else None)


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
