"""`nmt info`: the machine, a run, or a table of runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from json import dumps
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from nmt_cli.cli.display.console import printable_json, results
from nmt_cli.cli.options import training

if TYPE_CHECKING:
    from nmt_cli.info.machine import MachineInfo
    from nmt_cli.info.runs import RunInfo


def info(runs: training.InfoRuns = None, json: training.InfoJson = False) -> None:
    """Describe this machine, a run, or several runs.

    [cyan]nmt info[/] shows versions, processor, GPUs and caches, for a bug report.
    [cyan]nmt info RUN_DIR[/] shows languages, model, data, scores and disk use.
    [cyan]nmt info DIR...[/] shows a table of all runs in these directories.
    """
    if not runs:
        from nmt_cli.info.machine import machine_info

        machine = machine_info()
        _print_json(asdict(machine)) if json else _show_rows(_machine_rows(machine))
        return

    from nmt_cli.info.runs import find_runs, run_info

    found = [run_info(path) for path in find_runs(runs)]
    if json:
        _print_json([asdict(run) for run in found])
    elif len(found) == 1:
        _show_rows(_run_rows(found[0]))
    else:
        _show_table(found)


def _print_json(content: Any) -> None:
    typer.echo(printable_json(dumps(content, indent=2, ensure_ascii=False)))


def _show_rows(rows: Iterable[tuple[str, str]]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    results().print(table)


def _show_table(runs: "Sequence[RunInfo]") -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("run", style="bold", overflow="fold")
    for heading in ("languages", "preset"):
        table.add_column(heading)
    for heading in ("parameters", "updates", "BLEU", "chrF", "ppl", "test BLEU", "disk"):
        table.add_column(heading, justify="right")
    for run in runs:
        tested = [score.score for score in run.test if score.metric == "BLEU"]
        table.add_row(
            Text(run.path),
            _languages(run),
            run.preset,
            _number(run.parameters),
            _number(run.update),
            *(_score(run.validation.get(name)) for name in ("bleu", "chrf")),
            _score(run.validation.get("perplexity"), digits=2),
            _score(tested[-1] if tested else None),
            size(run.bytes),
        )
    results().print(table)


def _machine_rows(machine: "MachineInfo") -> Iterator[tuple[str, str]]:
    yield "nmt", machine.nmt
    yield "Python", machine.python
    yield "system", machine.system
    yield from machine.packages.items()
    yield "processor", f"{machine.processor}, {machine.cores} cores"
    yield "features", " ".join(machine.features) or "unknown"
    yield "threads", "torch cannot be imported" if machine.threads is None else str(machine.threads)
    yield "GPU", "; ".join(machine.devices) or "none"
    for name, cache in machine.caches.items():
        yield name, f"{cache.path} ({size(cache.bytes)})"
    for name, value in machine.environment.items():
        yield name, value


def _run_rows(run: "RunInfo") -> Iterator[tuple[str, str]]:
    from nmt_cli.cli.display.training import duration
    from nmt_cli.config.layers import toml_value

    yield "run", run.path
    yield "languages", _languages(run)
    yield "preset", run.preset
    if run.backbone is not None:
        yield "backbone", run.backbone
    yield "parameters", _number(run.parameters) or "there is no model yet"
    yield "vocabulary", run.vocabulary
    pairs = "" if run.training_pairs is None else f"{run.training_pairs:,} training pairs, "
    yield "data", f"{pairs}{run.validation_pairs:,} for validation, {run.test_pairs:,} for test"
    yield "data directory", f"{run.data} (SHA-256 {run.data_sha256[:12]}…)"
    for name, value in run.settings.items():
        yield "setting", f"{name} = {'not set' if value is None else toml_value(value)}"
    if run.update is not None:
        time = "" if run.hours is None else f", {duration(3600 * run.hours)}"
        yield "training", f"update {run.update:,}, epoch {run.epoch}{time}"
    names = {"bleu": "BLEU", "chrf": "chrF", "wer": "WER", "cer": "CER", "perplexity": "perplexity"}
    scores = [f"{names[name]} {value:.2f}" for name, value in run.validation.items()]
    yield "validation", ", ".join(scores) or "no scores yet"
    for score in run.test:
        interval = "" if score.interval is None else f" ± {score.interval:.1f}"
        yield "test", f"{score.test_set}: {score.metric} {score.score:.1f}{interval}  {score.signature}"
    yield "disk", f"{size(run.bytes)}, of which {size(run.training_bytes)} only to resume training"


def _languages(run: "RunInfo") -> str:
    return f"{run.source_lang} → {run.target_lang}" if run.source_lang else run.target_lang


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _score(value: float | None, *, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def size(count: int) -> str:
    """Bytes for people: 640 B, 5.2 MB."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
