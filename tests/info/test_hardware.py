"""Estimates for other hardware follow a few laws, and published figures."""

import pytest

from nmt_cli.errors import UsageError
from nmt_cli.info.hardware import CARDS, Hardware, UpdateTime, parse_hardware, update_time


def estimate(hardware: str, operations: float = 1e15, kernels: float = 300, half: bool = True) -> UpdateTime:
    return update_time(
        parse_hardware(hardware), operations=operations, kernels=kernels, parameters=10**8, half=half
    )


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_card_is_found_by_its_name_however_it_is_spelled(card: object) -> None:
    name = getattr(card, "name")  # noqa: B009  ids need the object
    for text in (f"8×{name}", f"8x{name.lower()}", f" 8 X {name.replace(' ', '-')} "):
        assert parse_hardware(text) == Hardware(card, 8)  # type: ignore[arg-type]
    assert parse_hardware(name) == Hardware(card, 1)  # type: ignore[arg-type]


def test_a_gaming_card_needs_no_rtx() -> None:
    assert str(parse_hardware("2x4090")) == "2×RTX 4090"


@pytest.mark.parametrize("text", ["", "8×", "×A100", "A100×8", "8×Z80", "-1×A100", "1.5×A100"])
def test_unknown_hardware_lists_what_is_known(text: str) -> None:
    with pytest.raises(UsageError, match="unknown hardware") as caught:
        parse_hardware(text)
    assert all(card.name in caught.value.hint for card in CARDS)


@pytest.mark.parametrize("text", ["0×A100", "999999999×A100"])
def test_there_must_be_a_possible_number_of_cards(text: str) -> None:
    with pytest.raises(UsageError, match=r"cards") as caught:
        parse_hardware(text)
    assert "8×A100" in caught.value.hint


def test_several_cards_share_the_products_and_add_the_exchange() -> None:
    one, eight = estimate("A100"), estimate("8×A100")
    assert eight.compute == pytest.approx(one.compute / 8)
    assert (one.exchange, eight.optimizer, eight.launches) == (0, one.optimizer, one.launches)
    assert eight.exchange == pytest.approx(2 * 7 / 8 * 4e8 / 240e9)  # of 400 MB at 80% of 300 GB/s
    assert one.total / 8 < eight.total < one.total


def test_a_tiny_batch_is_limited_by_launches_and_more_cards_do_not_help() -> None:
    one, two = (estimate(name, operations=1e9, kernels=2000) for name in ("H100", "2×H100"))
    assert one.limit == two.limit == "kernel launches"
    assert two.total > one.total


def test_fp32_is_slower_than_half_precision_most_of_all_without_tensor_cores() -> None:
    slowdown = {
        name: estimate(name, half=False).compute / estimate(name).compute for name in ("V100", "A100")
    }
    assert slowdown["A100"] == pytest.approx(2)
    assert slowdown["V100"] == pytest.approx(125 / 15.7 * 0.2 / 0.5)


@pytest.mark.parametrize(("card", "published"), [("A100", 140_909), ("V100", 76_438)])
def test_the_estimate_for_gnmt_is_within_a_fifth_of_published_speed(card: str, published: int) -> None:
    """NVIDIA's GNMT in half precision: 382 million operations per token, updates of 1,024 pairs of 48 tokens."""
    tokens = 1024 * 48
    time = update_time(parse_hardware(card), operations=382e6 * tokens, kernels=0, parameters=161_000_000)
    assert tokens / time.total == pytest.approx(published, rel=0.2)
