"""Counters of a server in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LINES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Histogram:
    """How often values up to certain bounds were observed."""

    def __init__(self, bounds: Iterable[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str) -> Iterator[str]:
        """In Prometheus' format."""
        total = 0
        for bound, count in zip(self._bounds, self._counts, strict=False):
            total += count
            yield f'{name}_bucket{{le="{bound:g}"}} {total}'
        total += self._counts[-1]
        yield f'{name}_bucket{{le="+Inf"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """What the server has done since it started. Any thread may report to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds = Histogram(_SECONDS)
        self._batches = Histogram(_LINES)
        self._model_seconds = 0.0
        self.characters = 0
        self.in_flight = 0
        self.reloads = 0

    def request(self, endpoint: str, status: int, seconds: float) -> None:
        """A request was answered."""
        with self._lock:
            self._requests[endpoint, status] += 1
            self._seconds.observe(seconds)

    def batch(self, lines: int, seconds: float) -> None:
        """A batch was translated."""
        with self._lock:
            self._batches.observe(lines)
            self._model_seconds += seconds

    def text(self, waiting: int) -> str:
        """All of it; `waiting` lines are in the queues."""
        with self._lock:
            return "\n".join(self._lines(waiting)) + "\n"

    def _lines(self, waiting: int) -> Iterator[str]:
        yield from _head("nmt_requests_total", "counter", "Requests by endpoint and status.")
        for (endpoint, status), count in sorted(self._requests.items()):
            yield f'nmt_requests_total{{endpoint="{endpoint}",status="{status}"}} {count}'
        yield from _head("nmt_request_seconds", "histogram", "Time from a request to its answer.")
        yield from self._seconds.lines("nmt_request_seconds")
        yield from _head("nmt_batch_lines", "histogram", "Lines that were translated together.")
        yield from self._batches.lines("nmt_batch_lines")
        for name, kind, text, value in (
            (
                "nmt_model_seconds_total",
                "counter",
                "Time that models were busy.",
                f"{self._model_seconds:.6f}",
            ),
            ("nmt_characters_total", "counter", "Characters that were accepted.", self.characters),
            ("nmt_reloads_total", "counter", "Times that models were loaded again.", self.reloads),
            ("nmt_requests_in_flight", "gauge", "Requests that are being answered.", self.in_flight),
            ("nmt_queue_lines", "gauge", "Lines that wait for a model.", waiting),
        ):
            yield from _head(name, kind, text)
            yield f"{name} {value}"


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"
