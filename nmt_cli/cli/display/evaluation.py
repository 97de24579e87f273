"""The results of `nmt evaluate` and `nmt align-eval`: on standard output, in files, and in the runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nmt_cli.cli.display.console import (
    Verbosity,
    messages,
    printable,
    printable_json,
    results,
    warn,
)
from nmt_cli.errors import NmtError

if TYPE_CHECKING:
    from nmt_cli.evaluation.evaluate import EvaluationRun
    from nmt_cli.evaluation.result import (
        AlignmentEvaluation,
        Comparison,
        Evaluation,
        MetricScore,
        SystemResult,
    )

# Widths of columns
_NAME = 24  # before a name is folded
_METRIC = {True: 22, False: 14}  # with and without a p-value
_LENGTH = 8


def show_scores(evaluation: "Evaluation", output: str, *, named: bool) -> None:
    """Print the scores as a table, plain, json or markdown. `named`: metrics were chosen by name."""
    from nmt_cli.evaluation.report import evaluation_markdown

    if output == "json":
        typer.echo(printable_json(evaluation.model_dump_json(indent=2)))
    elif output == "markdown":
        typer.echo(printable(evaluation_markdown(evaluation)), nl=False)
    elif output == "plain":
        several = len(evaluation.systems) > 1
        for system in evaluation.systems:
            for score in system.scores if named else system.scores[:1]:
                typer.echo(
                    (f"{printable(system.name)}\t" if several else "") + f"{score.metric} = {score.score:.2f}"
                )
    else:
        _show_tables(evaluation, results())
        _show_captions(evaluation, results())
        _show_confusion(evaluation, results())
    for warning in evaluation.all_warnings():
        warn(warning.message, hint=warning.hint)


def _show_captions(evaluation: "Evaluation", console: Console) -> None:
    """What is known of captions only: exact ones, and where attention looks."""
    for system in evaluation.systems:
        found = system.captions
        if found is None:
            continue
        line = f"{printable(system.name)}: {found.exact:.1f} % of {found.images:,} captions are exact"
        if found.pointing is not None:
            line += (
                f"; {found.pointing.accuracy:.1f} % of {found.pointing.words:,} words for objects look at them "
                f"(chance: {found.pointing.chance:.1f} %)"
            )
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _show_confusion(evaluation: "Evaluation", console: Console) -> None:
    """For labels: a row for each correct one, a column for each predicted one."""
    from nmt_cli.evaluation.report import confusion_rows

    for system in evaluation.systems:
        if system.confusion is None:
            continue
        headings, *rows = confusion_rows(system.confusion)
        table = Table(box=None, pad_edge=False, title=None)
        for index, heading in enumerate(headings):
            table.add_column(Text(printable(heading)), justify="right" if index else "left", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        console.print()
        console.print(
            Text(f"{printable(system.name)}: correct label by row, predicted label by column"), soft_wrap=True
        )
        console.print(table)


def show_alignments(evaluation: "AlignmentEvaluation", output: str) -> None:
    """Print precision, recall and AER in one of the same formats."""
    from nmt_cli.evaluation.alignments import alignment_markdown

    if output == "json":
        typer.echo(printable_json(evaluation.model_dump_json(indent=2)))
    elif output == "markdown":
        typer.echo(printable(alignment_markdown(evaluation)), nl=False)
    elif output == "plain":
        several = len(evaluation.systems) > 1
        for system in evaluation.systems:
            typer.echo((f"{printable(system.name)}\t" if several else "") + f"AER = {100 * system.aer:.2f}")
    else:
        _show_alignment_table(evaluation, results())
    for warning in evaluation.all_warnings():
        warn(warning.message, hint=warning.hint)


def write_files(
    run: "EvaluationRun",
    evaluation: "Evaluation",
    *,
    report: Path | None,
    save: Path | None,
    records: bool,
    level: Verbosity,
) -> None:
    """Write what was asked for besides the scores: hypotheses, report, and the scores into each run."""
    from nmt_cli.files.atomic import new_file

    written: list[str] = []
    if save is not None:
        (lines,) = (system.hypotheses for system in run.systems if system.hypotheses is not None)
        with new_file(save) as path:
            path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
        written.append(str(save))
    if report is not None:
        from nmt_cli.evaluation.report import report_page

        page = report_page(evaluation, run.pictures(evaluation))
        with new_file(report) as path:
            path.write_text(page, "utf-8")
        written.append(str(report))
    for system in evaluation.systems:
        if system.run is not None and system.kind == "run" and records:
            from nmt_cli.evaluation.systems import record_scores

            try:
                record_scores(evaluation, system)
                written.append(str(Path(system.run.path) / "scores.jsonl"))
            except (NmtError, OSError) as error:  # the score is valid all the same
                reason = error.message if isinstance(error, NmtError) else str(error)
                warn(f"the score was not recorded: {reason}", hint="--no-record leaves the run unchanged")
    if level > Verbosity.QUIET:
        for name in written:
            messages().print(f"wrote {name}")


def _show_tables(evaluation: "Evaluation", console: Console) -> None:
    """Scores in as few tables as the width allows, then how they were computed."""
    names = [score.metric for score in evaluation.systems[0].scores]
    for index, chosen in enumerate(_fitting(names, evaluation, console.width)):
        if index:
            console.print()
        console.print(_table(evaluation, chosen, lengths=index == 0))
    console.print()
    for note in _notes(evaluation):
        console.print(Text(note, style="dim"), soft_wrap=True)
    for score in evaluation.systems[0].scores:
        console.print(Text.assemble((f"{score.metric}: ", "bold"), (score.signature, "dim")), soft_wrap=True)


def _show_alignment_table(evaluation: "AlignmentEvaluation", console: Console) -> None:
    """Precision, recall and AER, the lowest error rate first."""
    table = Table(box=None, pad_edge=False)
    table.add_column("alignments", overflow="fold")
    for heading in ("precision", "recall", "AER", "links"):
        table.add_column(heading, justify="right", no_wrap=True)
    for system in evaluation.systems:
        shares = (system.precision, system.recall, system.aer)
        table.add_row(
            Text(printable(system.name)), *(f"{100 * share:.1f}" for share in shares), f"{system.links:,}"
        )
    console.print(table)
    console.print()
    gold = (
        f"gold: {evaluation.gold.name}, {evaluation.sentences:,} sentences, "
        f"{evaluation.sure:,} sure and {evaluation.possible:,} possible links"
    )
    console.print(Text(gold, style="dim"), soft_wrap=True)


def _fitting(names: Sequence[str], evaluation: "Evaluation", width: int) -> Iterator[list[str]]:
    """The metrics of each table, so that no table is wider than the terminal."""
    longest = max(len(system.name) + len(_mark(system, evaluation)) for system in evaluation.systems)
    room = width - min(longest, _NAME) - 2
    each = _METRIC[evaluation.comparison is not None]
    count = max(1, (room - _LENGTH) // each)
    for start in range(0, len(names), count):
        yield list(names[start : start + count])


def _table(evaluation: "Evaluation", metrics: Sequence[str], *, lengths: bool) -> Table:
    compares = evaluation.comparison is not None
    table = Table(box=None, pad_edge=False)
    table.add_column("system", overflow="fold")
    for metric in metrics:
        table.add_column(metric, justify="right", no_wrap=True)
        if compares:
            table.add_column("p", justify="right", no_wrap=True)
    if lengths:
        table.add_column("length", justify="right", no_wrap=True)
    for system in evaluation.systems:
        cells = [Text.assemble(printable(system.name), (_mark(system, evaluation), "dim"))]
        for metric in metrics:
            cells += _cells(system.score(metric), evaluation.comparison)
        if lengths:
            cells.append(Text(f"{system.bleu.length_ratio:.2f}" if system.bleu is not None else "–"))
        table.add_row(*cells)
    return table


def _mark(system: "SystemResult", evaluation: "Evaluation") -> str:
    is_baseline = evaluation.comparison is not None and evaluation.comparison.baseline == system.name
    return " (baseline)" if is_baseline else ""


def _cells(score: "MetricScore", comparison: "Comparison | None") -> list[Text]:
    interval = f" ± {score.interval.half_width:.1f}" if score.interval is not None else ""
    cells = [Text.assemble((f"{score.score:.1f}", "bold"), interval)]
    if comparison is not None and score.p_value is None:
        cells.append(Text(""))
    elif comparison is not None:
        assert score.p_value is not None
        cells.append(Text(f"{comparison.shown(score.p_value)}{'*' if score.significant else ' '}"))
    return cells


def _notes(evaluation: "Evaluation") -> Iterator[str]:
    references = len(evaluation.references)
    against = f"{references} references" if references > 1 else evaluation.references[0].name
    yield f"{evaluation.sentences:,} sentences against {against}"
    comparison = evaluation.comparison
    if comparison is not None:
        test = {"bootstrap": "paired bootstrap", "randomization": "paired approximate randomization"}
        found = any(score.significant for system in evaluation.systems for score in system.scores)
        yield (
            f"{'*' if found else 'no system'} differs from {comparison.baseline} with p < 0.05 "
            f"({test[comparison.test]}, {comparison.samples:,} samples, seed {comparison.seed})"
        )
    if evaluation.systems[0].scores[0].interval is not None:
        yield "± is a 95 % confidence interval; length is hypothesis / reference"
    if any(score.metric == "BLEU" for score in evaluation.systems[0].scores):
        yield f"tokenizer {evaluation.tokenizer} ({evaluation.tokenizer_reason})"
