"""Speed and memory of `nmt preprocess`, as ratios within one run.

    python benchmarks/preprocess.py                  # speed
    python benchmarks/preprocess.py --memory         # peak memory at 1 and 4 million pairs as well (minutes)
    python benchmarks/preprocess.py --train PREFIX --source-lang de --target-lang en   # on your own corpus

Speed: `preprocess` with a given vocabulary, start-up aside, against bare sentencepiece encoding of the same lines
(one thread each), and two workers against one. The two sides of a ratio alternate, and the median of the ratios is
shown, because other work on the machine disturbs both alike.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import sentencepiece
from peak_memory import peak_memory

from nmt_cli.config import resolve
from nmt_cli.corpus import parse_spec, read_pairs
from nmt_cli.demo import generate
from nmt_cli.preprocessing import PreprocessRequest, preprocess


def main() -> None:
    """Parse the arguments, run, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", help="SPEC of a corpus instead of the embedded one")
    parser.add_argument("--source-lang", default="en")
    parser.add_argument("--target-lang", default="de")
    parser.add_argument("--pairs", type=int, default=120_000, help="pairs of the embedded corpus")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="measure peak memory at 1 and 4 million pairs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure_speed(arguments, Path(folder))
        if arguments.memory:
            measure_memory(Path(folder))


def measure_speed(arguments: argparse.Namespace, folder: Path) -> None:
    """Print preprocess against bare encoding, and two workers against one."""
    languages = {"source_lang": arguments.source_lang, "target_lang": arguments.target_lang}
    train = arguments.train or embedded_corpus(folder, arguments.pairs)

    def run(workers: int, vocabulary: Path | None, out: str) -> None:
        request = PreprocessRequest(
            **languages,
            train=[train],
            out=folder / out,
            settings=resolve(),
            vocabulary=vocabulary,
            workers=workers,
            overwrite=True,
        )
        preprocess(request, lambda report: None)

    run(1, None, "first")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "first" / "shared.model"))
    blocks = list(read_pairs(parse_spec(train, **languages)))
    pairs = sum(len(block.source) for block in blocks)

    def bare() -> None:
        for block in blocks:
            processor.encode(block.source, num_threads=1)
            processor.encode(block.target, num_threads=1)

    one, two = (lambda workers=workers: run(workers, folder / "first", "again") for workers in (1, 2))
    print(f"{pairs:,} pairs, vocabulary of {processor.get_piece_size():,} pieces, {arguments.rounds} rounds")
    rows = {
        "bare sentencepiece encoding, 1 thread": bare,
        "nmt preprocess, 1 worker": one,
        "nmt preprocess, 2 workers": two,
    }
    times = alternate(rows, arguments.rounds)
    baseline = times["bare sentencepiece encoding, 1 thread"]
    for name, seconds in times.items():
        ratio = statistics.median(b / s for b, s in zip(baseline, seconds, strict=True))
        print(
            f"  {name:40} {pairs / statistics.median(seconds):10,.0f} pairs/s   {ratio:5.2f} × bare encoding"
        )


def alternate(rows: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each round of each row, the rows taking turns."""
    times: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, function in rows.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return times


def embedded_corpus(folder: Path, pairs: int) -> str:
    """Write the embedded corpus and return its SPEC."""
    write(folder / "embedded", iter(generate(pairs).train))
    return str(folder / "embedded")


def write(prefix: Path, pairs: Iterator[tuple[str, str]]) -> None:
    """Write pairs as two line-aligned files."""
    with (
        prefix.with_name(prefix.name + ".en").open("w", encoding="utf-8") as source,
        prefix.with_name(prefix.name + ".de").open("w", encoding="utf-8") as target,
    ):
        for english, german in pairs:
            source.write(english + "\n")
            target.write(german + "\n")


def measure_memory(folder: Path) -> None:
    """Print the peak memory of the whole command, worker processes included, at 1 and 4 million distinct pairs."""
    base = generate(20_000).train
    peaks = []
    for millions in (1, 4):
        prefix = folder / f"{millions}m"
        distinct = (
            (f"{i}: {english}", f"{i}: {german}") for i, (english, german) in enumerate(itertools.cycle(base))
        )
        write(prefix, itertools.islice(distinct, millions * 1_000_000))
        command = [
            "preprocess",
            "-s",
            "en",
            "-t",
            "de",
            "--train",
            prefix,
            "--out",
            folder / f"out{millions}",
        ]
        started = time.perf_counter()
        peaks.append(peak_memory([*command, "--quiet"]) / 1e9)
        print(f"  {millions} million pairs: peak {peaks[-1]:.2f} GB, {time.perf_counter() - started:.0f} s")
    print(f"  ratio {peaks[1] / peaks[0]:.2f}")


if __name__ == "__main__":
    main()
