"""Map a function over a stream in worker processes, with results in the order of the stream."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from multiprocessing import connection, get_context, parent_process
from typing import Any, TypeVar

from nmt_cli.errors import NmtError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Starting a process takes about a second: fewer items than this are faster without workers.
_MIN_ITEMS = 12


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, workers: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with `function(item)`, computed by `workers` processes with a few items in flight.

    `function` must be picklable. With one worker or few items, everything runs in this process.
    """
    stream = iter(items)
    head = list(islice(stream, _MIN_ITEMS)) if workers > 1 else []
    if len(head) < _MIN_ITEMS:
        for item in chain(head, stream):
            yield item, function(item)
        return
    # Spawned, not forked: this process has threads.
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=partial(_start_worker, function)
    ) as pool:
        in_flight: deque[tuple[Item, Future[Any]]] = deque()
        try:
            for item in chain(head, stream):
                with _children_ignore_interrupts():
                    in_flight.append((item, pool.submit(_work, item)))
                if len(in_flight) > 2 * workers:
                    done, future = in_flight.popleft()
                    yield done, future.result()
            for done, future in in_flight:
                yield done, future.result()
        except BrokenProcessPool as error:
            raise NmtError(
                "a worker process died", hint="it may have run out of memory; try again with --workers 1"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _children_ignore_interrupts() -> Iterator[None]:
    """A process started in this block does not receive Ctrl-C: the parent does, and stops its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_function: Callable[[Any], Any] | None = None


def _start_worker(function: Callable[[Any], Any]) -> None:
    """Keep the function, so that it is sent once and not with every item; exit when the parent is gone."""
    global _function
    _function = function
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _work(item: Any) -> Any:
    assert _function is not None
    return _function(item)
