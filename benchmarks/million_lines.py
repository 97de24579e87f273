"""Time and memory of `nmt translate` and `nmt evaluate` on up to a million lines: the tables in docs/scaling.md.

    python benchmarks/million_lines.py evaluate                   # hypotheses with BLEU, chrF and the default bootstrap
    python benchmarks/million_lines.py translate RUN_DIR          # greedy search, one thread; or an exported folder
    python benchmarks/million_lines.py evaluate --lines 10000 100000

Times are CPU seconds, user and system, of the whole command with its workers, start-up included. Peak memory is that
of the main process and, for each worker, as much as the largest of them.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import synthetic_corpus
from peak_memory import Usage, usage

from nmt_cli.demo import generate

LINES = (10_000, 100_000, 1_000_000)


def main() -> None:
    """Parse the arguments, run, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("translate", "evaluate"))
    parser.add_argument(
        "model", nargs="?", type=Path, help="run directory or exported folder to translate with"
    )
    parser.add_argument("--lines", type=int, nargs="+", default=LINES)
    parser.add_argument("--workers", type=int, default=1, help="workers of nmt evaluate")
    arguments = parser.parse_args()
    if arguments.command == "translate" and arguments.model is None:
        parser.error("nmt translate needs a model")
    print("| lines | CPU | lines per CPU second | peak memory |\n| ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for lines in arguments.lines:
            if arguments.command == "translate":
                used = translate(Path(folder), arguments.model, lines)
            else:
                used = evaluate(Path(folder), lines, arguments.workers)
            seconds = used.own_seconds + used.worker_seconds
            speed = f"{seconds:,.1f} s | {lines / seconds:,.0f}"
            print(f"| {lines:,} | {speed} | {used.memory / 1e6:,.0f} MB |", flush=True)


def translate(folder: Path, model: Path, lines: int) -> Usage:
    """What it takes to translate short lines, no two of which are equal."""
    source, out = folder / f"{lines}.en", folder / f"{lines}.de"
    synthetic_corpus.write_short_lines(source, lines)
    options = ["--beam", "1", "--threads", "1", "--quiet"]
    used = usage(["translate", model, "-i", source, "-o", out, *options], 1, "--processes")
    with out.open("rb") as translations:
        assert sum(1 for _ in translations) == lines
    return used


def evaluate(folder: Path, lines: int, workers: int) -> Usage:
    """What it takes to score hypotheses with all defaults."""
    reference, hypotheses = folder / "reference.de", folder / "hypotheses.de"
    with reference.open("w", encoding="utf-8") as right, hypotheses.open("w", encoding="utf-8") as damaged:
        for text, shorter in damaged_sentences(lines):
            right.write(f"{text}\n")
            damaged.write(f"{shorter}\n")
    return usage(["evaluate", hypotheses, "-r", reference, "--plain"], workers)


def damaged_sentences(lines: int) -> Iterator[tuple[str, str]]:
    """Sentences of the embedded corpus, numbered, and the same without a tenth of their words."""
    sentences = [pair[1] for pair in generate(20_000, seed=2).train]
    draw = random.Random(3).random
    for index in range(lines):
        text = f"{sentences[index % len(sentences)]} {index}"
        yield text, " ".join(word for word in text.split() if draw() > 0.1)


if __name__ == "__main__":
    main()
