"""`nmt serve` under load: throughput, latency and memory, as ratios to the library on the same lines.

    python benchmarks/serving.py MODEL                    # a run directory or an exported model
    python benchmarks/serving.py MODEL --clients 1 8 32   # numbers of clients
    python benchmarks/serving.py MODEL --soak 20000       # many requests: errors, and growth of memory

The server is a process of its own with one thread for the model; clients are threads of this process with one
connection each, and send one line per request, then the next. The library translates the same lines in this process
before and after each measurement, in batches and line by line, so that a busy machine slows both alike. Ratios of CPU
time count all that the server does, HTTP included, and do not depend on what else the machine is doing.
`--batch-lines 1` of the server is one request at a time.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from nmt_cli.export.opening import is_export
from nmt_cli.server.models import ServedModel, load_model

LINES = 600
SHORT = 40  # characters


class Load(NamedTuple):
    """What clients saw, and the CPU time of the server."""

    seconds: float
    latencies: list[float]
    errors: int
    cpu: float

    @property
    def throughput(self) -> float:
        """Lines per second."""
        return len(self.latencies) / self.seconds

    @property
    def cpu_per_line(self) -> float:
        """CPU seconds."""
        return self.cpu / len(self.latencies)


class Alone(NamedTuple):
    """The library on the same lines: seconds and CPU seconds per line, in batches and one by one."""

    batched: float
    batched_cpu: float
    single: float
    single_cpu: float


class Server(NamedTuple):
    """A server process."""

    port: int
    pid: int


@contextmanager
def server(model: Path, *options: str) -> Iterator[Server]:
    """Start a server, and stop it in the end."""
    command = [
        sys.executable,
        "-m",
        "nmt_cli",
        "serve",
        str(model),
        "--port",
        "0",
        "--threads",
        "1",
        *options,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        try:
            yield Server(int(line.split(":")[2].split()[0]), process.pid)
        finally:
            process.terminate()


def load(target: Server, pair: tuple[str, str], lines: Sequence[str], clients: int) -> Load:
    """All lines, each in a request of its own, by so many clients at once."""
    waiting = iter(lines)
    lock = threading.Lock()
    latencies: list[float] = []
    errors = 0

    def client() -> None:
        nonlocal errors
        connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=600)
        while True:
            with lock:
                line = next(waiting, None)
            if line is None:
                return
            body = json.dumps({"q": line, "source": pair[0], "target": pair[1]})
            start = time.perf_counter()
            try:
                connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                good = response.status == 200 and "translatedText" in json.loads(response.read())
            except (OSError, http.client.HTTPException):
                good = False
                connection.close()
            seconds = time.perf_counter() - start
            with lock:
                latencies.append(seconds)
                errors += not good

    threads = [threading.Thread(target=client) for _ in range(clients)]
    start, cpu = time.perf_counter(), cpu_seconds(target.pid)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Load(time.perf_counter() - start, latencies, errors, cpu_seconds(target.pid) - cpu)


def library(model: ServedModel, lines: Sequence[str], single: Sequence[str]) -> Alone:
    """The same lines without a server, in batches and one by one."""
    start, cpu = time.perf_counter(), time.process_time()
    model.translate(lines, None, 1)
    batched = (time.perf_counter() - start) / len(lines), (time.process_time() - cpu) / len(lines)
    latencies = []
    cpu = time.process_time()
    for line in single:
        start = time.perf_counter()
        model.translate([line], None, 1)
        latencies.append(time.perf_counter() - start)
    return Alone(*batched, statistics.median(latencies), (time.process_time() - cpu) / len(single))


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and all of its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Resident memory of a process in MB."""
    fields = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("--text", type=Path, help="lines to translate (default: the test set of a run)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--soak", type=int, default=0, metavar="REQUESTS")
    arguments = parser.parse_args()
    model = load_model(arguments.model, search={}, device="cpu", int8=False, threads=1)
    pair = model.source, model.target
    text = arguments.text or arguments.model / f"test.{pair[0]}"
    found = list(dict.fromkeys(text.read_text("utf-8").splitlines()))
    mixed = found[: arguments.lines]
    short = [line for line in found if len(line) <= SHORT][: arguments.lines] or mixed
    if arguments.soak:
        print_soak(arguments.model, pair, short, arguments.soak)
        return
    kind = "exported model" if is_export(arguments.model) else "run directory"
    for name, lines in (("short", short), ("mixed", mixed)):
        print(f"\n{kind}, {len(lines)} {name} lines, beam {model.beam_size}\n")
        print_loads(arguments.model, model, lines, arguments.clients)


def print_loads(path: Path, model: ServedModel, lines: Sequence[str], clients: Sequence[int]) -> None:
    """A row for each number of clients, then one request at a time."""
    pair = model.source, model.target
    single = lines[:: max(1, len(lines) // 60)]
    print(
        "| clients | lines/s | × library in batches | the same in CPU time | median ms | × library, line by line "
        "| CPU × library, line by line | 99% ms | errors |\n" + "| ---: " * 9 + "|"
    )
    batched: Load | None = None
    with server(path) as target:
        load(target, pair, lines[:50], 4)  # warm up
        for count in clients:
            before = library(model, lines, single)
            done = load(target, pair, lines if count > 1 else single, count)
            print(_row(str(count), done, before, library(model, lines, single)), flush=True)
            batched = done if count == 32 else batched
    with server(path, "--batch-lines", "1") as target:
        load(target, pair, lines[:50], 4)
        before = library(model, lines, single)
        done = load(target, pair, lines, 32)
        print(_row("32, one at a time", done, before, library(model, lines, single)))
    if batched is not None:
        ratio, cpu = batched.throughput / done.throughput, done.cpu_per_line / batched.cpu_per_line
        print(f"\nbatching: {ratio:.1f} × one request at a time, in CPU time {cpu:.1f} ×")


def _row(name: str, done: Load, before: Alone, after: Alone) -> str:
    alone = Alone(*((one + other) / 2 for one, other in zip(before, after, strict=True)))
    median = statistics.median(done.latencies)
    slowest = sorted(done.latencies)[int(0.99 * len(done.latencies))]
    return (
        f"| {name} | {done.throughput:.0f} | {done.throughput * alone.batched:.2f} "
        f"| {alone.batched_cpu / done.cpu_per_line:.2f} | {1000 * median:.1f} | {median / alone.single:.2f} "
        f"| {done.cpu_per_line / alone.single_cpu:.2f} | {1000 * slowest:.0f} | {done.errors} |"
    )


def print_soak(path: Path, pair: tuple[str, str], lines: Sequence[str], requests: int) -> None:
    """Memory after each tenth of many requests."""
    print("| requests | errors | MB | lines/s |\n| ---: | ---: | ---: | ---: |")
    with server(path) as target:
        done = errors = 0
        while done < requests:
            some = [lines[i % len(lines)] for i in range(done, min(requests, done + max(1, requests // 10)))]
            result = load(target, pair, some, 32)
            done, errors = done + len(some), errors + result.errors
            print(f"| {done:,} | {errors} | {memory(target.pid):.1f} | {result.throughput:.0f} |", flush=True)


if __name__ == "__main__":
    main()
