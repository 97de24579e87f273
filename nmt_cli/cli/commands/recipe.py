"""`nmt recipe`: a published baseline with one command, from text to a verdict."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.display.console import StageProgress, Verbosity, complain, messages, results
from nmt_cli.cli.options.shared import (
    MACHINE,
    MESSAGES,
    OUTPUT,
    DeviceOption,
    SetOption,
    ThreadsOption,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.recipe import NamedRecipe, RecipePlan, RecipeStep

INPUT = "Input"


def complete_recipe(incomplete: str) -> list[str]:
    """Names of recipes that begin like this."""
    from nmt_cli.recipe import recipe_names

    return [name for name in recipe_names() if name.startswith(incomplete)]


def recipe(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Which recipe; without it, all are listed.",
            show_default=False,
            autocompletion=complete_recipe,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Take local files instead of the hub.",
            rich_help_panel=INPUT,
            show_default=False,
        ),
    ] = None,
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke", help="All steps within a minute, on a few hundred pairs.", rich_help_panel=INPUT
        ),
    ] = False,
    settings: SetOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Where all results go.",
            rich_help_panel=OUTPUT,
            show_default="runs/NAME, runs/NAME-smoke",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace data and models made with other settings.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    processes: Annotated[
        int,
        typer.Option(
            "--processes",
            metavar="N",
            min=1,
            help="Train with torchrun, a process for each GPU.",
            rich_help_panel=MACHINE,
        ),
    ] = 1,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the commands; run nothing.", rich_help_panel=MESSAGES)
    ] = False,
) -> None:
    """Reproduce a published baseline: [cyan]nmt recipe multi30k-de-en --data DIR[/]

    Fetches, preprocesses, trains, translates, evaluates, and says whether the score is right.
    Each step shows its command. What is done is skipped; an interrupted recipe goes on.
    """
    if name is None:
        if data or smoke or out or settings or dry_run:
            raise UsageError("there is no recipe", hint="name one; `nmt recipe` lists them")
        _list()
        return
    from nmt_cli.recipe import Choices, choose_corpora, find_recipe, make_plan

    found = find_recipe(name)
    corpora = choose_corpora(found, data, smoke=smoke)
    choices = Choices(
        out=out or Path("runs", f"{name}-smoke" if smoke else name),
        smoke=smoke,
        settings=settings or (),
        processes=processes,
        device=device,
        threads=threads,
        overwrite=overwrite,
    )
    plan = make_plan(found, corpora, choices)
    if dry_run:
        for step in plan.steps():
            typer.echo(step.shown())
        return
    _fetch(found, plan, smoke=smoke)
    for make, number in ((plan.preprocess, 2), (plan.train, 3), (plan.translate, 4), (plan.evaluate, 5)):
        _do(make(), plan, number)
    _conclude(found, plan, smoke=smoke)


def _list() -> None:
    from rich.table import Table

    from nmt_cli.recipe import find_recipe, recipe_names

    table = Table(box=None, pad_edge=False)
    table.add_column("recipe", no_wrap=True)
    table.add_column("corpus", overflow="fold")
    table.add_column("pairs", justify="right", no_wrap=True)
    table.add_column("time", overflow="fold")
    for name in recipe_names():
        recipe = find_recipe(name).recipe
        pairs = f"{recipe.pairs:,}" if recipe.pairs else "yours"
        table.add_row(name, recipe.title, pairs, recipe.time)
    results().print(table)


def _fetch(found: "NamedRecipe", plan: "RecipePlan", *, smoke: bool) -> None:
    from nmt_cli.recipe import fetch

    if plan.is_fetched():
        _say(1, "fetch: done before")
        return
    plan.protect_other(plan.preprocess())
    what = "hub and web" if plan.corpora.remote else "local files"
    _say(1, f"fetch: {what}{', a few hundred pairs' if smoke else ''}")
    with StageProgress(Verbosity.NORMAL) as progress:
        fetch(
            plan.corpora,
            found.recipe,
            plan.text,
            smoke=smoke,
            report=lambda report: progress.update(report.stage, report.done, report.total),
        )
    plan.finish("fetch", plan.fetch_fingerprint())


def _do(step: "RecipeStep", plan: "RecipePlan", number: int) -> None:
    if plan.is_done(step):
        _say(number, f"{step.name}: {step.output} is there")
        return
    plan.protect_other(step)
    _say(number, step.name)
    messages().print(f"$ {step.shown()}", style="bold")
    plan.begin(step)
    code = _run_processes(step) if step.processes > 1 else _run_here(step)
    if code:
        messages().print("the same command goes on from here")
        raise typer.Exit(code)
    plan.finish(step.name, step.fingerprint)


def _run_here(step: "RecipeStep") -> int:
    """Run a command in this process, as if it had been typed."""
    from nmt_cli.cli.app import app  # which imports this module

    code = typer.main.get_command(app).main(step.arguments, prog_name="nmt", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _run_processes(step: "RecipeStep") -> int:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(step.processes)]
    with subprocess.Popen([sys.executable, *launcher, "-m", "nmt_cli", *step.arguments]) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the terminal has told them, too: let them save
            return process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise


def _conclude(found: "NamedRecipe", plan: "RecipePlan", *, smoke: bool) -> None:
    from nmt_cli.recipe import check_score

    _say(6, "verdict")
    messages().print(f"translations: {plan.hypotheses}\nreport: {plan.report}\nrun: {plan.run}")
    if smoke:
        typer.echo(f"{found.name}: every step works; the score of a smoke run means nothing")
        return
    verdict = check_score(found.expected, plan.run)
    typer.echo(verdict.sentence)
    for note in verdict.notes:
        typer.echo(f"  {note}")
    if not verdict.passed:
        complain(
            f"{found.name} is not as good as it was",
            hint=f"look at {plan.run / 'curves.svg'} and {plan.report}; were settings changed, or training cut short?",
        )
        raise typer.Exit(1)


def _say(number: int, text: str) -> None:
    messages().print(f"[{number}/6] {text}")
