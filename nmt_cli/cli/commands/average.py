"""`nmt average`: the average of several models."""

from nmt_cli.cli.display.console import Verbosity, messages
from nmt_cli.cli.options import shared, training
from nmt_cli.cli.options.checks import check_runs
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import check_new_directory
from nmt_cli.files.manifest import run_refusal


def average(
    runs: training.AveragedRuns,
    out: training.AverageOut,
    last: training.Last = None,
    overwrite: shared.Overwrite = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Average the weights of runs, or of the checkpoints of a run.

    The result is a new run directory. A run keeps its best checkpoints
    ([cyan]train.average_best[/]) and the last one.
    """
    level = shared.verbosity(quiet=quiet, verbose=verbose)
    if last is not None and len(runs) > 1:
        raise UsageError(
            "--last averages the checkpoints of a single run", hint="give one run directory, or omit --last"
        )
    check_runs(runs, text_hint="nmt average RUN_DIR... --out RUN_DIR")
    check_new_directory(out, overwrite=overwrite, refusal=run_refusal)

    from nmt_cli.cli.display.training import next_step
    from nmt_cli.run.average import average as write_average

    names = write_average(runs, out, last=last, overwrite=overwrite)
    if level > Verbosity.QUIET:
        for name in names:
            messages().print(f"averaged {name}")
        messages().print(f"wrote {out}; {next_step(out)}")
