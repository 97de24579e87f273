"""What a second process adds to `nmt translate`, and how memory grows with the text.

    python benchmarks/translation_processes.py RUN_DIR [--lines 5000 20000]      (English lines of the synthetic corpus)

For each number of lines: CPU seconds of one process and of two together, with one thread each and greedy search, the
time of the clock, and peak memory. CPU seconds tell what the division costs whatever else the machine does: if two
processes use as much as one, two idle cores halve the time. Both outputs must be the same.
"""

import argparse
import tempfile
import time
from pathlib import Path

import synthetic_corpus
from peak_memory import usage


def main() -> None:
    """Parse the arguments, run, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--lines", type=int, nargs="+", default=[5000, 20_000])
    arguments = parser.parse_args()
    print("| lines | processes | CPU | time | peak memory |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for lines in arguments.lines:
            source = Path(folder) / "source.en"
            with source.open("w", encoding="utf-8") as file:
                for number, (english, _) in enumerate(synthetic_corpus.synthetic_pairs(lines)):
                    file.write(f"{' '.join(english.split()[:4])} {number}\n")  # short, and no two are equal
            outputs = []
            for processes in (1, 2):
                out = Path(folder) / f"{lines}.{processes}"
                options = ["--beam", "1", "--threads", "1", "--device", "cpu", "--quiet"]
                began = time.perf_counter()
                used = usage(
                    ["translate", arguments.run, "-i", source, "-o", out, *options],
                    processes,
                    "--processes",
                )
                seconds = time.perf_counter() - began
                outputs.append(out.read_bytes())
                total = used.own_seconds + used.worker_seconds
                print(
                    f"| {lines:,} | {processes} | {total:.1f} s | {seconds:.0f} s | {used.memory / 1e6:,.0f} MB |",
                    flush=True,
                )
            assert outputs[0] == outputs[1]


if __name__ == "__main__":
    main()
