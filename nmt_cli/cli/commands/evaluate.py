"""`nmt evaluate`: scores with signature, confidence interval and comparison."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.display.console import StageProgress, Verbosity
from nmt_cli.cli.display.evaluation import show_scores, write_files
from nmt_cli.cli.options import evaluation, shared
from nmt_cli.cli.options.checks import check_systems, check_texts, check_writable, choose_one
from nmt_cli.cli.processes import check_shareable, is_first, joined, launch, world_size
from nmt_cli.config.defaults import (
    BOOTSTRAP_SAMPLES,
    DEVICE,
    RANDOMIZATION_TRIALS,
    RESAMPLING_SEED,
    SIGNIFICANCE_TEST,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.evaluation.evaluate import EvaluationRun
    from nmt_cli.evaluation.request import EvaluateRequest
    from nmt_cli.evaluation.result import Evaluation


def evaluate(
    systems: evaluation.Systems = None,
    references: evaluation.References = None,
    source: evaluation.Source = None,
    target_lang: evaluation.TargetLang = None,
    train: evaluation.Train = None,
    metrics: evaluation.Metrics = None,
    tokenize: evaluation.Tokenize = None,
    lowercase: evaluation.Lowercase = False,
    baseline: evaluation.Baseline = None,
    test: evaluation.SignificanceTest = SIGNIFICANCE_TEST,
    samples: evaluation.Samples = BOOTSTRAP_SAMPLES,
    trials: evaluation.Trials = RANDOMIZATION_TRIALS,
    seed: evaluation.Seed = RESAMPLING_SEED,
    plain: evaluation.Plain = False,
    json: evaluation.Json = False,
    markdown: evaluation.Markdown = False,
    report: evaluation.Report = None,
    save: evaluation.SaveHypotheses = None,
    no_record: evaluation.NoRecord = False,
    config: shared.Config = None,
    settings: shared.Set = None,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    workers: shared.Workers = None,
    processes: evaluation.Processes = 1,
    quiet: shared.Quiet = False,
) -> None:
    """Score systems against references, and compare them.

    [cyan]nmt evaluate hyp.de --reference ref.de[/]
    [cyan]nmt evaluate hyp.*.de --reference ref.de --baseline hyp.a.de[/]
    [cyan]nmt evaluate RUN_DIR --report report.html[/]
    """
    output = choose_one(("plain", "json", "markdown"), (plain, json, markdown), default="table")
    level = shared.verbosity(quiet=quiet)
    texts = [*(references or ()), source, *(train or ())]
    _check(systems or (), texts, report=report, save=save, settings=settings)
    from nmt_cli.evaluation.request import EvaluateRequest

    request = EvaluateRequest(
        systems=systems or (),
        references=references or (),
        source=source,
        baseline=baseline,
        metrics=() if metrics is None else [name.strip().lower() for name in metrics.split(",")],
        tokenize=tokenize,
        target_language=target_lang,
        lowercase=lowercase,
        samples=samples,
        test=test,
        trials=trials,
        seed=seed,
        train=train or (),
        examples=report is not None or output == "json",
        search=shared.search_settings(config, settings, {}),
        device=device,
        workers=workers or shared.available_cores(),
    )
    several = max(processes, world_size()) > 1
    if several and world_size() == 1:
        _check_shareable(request)
        launch(processes, threads=threads)
        return
    run, result = _evaluate(request, level, threads, several=several)
    if result is None:
        return
    try:
        show_scores(result, output, named=metrics is not None)
    finally:  # even if the reader of standard output is gone, as with `| head`
        write_files(run, result, report=report, save=save, records=not no_record, level=level)


def _check(
    systems: Sequence[Path],
    texts: Sequence[Path | None],
    *,
    report: Path | None,
    save: Path | None,
    settings: Sequence[str] | None,
) -> None:
    """All files must exist or be writable; some options make sense only if one of the systems is a run."""
    check_systems(systems)
    check_texts(texts)
    check_writable([report, save])
    runs = sum(path.is_dir() for path in systems)
    if settings and not runs:
        raise UsageError(
            f"--set {settings[0]} needs a run directory", hint="files of hypotheses are scored as they are"
        )
    if save is not None and runs != 1:
        raise UsageError(
            f"--save-hypotheses needs exactly one run directory, not {runs}",
            hint="it writes the translations of a run; evaluate the runs one at a time",
        )


def _check_shareable(request: "EvaluateRequest") -> None:
    from nmt_cli.evaluation.evaluate import EvaluationRun

    run = EvaluationRun(request, lambda report: None)
    check_shareable(run.not_shareable(), "evaluate run directories, whose translations take the time")


def _evaluate(
    request: "EvaluateRequest", level: Verbosity, threads: int | None, *, several: bool
) -> "tuple[EvaluationRun, Evaluation | None]":
    """The evaluation; the first of several processes has the result, the others only translate."""
    from nmt_cli.evaluation.evaluate import EvaluationRun
    from nmt_cli.evaluation.systems import OneProcess

    if any(path.is_dir() for path in request.systems):
        from nmt_cli.model.device import prepare_device

        prepare_device(request.device, threads)
    if several:
        _check_shareable(request)
    level = level if is_first() else Verbosity.QUIET
    with joined() if several else nullcontext(OneProcess()) as group, StageProgress(level) as progress:
        run = EvaluationRun(
            request, lambda report: progress.update(report.stage, report.done, report.total), group
        )
        if group.rank == 0:
            return run, run.result()
        run.translate()
        return run, None
