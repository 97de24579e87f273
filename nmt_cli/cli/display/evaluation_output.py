"""Where the result of `nmt evaluate` goes: to standard output, into files, and into the runs themselves."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nmt_cli.cli.display.console import Verbosity, messages, results
from nmt_cli.cli.display.evaluation import alignment_table, say_warning, score_tables, warn
from nmt_cli.errors import NmtError, OutputError

if TYPE_CHECKING:
    from nmt_cli.evaluation.evaluate import EvaluationRun
    from nmt_cli.evaluation.result import AlignmentEvaluation, Evaluation


def refuse_unwritable(*paths: Path | None) -> None:
    """Find out before the work, not after it, that a file cannot be written."""
    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise OutputError(
                f"cannot write {path}: {path.parent} is no directory",
                hint="make it first, or choose another place",
            )


def show(evaluation: "Evaluation", output: str, *, named: bool) -> None:
    """Show scores as a table, plain, JSON or Markdown; `named`: metrics were asked for by name."""
    from nmt_cli.evaluation.report import evaluation_markdown

    if output == "json":
        typer.echo(evaluation.model_dump_json(indent=2))
    elif output == "markdown":
        typer.echo(evaluation_markdown(evaluation), nl=False)
    elif output == "plain":
        several = len(evaluation.systems) > 1
        for system in evaluation.systems:
            for score in system.scores if named else system.scores[:1]:
                typer.echo((f"{system.name}\t" if several else "") + f"{score.metric} = {score.score:.2f}")
    else:
        score_tables(evaluation, results())
    warn(evaluation.all_warnings())


def show_alignments(evaluation: "AlignmentEvaluation", output: str) -> None:
    """Show precision, recall and AER in the same ways."""
    from nmt_cli.evaluation.alignments import alignment_markdown

    if output == "json":
        typer.echo(evaluation.model_dump_json(indent=2))
    elif output == "markdown":
        typer.echo(alignment_markdown(evaluation), nl=False)
    elif output == "plain":
        several = len(evaluation.systems) > 1
        for system in evaluation.systems:
            typer.echo((f"{system.name}\t" if several else "") + f"AER = {100 * system.aer:.2f}")
    else:
        alignment_table(evaluation, results())
    warn(evaluation.all_warnings())


def write(
    run: "EvaluationRun",
    evaluation: "Evaluation",
    *,
    report: Path | None,
    save: Path | None,
    records: bool,
    level: Verbosity,
) -> None:
    """What is written besides the result: hypotheses, report, and the scores of runs."""
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
        if system.run is not None and records:
            from nmt_cli.evaluation.systems import record_scores

            try:
                record_scores(evaluation, system)
                written.append(str(Path(system.run.path) / "scores.jsonl"))
            except (NmtError, OSError) as error:  # the score stands, wherever it is written
                say_warning(f"the score was not recorded: {error}", "--no-record leaves the run alone")
    if level > Verbosity.QUIET:
        for name in written:
            messages().print(f"wrote {name}")
