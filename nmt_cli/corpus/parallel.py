"""Mapping a function over a stream in several processes, results in the order of the stream."""

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

# Starting processes costs about a second of work each; this many items are done sooner without them.
_WORTH_IT = 12


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, workers: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with `function(item)`, computed by `workers` processes; a few items are under way at once.

    `function` must be importable or a value that can be sent to another process. Few items, or one worker, are
    done in this process.
    """
    stream = iter(items)
    head = list(islice(stream, _WORTH_IT)) if workers > 1 else []
    if len(head) < _WORTH_IT:
        for item in chain(head, stream):
            yield item, function(item)
        return
    # Spawned, not forked: this process has threads.
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=partial(_start_worker, function)
    ) as pool:
        under_way: deque[tuple[Item, Future[Any]]] = deque()
        try:
            for item in chain(head, stream):
                with _deaf_children():
                    under_way.append((item, pool.submit(_work, item)))
                if len(under_way) > 2 * workers:
                    done, future = under_way.popleft()
                    yield done, future.result()
            for done, future in under_way:
                yield done, future.result()
        except BrokenProcessPool as error:
            raise NmtError(
                "a worker process died", hint="it may have run out of memory: try again with --workers 1"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """A process that starts in this block never hears Ctrl-C: that is for the parent, which ends its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_function: Callable[[Any], Any] | None = None


def _start_worker(function: Callable[[Any], Any]) -> None:
    """Keep the function, so that it is sent once and not with every item; end when the parent is gone."""
    global _function
    _function = function
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _work(item: Any) -> Any:
    assert _function is not None
    return _function(item)
