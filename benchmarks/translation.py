"""Speed of translation: our search against that of other toolkits, and the whole command.

    python benchmarks/training_step.py --install-peers ~/.cache/nmt-peers  # once
    python benchmarks/translation.py                                       # search: same ids, same sizes
    python benchmarks/translation.py --exported DIR                        # the same with an exported model
    python benchmarks/translation.py --command RUN_DIR                     # `nmt translate` itself

Search: an encoder of one bidirectional layer, a decoder of one layer, attention, fresh weights, each system in a
process of its own with its own search. The sentences are those of test_2016_flickr; every translation ends when it
is as long as its source, by the logit of <eos>, so all say the same number of tokens and each does with finished
sentences what it always does. Batches are made as a system's own command makes them: of sentences of similar length
(OpenNMT-py sorts 16384 lines, fairseq the whole file, we 2000), or of lines that follow each other (Joey NMT), here
of the same number of sentences for all. All see the same environment: threads that wait spin for a moment and then
sleep, which for us is as fast as torch's default on quiet cores and does not collapse on busy ones. They take turns
after every batch, or after all single lines; ratios are medians over the rounds. On a busy machine read the columns
of CPU time. An exported model has its own weights and shortlist, and the sentences are encoded with its vocabulary,
for all systems.

Command: start-up is the time for no input, and what of it is spent on imports; lines/s are without it. Memory is
the peak of the process.
"""

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import peers
from peers import install

HERE = Path(__file__).resolve().parent
SIZES = {"vocabulary": 8000, "embedding": 256, "hidden": 512}
WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "10000"}  # as `nmt` sets it
Batch = list[int]  # numbers of sentences


@dataclass(frozen=True)
class System:
    """A row of the table."""

    name: str
    module: str
    options: dict[str, Any] = field(default_factory=dict)
    sorts: bool = True  # whether its command makes batches of similar lengths


def _toolkit(cell: str, attention: str, feeding: bool) -> dict[str, Any]:
    return {"cell": cell, "layers": 1, "attention": attention, "feeding": feeding}


_OURS = {
    "preset": "luong2015",
    "cell": "gru",
    "encoder_layers": 1,
    "decoder_layers": 1,
    "input_feeding": False,
}
_FEEDING = {**_OURS, "cell": "lstm", "input_feeding": True}
SYSTEMS: tuple[System, ...] = (
    System("luong2015 gru×1, no feeding", "ours", _OURS),
    System("the same, int8", "ours", {**_OURS, "int8": True}),
    System("luong2015 lstm×1, feeding", "ours", _FEEDING),
    System("the same, int8", "ours", {**_FEEDING, "int8": True}),
    System("OpenNMT-py general, no feeding", "opennmt_py", _toolkit("GRU", "general", False)),
    System("fairseq LSTM, feeding", "fairseq_lstm", {"layers": 1}),
    System("Joey NMT general, no feeding", "joey", _toolkit("GRU", "luong", False), sorts=False),
)


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = peers.parser(__doc__)
    add = parser.add_argument
    add("--command", type=Path, metavar="RUN_DIR", help="measure `nmt translate` with this run instead")
    add("--exported", type=Path, metavar="DIR", help="compare with this exported model too")
    add("--lines", type=int, default=1000, help="10000: all of the test set ten times")
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
    sentences, systems = _ids(lines, arguments.exported), SYSTEMS
    if arguments.exported:
        options = {"folder": str(arguments.exported.resolve())}
        systems = (*SYSTEMS, System(f"exported: {arguments.exported.name}", "exported", options))
    absent = {s.module for s in systems if not _python(s, arguments.peers).exists()}
    if absent:
        print(f"left out, not installed in {arguments.peers}: {', '.join(sorted(absent))}")
    by_length = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    batches = {
        sorts: _batches(sentences, order, arguments.batch)
        for sorts, order in ((True, by_length), (False, list(range(len(sentences)))))
    }
    singles = [[row] for row in range(0, len(sentences), max(1, len(sentences) // arguments.singles))]
    turns = {sorts: [[batch] for batch in some] for sorts, some in batches.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentences.json"
        path.write_text(json.dumps(sentences))
        for beam in (1, 5):
            rows = [Process(s, path, beam, arguments) for s in systems if s.module not in absent]
            try:
                _compare(
                    rows, turns, sentences, arguments.rounds, f"beam {beam}, batches of {arguments.batch}"
                )
                alone = {True: [singles], False: [singles]}
                _compare(rows, alone, sentences, arguments.rounds, f"beam {beam}, one line at a time")
            finally:
                for row in rows:
                    row.end()


def _batches(sentences: list[list[int]], order: list[int], size: int) -> list[Batch]:
    """Cut in this order; within a batch the longest comes first."""
    cut = [order[i : i + size] for i in range(0, len(order), size)]
    return [sorted(batch, key=lambda row: -len(sentences[row])) for batch in cut]


def _compare(
    rows: list["Process"],
    turns: dict[bool, list[list[Batch]]],  # for systems that sort and for those that do not
    sentences: list[list[int]],
    rounds: int,
    title: str,
) -> None:
    for row in rows:
        row.rounds = []
        row.run(turns[row.system.sorts][0])  # a warm-up
    for _ in range(rounds):
        for row in rows:
            row.rounds.append({"wall": 0.0, "cpu": 0.0})
        for turn in range(len(turns[True])):
            for row in rows:
                answer = row.run(turns[row.system.sorts][turn])
                for clock in ("wall", "cpu"):
                    row.rounds[-1][clock] += answer[clock]
    translated = [number for turn in turns[True] for batch in turn for number in batch]
    tokens = sum(len(sentences[number]) + 1 for number in translated)
    print(f"\n{title}: {len(translated)} lines, {tokens} tokens\n{_HEAD}")
    for row in rows:
        print(row.line(rows[0], len(translated), tokens), flush=True)


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
            env=os.environ | WAITING | {"OMP_NUM_THREADS": threads},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self._answer()

    def run(self, batches: list[Batch]) -> dict[str, float]:
        """Translate some batches."""
        assert self.worker.stdin is not None
        print(json.dumps(batches), file=self.worker.stdin, flush=True)
        answer, wanted = self._answer(), sum(map(len, batches))
        if answer["found"] != wanted:
            sys.exit(
                f"{self.system.name} found {answer['found']} translations of {wanted} of the right length"
            )
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
    print(f"start-up {nothing:.2f} s; imports, in seconds: {_imports(run)}")
    for options in (["--beam", "1"], ["--beam", "1", "--int8"], ["--beam", "5"], ["--beam", "5", "--int8"]):
        for times in (1, 10):
            text = [f"{line} {i}" if i else line for i in range(times) for line in lines]  # no line twice
            seconds, megabytes = _command(run, text, threads, *options)
            print(
                f"{' '.join(options):16} {len(text):6,} lines  {len(text) / (seconds - nothing):7.1f} lines/s  "
                f"peak {megabytes:,.0f} MB",
                flush=True,
            )


def _imports(run: Path) -> str:
    """What `nmt translate` imports, by top-level package, with what each spends on its own modules."""
    command = [sys.executable, "-X", "importtime", "-m", "nmt_cli", "translate", str(run), "-q"]
    log = subprocess.run(command, input=b"", capture_output=True, check=True).stderr.decode()
    spent: dict[str, float] = {}
    for line in log.splitlines():
        match = re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\w+)", line)
        if match:
            spent[match[2]] = spent.get(match[2], 0.0) + int(match[1]) / 1e6
    largest = sorted(spent.items(), key=lambda item: -item[1])
    rest = sum(seconds for _, seconds in largest[6:])
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in largest[:6]) + f", all others {rest:.2f}"


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
    """Seconds, and the peak memory of the process in megabytes."""
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=file, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds, usage.ru_maxrss / 1024


def _lines(data: Path, count: int) -> list[str]:
    file = data / "multi30k" / "test_2016_flickr.de.gz"
    if file.exists():
        test_set = gzip.decompress(file.read_bytes()).decode().split("\n")[:-1]
        return (test_set * -(-count // len(test_set)))[:count]
    from nmt_cli.demo import generate

    return [german for _, german in generate(count + 10).train][:count]


def _ids(lines: list[str], exported: Path | None) -> list[list[int]]:
    """Sentences as ids below 8000, about as long as in a real vocabulary: one for each word and mark."""
    if exported is not None:
        from nmt_cli.runtime.model import Model

        return Model(exported).source.encode(lines)
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
