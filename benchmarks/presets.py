"""All presets with the same budget on the same data: size, speed, and how well they translate.

python benchmarks/presets.py [DATA_DIR …] [--updates N] [--system 'PRESET model.key=value …'] [--set …]

The embedded corpus and every data directory that is given; a Markdown table for each on standard output. BLEU is of
the test set (without one: of the validation set) with the search settings, once for all sentences and once for those
with more than 20 source tokens: what a model without attention has to carry in one vector.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from demo_corpus import demo_corpus

from nmt_cli.config import PRESETS, resolve
from nmt_cli.metrics import bleu, tokenizer_for
from nmt_cli.run import RunDirectory
from nmt_cli.store import DataDirectory
from nmt_cli.trainer import Machine, StartReport, StepReport, ValidationReport, start
from nmt_cli.translator import Translator

LONG = 20  # source tokens
DEMO_PAIRS, DEMO_VOCABULARY = 10_000, 2000


class Row(NamedTuple):
    """What is known of a system after its budget."""

    system: str
    parameters: int
    tokens_per_second: float
    perplexity: float
    bleu: float
    long_bleu: float | None  # None: there are no such sentences


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="*", type=Path)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--system", action="append", default=[], dest="systems", help="instead of all presets; repeatable"
    )
    parser.add_argument(
        "--set", action="append", default=[], dest="settings", help="for all systems; repeatable"
    )
    parser.add_argument("--demo-pairs", type=int, default=DEMO_PAIRS, help="0: leave the embedded corpus out")
    arguments = parser.parse_args()
    systems = arguments.systems or list(PRESETS)
    with tempfile.TemporaryDirectory() as folder:
        data = list(arguments.data)
        if arguments.demo_pairs:
            data.insert(0, demo_corpus(Path(folder), pairs=arguments.demo_pairs, vocabulary=DEMO_VOCABULARY))
        for directory in data:
            rows = measured(
                directory, systems, arguments.settings, updates=arguments.updates, threads=arguments.threads
            )
            for line in table(directory, arguments.updates, rows):
                print(line, flush=True)


def measured(
    data: Path, systems: Sequence[str], settings: Sequence[str], *, updates: int, threads: int
) -> Iterator[Row]:
    """Train each system for as many updates and measure it."""
    for system in systems:
        print(f"{data.name}: {system}", file=sys.stderr, flush=True)
        preset, *switches = system.split()
        budget = (f"train.max_updates={updates}", "train.max_epochs=0", "train.patience=0")
        rare = (
            f"train.validate_every={updates}",
            "train.save_every=0",
            f"train.log_every={max(1, updates // 10)}",
        )
        resolved = resolve(None, [f"model.preset={preset}", *budget, *rare, *settings, *switches])
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            parameters, speeds, perplexity = 0, [], float("nan")
            with start(data, run, resolved, machine=Machine(device="cpu", threads=threads)) as trainer:
                for report in trainer.run():
                    if isinstance(report, StartReport):
                        parameters = report.parameters
                    elif isinstance(report, StepReport):
                        speeds.append(report.tokens_per_second)
                    elif isinstance(report, ValidationReport):
                        perplexity = report.perplexity
            speed = sum(speeds) / len(speeds)
            yield Row(system, parameters, speed, perplexity, *translated(run))


def translated(path: Path) -> tuple[float, float | None]:
    """BLEU of all sentences and of the long ones."""
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
    return score(range(len(sources))), score(long) if long else None


def table(data: Path, updates: int, rows: Iterator[Row]) -> Iterator[str]:
    """The rows in Markdown."""
    opened = DataDirectory.open(data)
    yield f"\n{data.name}: {len(opened.train):,} training pairs, {updates} updates each\n"
    yield (
        f"| system | parameters | target tokens/s | valid perplexity | BLEU | BLEU, more than {LONG} source tokens |"
    )
    yield "| --- |" + " ---: |" * 5
    for row in rows:
        long = "–" if row.long_bleu is None else f"{row.long_bleu:.1f}"
        yield (
            f"| `{row.system}` | {row.parameters / 1e6:.1f} M | {row.tokens_per_second:,.0f} "
            f"| {row.perplexity:.2f} | {row.bleu:.1f} | {long} |"
        )


if __name__ == "__main__":
    main()
