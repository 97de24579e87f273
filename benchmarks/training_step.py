"""Speed and memory of one training step: our presets, a plain PyTorch loop, other toolkits, the GEMM limit.

    python benchmarks/training_step.py --install-peers ~/.cache/nmt-peers  # once
    python benchmarks/training_step.py
    python benchmarks/training_step.py --only plain,bahdanau --rounds 10

A step is zero_grad, forward, loss, backward, clipping, Adam, the same for all, without dropout, in float32.
All systems get the same batches, each in a process of its own, and take turns after every step. Shown are
medians over the rounds, of ratios too: other work on the machine disturbs both sides alike. On
a busy machine only the columns of CPU time mean something, and `range` (least and greatest ratio of a round)
says how much. Tokens are real target tokens.

GEMM limit: floating-point operations of the model's matrix products on real tokens, forward and backward,
at the rate of a big matrix product measured in the same round. Memory: how far ru_maxrss rises in the first
steps over what the process, the model, its gradients and Adam's moments take (Linux only).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import peers
from peers import batches, corpus, install
from peers.gemm import OPERATIONS

HERE = Path(__file__).resolve().parent
VOCABULARY, EMBEDDING, HIDDEN, BATCH_TOKENS = 8000, 256, 512, 4096


@dataclass(frozen=True)
class System:
    """A row of the table: a module of `peers/` and what it is to build."""

    name: str
    module: str
    options: dict[str, Any] = field(default_factory=dict)


_SAME_READOUT = {"readout": "tanh", "readout_size": HIDDEN}
_GRU = {"cell": "gru", "encoder_layers": 1, "decoder_layers": 1}
_FEEDING = {"input_feeding": True}


def _toolkit(cell: str, layers: int, attention: str, feeding: bool) -> dict[str, Any]:
    return {"cell": cell, "layers": layers, "attention": attention, "feeding": feeding}


PLAIN = System("plain PyTorch loop, additive", "plain")
# A bidirectional encoder of one GRU layer, a decoder of one GRU layer, attention (fairseq: LSTM).
ONE_LAYER = (
    PLAIN,
    System("bahdanau2015, same readout", "ours", {"preset": "bahdanau2015", **_SAME_READOUT}),
    System("luong2015 gru×1, no feeding", "ours", {"preset": "luong2015", **_GRU}),
    System("luong2015 gru×1, feeding", "ours", {"preset": "luong2015", **_GRU, **_FEEDING}),
    System("OpenNMT-py general, no feeding", "opennmt_py", _toolkit("GRU", 1, "general", False)),
    System("OpenNMT-py additive, no feeding", "opennmt_py", _toolkit("GRU", 1, "mlp", False)),
    System("OpenNMT-py general, feeding", "opennmt_py", _toolkit("GRU", 1, "general", True)),
    System("OpenNMT-py additive, feeding", "opennmt_py", _toolkit("GRU", 1, "mlp", True)),
    System("Eole general, no feeding", "eole_rnn", _toolkit("GRU", 1, "general", False)),
    System("Eole general, feeding", "eole_rnn", _toolkit("GRU", 1, "general", True)),
    System("Joey NMT general, no feeding", "joey", _toolkit("GRU", 1, "luong", False)),
    System("Joey NMT additive, feeding", "joey", _toolkit("GRU", 1, "bahdanau", True)),
    System("fairseq LSTM, feeding", "fairseq_lstm", {"layers": 1}),
)
# The presets as they are, and their likes in the fastest toolkits.
PRESETS = (
    System("sutskever2014", "ours", {"preset": "sutskever2014"}),
    System("cho2014", "ours", {"preset": "cho2014"}),
    System("bahdanau2015", "ours", {"preset": "bahdanau2015"}),
    System("luong2015", "ours", {"preset": "luong2015"}),
    System("luong2015, feeding", "ours", {"preset": "luong2015", **_FEEDING}),
    System("gnmt2016", "ours", {"preset": "gnmt2016"}),
    System("OpenNMT-py lstm×2 general, no feeding", "opennmt_py", _toolkit("LSTM", 2, "general", False)),
    System("OpenNMT-py lstm×2 general, feeding", "opennmt_py", _toolkit("LSTM", 2, "general", True)),
    System("Eole lstm×2 general, no feeding", "eole_rnn", _toolkit("LSTM", 2, "general", False)),
    System("fairseq lstm×2, feeding", "fairseq_lstm", {"layers": 2}),
)


def main() -> None:
    """Parse the arguments, install or measure, print the tables."""
    parser = peers.parser(__doc__)
    add = parser.add_argument
    add("--install-peers", type=Path, metavar="DIR", help="make the toolkits' virtual environments, and stop")
    add("--only", default="", help="rows whose name or module contains one of these texts, by commas")
    add("--rounds", type=int, default=5)
    add("--batches", type=int, default=3, help="steps of a round")
    add("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.install_peers:
        install.install(
            arguments.install_peers, [name for name in install.PEERS if _wanted(name, arguments.only)], print
        )
    else:
        measure(arguments)


def measure(arguments: argparse.Namespace) -> None:
    """Run all systems in turn and print the two tables."""
    systems = [
        s for s in ONE_LAYER + PRESETS if s is PLAIN or _wanted(f"{s.name} {s.module}", arguments.only)
    ]
    absent = {s.module for s in systems if not _python(s, arguments.peers).exists()}
    name, pairs = corpus.first_batches(
        Path(arguments.data), arguments.batches, vocabulary=VOCABULARY, tokens=BATCH_TOKENS
    )
    shape = batches.Shape.of(pairs)
    print(
        f"{name}: {len(pairs)} batches of {shape.sentences / len(pairs):.0f} pairs and "
        f"{shape.target / len(pairs):.0f} real target tokens; "
        f"{arguments.threads} threads, {arguments.rounds} rounds"
    )
    if absent:
        print(
            f"left out, not installed in {arguments.peers}: {', '.join(sorted(absent))} (--install-peers DIR)"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batches.npz"
        batches.save(path, pairs)
        gemm = Process(System("gemm", "gemm"))
        rows = {s.name: Process(s) for s in systems if s.module not in absent}
        try:
            for process in (gemm, *rows.values()):
                process.start(path, arguments)
                print(f"{process.system.name} is ready", file=sys.stderr)
            for _ in range(arguments.rounds):
                for process in (gemm, *rows.values()):
                    process.rounds.append({"wall": 0.0, "cpu": 0.0})
                for index in range(len(pairs)):
                    for process in (gemm, *rows.values()):
                        process.run(index)
        finally:
            for process in (gemm, *rows.values()):
                process.end()
    peak = {clock: OPERATIONS * len(pairs) / gemm.median(clock) / 1e9 for clock in ("wall", "cpu")}
    print(f"GEMM peak: {peak['wall']:.0f} GFLOP/s, {peak['cpu']:.0f} GFLOP per CPU-second")
    for title, group in (("one GRU layer a side, with attention", ONE_LAYER), ("presets", PRESETS)):
        print(f"\n{title}\n{_HEAD}")
        for system in group:
            if system.name in rows:
                print(rows[system.name].line(rows[PLAIN.name], gemm, shape.target, len(pairs)))


class Process:
    """A worker and what it has answered."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.worker: subprocess.Popen[str] | None = None
        self.facts: dict[str, Any] = {}
        self.rounds: list[dict[str, float]] = []
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115  lives as long as the process

    def start(self, path: Path, arguments: argparse.Namespace) -> None:
        """Build the model and warm it up."""
        sizes = {"vocabulary": VOCABULARY, "embedding": EMBEDDING, "hidden": HIDDEN}
        options = json.dumps(sizes | self.system.options)
        python, threads = _python(self.system, arguments.peers), str(arguments.threads)
        self.worker = subprocess.Popen(
            [python, "-m", "peers.worker", self.system.module, path, threads, options],
            cwd=HERE,
            # Spinning OpenMP threads collapse where cores are shared.
            env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": threads},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.facts = self._answer()
        self.facts |= self._ask("memory")

    def run(self, index: int) -> None:
        """One step, added to the last round."""
        answer = self._ask(str(index))
        for clock in ("wall", "cpu"):
            self.rounds[-1][clock] += answer[clock]

    def end(self) -> None:
        """Let it go."""
        if self.worker is not None:
            assert self.worker.stdin is not None
            self.worker.stdin.close()
            self.worker.wait()
        self.log.close()

    def median(self, key: str) -> float:
        """The median of what the rounds had for `key`."""
        return statistics.median(answer[key] for answer in self.rounds)

    def line(self, plain: "Process", gemm: "Process", tokens: int, steps: int) -> str:
        """A row of the table."""
        cells = [f"{self.system.name:40}"]
        cells += [f"{tokens / self.median(clock):8,.0f}" for clock in ("wall", "cpu")]
        for clock in ("wall", "cpu"):
            ratios = [p[clock] / own[clock] for p, own in zip(plain.rounds, self.rounds, strict=True)]
            cells.append(f"{statistics.median(ratios):7.2f}")
        cells.append(f"{f'{min(ratios):.2f}–{max(ratios):.2f}':>10}")  # of the CPU time
        for clock in ("wall", "cpu"):
            cells.append(self._share_of_limit(gemm, clock, steps))
        cells.append(f"{self.facts['megabytes']:7,.0f}")
        return " ".join(cells)

    def _share_of_limit(self, gemm: "Process", clock: str, steps: int) -> str:
        if not self.facts["operations"]:
            return " " * 7
        limit = self.facts["operations"] / (OPERATIONS * steps)  # in the unit of which `gemm` did one a step
        shares = (limit * g[clock] / own[clock] for g, own in zip(gemm.rounds, self.rounds, strict=True))
        return f"{statistics.median(shares):7.0%}"

    def _ask(self, order: str) -> dict[str, Any]:
        assert self.worker is not None
        assert self.worker.stdin is not None
        print(order, file=self.worker.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.worker is not None
        assert self.worker.stdout is not None
        line = self.worker.stdout.readline()
        if not line:
            self.log.seek(0)
            sys.exit(f"{self.system.name} has failed:\n{self.log.read()[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _python(system: System, peers: Path) -> Path:
    return (
        install.python_of(Path(peers), system.module)
        if system.module in install.PEERS
        else Path(sys.executable)
    )


def _wanted(name: str, only: str) -> bool:
    return any(part.strip() in name for part in only.split(","))


_COLUMNS = {
    "tokens/s": 9,
    "/CPU-s": 8,
    "× plain": 8,
    "(CPU)": 6,
    "range": 10,
    "of GEMM": 8,
    "(CPU) ": 7,
    "MB": 6,
}
_HEAD = " " * 40 + " ".join(f"{title:>{width}}" for title, width in _COLUMNS.items())

if __name__ == "__main__":
    main()
