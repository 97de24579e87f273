"""`nmt evaluate`: scores with their signature, uncertainty and comparison."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nmt_cli.cli.display.console import StageProgress, Verbosity
from nmt_cli.cli.options.shared import (
    MACHINE,
    OUTPUT,
    DeviceOption,
    QuietOption,
    SetOption,
    ThreadsOption,
    verbosity,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.evaluation.evaluate import EvaluationRun
    from nmt_cli.evaluation.request import Request
    from nmt_cli.evaluation.result import Evaluation

TEST_SET, SCORES, COMPARISON, ALIGNMENTS = "Test set", "Scores", "Comparison", "Word alignments"
METRICS = "bleu,chrf"


def evaluate(
    systems: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SYSTEM",
            help="Files of hypotheses (- is standard input) or run directories.",
            show_default=False,
        ),
    ] = None,
    references: Annotated[
        list[Path] | None,
        typer.Option(
            "--reference",
            "-r",
            metavar="FILE",
            help="Reference; repeatable. A run brings its own test set.",
            rich_help_panel=TEST_SET,
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--source",
            "-s",
            metavar="FILE",
            help="Source text; what a run translates.",
            rich_help_panel=TEST_SET,
        ),
    ] = None,
    target_lang: Annotated[
        str | None,
        typer.Option(
            "--target-lang",
            "-t",
            metavar="LANG",
            help="Target language, which decides the tokenizer.",
            rich_help_panel=TEST_SET,
            show_default="by file name or run",
        ),
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Target side of the training data: recall of rare words, references seen in training.",
            rich_help_panel=TEST_SET,
            show_default="of the run",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            "-m",
            metavar="LIST",
            help="Of bleu, chrf, chrf++ and ter; the first one ranks.",
            rich_help_panel=SCORES,
            show_default=METRICS,
        ),
    ] = None,
    tokenize: Annotated[
        str | None,
        typer.Option(
            "--tokenize",
            metavar="NAME",
            help="BLEU's tokenizer: 13a, intl, zh, ja-mecab, ko-mecab, char, …",
            rich_help_panel=SCORES,
            show_default="by target language",
        ),
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Ignore case.", rich_help_panel=SCORES)
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="SYSTEM",
            help="The system that others are compared with.",
            rich_help_panel=COMPARISON,
            show_default="the first",
        ),
    ] = None,
    test: Annotated[
        Literal["bootstrap", "randomization"],
        typer.Option(
            "--test", help="Paired bootstrap, or approximate randomization.", rich_help_panel=COMPARISON
        ),
    ] = "bootstrap",
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            metavar="N",
            min=0,
            help="Bootstrap samples; 0 for no intervals and no tests.",
            rich_help_panel=COMPARISON,
        ),
    ] = 1000,
    trials: Annotated[
        int,
        typer.Option(
            "--trials", metavar="N", min=1, help="Trials of the randomization.", rich_help_panel=COMPARISON
        ),
    ] = 10000,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", min=0, help="Of all random draws.", rich_help_panel=COMPARISON),
    ] = 12345,
    alignments: Annotated[
        list[Path] | None,
        typer.Option(
            "--alignments",
            metavar="FILE",
            help="Word alignments to judge, as `nmt score --alignments` writes them; repeatable.",
            rich_help_panel=ALIGNMENTS,
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold",
            metavar="FILE",
            help="Gold alignments: 1-2 sure, 1p2 possible.",
            rich_help_panel=ALIGNMENTS,
        ),
    ] = None,
    base: Annotated[
        int,
        typer.Option(
            "--alignments-base",
            metavar="0|1",
            min=0,
            max=1,
            help="The first word of --alignments has this number.",
            rich_help_panel=ALIGNMENTS,
        ),
    ] = 0,
    gold_base: Annotated[
        int,
        typer.Option(
            "--gold-base",
            metavar="0|1",
            min=0,
            max=1,
            help="The first word of --gold has this number.",
            rich_help_panel=ALIGNMENTS,
        ),
    ] = 1,
    reverse: Annotated[
        bool,
        typer.Option(
            "--reverse", help="Links of --alignments are target-source.", rich_help_panel=ALIGNMENTS
        ),
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Write just `BLEU = 34.56`.", rich_help_panel=OUTPUT)
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Write everything, for machines.", rich_help_panel=OUTPUT)
    ] = False,
    markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Write a table for a paper or pull request.", rich_help_panel=OUTPUT),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a page with charts and examples, to open in a browser.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save-hypotheses",
            metavar="FILE",
            help="Keep what a run translated.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    no_record: Annotated[
        bool,
        typer.Option(
            "--no-record", help="Leave scores.jsonl and the card of a run alone.", rich_help_panel=OUTPUT
        ),
    ] = False,
    settings: SetOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help="Processes that count; the result is the same.",
            rich_help_panel=MACHINE,
            show_default="one for each core",
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Score hypotheses or runs against references, and compare systems.

    [cyan]nmt evaluate hyp.de --reference ref.de[/]
    [cyan]nmt evaluate hyp.*.de --reference ref.de --baseline hyp.a.de[/]
    [cyan]nmt evaluate RUN_DIR --report report.html[/]
    [cyan]nmt evaluate --alignments hyp.talp --gold gold.talp[/]
    """
    output = _output(plain=plain, json=json, markdown=markdown)
    level = verbosity(quiet=quiet, verbose=False)
    if alignments or gold is not None:
        from nmt_cli.cli.display.evaluation_output import show_alignments
        from nmt_cli.evaluation.alignments import AlignmentRequest, evaluate_alignments

        if not alignments or gold is None or systems:
            raise UsageError(
                "--alignments and --gold belong together, without a SYSTEM",
                hint="nmt evaluate --alignments hyp.talp --gold gold.talp",
            )
        target = references[0] if references else None
        found = evaluate_alignments(
            AlignmentRequest(alignments, gold, base, gold_base, reverse, source, target)
        )
        show_alignments(found, output)
        return
    from nmt_cli.cli.display.evaluation_output import refuse_unwritable, show, write
    from nmt_cli.config.layers import section_assignments
    from nmt_cli.evaluation.request import Request

    request = Request(
        systems=systems or (),
        references=references or (),
        source=source,
        baseline=baseline,
        metrics=[name.strip().lower() for name in (METRICS if metrics is None else metrics).split(",")],
        tokenize=tokenize,
        target_language=target_lang,
        lowercase=lowercase,
        samples=samples,
        test=test,
        trials=trials,
        seed=seed,
        train=train or (),
        examples=report is not None or output == "json",
        search=section_assignments("search", settings or ()),
        device=device,
        workers=workers or _cores(),
    )
    _refuse_without_run(request, save=save, settings=settings)
    refuse_unwritable(report, save)
    if threads is not None:
        _use_threads(request, threads)
    run, evaluation = _evaluate(request, level)
    show(evaluation, output, named=metrics is not None)
    write(run, evaluation, report=report, save=save, records=not no_record, level=level)


def _evaluate(request: "Request", level: Verbosity) -> "tuple[EvaluationRun, Evaluation]":
    from nmt_cli.evaluation.evaluate import EvaluationRun

    with StageProgress(level) as progress:
        run = EvaluationRun(request, lambda report: progress.update(report.stage, report.done, report.total))
        evaluation = run.result()
    return run, evaluation


def _output(*, plain: bool, json: bool, markdown: bool) -> str:
    chosen = [name for name, wanted in (("plain", plain), ("json", json), ("markdown", markdown)) if wanted]
    if len(chosen) > 1:
        raise UsageError(
            f"--{chosen[0]} and --{chosen[1]} contradict each other",
            hint="choose one way to write the result",
        )
    return chosen[0] if chosen else "table"


def _refuse_without_run(request: "Request", *, save: Path | None, settings: list[str] | None) -> None:
    runs = sum(path.is_dir() for path in request.systems)
    if settings and not runs:
        raise UsageError(
            f"--set {settings[0]} needs a run directory", hint="files of hypotheses are scored as they are"
        )
    if save is not None and runs != 1:
        raise UsageError(
            f"--save-hypotheses needs one run directory, and there are {runs}",
            hint="it keeps what a run translated; evaluate the runs one by one",
        )


def _use_threads(request: "Request", threads: int) -> None:
    if any(path.is_dir() for path in request.systems):
        import torch

        torch.set_num_threads(threads)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
