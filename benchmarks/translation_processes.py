"""What a second process adds to `nmt translate`: `--processes 2` and torchrun against one process.

    python benchmarks/translation_processes.py RUN_DIR [--lines 20000] [--beam 5]      (short English lines, synthetic)
    python benchmarks/translation_processes.py RUN_DIR --text FILE                     (the first lines of a file)

Method: every process has one thread, and CPU time (user and system) counts, so other work on the machine matters
little. One process needs its whole CPU time, start-up included. Of two processes, the one that uses more CPU time
decides when both are done, provided that there is a core for each. Hence

    speed-up             CPU time of one process / CPU time of the busier one of two
    with the launcher    the same, but with the CPU time of the launcher added, which has to import torch before it can
                         start the others

Start-up is the same for any number of lines, so both approach 2 for longer texts. Waiting for each other costs no CPU
time. `idle` therefore states what the other process used less than the busier one: mostly the last window, which only
one process can have. All outputs must be the same.
"""

import argparse
import os
import sys
import tempfile
from itertools import islice
from pathlib import Path

import synthetic_corpus
from process_tree import measure_tree

NMT = (sys.executable, "-m", "nmt_cli")
TORCHRUN = (
    sys.executable,
    "-m",
    "torch.distributed.run",
    "--standalone",
    "--nproc-per-node",
    "2",
    "-m",
    "nmt_cli",
)


def main() -> None:
    """Parse the arguments, run, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--lines", type=int, nargs="+", default=[20_000])
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--window", type=int, default=2000)
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--text", type=Path, help="file to translate the first lines of")
    arguments = parser.parse_args()
    print(
        "| lines | command | launcher | busier | other | idle | speed-up | with the launcher | peak memory |"
    )
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for lines in arguments.lines:
            source = Path(folder) / "source.txt"
            if arguments.text is None:
                synthetic_corpus.write_short_lines(source, lines)
            else:
                with arguments.text.open("rb") as text:
                    source.write_bytes(b"".join(islice(text, lines)))
            measure(arguments, Path(folder), lines)


def measure(arguments: argparse.Namespace, folder: Path, lines: int) -> None:
    """Print three rows: one process, two, and two of torchrun."""
    out = folder / "translations.txt"
    options = [
        "--beam",
        arguments.beam,
        "--window",
        arguments.window,
        "--threads",
        1,
        "--device",
        "cpu",
        "--quiet",
    ]
    options += ["--int8"] if arguments.int8 else []
    command = ["translate", arguments.run, "-i", folder / "source.txt", "-o", out, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    alone, text = 0.0, b""
    rows = {
        "one process": [*NMT, *command],
        "`--processes 2`": [*NMT, *command, "--processes", 2],
        "torchrun": [*TORCHRUN, *command],
    }
    for name, words in rows.items():
        first, *workers = measure_tree(words, environment)
        memory = f"{sum(used.memory for used in (first, *workers)) / 1e6:,.0f} MB"
        translated = out.read_bytes()
        out.unlink()
        if not workers:
            alone, text = first.seconds, translated
            print(f"| {lines:,} | {name} | | {alone:.1f} s | | | 1 | 1 | {memory} |", flush=True)
            continue
        assert translated == text
        # Short-lived helpers, such as a compiler that torch asks for its version, count as nothing.
        busier, other = sorted((used.seconds for used in workers), reverse=True)[:2]
        print(
            f"| {lines:,} | {name} | {first.seconds:.1f} s | {busier:.1f} s | {other:.1f} s | {busier - other:.1f} s "
            f"| {alone / busier:.2f} | {alone / (first.seconds + busier):.2f} | {memory} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
