"""Mapping a function over a stream in several processes, results in the order of the stream."""

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

from nmt_cli.errors import NmtError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Starting processes costs about half a second each; a corpus of this many blocks is done before they are up.
_WORTH_IT = 12


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, workers: int
) -> Iterator[Result]:
    """`map(function, items)`, computed by `workers` processes; at most a few items are under way at once.

    `function` must be importable or a value that can be sent to another process. Few items, or one worker, are
    done in this process.
    """
    stream = iter(items)
    head = list(islice(stream, _WORTH_IT)) if workers > 1 else []
    if len(head) < _WORTH_IT:
        yield from map(function, chain(head, stream))
        return
    # Spawned, not forked: this process has threads.
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=partial(_start_worker, function)
    ) as pool:
        under_way: deque[Future[Any]] = deque()
        try:
            for item in chain(head, stream):
                under_way.append(pool.submit(_work, item))
                if len(under_way) > 2 * workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenProcessPool as error:
            raise NmtError(
                "a worker process died", hint="it may have run out of memory: try again with --workers 1"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_function: Callable[[Any], Any] | None = None


def _start_worker(function: Callable[[Any], Any]) -> None:
    """Keep the function, so that it is sent once and not with every item."""
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends its workers


def _work(item: Any) -> Any:
    assert _function is not None
    return _function(item)
