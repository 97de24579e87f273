"""What the updates of a run would take on other hardware: `nmt train --dry-run --on "8×A100"`.

    update    = max(compute, launches) + optimizer + exchange
    compute   = operations / (cards × listed peak × achieved fraction)
    launches  = kernels × 8 µs of host time: small batches do not keep a fast card busy
    optimizer = parameters × 40 bytes / memory bandwidth
    exchange  = 2 (n-1)/n × bytes of the gradient / bandwidth of the link, without overlap

docs/scaling.md compares it with published figures.
"""

import re
from dataclasses import dataclass

from nmt_cli.errors import UsageError

# Of the listed peak: what GNMT reaches on tensor cores, which wait for the steps of the recurrence, and without them.
TENSOR_FRACTION, PLAIN_FRACTION = 0.2, 0.5
LAUNCH = 8e-6  # seconds of host time per kernel
OPTIMIZER_BYTES = 40  # read and written per parameter: weight, gradient, two moments of Adam, moving average
LINK_FRACTION = 0.8  # of the listed bandwidth
MAX_CARDS = 4096


@dataclass(frozen=True)
class Card:
    """What the manufacturer lists, without sparsity. T is 10¹², G is 10⁹."""

    name: str
    half: float  # T operations per second in bf16 or fp16 on tensor cores
    single: float  # the same in fp32: as TF32 on tensor cores, or without them
    tf32: bool  # which of the two
    memory: float  # GB
    bandwidth: float  # GB/s of the memory
    link: float  # GB/s to the next card in one direction: NVLink, or PCIe


CARDS = (
    Card("V100", 125, 15.7, False, 16, 900, 150),
    Card("T4", 65, 8.1, False, 16, 320, 16),
    Card("A100", 312, 156, True, 40, 1555, 300),
    Card("A10", 125, 62.5, True, 24, 600, 32),
    Card("L4", 121, 60, True, 24, 300, 32),
    Card("L40S", 362, 183, True, 48, 864, 32),
    Card("H100", 989, 495, True, 80, 3350, 450),
    Card("RTX 3090", 71, 35.6, True, 24, 936, 32),
    Card("RTX 4090", 165, 82.6, True, 24, 1008, 32),
)


@dataclass(frozen=True)
class Hardware:
    """Some equal cards in one machine."""

    card: Card
    cards: int

    def __str__(self) -> str:
        return f"{self.cards}×{self.card.name}"


@dataclass(frozen=True)
class UpdateTime:
    """Seconds of one update, by what they are spent on."""

    compute: float
    launches: float
    optimizer: float
    exchange: float

    @property
    def total(self) -> float:
        """The estimate."""
        return max(self.compute, self.launches) + self.optimizer + self.exchange

    @property
    def limit(self) -> str:
        """What takes most of the time."""
        parts = {
            "matrix products": self.compute,
            "kernel launches": self.launches,
            "the optimizer": self.optimizer,
            "the exchange of gradients": self.exchange,
        }
        return max(parts, key=parts.__getitem__)


def parse_hardware(text: str) -> Hardware:
    """`8×A100`, `8xA100` or `A100`."""
    match = re.fullmatch(r"(?:(\d{1,9})\s*[×xX*]\s*)?(.+)", text.strip(), re.DOTALL)
    name = _plain(match.group(2)) if match else ""
    card = next(
        (card for card in CARDS if name in (_plain(card.name), _plain(card.name).removeprefix("rtx"))), None
    )
    known = ", ".join(card.name for card in CARDS)
    if match is None or card is None:
        raise UsageError(f"--on {text}: unknown hardware", hint=f"write 8×A100 or 8xA100; known are {known}")
    cards = int(match.group(1) or 1)
    if not 1 <= cards <= MAX_CARDS:
        raise UsageError(
            f"--on {text}: {cards:,} cards", hint=f"use 1 to {MAX_CARDS:,}, such as 8×{card.name}"
        )
    return Hardware(card, cards)


def update_time(
    hardware: Hardware,
    *,
    operations: float,
    kernels: float,
    parameters: int,
    half: bool = True,
    gradient_bytes: int = 4,
) -> UpdateTime:
    """Estimate one update of so many floating-point operations, all cards together, and kernels, on each card.

    `half`: products in bf16 or fp16; `gradient_bytes`: per parameter, as exchanged
    """
    card, n = hardware.card, hardware.cards
    peak = 1e12 * (card.half if half else card.single)
    fraction = TENSOR_FRACTION if half or card.tf32 else PLAIN_FRACTION
    return UpdateTime(
        compute=operations / (n * peak * fraction),
        launches=kernels * LAUNCH,
        optimizer=parameters * OPTIMIZER_BYTES / (1e9 * card.bandwidth),
        exchange=2 * (n - 1) / n * parameters * gradient_bytes / (1e9 * card.link * LINK_FRACTION),
    )


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()
