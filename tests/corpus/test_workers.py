"""Worker processes give the same results in the same order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from nmt_cli.corpus.workers import WorkerPool, ordered_map
from nmt_cli.errors import NmtError


def square(number: int) -> int:
    return number * number


def process_id(number: int) -> int:
    return os.getpid()


def fail_at_30(number: int) -> int:
    if number == 30:
        raise ValueError("30")
    return number


def die_at_30(number: int) -> int:
    if number == 30:
        os._exit(9)
    return number


def test_results_come_with_their_items_in_order() -> None:
    assert list(ordered_map(square, range(40), workers=2)) == [(number, number**2) for number in range(40)]


def test_many_items_are_done_in_other_processes_and_few_in_this_one() -> None:
    def processes(items: int, workers: int) -> set[int]:
        return {process for _, process in ordered_map(process_id, range(items), workers=workers)}

    assert os.getpid() not in processes(40, 2)
    assert processes(5, 2) == processes(40, 1) == {os.getpid()}


class Counting:
    """Counts its own calls."""

    calls = 0

    def __call__(self, item: int) -> int:
        self.calls += 1
        return self.calls


def test_a_worker_keeps_its_function_until_the_next_one() -> None:
    with WorkerPool(2) as pool:
        for _ in range(2):
            calls = [calls for _, calls in pool.map(Counting(), range(40))]
            assert sorted(calls)[:2] in ([1, 1], [1, 2])  # each of one or two workers starts at 1
            assert max(calls) >= 20


def test_items_are_taken_only_as_results_are_used() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    results = ordered_map(square, items(), workers=2)
    next(results)
    assert len(taken) < 20
    results.close()  # type: ignore[attr-defined]


def test_an_error_of_a_worker_is_raised_here() -> None:
    with pytest.raises(ValueError, match="30"):
        list(ordered_map(fail_at_30, range(40), workers=2))


def test_a_worker_that_dies_is_an_error_with_a_hint() -> None:
    with pytest.raises(NmtError, match="a worker process died") as caught:
        list(ordered_map(die_at_30, range(40), workers=2))
    assert "--workers 1" in caught.value.hint


SCRIPT = """
import sys, time
from nmt_cli.corpus.workers import ordered_map
for item, _ in ordered_map(time.sleep, [0.05] * 10_000, workers=2):
    print("under way", flush=True)
"""


def start(script: str) -> subprocess.Popen[str]:
    """A process in a group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.parametrize("wait", [0.4, 1.0, None])
def test_ctrl_c_gives_at_most_one_traceback(wait: float | None) -> None:
    process = start(SCRIPT)
    assert process.stdout is not None
    if wait is None:
        process.stdout.readline()
    else:
        time.sleep(wait)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode != 0
    assert stderr.count("Traceback") <= 1  # that of the script itself, which has no boundary


def test_workers_end_when_their_parent_is_killed() -> None:
    process = start(SCRIPT)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=600)  # returns only when the workers have closed the pipes as well
