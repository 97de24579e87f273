"""The search tree as plain data, and the beginnings of translations that the beam went on with."""

from collections.abc import Callable, Iterator, Sequence
from math import exp

from nmt_cli.explanation.explanation import BeamNode
from nmt_cli.search import Considered

Prefix = tuple[int, ...]


def beam_nodes(
    steps: Sequence[Sequence[Considered]], best: Sequence[int], label: Callable[[int], str]
) -> tuple[tuple[BeamNode, ...], ...]:
    """The candidates of every step; those on the way to `best`, ids that end in <eos>, are marked."""
    return tuple(
        tuple(
            BeamNode(
                piece=label(node.token),
                parent=node.parent if t else 0,  # samples have a root each, all the same
                probability=exp(node.log_probability),
                log_probability=node.total,
                slot=node.slot,
                ended=node.ended,
                best=_goes_on(node) and prefix == tuple(best[: t + 1]),
            )
            for node, prefix in step
        )
        for t, step in enumerate(_with_prefixes(steps))
    )


def kept_prefixes(steps: Sequence[Sequence[Considered]]) -> set[Prefix]:
    """The beginnings of translations that were in the beam, with <eos> where they ended."""
    return {prefix for step in _with_prefixes(steps) for node, prefix in step if _goes_on(node)}


def _goes_on(node: Considered) -> bool:
    return node.slot is not None or node.ended


def _with_prefixes(
    steps: Sequence[Sequence[Considered]],
) -> Iterator[list[tuple[Considered, Prefix]]]:
    """Each candidate with all that was said up to it."""
    prefixes: dict[int, Prefix] = {}  # by slot; none before the first step
    for step in steps:
        nodes = [(node, (*prefixes.get(node.parent, ()), node.token)) for node in step]
        yield nodes
        prefixes = {node.slot: prefix for node, prefix in nodes if node.slot is not None}
