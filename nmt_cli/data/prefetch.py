"""Work ahead in a background thread."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class _End:
    """Nothing more comes: either all is done or this happened."""

    error: BaseException | None


def prefetch(items: Iterator[Item], depth: int) -> Iterator[Item]:
    """The same items in the same order, up to `depth` of them made in advance by a thread.

    What the thread raises is raised here, after the items before it. Closing the iterator ends the thread.
    """
    queue: Queue[Item | _End] = Queue(depth)
    stop = threading.Event()

    def produce() -> None:
        error = None
        try:
            for item in items:
                queue.put(item)
                if stop.is_set():
                    return
        except BaseException as raised:  # the consumer decides what it means
            error = raised
        queue.put(_End(error))

    thread = threading.Thread(target=produce, name="prefetch", daemon=True)
    thread.start()
    try:
        while not isinstance(item := queue.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stop.set()
        while thread.is_alive():
            with suppress(Empty):  # makes room for a thread that waits to put
                queue.get_nowait()
            thread.join(0.01)
