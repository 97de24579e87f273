import threading
import time
from collections.abc import Generator, Iterator
from typing import cast

import pytest

from nmt_cli.data.batches import prefetch


def threads() -> int:
    return sum(thread.name == "prefetch" for thread in threading.enumerate())


@pytest.mark.parametrize("depth", [1, 3, 1000])
def test_all_items_arrive_in_order(depth: int) -> None:
    assert list(prefetch(iter(range(500)), depth)) == list(range(500))
    assert threads() == 0


def test_an_error_is_raised_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("three")

    stream = prefetch(items(), 5)
    assert [next(stream), next(stream)] == [1, 2]
    with pytest.raises(KeyError, match="three"):
        next(stream)
    assert threads() == 0


@pytest.mark.parametrize("taken", [1, 10])
def test_closing_early_ends_the_thread(taken: int) -> None:
    made = []

    def items() -> Iterator[int]:
        for i in range(10**9):
            made.append(i)
            yield i

    stream = cast(Generator[int], prefetch(items(), 2))
    assert [next(stream) for _ in range(taken)] == list(range(taken))
    stream.close()
    assert threads() == 0
    assert len(made) <= taken + 5


def test_items_are_made_in_advance_but_not_without_limit() -> None:
    made = []

    def items() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    stream = cast(Generator[int], prefetch(items(), 4))
    next(stream)
    deadline = time.monotonic() + 60
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert 5 <= len(made) <= 6
    stream.close()


def test_a_stream_that_nobody_reads_starts_no_thread() -> None:
    prefetch(iter([1]), 1)
    assert threads() == 0
