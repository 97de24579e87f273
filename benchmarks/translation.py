"""Speed of translation: our search against that of other toolkits, and the whole command.

    python benchmarks/training_step.py --install-peers ~/.cache/nmt-peers  # once
    python benchmarks/translation.py                                       # search: same ids, same sizes
    python benchmarks/translation.py --command RUN_DIR                     # `nmt translate` itself

Search: an encoder of one bidirectional layer, a decoder of one layer, attention, fresh weights, the same
sentences, sorted by length, in the same batches, each system in a process of its own with its own search. Every
translation is forced to the length of the longest source of its batch, so all do the same number of steps. They
take turns after every batch; ratios are medians over the rounds. On a busy machine read the columns of CPU
time.

Command: start-up is the time for no input; lines/s are without it. Memory is the peak of the process.
"""

import argparse
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peers import install

HERE = Path(__file__).resolve().parent
SIZES = {"vocabulary": 8000, "embedding": 256, "hidden": 512}


@dataclass(frozen=True)
class System:
    """A row of the table."""

    name: str
    module: str
    options: dict[str, Any] = field(default_factory=dict)


def _toolkit(cell: str, attention: str, feeding: bool) -> dict[str, Any]:
    return {"cell": cell, "layers": 1, "attention": attention, "feeding": feeding}


_OURS = {
    "preset": "luong2015",
    "cell": "gru",
    "encoder_layers": 1,
    "decoder_layers": 1,
    "input_feeding": False,
}
OURS = System("luong2015 gru×1, no feeding", "ours", _OURS)
SYSTEMS = (
    OURS,
    System("the same, int8", "ours", {**_OURS, "int8": True}),
    System("luong2015 lstm×1, feeding", "ours", {**_OURS, "cell": "lstm", "input_feeding": True}),
    System("OpenNMT-py general, no feeding", "opennmt_py", _toolkit("GRU", "general", False)),
    System("fairseq LSTM, feeding", "fairseq_lstm", {"layers": 1}),
    System("Joey NMT general, no feeding", "joey", _toolkit("GRU", "luong", False)),
)


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, default=os.environ.get("NMT_TEST_DATA", HERE.parent.parent / "shared" / "data"))
    add("--peers", type=Path, default=os.environ.get("NMT_PEERS", Path.home() / ".cache" / "nmt-peers"))
    add("--command", type=Path, metavar="RUN_DIR", help="measure `nmt translate` with this run instead")
    add("--lines", type=int, default=1000)
    add("--batch", type=int, default=64, help="sentences of a batch")
    add("--singles", type=int, default=20, help="lines translated one at a time")
    add("--rounds", type=int, default=3)
    add("--threads", type=int, default=2)
    arguments = parser.parse_args()
    lines = _lines(Path(arguments.data), arguments.lines)
    if arguments.command:
        measure_command(arguments.command, lines, arguments.threads)
    else:
        measure_search(arguments, lines)


def measure_search(arguments: argparse.Namespace, lines: list[str]) -> None:
    """A table for each of greedy and beam 5, in batches and one line at a time."""
    sentences = sorted(_ids(lines), key=len, reverse=True)
    absent = {s.module for s in SYSTEMS if not _python(s, arguments.peers).exists()}
    if absent:
        print(f"left out, not installed in {arguments.peers}: {', '.join(sorted(absent))}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentences.json"
        path.write_text(json.dumps(sentences))
        for beam in (1, 5):
            batches = [
                (i, min(i + arguments.batch, len(sentences)))
                for i in range(0, len(sentences), arguments.batch)
            ]
            step = max(1, len(sentences) // arguments.singles)
            singles = [(i, i + 1) for i in range(0, len(sentences), step)]
            rows = [Process(s, path, beam, arguments) for s in SYSTEMS if s.module not in absent]
            try:
                for title, orders in (
                    (f"batches of {arguments.batch}", batches),
                    ("one line at a time", singles),
                ):
                    _compare(rows, orders, sentences, arguments.rounds, f"beam {beam}, {title}")
            finally:
                for row in rows:
                    row.end()


def _compare(
    rows: list["Process"], orders: list[tuple[int, int]], sentences: list[list[int]], rounds: int, title: str
) -> None:
    for row in rows:
        row.rounds = []
        row.run(*orders[0])  # a warm-up
    for _ in range(rounds):
        for row in rows:
            row.rounds.append({"wall": 0.0, "cpu": 0.0})
        for order in orders:
            for row in rows:
                answer = row.run(*order)
                for clock in ("wall", "cpu"):
                    row.rounds[-1][clock] += answer[clock]
    lines = sum(last - first for first, last in orders)
    tokens = sum((last - first) * max(map(len, sentences[first:last])) for first, last in orders)
    print(f"\n{title}: {lines} lines, {tokens} tokens\n{_HEAD}")
    for row in rows:
        print(row.line(rows[0], lines, tokens))


class Process:
    """A worker and what it has answered."""

    def __init__(self, system: System, path: Path, beam: int, arguments: argparse.Namespace) -> None:
        self.system, self.rounds, self.peak = system, list[dict[str, float]](), 0.0
        options = json.dumps({"sizes": SIZES, "beam": beam, **system.options})
        threads = str(arguments.threads)
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115  lives as long as the process
        self.worker = subprocess.Popen(
            [
                _python(system, arguments.peers),
                "-m",
                "peers.translation_worker",
                system.module,
                path,
                threads,
                options,
            ],
            cwd=HERE,
            # Spinning OpenMP threads collapse where cores are shared.
            env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": threads},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self._answer()

    def run(self, first: int, last: int) -> dict[str, float]:
        """Translate sentences as one batch."""
        assert self.worker.stdin is not None
        print(first, last, file=self.worker.stdin, flush=True)
        answer = self._answer()
        if answer["found"] != last - first:
            sys.exit(f"{self.system.name} found {answer['found']} translations of {last - first}")
        self.peak = answer["peak"]
        return answer

    def end(self) -> None:
        """Let it go."""
        assert self.worker.stdin is not None
        self.worker.stdin.close()
        self.worker.wait()
        self.log.close()

    def line(self, first: "Process", lines: int, tokens: int) -> str:
        """A row of the table; ratios say how many times as fast the first row is."""
        cells = [f"{self.system.name:32}"]
        for clock in ("wall", "cpu"):
            cells.append(f"{lines / statistics.median(r[clock] for r in self.rounds):8,.1f}")
        cells.append(f"{tokens / statistics.median(r['wall'] for r in self.rounds):9,.0f}")
        for clock in ("wall", "cpu"):
            ratios = [own[clock] / ref[clock] for own, ref in zip(self.rounds, first.rounds, strict=True)]
            cells.append(f"{statistics.median(ratios):8.2f}")
        cells.append(f"{f'{min(ratios):.2f}–{max(ratios):.2f}':>11}")  # of the CPU time
        cells.append(f"{1000 * statistics.median(r['wall'] for r in self.rounds) / lines:8.1f}")
        cells.append(f"{self.peak:7,.0f}")
        return " ".join(cells)

    def _answer(self) -> dict[str, Any]:
        assert self.worker.stdout is not None
        line = self.worker.stdout.readline()
        if not line:
            self.log.seek(0)
            sys.exit(f"{self.system.name} has failed:\n{self.log.read()[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def measure_command(run: Path, lines: list[str], threads: int) -> None:
    """Start-up, lines a second and peak memory of `nmt translate`."""
    nothing = min(_command(run, [], threads)[0] for _ in range(3))
    torch = min(_time([sys.executable, "-c", "import torch"], b"")[0] for _ in range(3))
    print(f"start-up {nothing:.2f} s, of it `import torch` {torch:.2f} s")
    for options in (["--beam", "1"], ["--beam", "5"], ["--beam", "5", "--int8"]):
        for times in (1, 10):
            text = [f"{line} {i}" if i else line for i in range(times) for line in lines]  # no line twice
            seconds, megabytes = _command(run, text, threads, *options)
            print(
                f"{' '.join(options):16} {len(text):6,} lines  {len(text) / (seconds - nothing):7.1f} lines/s  "
                f"peak {megabytes:,.0f} MB"
            )


def _command(run: Path, lines: list[str], threads: int, *options: str) -> tuple[float, float]:
    command = [
        sys.executable,
        "-m",
        "nmt_cli",
        "translate",
        str(run),
        "--threads",
        str(threads),
        "-q",
        *options,
    ]
    return _time(command, "".join(f"{line}\n" for line in lines).encode())


def _time(command: list[str], text: bytes) -> tuple[float, float]:
    """Seconds, and the peak memory of the largest child so far in megabytes."""
    began = time.perf_counter()
    subprocess.run(command, input=text, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _lines(data: Path, count: int) -> list[str]:
    file = data / "multi30k" / "test_2016_flickr.de.gz"
    if file.exists():
        return gzip.decompress(file.read_bytes()).decode().split("\n")[:-1][:count]
    from nmt_cli.demo import generate

    return [german for _, german in generate(count + 10).train][:count]


def _ids(lines: list[str]) -> list[list[int]]:
    """Sentences as ids below 8000, about as long as in a real vocabulary: one for each word and mark."""
    from nmt_cli.config import VocabularyConfig
    from nmt_cli.vocabulary import Vocabulary

    ids = Vocabulary.train(lines, VocabularyConfig(size=2000)).encode(lines)
    return [ids[i].tolist() for i in range(len(ids))]


def _python(system: System, peers: Path) -> Path:
    if system.module in install.PEERS:
        return install.python_of(Path(peers), system.module)
    return Path(sys.executable)


_COLUMNS = {
    "lines/s": 40,
    "/CPU-s": 8,
    "tokens/s": 9,
    "× slower": 8,
    "(CPU)": 8,
    "range": 11,
    "ms/line": 8,
    "MB": 7,
}
_HEAD = " ".join(f"{title:>{width}}" for title, width in _COLUMNS.items())

if __name__ == "__main__":
    main()
