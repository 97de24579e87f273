"""Laws of the batcher, with models made of plain Python."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.server.batcher import SHORT, Batcher, Overloaded
from tests.server.upper import Upper

Scenario = Callable[[Batcher, Upper], Coroutine[Any, Any, None]]


def play(scenario: Scenario, *, capacity: int = 1000, batch_lines: int = 8) -> Upper:
    """Run a scenario with a batcher; its model afterwards."""
    model = Upper()
    batcher = Batcher(model, capacity=capacity, batch_lines=batch_lines)

    async def main() -> None:
        async with asyncio.timeout(60):
            await scenario(batcher, model)

    try:
        asyncio.run(main())
    finally:
        model.go.set()
        batcher.close()
    return model


async def hold(batcher: Batcher, model: Upper) -> asyncio.Task[Any]:
    """Keep the model busy with one line, so that what comes next waits in the queue."""
    model.go.clear()
    model.started.clear()
    task = asyncio.create_task(batcher.translate(["busy"]))
    while not model.started.is_set():
        await asyncio.sleep(0.001)
    return task


async def queued(batcher: Batcher, lines: int) -> None:
    while batcher.waiting != lines:
        await asyncio.sleep(0.001)


@settings(max_examples=40)
@given(
    requests=st.lists(st.lists(st.text("ab ", max_size=300), max_size=12), max_size=8),
    batch_lines=st.integers(1, 20),
)
def test_every_request_gets_its_own_translations_in_order(
    requests: list[list[str]], batch_lines: int
) -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        found = await asyncio.gather(*(batcher.translate(texts) for texts in requests))
        assert found == [[(text.upper(),) for text in texts] for texts in requests]

    model = play(scenario, batch_lines=batch_lines)
    assert sorted(text for batch in model.batches for text in batch) == sorted(
        text for texts in requests for text in texts
    )
    assert all(1 <= len(batch) <= batch_lines for batch in model.batches)


def test_requests_that_wait_together_share_a_batch() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        waiting = [asyncio.create_task(batcher.translate([name])) for name in "abc"]
        await queued(batcher, 3)
        model.go.set()
        await asyncio.gather(busy, *waiting)

    assert [sorted(batch) for batch in play(scenario).batches] == [["busy"], ["a", "b", "c"]]


def test_prefixes_and_alternatives_stay_with_their_requests() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        one = asyncio.create_task(batcher.translate(["a", "b"], ["1", "2"]))
        two = asyncio.create_task(batcher.translate(["a"], n_best=2))
        three = asyncio.create_task(batcher.translate(["c"]))
        await queued(batcher, 4)
        model.go.set()
        await busy
        assert await one == [("1A",), ("2B",)]
        assert await two == [("A", "A1")]
        assert await three == [("C",)]

    play(scenario)


def test_a_large_request_delays_a_small_one_by_one_batch_only() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        large = asyncio.create_task(batcher.translate(["large"] * 100))
        await queued(batcher, 100)
        small = asyncio.create_task(batcher.translate(["small"]))
        await queued(batcher, 101)
        model.go.set()
        await small
        assert not large.done()
        await asyncio.gather(busy, large)

    model = play(scenario)
    assert "small" in model.batches[1]


def test_a_short_line_is_not_in_the_batch_of_a_long_one() -> None:
    long = "l" * (3 * SHORT)

    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        tasks = [asyncio.create_task(batcher.translate([text])) for text in (long, "short", long, "short")]
        await queued(batcher, 4)
        model.go.set()
        await asyncio.gather(busy, *tasks)

    assert play(scenario).batches == [["busy"], [long, long], ["short", "short"]]


def test_a_full_queue_refuses_requests_and_recovers() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        waiting = asyncio.create_task(batcher.translate(["a"] * 9))
        await queued(batcher, 9)
        with pytest.raises(Overloaded) as refusal:
            await batcher.translate(["b", "b"])
        assert refusal.value.retry_after >= 1
        fits = asyncio.create_task(batcher.translate(["c"]))
        await queued(batcher, 10)
        model.go.set()
        await asyncio.gather(busy, waiting, fits)
        assert await batcher.translate(["d"] * 10) == [("D",)] * 10

    play(scenario, capacity=10)


def test_a_request_larger_than_the_queue_is_accepted_when_nothing_waits() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        assert len(await batcher.translate(["a"] * 30)) == 30

    play(scenario, capacity=10)


def test_a_cancelled_request_leaves_the_queue() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        gone = asyncio.create_task(batcher.translate(["gone"] * 5))
        kept = asyncio.create_task(batcher.translate(["kept"]))
        await queued(batcher, 6)
        gone.cancel()
        await queued(batcher, 1)
        model.go.set()
        await asyncio.gather(busy, kept)

    assert play(scenario).batches == [["busy"], ["kept"]]


def test_a_request_that_fails_fails_alone() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        bad = asyncio.create_task(batcher.translate(["fail", *"a" * 20]))
        good = asyncio.create_task(batcher.translate(["good"]))
        await queued(batcher, 22)
        model.go.set()
        await busy
        assert await good == [("GOOD",)]
        with pytest.raises(ValueError, match="fail"):
            await bad
        assert await batcher.translate(["later"]) == [("LATER",)]
        assert batcher.waiting == 0

    play(scenario)


def test_a_call_runs_in_the_thread_of_the_model_when_it_is_its_turn() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        call = asyncio.create_task(batcher.run(lambda: (threading.current_thread().name, len(model.batches))))
        late = asyncio.create_task(batcher.translate(["late"]))
        await queued(batcher, 2)
        model.go.set()
        assert await call == ("model en-up", 1)
        await asyncio.gather(busy, late)

        def fail() -> None:
            raise KeyError("call")

        with pytest.raises(KeyError):
            await batcher.run(fail)

    play(scenario)


def test_closing_finishes_the_queue() -> None:
    async def scenario(batcher: Batcher, model: Upper) -> None:
        busy = await hold(batcher, model)
        waiting = [asyncio.create_task(batcher.translate([name] * 20)) for name in "abc"]
        await queued(batcher, 60)
        closing = asyncio.create_task(asyncio.to_thread(batcher.close))
        model.go.set()
        assert [len(found) for found in await asyncio.gather(*waiting)] == [20, 20, 20]
        await asyncio.gather(busy, closing)

    play(scenario)
