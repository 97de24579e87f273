"""All presets with the same budget on the same data: size, speed, and how well they translate.

python benchmarks/presets.py [DATA_DIR …] [--out DIR] [--updates N | --minutes N] [--seeds N …]
  [--system 'PRESET model.key=value …'] [--set …]

The embedded corpus and every data directory that is given, one system after the other, each in a process of its own.
DIR/table.md has the tables, DIR/scores.jsonl what is known so far: the same command continues after an interruption,
with the system it was at. Other code needs another DIR.

With --minutes, the budget is CPU time of updates, without start-up and validation: a first training of half a minute
tells how many updates that is, so that the learning rate decays in time for the end. The tables have the time that
training really took, validation included.

Speed is target tokens per CPU second, without padding, the median of ten parts of the training: other work on the
machine counts little. With one thread that is near the speed of a quiet core. Memory is the peak during training.
Perplexity is of the validation set, BLEU of the test set (without one: of the validation set) with the search settings,
once for all sentences and once for those with more than 20 source tokens: what a model without attention has to carry
in one vector.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from demo_corpus import demo_corpus
from process_tree import usage_of

from nmt_cli.config import TRANSLATION_PRESETS, resolve
from nmt_cli.data.directory import DataDirectory
from nmt_cli.metrics import bleu, tokenizer_for
from nmt_cli.run import RunDirectory
from nmt_cli.run.logs import ScoresLog
from nmt_cli.training import Machine, Report, StartReport, StepReport, ValidationReport, start
from nmt_cli.translator import Translator

LONG = 20  # source tokens
PROBE = 30.0  # seconds of CPU time
DEMO_PAIRS, DEMO_VOCABULARY = 17_000, 4000  # those of `make demo`


@dataclass(frozen=True)
class Task:
    """A system and what it is trained on; two equal tasks have one result."""

    system: str  # a preset, and settings of its own
    data: str  # the hash that tells one data directory from another
    updates: int  # 0: as many as fit into `minutes`
    minutes: float
    seed: int
    settings: tuple[str, ...]
    threads: int


@dataclass(frozen=True)
class Result:
    """What is known of a system after its budget."""

    parameters: int
    updates: int
    tokens_per_second: float
    perplexity: float
    bleu: float
    long_bleu: float | None  # None: there are no such sentences
    long_sentences: int
    seconds: float  # of CPU time, for training and validation
    memory: int  # bytes, the peak during training


def main() -> None:
    """Train, measure, print and write the tables."""
    arguments = _arguments()
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")  # as the command `nmt` does
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    data = list(arguments.data)
    if arguments.demo_pairs:
        data.insert(0, _demo(out / f"demo-{arguments.demo_pairs}", arguments.demo_pairs))
    lines: list[str] = []
    for directory in data:
        opened = DataDirectory.open(directory)
        title = f"{opened.source_lang}→{opened.target_lang}, {directory.name}"
        rows = _rows(directory, arguments, ScoresLog(out))
        for line in table(f"{title}: {len(opened.train):,} training pairs, {_budget(arguments)} each", rows):
            print(line, flush=True)
            lines.append(line)
            (out / "table.md").write_text("\n".join(lines) + "\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="*", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/presets"), help="tables, results and runs")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--updates", type=int, default=1000)
    budget.add_argument("--minutes", type=float, help="of CPU time")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--system", action="append", default=[], dest="systems", help="instead of all presets; repeatable"
    )
    parser.add_argument(
        "--set", action="append", default=[], dest="settings", help="for all systems; repeatable"
    )
    parser.add_argument("--demo-pairs", type=int, default=DEMO_PAIRS, help="0: leave the embedded corpus out")
    return parser.parse_args()


def _demo(folder: Path, pairs: int) -> Path:
    """The embedded corpus below `folder`; made once."""
    if not (folder / "demo").exists():
        shutil.rmtree(folder, ignore_errors=True)  # what an interruption has left
        demo_corpus(folder, pairs=pairs, vocabulary=DEMO_VOCABULARY)
    return folder / "demo"


def _budget(arguments: argparse.Namespace) -> str:
    if arguments.minutes is None:
        return f"{arguments.updates:,} updates"
    return f"updates for {arguments.minutes:g} minutes of CPU time"


def _rows(data: Path, arguments: argparse.Namespace, scores: ScoresLog) -> Iterator[tuple[Task, Result]]:
    """Each system and seed with its result, which is measured unless it is known."""
    identity = DataDirectory.open(data).fingerprint
    updates = arguments.updates if arguments.minutes is None else 0
    systems = arguments.systems or list(TRANSLATION_PRESETS)
    for system, seed in product(systems, arguments.seeds):
        task = Task(
            system,
            identity,
            updates,
            arguments.minutes or 0.0,
            seed,
            tuple(arguments.settings),
            arguments.threads,
        )
        result = _known(task, scores)
        if result is None:
            print(f"{data.name}: {system}, seed {seed}", file=sys.stderr, flush=True)
            name = "_".join((task.data[:8], str(updates or f"{task.minutes:g}m"), str(seed), *system.split()))
            spawn = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, spawn) as processes:
                result = processes.submit(measured, task, data, arguments.out / name).result()
            scores.append({"task": asdict(task), "result": asdict(result)})
        yield task, result


def _known(task: Task, scores: ScoresLog) -> Result | None:
    wanted = json.loads(json.dumps(asdict(task)))  # as it comes back from the file
    found = [record["result"] for record in scores.read() if record["task"] == wanted]
    return Result(**found[-1]) if found else None


def measured(task: Task, data: Path, run: Path) -> Result:
    """Train a system in `run` and measure it."""
    updates = task.updates or max(1, round(task.minutes * 60 * _updates_per_second(task, data, run)))
    parameters, speeds, perplexity = 0, [], float("nan")
    began = time.process_time()
    wall, processor = time.monotonic(), began
    for report in _training(task, data, run, updates):
        if isinstance(report, StartReport):
            parameters = report.parameters
        elif isinstance(report, StepReport):
            share = (time.process_time() - processor) / (time.monotonic() - wall)
            speeds.append(report.tokens_per_second / share)
        elif isinstance(report, ValidationReport):
            perplexity = report.perplexity
        if isinstance(report, StartReport | StepReport):
            wall, processor = time.monotonic(), time.process_time()
    seconds = time.process_time() - began
    memory = usage_of(os.getpid()).memory
    whole, long, count = translated(run)
    speed = statistics.median(speeds)
    return Result(parameters, updates, speed, perplexity, whole, long, count, seconds, memory)


def _updates_per_second(task: Task, data: Path, run: Path) -> float:
    """Updates in a second of CPU time, by a short training of 20 reports or more in `run`."""
    points = []
    for report in _training(task, data, run, updates=100_000, log_every=5):
        if isinstance(report, StepReport):
            points.append((time.process_time(), report.update))
            if len(points) >= 20 and points[-1][0] > points[0][0] + PROBE:
                break
    (start, first), (end, last) = points[0], points[-1]
    return (last - first) / (end - start)


def _training(task: Task, data: Path, run: Path, updates: int, log_every: int = 0) -> Iterator[Report]:
    """The reports of a training with so many updates, validated at its end."""
    preset, *switches = task.system.split()
    settings = (
        f"model.preset={preset}",
        f"train.seed={task.seed}",
        f"train.max_updates={updates}",
        f"train.validate_every={updates}",
        f"train.log_every={log_every or max(1, updates // 10)}",
        "train.max_epochs=0",
        "train.patience=0",
        "train.save_every=0",
        *task.settings,
        *switches,
    )
    machine = Machine(device="cpu", threads=task.threads)
    with start(data, run, resolve(None, settings), overwrite=True, machine=machine) as trainer:
        yield from trainer.run()


def translated(path: Path) -> tuple[float, float | None, int]:
    """BLEU of all sentences and of the long ones, and how many those are."""
    run = RunDirectory.open(path)
    texts = run.held_out("test") or run.held_out("valid")
    assert texts is not None, "the data directory has neither a test nor a validation set"
    sources, references = texts
    translations = Translator.load(path, device="cpu").translate(sources)
    tokenize = tokenizer_for(run.facts.target_lang)

    def score(chosen: Sequence[int]) -> float:
        hypotheses = [translations[i].text for i in chosen]
        return bleu(hypotheses, [references[i] for i in chosen], tokenize=tokenize).value

    long = [i for i, translation in enumerate(translations) if len(translation.source_pieces) - 1 > LONG]
    return score(range(len(sources))), score(long) if long else None, len(long)


def table(title: str, rows: Iterable[tuple[Task, Result]]) -> Iterator[str]:
    """The rows in Markdown."""
    yield f"\n{title}\n"
    yield (
        "| system | seed | parameters | updates | tokens per CPU s | CPU min | peak MB | valid perplexity | BLEU "
        f"| BLEU, more than {LONG} source tokens |"
    )
    yield "| --- |" + " ---: |" * 9
    for task, result in rows:
        long = "–" if result.long_bleu is None else f"{result.long_bleu:.1f}"
        yield (
            f"| `{task.system}` | {task.seed} | {result.parameters / 1e6:.1f} M | {result.updates:,} "
            f"| {result.tokens_per_second:,.0f} | {result.seconds / 60:.1f} | {result.memory / 1e6:,.0f} "
            f"| {result.perplexity:.2f} | {result.bleu:.1f} | {long} |"
        )


if __name__ == "__main__":
    main()
