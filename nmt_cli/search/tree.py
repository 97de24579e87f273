"""The tree of everything that a search considered, for those who want to look at it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from nmt_cli.search.candidates import Candidates, Split


class Considered(NamedTuple):
    """A candidate of one step."""

    token: int
    parent: int  # slot of the hypothesis it continues, among those of the step before
    log_probability: float  # of the token
    total: float  # log P with the token
    slot: int | None  # where the hypothesis stands after this step; None if it ended or was dropped
    ended: bool


@dataclass
class SearchTree:
    """Give one to `search` and look at it afterwards; `candidates` are recorded at each step, or more."""

    candidates: int = 0  # at least twice the width of the beam
    _steps: list[tuple[Tensor, Candidates, Split]] = field(default_factory=list, repr=False)

    def add(self, sentences: Tensor, candidates: Candidates, split: Split) -> None:
        """A step of the sentences (B',) that are still looked at."""
        self._steps.append((sentences, candidates, split))

    def steps(self, sentence: int) -> list[list[Considered]]:
        """The candidates of each step of a sentence, best first, until it was done."""
        return [
            _considered(candidates, split, rows[0])
            for sentences, candidates, split in self._steps
            if (rows := (sentences == sentence).nonzero()[:, 0].tolist())
        ]


def _considered(candidates: Candidates, split: Split, row: int) -> list[Considered]:
    slots = {candidate: slot for slot, candidate in enumerate(split.order[row].tolist())}
    ended = split.ended[row].tolist()
    live = (split.live.scores[row] > float("-inf")).tolist()
    columns = (part[row].tolist() for part in candidates)
    result = []
    for i, (token, parent, total, log_p) in enumerate(zip(*columns, strict=True)):
        if total == float("-inf"):
            continue
        slot = slots.get(i)
        result.append(
            Considered(
                token=token,
                parent=parent,
                log_probability=log_p,
                total=total,
                slot=slot if slot is not None and live[slot] else None,
                ended=i < len(ended) and ended[i],
            )
        )
    return result
