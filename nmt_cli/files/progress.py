"""How far a long job is, for whoever shows it: one value for preprocessing, evaluation and downloads."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """`done` of `total` pairs, lines or bytes have passed a stage."""

    stage: str
    done: int
    total: int | None = None  # None: unknown, as while a stream is read
