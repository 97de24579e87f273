"""`nmt score`: the probability that a model assigns to given translations."""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineProgress, LineWarnings, write_windows
from nmt_cli.cli.line_task import LineTask
from nmt_cli.cli.loading import AsLine, ModelLoader, require_attention
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import check_runs, choose_one, exported_model
from nmt_cli.cli.processes import are_files, check_shareable, is_first, joined, launch, prepared, world_size
from nmt_cli.config.defaults import BATCH_TOKENS, DEVICE, WINDOW
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.runtime.translate import ExportedTranslator
    from nmt_cli.runtime.translate import LineWindow as ExportedWindow
    from nmt_cli.translator import Details, Translator
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
    processes: translation.ScoreProcesses = 1,
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
    texts = [path for path in (source, target) if path is not None]
    several = max(processes, world_size()) > 1
    if several:
        problems = {"text that is not in a file": not are_files(texts, out)}
        problems |= {"an exported model": folder is not None}
        check_shareable(problems, "score files into a file: --source FILE --target FILE --output FILE")
        if world_size() == 1:
            launch(processes, threads=threads)
            return
    quiet = quiet or not is_first()
    loader = ModelLoader(device, int8, threads, quiet, batch_tokens)
    task = _Scoring(texts, out, window, alignments, LineWarnings(messages()), strict=strict, quiet=quiet)
    as_line = _line_format(output, tokens=tokens, monolingual=source is None)
    if folder is None:
        translator = loader.load_runs(runs, search, language_model=source is None)
        task.run(
            translator, runs, as_line, {"format": output, "tokens": tokens, "int8": int8}, several=several
        )
    elif source is None:
        raise UsageError(f"{folder} is a translation model", hint="give the source text with --source FILE")
    else:
        task.run_exported(loader.load_exported(folder, search), as_line)


class _Scoring:
    """Texts to score, and how to write and show the scores."""

    def __init__(
        self,
        texts: Sequence[Path],
        out: Path | None,
        window: int,
        alignments: bool,
        warnings: LineWarnings,
        *,
        strict: bool,
        quiet: bool,
    ) -> None:
        from nmt_cli.files.line_reader import Pairs, TextInput

        self.texts, self.out, self.window = texts, out, window
        self.alignments, self.warnings, self.quiet = alignments, warnings, quiet
        self.progress = LineProgress(warnings.console, out=out, wanted=None, quiet=quiet)
        self.summary = Summary()
        inputs = [
            TextInput(
                path,
                strict=strict,
                undecodable=partial(warnings.undecodable, file=str(path)) if is_first() else None,
            )
            for path in texts
        ]
        self._both = Pairs(*inputs) if len(inputs) > 1 else None
        self.pairs: Iterable[tuple[str, str]] = self._both or (("", line) for line in inputs[0])

    def run_exported(self, translator: "ExportedTranslator", as_line: "AsLine") -> None:
        """With an exported model: to a stream, or to a file if all lines are there."""
        from nmt_cli.export.opening import runtime_errors
        from nmt_cli.files.line_writer import line_output

        require_attention(translator, {"--alignments": self.alignments})
        with runtime_errors():
            found = translator.scored_windows(self.pairs, self.window, alignment=self.alignments)
            output = line_output(self.out)
            write_windows(
                found, as_line, output, self.warnings, then=self.summary.add, progress=self.progress
            )
        self._show()

    def run(
        self,
        translator: "Translator",
        runs: Sequence[Path],
        as_line: "AsLine",
        facts: dict[str, Any],
        *,
        several: bool,
    ) -> None:
        """With a run or an ensemble: to a stream, or to a file that can be continued."""
        from nmt_cli.files.line_writer import line_output
        from nmt_cli.translator import Details

        require_attention(translator, {"--alignments": self.alignments})
        details = Details(scores=True, alignment=self.alignments)
        task = LineTask(
            self.pairs,
            partial(_scored, translator, details=details),
            as_line,
            self.window,
            self.summary.add,
            self.warnings,
            self.progress,
        )
        if self.out is None or not are_files(self.texts, self.out):
            task.write(task.windows(), line_output(self.out), None)
            self._show()
            return
        with joined() if several else nullcontext() as group:
            found = prepared(
                group, lambda: self._job(translator, runs, {**facts, "details": asdict(details)})
            )
            if found is not None:
                task.write_file(self.out, *found, group)
            elif group is not None:
                task.write_share(self.out, group)
            if group is not None:
                self.summary = Summary.of_all(group.gather(self.summary.totals()))
        self._show()

    def _job(
        self, translator: "Translator", runs: Sequence[Path], facts: dict[str, Any]
    ) -> tuple[dict[str, Any], int]:
        """What the scores depend on, and the number of lines."""
        from nmt_cli.files.line_writer import measure_text
        from nmt_cli.run import RunDirectory

        sizes = [measure_text(path) for path in self.texts]
        lines = [size.lines for size in sizes]
        if self._both is not None and lines[0] != lines[1]:
            raise self._both.unequal(*lines)
        job = {
            "command": "score",
            "texts": [size.sha256 for size in sizes],
            "models": [RunDirectory.open(run).model_sha256 for run in runs],
            "search": translator.config.model_dump(mode="json"),
            "batches": [self.window, translator.batch_tokens],
            "device": translator.device.type,
            **facts,
        }
        return job, lines[0]

    def _show(self) -> None:
        if not self.quiet:
            self.warnings.console.print(self.summary.text())


def _scored(
    translator: "Translator", first: int, pairs: Sequence[tuple[str, str]], *, details: "Details"
) -> "LineWindow":
    from nmt_cli.translator.streaming import score_window

    return score_window(translator, pairs, first, details)


class Summary:
    """Totals of the lines that were scored."""

    def __init__(self) -> None:
        self._lines = self._tokens = 0
        self._log_p = 0.0

    @classmethod
    def of_all(cls, totals: Iterable[tuple[int, int, float]]) -> Self:
        """The sum of the totals of several processes."""
        summary = cls()
        for lines, tokens, log_p in totals:
            summary._lines += lines
            summary._tokens += tokens
            summary._log_p += log_p
        return summary

    def totals(self) -> tuple[int, int, float]:
        """Lines, tokens and log-probability."""
        return self._lines, self._tokens, self._log_p

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
