"""`nmt recipe`: a published baseline with one command, from text to a verdict; or a ladder of systems."""

import shlex
import subprocess
import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nmt_cli.cli.display.console import StageProgress, Verbosity, complain, messages, results
from nmt_cli.cli.options import shared
from nmt_cli.cli.options import training as options
from nmt_cli.config.defaults import DEVICE, RECIPE_PROCESSES
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import new_file

if TYPE_CHECKING:
    from nmt_cli.recipe import Choices, NamedRecipe, RecipePlan, RecipeStep, StepPlan
    from nmt_cli.recipe.ladder_page import Row


def recipe(
    name: options.RecipeName = None,
    data: options.LocalData = None,
    smoke: options.Smoke = False,
    monolingual: options.Monolingual = None,
    sample: options.SampleBackTranslations = False,
    config: shared.Config = None,
    settings: shared.Set = None,
    out: options.RecipeOut = None,
    overwrite: options.RecipeOverwrite = False,
    processes: options.Processes = RECIPE_PROCESSES,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    dry_run: options.ShowCommands = False,
) -> None:
    """Reproduce a published baseline with one command.

    [cyan]nmt recipe multi30k-de-en --data DIR[/]

    Downloads, preprocesses, trains, translates and evaluates, then says whether
    the score is as expected. Each step shows its command. Completed steps are
    skipped, so an interrupted recipe continues where it stopped.

    With [cyan]--monolingual[/], a model of the reverse direction translates this text, and
    the pairs are added to the training set (back-translation).

    [cyan]nmt recipe ladder[/] trains a ladder of small systems, from no attention to beam
    search, and writes a page that compares them.
    """
    if name is None:
        if data or smoke or monolingual or sample or out or config or settings or dry_run:
            raise UsageError("no recipe given", hint="name a recipe; `nmt recipe` lists them")
        _list()
        return
    from nmt_cli.config.layers import file_assignments
    from nmt_cli.recipe import Choices, choose_corpora, find_recipe, ladder_names, make_plan

    choices = Choices(
        out=out or Path("runs", f"{name}{'-back-translation' * bool(monolingual)}{'-smoke' * smoke}"),
        smoke=smoke,
        settings=[*(file_assignments(config) if config is not None else ()), *(settings or ())],
        processes=processes,
        device=device,
        threads=threads,
        overwrite=overwrite,
        monolingual=tuple(monolingual or ()),
        sample=sample,
    )
    if name in ladder_names():
        _ladder(name, data, choices, dry_run=dry_run)
        return
    found = find_recipe(name)
    plan = make_plan(found, choose_corpora(found, data, smoke=smoke), choices)
    if dry_run:
        for step in plan.steps():
            typer.echo(step.shown())
        return
    plan.protect_all()
    count = plan.number_of_steps() + 2  # to fetch the text, and the verdict
    _fetch(plan, count, smoke=smoke)
    for number, step in enumerate(plan.steps(), start=2):
        _do(step, plan, number, count)
    _say(count, count, "verdict")
    _conclude(found, plan, smoke=smoke)


def _list() -> None:
    from rich.table import Table

    from nmt_cli.recipe import find_ladder, find_recipe, ladder_names, recipe_names

    table = Table(box=None, pad_edge=False)
    table.add_column("recipe", no_wrap=True)
    table.add_column("corpus", overflow="fold")
    table.add_column("pairs", justify="right", no_wrap=True)
    table.add_column("time", overflow="fold")
    for name in sorted([*recipe_names(), *ladder_names()]):
        found = find_ladder(name).ladder if name in ladder_names() else find_recipe(name).recipe
        pairs = f"{found.pairs:,}" if found.pairs else "yours"
        table.add_row(name, found.title, pairs, found.time)
    results().print(table)


def _fetch(plan: "RecipePlan", count: int, *, smoke: bool) -> None:
    if plan.is_fetched():
        _say(1, count, "fetch: already done")
        return
    what = "from the Hub and the web" if plan.is_remote else "from local files"
    _say(1, count, f"fetch: {what}{', a few hundred pairs' if smoke else ''}")
    with StageProgress(Verbosity.NORMAL) as progress:
        plan.fetch(lambda report: progress.update(report.stage, report.done, report.total))


def _do(step: "RecipeStep", plan: "StepPlan", number: int, steps: int) -> None:
    if plan.is_done(step):
        _say(number, steps, f"{step.name}: {step.output} exists")
        return
    plan.protect_other(step)
    _say(number, steps, step.name)
    messages().print(f"$ {step.shown()}", style="bold")
    plan.begin(step)
    code = _run_processes(step) if step.processes > 1 else _run_here(step)
    if code:
        messages().print("run the same command again to continue from here")
        raise typer.Exit(code)
    plan.finish(step)


def _run_here(step: "RecipeStep") -> int:
    """Run a command in this process, as if it had been typed in a shell."""
    from nmt_cli.cli.app import app  # which imports this module

    with ExitStack() as stack:
        if step.redirected:
            temporary = stack.enter_context(new_file(step.output))
            stack.enter_context(redirect_stdout(stack.enter_context(temporary.open("w", encoding="utf-8"))))
        code = typer.main.get_command(app).main(step.arguments, prog_name="nmt", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _run_processes(step: "RecipeStep") -> int:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(step.processes)]
    with subprocess.Popen([sys.executable, *launcher, "-m", "nmt_cli", *step.arguments]) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the terminal has interrupted them, too: let them save
            return process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise


def _conclude(found: "NamedRecipe", plan: "RecipePlan", *, smoke: bool) -> None:
    messages().print(f"translations: {plan.hypotheses}\nreport: {plan.report}\nrun: {plan.run}")
    if smoke:
        typer.echo(f"{found.name}: every step works; the score of a smoke run is meaningless")
        return
    verdict = plan.verdict()
    typer.echo(verdict.sentence)
    for note in verdict.notes:
        typer.echo(f"  {note}")
    if not verdict.passed:
        complain(
            f"{found.name}: the score is lower than expected",
            hint=f"check {plan.run / 'curves.svg'} and {plan.report}; were settings changed or training cut short?",
        )
        raise typer.Exit(1)


def _ladder(name: str, data: Path | None, choices: "Choices", *, dry_run: bool) -> None:
    """Train all rungs, score and explain them, and write the page."""
    from nmt_cli.recipe import LadderPlan, find_ladder

    ladder = find_ladder(name).ladder
    if data is not None:
        raise UsageError(f"--data: {name} generates its own text", hint="leave out --data")
    if choices.monolingual or choices.sample:
        option = "--monolingual" if choices.monolingual else "--sample"
        raise UsageError(f"{option}: {name} does not support back-translation", hint=f"leave out {option}")
    plan = LadderPlan(ladder, choices)
    if dry_run:
        for step in plan.steps():
            typer.echo(step.shown())
        return
    count = plan.number_of_steps() + 1
    for number, step in enumerate(plan.steps(), start=1):
        _do(step, plan, number, count)
    _say(count, count, "page")

    from nmt_cli.recipe.ladder_page import ladder_page, length_names, read_result

    result = read_result(ladder, plan, choices.out)
    options = ["--smoke"] * choices.smoke + [part for text in choices.settings for part in ("--set", text)]
    with new_file(plan.page) as temporary:
        temporary.write_text(
            ladder_page(ladder, result, shlex.join(["nmt", "recipe", name, *options])), "utf-8"
        )
    _show_ladder(result.rows, ladder.beam_size, length_names(result.rows[0].greedy))
    messages().print(f"wrote {plan.page}")
    if choices.smoke:
        typer.echo(f"{name}: every step works; the scores of a smoke run are meaningless")


def _show_ladder(rows: "list[Row]", beam_size: int, lengths: list[str]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("system", overflow="fold")
    for heading in ("BLEU", f"beam {beam_size}", *lengths):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        scores = [row.greedy.scores[0].score, row.beam.scores[0].score]
        values = [*scores, *(bucket.bleu for bucket in row.greedy.length_buckets)]
        table.add_row(row.title, *(f"{value:.1f}" for value in values))
    results().print(table)
    results().print("The columns on the right are BLEU by source length in words, with greedy search.")


def _say(number: int, steps: int, text: str) -> None:
    messages().print(f"[{number}/{steps}] {text}")
