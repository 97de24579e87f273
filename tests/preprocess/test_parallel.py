"""Several processes give the same results in the same order."""

import os
from collections.abc import Iterator

import pytest

from nmt_cli.errors import NmtError
from nmt_cli.preprocess.parallel import ordered_map


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


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(ordered_map(square, range(40), workers=2)) == [number * number for number in range(40)]


def test_many_items_are_done_in_other_processes_and_few_in_this_one() -> None:
    many = set(ordered_map(process_id, range(40), workers=2))
    assert os.getpid() not in many
    assert set(ordered_map(process_id, range(5), workers=2)) == {os.getpid()}
    assert set(ordered_map(process_id, range(40), workers=1)) == {os.getpid()}


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
