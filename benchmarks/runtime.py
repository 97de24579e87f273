"""Exported models against the run directory they come from: speed, start-up, memory, size and quality.

    python benchmarks/runtime.py RUN_DIR                  # all of it, on the test set of the run
    python benchmarks/runtime.py RUN_DIR --threads 2
    python benchmarks/runtime.py RUN_DIR --quality        # only BLEU and lines that differ, beam 5
    python benchmarks/runtime.py RUN_DIR --shortlists     # recall of shortlists by size and by method

All systems take turns in one process, line by line and then in batches, so that a busy machine slows all of them
alike; times are CPU time, and with several threads wall time. Start-up is a process that translates one line with
`translate.py`, in turns with `python -c "import torch"`.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import torch
from sacrebleu.metrics.bleu import BLEU

from nmt_cli.data.directory import DataDirectory
from nmt_cli.export.folder import export
from nmt_cli.export.shortlist import Lexicon, cooccurrence, model_1
from nmt_cli.run import RunDirectory
from nmt_cli.runtime.translate import ExportedTranslator
from nmt_cli.translator import Translator

Translate = Callable[[Sequence[str]], list[str]]
FORMS = {
    "float32": {"int8": False, "shortlist": "none"},
    "int8": {"int8": True, "shortlist": "none"},
    "float32, shortlist": {"int8": False, "shortlist": 100},
    "int8, shortlist": {"int8": True, "shortlist": 100},
}


_LAUNCHER = """
import resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[1:], check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, file=sys.stderr)
"""


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, metavar="RUN_DIR")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--single", type=int, default=100, help="lines to translate one by one")
    parser.add_argument("--lines", type=int, default=1000, help="lines to translate in batches, and for BLEU")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--shortlists", action="store_true")
    arguments = parser.parse_args()
    run = RunDirectory.open(arguments.run)
    if arguments.shortlists:
        print_shortlists(run)
        return
    held_out = run.held_out("test")
    if held_out is None:
        sys.exit("error: the run has no test set")
    sources, references = (side[: arguments.lines] for side in held_out)
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as name:
        folders = {form: Path(name) / form.replace(", ", "-") for form in FORMS}
        for form, options in FORMS.items():
            export(arguments.run, folders[form], report=print, **options)  # type: ignore[arg-type]
        clock = time.process_time if arguments.threads == 1 else time.monotonic
        for beam in (5,) if arguments.quality else (5, 1):
            systems = _systems(arguments.run, folders, beam, arguments.threads)
            if not arguments.quality:
                print_single_lines(systems, sources[: arguments.single], beam, clock)
            rounds = 1 if arguments.quality else arguments.rounds
            texts = print_batches(systems, sources, references, beam, rounds, clock)
            print_ties(arguments.run, sources, texts["torch"], texts["float32"], beam)
        if not arguments.quality:
            print_start(folders, sources[0])


def _systems(run: Path, folders: dict[str, Path], beam: int, threads: int) -> dict[str, Translate]:
    search = {"beam_size": beam}

    def text(translator: Any) -> Translate:
        return lambda lines: [translation.text for translation in translator.translate(lines)]

    return {
        "torch": text(Translator.load(run, device="cpu", search=search)),
        "torch, --int8": text(Translator.load(run, device="cpu", search=search, int8=True)),
        **{
            form: text(ExportedTranslator(folder, search=search, threads=threads))
            for form, folder in folders.items()
        },
    }


def print_single_lines(
    systems: dict[str, Translate], lines: Sequence[str], beam: int, clock: Callable[[], float]
) -> None:
    """One line at a time, all systems in turns."""
    seconds = dict.fromkeys(systems, 0.0)
    for line in lines:
        for name, translate in systems.items():
            began = clock()
            translate([line])
            seconds[name] += clock() - began
    print(f"\n| one line at a time, beam {beam} | ms per line | × torch |\n| --- | ---: | ---: |")
    for name, total in seconds.items():
        print(f"| {name} | {1000 * total / len(lines):.1f} | {seconds['torch'] / total:.2f} |")


def print_batches(
    systems: dict[str, Translate],
    sources: Sequence[str],
    references: Sequence[str],
    beam: int,
    rounds: int,
    clock: Callable[[], float],
) -> dict[str, list[str]]:
    """All lines at once, all systems in turns; BLEU, and lines that differ from torch."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    texts: dict[str, list[str]] = {}
    for _ in range(rounds):
        for name, translate in systems.items():
            began = clock()
            texts[name] = translate(sources)
            seconds[name].append(clock() - began)
    print(f"\n| batches, beam {beam} | lines/s | × torch | BLEU | lines as torch |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in systems:
        ratio = statistics.median(t / s for t, s in zip(seconds["torch"], seconds[name], strict=True))
        speed = len(sources) / statistics.median(seconds[name])
        bleu = BLEU().corpus_score(texts[name], [references]).score
        same = sum(a == b for a, b in zip(texts[name], texts["torch"], strict=True)) / len(sources)
        print(f"| {name} | {speed:.0f} | {ratio:.2f} | {bleu:.2f} | {same:.1%} |")
    return texts


def print_ties(
    run: Path, sources: Sequence[str], expected: Sequence[str], found: Sequence[str], beam: int
) -> None:
    """Lines in which the float32 export differs from torch, with the scores that torch gives to both texts."""
    rows = [row for row, pair in enumerate(zip(expected, found, strict=True)) if pair[0] != pair[1]]
    print(f"\nbeam {beam}: {len(rows)} of {len(sources)} lines of the float32 export differ from torch")
    translator = Translator.load(run, device="cpu", search={"beam_size": beam})
    for row in rows:
        texts = expected[row], found[row]
        scores = [one.score for one in translator.score([sources[row]] * 2, texts)]
        for score, text in zip(scores, texts, strict=True):
            print(f"  line {row + 1}  {score:.6f}  {text}")


def print_start(folders: dict[str, Path], line: str) -> None:
    """Processes that start and translate one line, in turns with one that imports torch."""
    commands = {'python -c "import torch"': [sys.executable, "-c", "import torch"]}
    for form, folder in folders.items():
        commands[f"translate.py, {form}"] = [sys.executable, str(folder / "translate.py")]
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(5):
        for name, command in commands.items():
            found[name].append(_process(command, line))
    print("\n| one process, one line | seconds | CPU seconds | × import torch | peak MB | folder MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    first = next(iter(commands))
    for name, figures in found.items():
        wall, cpu, memory = (statistics.median(column) for column in zip(*figures, strict=True))
        share = statistics.median(one[1] / base[1] for one, base in zip(figures, found[first], strict=True))
        place = folders.get(name.removeprefix("translate.py, "))
        size = f"{sum(file.stat().st_size for file in place.iterdir()) / 1e6:.1f}" if place else ""
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {share:.2f} | {memory:.0f} | {size} |")


def _process(command: list[str], line: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory in MB of a process with this line as its input."""
    # A child starts with the peak of the process that forks it, so a small process has to do that.
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command]
    done = subprocess.run(launcher, input=f"{line}\n", capture_output=True, text=True, check=True)
    wall, cpu, memory = map(float, done.stderr.splitlines()[-1].split())
    return wall, cpu, memory


def print_shortlists(run: RunDirectory) -> None:
    """Recall of the tokens of the validation set, by method and size."""
    train = DataDirectory.open(Path(run.facts.data)).train
    rows, V = np.arange(len(train)), (len(run.vocabularies.source), len(run.vocabularies.target))
    sides = train.gather(rows, "source"), train.gather(rows, "target")
    held_out = run.held_out("valid")
    assert held_out is not None
    source, target = run.vocabularies.source.encode(held_out[0]), run.vocabularies.target.encode(held_out[1])
    pairs = [(source[row], target[row]) for row in range(len(source))]
    print("| method | tokens per source token | tokens per sentence | recall |\n| --- | ---: | ---: | ---: |")
    for name, method in (("co-occurrence", cooccurrence), ("IBM Model 1", model_1)):
        lexicon: Lexicon = method(*sides, *V)
        for n in (10, 20, 50, 100, 200):
            table, common = lexicon.table(*V, n), lexicon.frequent[:100]
            found = total = size = 0
            for s, t in pairs:
                tokens = np.union1d(np.union1d(table[s].ravel(), common), s)
                found, total, size = found + int(np.isin(t, tokens).sum()), total + len(t), size + len(tokens)
            print(f"| {name} | {n} | {size / len(pairs):.0f} | {found / total:.2%} |")


if __name__ == "__main__":
    main()
