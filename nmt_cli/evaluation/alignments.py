"""Word alignments against gold alignments: precision, recall and alignment error rate (AER).

This is a separate evaluation (`nmt align-eval`) that shares only the reading of text and the result models with
`evaluate`. A file has a line of links for each sentence pair: `i-j` is a sure link, `ipj` a possible one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nmt_cli.config.defaults import ALIGNMENTS_BASE, GOLD_BASE
from nmt_cli.drawing.markup import literal, table
from nmt_cli.errors import CorpusError, DataWarning
from nmt_cli.evaluation.result import AlignmentEvaluation, AlignmentResult, TextFacts, Versions
from nmt_cli.evaluation.texts import Text, read_lines, refuse_empty, refuse_two_readers, some_lines

_LINK = re.compile(r"(\d+)([-p])(\d+)")
_ENOUGH = 20  # sentences after which it is no coincidence that no link has the index 0
_REVERSED = 0.6  # of the AER: if swapping the sides gets below this, they are probably swapped
_BLOCK = 1 << 14  # lines


@dataclass(frozen=True)
class AlignmentRequest:
    """The alignments to evaluate, and the conventions they are written in."""

    alignments: Sequence[Path]
    gold: Path
    base: int = ALIGNMENTS_BASE  # index of the first word in the alignments
    gold_base: int = GOLD_BASE  # index of the first word in the gold alignments
    reverse: bool = False  # links in the alignments are target-source
    source: Path | None = None  # the sentences, to find links that point past their end
    target: Path | None = None


@dataclass(frozen=True)
class _Links:
    """A file of links, with indices that start at 0."""

    facts: TextFacts
    sure: list[frozenset[Link]]
    possible: list[frozenset[Link]]  # includes the sure ones
    lowest: int | None  # lowest index as written


def evaluate_alignments(request: AlignmentRequest) -> AlignmentEvaluation:
    """Precision, recall and AER of each file of alignments, lowest AER first."""
    refuse_two_readers([*request.alignments, request.gold, *filter(None, [request.source, request.target])])
    gold = _read(request.gold, request.gold_base, "--gold-base")
    gold_links = [GoldLinks(sure, possible) for sure, possible in zip(gold.sure, gold.possible, strict=True)]
    sentences = _Sentences(request, len(gold_links))
    systems = [_evaluate_file(path, request, gold_links, sentences) for path in request.alignments]
    return AlignmentEvaluation(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=Versions.current(),
        gold=gold.facts,
        sentences=len(gold_links),
        sure=sum(len(links.sure) for links in gold_links),
        possible=sum(len(links.possible) for links in gold_links),
        systems=sorted(systems, key=lambda system: system.aer),
        warnings=[
            *_base_warnings(request.gold, gold, request.gold_base, "--gold-base"),
            *sentences.warnings(request.gold, gold.possible),
        ],
    )


def alignment_markdown(evaluation: AlignmentEvaluation) -> str:
    """The result as a Markdown table."""
    rows = [
        [
            literal(system.name),
            *(f"{100 * share:.1f}" for share in (system.precision, system.recall, system.aer)),
            f"{system.links:,}",
        ]
        for system in evaluation.systems
    ]
    lines = table(["alignments", "precision", "recall", "AER", "links"], rows)
    gold = (
        f"Gold: {evaluation.gold.name}, {evaluation.sure:,} sure and {evaluation.possible:,} possible links."
    )
    return "\n".join([*lines, "", gold]) + "\n"


def _evaluate_file(
    path: Path, request: AlignmentRequest, gold: Sequence[GoldLinks], sentences: _Sentences
) -> AlignmentResult:
    found = _read(path, request.base, "--alignments-base")
    if len(found.sure) != len(gold):
        raise CorpusError(
            f"{path} has {len(found.sure):,} lines, {request.gold} has {len(gold):,}",
            hint="line n of both files must hold the links of sentence pair n; leave it empty if there are none",
        )
    links = [_swapped(row) for row in found.possible] if request.reverse else found.possible
    score = score_alignments(zip(links, gold, strict=True))
    return AlignmentResult(
        name=str(path),
        text=found.facts,
        links=score.links,
        precision=score.precision,
        recall=score.recall,
        aer=score.error_rate,
        warnings=[
            *_base_warnings(path, found, request.base, "--alignments-base"),
            *sentences.warnings(path, links),
            *_order_warnings(path, links, gold, score, reverse=request.reverse),
        ],
    )


def _read(path: Path, base: int, option: str) -> _Links:
    text = Text.open(path)
    sure: list[frozenset[Link]] = []
    possible: list[frozenset[Link]] = []
    lowest: int | None = None
    while lines := text.take(_BLOCK):
        for line in lines:
            links = [_parse(word, path, len(sure) + 1) for word in line.split()]
            for i, _, j in links:
                lowest = min(i, j) if lowest is None else min(lowest, i, j)
                if min(i, j) < base:
                    raise CorpusError(
                        f"{path}, line {len(sure) + 1}: a link has the index {min(i, j)}, "
                        f"but indices start at {base}",
                        hint=f"if the indices in this file start at 0, pass {option} 0",
                    )
            sure.append(frozenset((i - base, j - base) for i, kind, j in links if kind == "-"))
            possible.append(frozenset((i - base, j - base) for i, _, j in links))
    refuse_empty([text])
    return _Links(text.facts(), sure, possible, lowest)


def _parse(word: str, path: Path, line: int) -> tuple[int, str, int]:
    match = _LINK.fullmatch(word)
    if not match:
        raise CorpusError(
            f"{path}, line {line}: {word[:40]!r} is not a link",
            hint="a line holds links separated by spaces, such as 0-0 1-2 (sure) or 1p2 (possible)",
        )
    return int(match[1]), match[2], int(match[3])


def _swapped(links: frozenset[Link]) -> frozenset[Link]:
    return frozenset((j, i) for i, j in links)


class _Sentences:
    """The length in words of each sentence on the sides that were given, to find links past the end."""

    def __init__(self, request: AlignmentRequest, count: int) -> None:
        self._sides: list[tuple[int, str, list[int]]] = []
        for side, (file, name) in enumerate(((request.source, "source"), (request.target, "target"))):
            if file is None:
                continue
            lengths = [len(line.split()) for line in read_lines(file)]
            if len(lengths) != count:
                raise CorpusError(
                    f"{file} has {len(lengths):,} lines, {request.gold} has {count:,}",
                    hint="line n of both files must belong to sentence pair n",
                )
            self._sides.append((side, name, lengths))

    def warnings(self, path: Path, links: Sequence[frozenset[Link]]) -> Iterator[DataWarning]:
        """Lines whose links point past the end of a sentence."""
        for side, name, lengths in self._sides:
            past = [
                number
                for number, (length, found) in enumerate(zip(lengths, links, strict=True), start=1)
                if any(link[side] >= length for link in found)
            ]
            if past:
                verb = "has" if len(past) == 1 else "have"
                yield DataWarning(
                    name="past-the-end",
                    message=f"{path}: {some_lines(past)} {verb} links past the end of the {name} sentence",
                    hint="check whether indices start at 0 or 1, and which side comes first",
                )


def _base_warnings(path: Path, links: _Links, base: int, option: str) -> Iterator[DataWarning]:
    if base == 0 and len(links.sure) >= _ENOUGH and links.lowest:
        yield DataWarning(
            name="index-base",
            message=f"{path}: no link has the index 0, so indices seem to start at 1",
            hint=f"if they do, pass {option} 1",
        )


def _order_warnings(
    path: Path,
    links: Sequence[frozenset[Link]],
    gold: Sequence[GoldLinks],
    score: AlignmentScore,
    *,
    reverse: bool,
) -> Iterator[DataWarning]:
    swapped = score_alignments(zip(map(_swapped, links), gold, strict=True))
    if len(gold) >= _ENOUGH and swapped.error_rate < _REVERSED * score.error_rate:
        yield DataWarning(
            name="order",
            message=f"{path}: with source and target swapped, its AER would be {swapped.error_rate:.1%} "
            f"instead of {score.error_rate:.1%}",
            hint="its links seem to be source-target: drop --reverse"
            if reverse
            else "its links seem to be target-source: add --reverse",
        )


# ------------------------------------------------------------------------------------------------------------
# The arithmetic.


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
