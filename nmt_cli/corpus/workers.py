"""Map a function over a stream in worker processes, with results in the order of the stream."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import connection, get_context, parent_process
from typing import Any, Self, TypeVar

from nmt_cli.errors import NmtError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Starting a process takes about a second: fewer items than this are faster without workers.
_MIN_ITEMS = 12


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, workers: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with `function(item)`, computed by `workers` processes that end with the items."""
    with WorkerPool(workers) as pool:
        yield from pool.map(function, items)


class WorkerPool:
    """Worker processes for several functions, one after another. They start when there is enough to do."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._executor: ProcessPoolExecutor | None = None
        self._functions = 0  # sent so far

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Each item with `function(item)`, in order, with a few items in flight.

        `function` must be picklable; it is sent with every item. With one worker or few items, everything runs in
        this process.
        """
        stream = iter(items)
        head = list(islice(stream, _MIN_ITEMS)) if self._workers > 1 else []
        if len(head) < _MIN_ITEMS:
            for item in chain(head, stream):
                yield item, function(item)
            return
        if self._executor is None:
            # Spawned, not forked: this process has threads.
            self._executor = ProcessPoolExecutor(
                self._workers, mp_context=get_context("spawn"), initializer=_start_worker
            )
        self._functions += 1
        in_flight: deque[tuple[Item, Future[Any]]] = deque()
        try:
            for item in chain(head, stream):
                with _children_ignore_interrupts():
                    in_flight.append((item, self._executor.submit(_work, self._functions, function, item)))
                if len(in_flight) > 2 * self._workers:
                    done, future = in_flight.popleft()
                    yield done, future.result()
            for done, future in in_flight:
                yield done, future.result()
        except BrokenProcessPool as error:
            raise NmtError(
                "a worker process died", hint="it may have run out of memory; try again with --workers 1"
            ) from error
        finally:
            for _, future in in_flight:
                future.cancel()


@contextmanager
def _children_ignore_interrupts() -> Iterator[None]:
    """A process started in this block does not receive Ctrl-C: the parent does, and stops its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    """Exit when the parent is gone."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


_last: tuple[int, Callable[[Any], Any]] | None = None


def _work(number: int, function: Callable[[Any], Any], item: Any) -> Any:
    """Apply the function with this number: always the same object, which may keep what is expensive to prepare."""
    global _last
    if _last is None or _last[0] != number:
        _last = number, function
    return _last[1](item)
