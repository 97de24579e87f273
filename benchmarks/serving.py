"""`nmt serve` under load: throughput, latency and memory, as ratios to the library on the same lines.

    python benchmarks/serving.py MODEL                    # a run directory or an exported model
    python benchmarks/serving.py MODEL --clients 1 8 32   # numbers of clients
    python benchmarks/serving.py MODEL --soak 20000       # many requests: errors, and growth of memory

The server is a process of its own with one thread for the model; clients are threads with one connection each, and
send one line per request, then the next. The library translates the same lines in this process before and after each
measurement, with batches for throughput and line by line for latency, so that a busy machine slows both alike.
`--batch-lines 1` of the server is one request at a time. All of it shares the cores.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from nmt_cli.export.opening import is_export
from nmt_cli.server.models import ServedModel, load_model

LINES = 600
SHORT = 40  # characters


class Load(NamedTuple):
    """What clients saw."""

    seconds: float
    latencies: list[float]
    errors: int

    @property
    def throughput(self) -> float:
        """Lines per second."""
        return len(self.latencies) / self.seconds


@contextmanager
def server(model: Path, *options: str) -> Iterator[tuple[int, int]]:
    """A server process: its port and its id."""
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
            yield int(line.split(":")[2].split()[0]), process.pid
        finally:
            process.terminate()


def load(port: int, pair: tuple[str, str], lines: Sequence[str], clients: int) -> Load:
    """All lines, each in a request of its own, by so many clients at once."""
    waiting = iter(lines)
    lock = threading.Lock()
    latencies: list[float] = []
    errors = 0

    def client() -> None:
        nonlocal errors
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
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
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Load(time.perf_counter() - start, latencies, errors)


def library_throughput(model: ServedModel, lines: Sequence[str]) -> float:
    """Lines per second in batches, as `nmt translate` makes them."""
    start = time.perf_counter()
    model.translate(lines, None, 1)
    return len(lines) / (time.perf_counter() - start)


def library_latency(model: ServedModel, lines: Sequence[str]) -> float:
    """The median time of a line on its own."""
    seconds = []
    for line in lines:
        start = time.perf_counter()
        model.translate([line], None, 1)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def between(measure: Callable[[], float], work: Callable[[], Load]) -> tuple[float, Load]:
    """The mean of a measurement before and after the work, and the work."""
    before = measure()
    done = work()
    return (before + measure()) / 2, done


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
    mixed = text.read_text("utf-8").splitlines()[: arguments.lines]
    short = [line for line in mixed if len(line) <= SHORT] or mixed
    if arguments.soak:
        print_soak(arguments.model, pair, short, arguments.soak)
        return
    kind = "exported model" if is_export(arguments.model) else "run directory"
    for name, lines in (("short", (short * 9)[: arguments.lines]), ("mixed", mixed)):
        print(f"\n{kind}, {len(lines)} {name} lines, beam {model.beam_size}\n")
        print_loads(arguments.model, model, lines, arguments.clients)


def print_loads(path: Path, model: ServedModel, lines: Sequence[str], clients: Sequence[int]) -> None:
    """A row for each number of clients, then one request at a time."""
    pair = model.source, model.target
    print(
        "| clients | lines/s | × library in batches | median ms | × library, line by line | 99% ms | errors |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    batched = 0.0
    with server(path) as (port, _):
        load(port, pair, lines[:50], 4)  # warm up
        for count in clients:
            some = lines if count > 1 else lines[: len(lines) // 4]
            speed, done = between(
                lambda: library_throughput(model, lines), lambda n=count, some=some: load(port, pair, some, n)
            )
            latency = library_latency(model, lines[:60])
            print(_row(str(count), done, speed, latency))
            if count == 32:
                batched = done.throughput / speed
    with server(path, "--batch-lines", "1") as (port, _):
        load(port, pair, lines[:50], 4)
        speed, done = between(lambda: library_throughput(model, lines), lambda: load(port, pair, lines, 32))
        print(_row("32, one at a time", done, speed, library_latency(model, lines[:60])))
        print(f"\nbatching: {batched / (done.throughput / speed):.1f} × one request at a time")


def _row(name: str, done: Load, speed: float, latency: float) -> str:
    median = statistics.median(done.latencies)
    slowest = sorted(done.latencies)[int(0.99 * len(done.latencies))]
    return (
        f"| {name} | {done.throughput:.0f} | {done.throughput / speed:.2f} | {1000 * median:.1f} "
        f"| {median / latency:.2f} | {1000 * slowest:.0f} | {done.errors} |"
    )


def print_soak(path: Path, pair: tuple[str, str], lines: Sequence[str], requests: int) -> None:
    """Memory after each tenth of many requests."""
    print("| requests | errors | MB | lines/s |\n| ---: | ---: | ---: | ---: |")
    with server(path) as (port, pid):
        done = errors = 0
        while done < requests:
            some = [lines[i % len(lines)] for i in range(done, min(requests, done + max(1, requests // 10)))]
            result = load(port, pair, some, 32)
            done, errors = done + len(some), errors + result.errors
            print(f"| {done:,} | {errors} | {memory(pid):.1f} | {result.throughput:.0f} |", flush=True)


if __name__ == "__main__":
    main()
