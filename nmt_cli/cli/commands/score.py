"""`nmt score`: the probability that a model assigns to given translations."""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineProgress, LineWarnings, write_windows
from nmt_cli.cli.loading import ModelLoader, require_attention
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import check_runs, choose_one, exported_model
from nmt_cli.config.defaults import BATCH_TOKENS, DEVICE, WINDOW
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.runtime.translate import ExportedTranslator
    from nmt_cli.runtime.translate import LineWindow as ExportedWindow
    from nmt_cli.translator import Translator
    from nmt_cli.translator.streaming import LineWindow


def score(
    runs: translation.Runs,
    target: translation.ScoredTarget,
    source: translation.ScoredSource = None,
    strict: translation.Strict = False,
    out: translation.OutputFile = None,
    tsv: translation.ScoreTsv = False,
    json: translation.Json = False,
    alignments: translation.ScoreAlignments = False,
    tokens: translation.Tokens = False,
    config: shared.Config = None,
    settings: shared.Set = None,
    window: translation.Window = WINDOW,
    batch_tokens: translation.BatchTokens = BATCH_TOKENS,
    int8: translation.Int8 = False,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
) -> None:
    """Score given translations: log-probability and perplexity.

    [cyan]nmt score RUN_DIR --source FILE --target FILE[/]

    Prints log P(target | source) and the perplexity of each line; without
    --source, log P(target) under a language model. With --alignments, links from
    attention: [cyan]0-0 1-2[/] links source word 1 to target word 2.
    """
    output = choose_one(("tsv", "json"), (tsv, json), default="alignments" if alignments else "text")
    if tokens and output != "json":
        raise UsageError("--tokens can only be written as JSON", hint="add --json")
    if str(source) == str(target) == "-":
        raise UsageError("only one side can come from standard input", hint="give a file for the other side")
    check_runs(runs, text_hint="nmt score RUN_DIR --source {path} --target FILE", exported=True)
    folder = exported_model(runs, device=device, int8=int8)
    search = shared.search_settings(config, settings, {})

    from nmt_cli.files.line_reader import Pairs, TextInput
    from nmt_cli.files.line_writer import line_output

    warnings = LineWarnings(messages())
    texts = [
        TextInput(path, strict=strict, undecodable=partial(warnings.undecodable, file=str(path)))
        for path in (source, target)
        if path is not None
    ]
    pairs: Iterable[tuple[str, str]] = Pairs(*texts) if source else (("", line) for line in texts[0])

    loader = ModelLoader(device, int8, threads, quiet, batch_tokens)
    translator: Translator | ExportedTranslator
    found: Iterator[LineWindow | ExportedWindow]
    if folder is None:
        translator = loader.load_runs(runs, search, language_model=source is None)
        found = _run_windows(translator, pairs, window, alignments=alignments)
    else:
        if source is None:
            raise UsageError(
                f"{folder} is a translation model", hint="give the source text with --source FILE"
            )
        translator = loader.load_exported(folder, search)
        found = _exported_windows(translator, pairs, window, alignments=alignments)
    require_attention(translator, {"--alignments": alignments})
    as_line = _line_format(output, tokens=tokens, monolingual=source is None)
    summary = Summary()
    progress = LineProgress(warnings.console, out=out, wanted=None, quiet=quiet)
    write_windows(found, as_line, line_output(out), warnings, then=summary.add, progress=progress)
    if not quiet:
        warnings.console.print(summary.text())


def _run_windows(
    translator: "Translator", pairs: Iterable[tuple[str, str]], window: int, *, alignments: bool
) -> "Iterator[LineWindow]":
    from nmt_cli.translator import Details
    from nmt_cli.translator.streaming import score_stream

    details = Details(scores=True, alignment=alignments)
    return score_stream(translator, pairs, window=window, details=details)


def _exported_windows(
    translator: "ExportedTranslator", pairs: Iterable[tuple[str, str]], window: int, *, alignments: bool
) -> "Iterator[ExportedWindow]":
    from nmt_cli.export.opening import runtime_errors

    with runtime_errors():
        yield from translator.scored_windows(pairs, window, alignment=alignments)


class Summary:
    """Totals of the whole text."""

    def __init__(self) -> None:
        self._lines = self._tokens = 0
        self._log_p = 0.0

    def add(self, window: "LineWindow | ExportedWindow") -> None:
        """Add these lines."""
        for scored in window.translations:
            self._lines += 1
            self._tokens += len(scored.target_pieces)
            self._log_p += scored.log_probability or 0.0

    def text(self) -> str:
        """One-line summary."""
        if not self._tokens:
            return f"{self._lines:,} lines, no tokens"
        perplexity = math.exp(min(-self._log_p / self._tokens, 700.0))
        return (
            f"{self._lines:,} lines, {self._tokens:,} tokens, log P {self._log_p:,.2f}, "
            f"perplexity {perplexity:.4g} per token"
        )


def _line_format(output: str, *, tokens: bool, monolingual: bool) -> "Callable[[int, str, Any], str]":
    from nmt_cli.runtime.translation import as_links, as_score, as_score_json, as_score_tsv

    if output == "json":
        return partial(as_score_json, tokens=tokens, monolingual=monolingual)
    return {"tsv": as_score_tsv, "alignments": as_links, "text": as_score}[output]
