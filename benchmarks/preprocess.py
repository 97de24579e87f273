"""Speed and memory of `nmt preprocess`, as ratios within one run.

    python benchmarks/preprocess.py                  # speed
    python benchmarks/preprocess.py --scale 500000 2000000     # a synthetic corpus of these sizes instead (minutes)
    python benchmarks/preprocess.py --scale 10000000 --workers 2 --keep DIR     # keeps the data directory
    python benchmarks/preprocess.py --train PREFIX --source-lang de --target-lang en   # on your own corpus

Speed: `preprocess` with a given vocabulary, start-up aside, against bare sentencepiece encoding of the same lines
(one thread each), and two workers against one. The two sides of a ratio alternate, and the median of the ratios is
shown, because other work on the machine disturbs both alike.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import sentencepiece
import synthetic_corpus
from peak_memory import usage

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
    parser.add_argument("--scale", type=int, nargs="+", help="pairs of synthetic corpora to measure instead")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="with --scale")
    parser.add_argument(
        "--keep", type=Path, help="with --scale: where to keep the data directories, DIR/PAIRS"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.scale:
            measure_scale(Path(folder), arguments.scale, arguments.workers, arguments.keep)
        else:
            measure_speed(arguments, Path(folder))


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
    for index, language in enumerate(("en", "de")):
        lines = (f"{pair[index]}\n" for pair in generate(pairs).train)
        (folder / f"embedded.{language}").write_text("".join(lines), encoding="utf-8")
    return str(folder / "embedded")


def measure_scale(folder: Path, sizes: Sequence[int], numbers: Sequence[int], keep: Path | None) -> None:
    """Print what the whole command uses, vocabulary and all filters included, with these numbers of workers.

    On two idle cores, two workers take at least half of all processor time, and at least that of the main process.
    """
    print(
        "| pairs | workers | CPU main | CPU workers | speed-up on 2 idle cores | peak memory | peak disk "
        "| data directory |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for pairs in sizes:
        prefix, out = folder / f"{pairs}", (keep or folder) / f"out{pairs}"
        out.parent.mkdir(parents=True, exist_ok=True)
        synthetic_corpus.write(prefix, pairs)
        alone = 0.0
        for workers in numbers:
            command = ["preprocess", "-s", "en", "-t", "de", "--train", prefix, "--out", out, "--overwrite"]
            with DiskUse(out.parent) as disk:
                used = usage([*command, "--quiet", "--set", "data.too_long=false"], workers)
            card = json.loads((out / "data-card.json").read_text("utf-8"))
            repeated = pairs - synthetic_corpus.distinct_pairs(pairs)
            assert card["dropped"]["duplicate"]["count"] == repeated
            total = used.own_seconds + used.worker_seconds
            alone = alone or (total if workers == 1 else 0.0)
            bound = f"{alone / max(used.own_seconds, total / workers):.2f} ×" if alone else ""
            size = sum(path.stat().st_size for path in out.iterdir()) / pairs
            print(
                f"| {pairs:,} | {workers} | {used.own_seconds:.0f} s | {used.worker_seconds:.0f} s | {bound} "
                f"| {used.memory / 1e9:.2f} GB | {disk.peak / 1e9:.1f} GB | {size:.0f} bytes per pair |",
                flush=True,
            )
        if keep is None:
            shutil.rmtree(out)


class DiskUse:
    """The largest number of bytes that are in use on the disk of a folder beyond those at the beginning."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stop = folder, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._start, self.peak = shutil.disk_usage(folder).used, 0

    def __enter__(self) -> "DiskUse":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(1):
            self.peak = max(self.peak, shutil.disk_usage(self._folder).used - self._start)


if __name__ == "__main__":
    main()
