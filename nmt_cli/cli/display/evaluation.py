"""The tables of `nmt evaluate` at a terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nmt_cli.cli.display.console import messages
from nmt_cli.errors import DataWarning

if TYPE_CHECKING:
    from nmt_cli.evaluation.result import AlignmentEvaluation, Evaluation, MetricScore, SystemResult

_NAME = 24  # columns that a name gets before it is folded
_METRIC = {True: 22, False: 14}  # columns of a metric, with and without a p-value
_LENGTH = 8


def score_tables(evaluation: "Evaluation", console: Console) -> None:
    """Scores in as few tables as the width allows, then how to compute them again."""
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


def alignment_table(evaluation: "AlignmentEvaluation", console: Console) -> None:
    """Precision, recall and AER, the lowest error rate first."""
    table = Table(box=None, pad_edge=False)
    table.add_column("alignments", overflow="fold")
    for heading in ("precision", "recall", "AER", "links"):
        table.add_column(heading, justify="right", no_wrap=True)
    for system in evaluation.systems:
        shares = (system.precision, system.recall, system.aer)
        table.add_row(Text(system.name), *(f"{100 * share:.1f}" for share in shares), f"{system.links:,}")
    console.print(table)
    console.print()
    gold = (
        f"gold: {evaluation.gold.name}, {evaluation.sentences:,} sentences, "
        f"{evaluation.sure:,} sure and {evaluation.possible:,} possible links"
    )
    console.print(Text(gold, style="dim"), soft_wrap=True)


def warn(warnings: Sequence[DataWarning]) -> None:
    """Warnings, on standard error."""
    for warning in warnings:
        say_warning(warning.message, warning.hint)


def say_warning(message: str, hint: str) -> None:
    """One warning and what to do about it."""
    console = messages()
    console.print(Text.assemble(("warning: ", "bold yellow"), " ".join(message.split("\n"))))
    console.print(Text.assemble(("hint: ", "bold"), hint))


def _fitting(names: Sequence[str], evaluation: "Evaluation", width: int) -> Iterator[list[str]]:
    """Metrics for one table after the other; nothing is cut off at the right."""
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
        cells = [Text.assemble(system.name, (_mark(system, evaluation), "dim"))]
        for metric in metrics:
            cells += _cells(system.score(metric), compares=compares)
        if lengths:
            cells.append(Text(f"{system.bleu.length_ratio:.2f}" if system.bleu is not None else "–"))
        table.add_row(*cells)
    return table


def _mark(system: "SystemResult", evaluation: "Evaluation") -> str:
    is_baseline = evaluation.comparison is not None and evaluation.comparison.baseline == system.name
    return " (baseline)" if is_baseline else ""


def _cells(score: "MetricScore", *, compares: bool) -> list[Text]:
    interval = f" ± {score.interval.half_width:.1f}" if score.interval is not None else ""
    cells = [Text.assemble((f"{score.score:.1f}", "bold"), interval)]
    if compares and score.p_value is None:
        cells.append(Text(""))
    elif compares:
        assert score.p_value is not None
        cells.append(Text(f"{score.p_value:.4f}{'*' if score.significant else ' '}"))
    return cells


def _notes(evaluation: "Evaluation") -> Iterator[str]:
    references = len(evaluation.references)
    against = f"{references} references" if references > 1 else evaluation.references[0].name
    yield f"{evaluation.sentences:,} sentences against {against}"
    comparison = evaluation.comparison
    if comparison is not None:
        test = {"bootstrap": "paired bootstrap", "randomization": "paired approximate randomization"}
        yield (
            f"* differs from {comparison.baseline} with p < 0.05 ({test[comparison.test]}, "
            f"{comparison.samples:,} samples, seed {comparison.seed})"
        )
    if evaluation.systems[0].scores[0].interval is not None:
        yield "± is a 95 % interval; length is hypothesis / reference"
    if any(score.metric == "BLEU" for score in evaluation.systems[0].scores):
        yield f"tokenizer {evaluation.tokenizer} ({evaluation.tokenizer_reason})"
