"""Precision, recall and error rate of word alignments against gold alignments."""

from collections.abc import Iterable
from dataclasses import dataclass

Link = tuple[int, int]  # positions of a source and a target word, counted from 0


@dataclass(frozen=True)
class GoldLinks:
    """The gold links of one sentence pair; every sure link is also possible."""

    sure: frozenset[Link]
    possible: frozenset[Link]


@dataclass(frozen=True)
class AlignmentScore:
    """Counts over all sentence pairs, and the scores that follow from them (Och and Ney 2003).

    precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|,  AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
    """

    links: int  # |A|
    sure: int  # |S|
    links_in_sure: int
    links_in_possible: int

    @property
    def precision(self) -> float:
        """The share of links that are possible."""
        return self.links_in_possible / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """The share of sure links that were found."""
        return self.links_in_sure / self.sure if self.sure else 0.0

    @property
    def error_rate(self) -> float:
        """The alignment error rate, AER."""
        total = self.links + self.sure
        return 1.0 - (self.links_in_sure + self.links_in_possible) / total if total else 0.0


def score_alignments(pairs: Iterable[tuple[frozenset[Link], GoldLinks]]) -> AlignmentScore:
    """The score of links against gold links, over all sentence pairs."""
    links = sure = in_sure = in_possible = 0
    for found, gold in pairs:
        links += len(found)
        sure += len(gold.sure)
        in_sure += len(found & gold.sure)
        in_possible += len(found & gold.possible)
    return AlignmentScore(links, sure, in_sure, in_possible)
