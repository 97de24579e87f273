"""Word alignments against gold ones: `i-j` is a sure link, `ipj` a possible one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nmt_cli.errors import CorpusError
from nmt_cli.evaluation.evaluate import text_facts, versions
from nmt_cli.evaluation.result import AlignmentEvaluation, AlignmentResult, Notice, TextFacts
from nmt_cli.evaluation.texts import Text, read_lines, refuse_empty, some_lines
from nmt_cli.metrics.word_alignment import AlignmentScore, GoldLinks, Link, score_alignments

_LINK = re.compile(r"(\d+)([-p])(\d+)")
_ENOUGH = 20  # sentences after which it is no accident that no link has a 0
_BETTER_REVERSED = 0.6  # of the error rate, from which on the order looks wrong


@dataclass(frozen=True)
class AlignmentRequest:
    """Alignments to judge, and how they are written."""

    alignments: Sequence[Path]
    gold: Path
    base: int = 0  # number of the first word in the alignments
    gold_base: int = 1  # and in the gold ones
    reverse: bool = False  # links of the alignments are target-source
    source: Path | None = None  # the sentences, to find links that point past them
    target: Path | None = None


@dataclass(frozen=True)
class _Links:
    """A file of links, counted from 0."""

    facts: TextFacts
    sure: list[frozenset[Link]]
    possible: list[frozenset[Link]]  # the sure ones included
    lowest: int | None  # index as written


def evaluate_alignments(request: AlignmentRequest) -> AlignmentEvaluation:
    """Precision, recall and AER of each set of alignments."""
    gold = _read(request.gold, request.gold_base, "--gold-base")
    targets = [GoldLinks(sure, possible) for sure, possible in zip(gold.sure, gold.possible, strict=True)]
    systems = [_judge(path, request, gold, targets) for path in request.alignments]
    return AlignmentEvaluation(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions(),
        gold=gold.facts,
        sentences=len(targets),
        sure=sum(len(links.sure) for links in targets),
        possible=sum(len(links.possible) for links in targets),
        systems=sorted(systems, key=lambda system: system.aer),
        warnings=[
            *_base_notices(request.gold, gold, request.gold_base, "--gold-base"),
            *_past_the_end(request.gold, gold.possible, request),
        ],
    )


def _judge(
    path: Path, request: AlignmentRequest, gold: _Links, targets: Sequence[GoldLinks]
) -> AlignmentResult:
    found = _read(path, request.base, "--alignments-base")
    if len(found.sure) != len(targets):
        raise CorpusError(
            f"{path} has {len(found.sure):,} lines, {request.gold} has {len(targets):,}",
            hint="line n of both must be the links of sentence pair n, an empty line if there are none",
        )
    links = [_turned(row) for row in found.possible] if request.reverse else found.possible
    score = score_alignments(zip(links, targets, strict=True))
    notices = [
        *_base_notices(path, found, request.base, "--alignments-base"),
        *_past_the_end(path, links, request),
        *_order_notices(path, links, targets, score, reverse=request.reverse),
    ]
    return AlignmentResult(
        name=str(path),
        text=found.facts,
        links=score.links,
        precision=score.precision,
        recall=score.recall,
        aer=score.error_rate,
        warnings=notices,
    )


def _read(path: Path, base: int, option: str) -> _Links:
    text = Text.open(path)
    sure: list[frozenset[Link]] = []
    possible: list[frozenset[Link]] = []
    lowest: int | None = None
    while lines := text.take(1 << 14):
        for line in lines:
            links = [_parse(word, path, len(sure) + 1) for word in line.split()]
            for i, _, j in links:
                lowest = min(i, j) if lowest is None else min(lowest, i, j)
                if min(i, j) < base:
                    raise CorpusError(
                        f"{path}, line {len(sure) + 1}: a link has the index {min(i, j)}, "
                        f"but words are counted from {base}",
                        hint=f"if its words are counted from 0, say so: {option} 0",
                    )
            sure.append(frozenset((i - base, j - base) for i, kind, j in links if kind == "-"))
            possible.append(frozenset((i - base, j - base) for i, _, j in links))
    refuse_empty([text])
    return _Links(text_facts(text), sure, possible, lowest)


def _parse(word: str, path: Path, line: int) -> tuple[int, str, int]:
    match = _LINK.fullmatch(word)
    if not match:
        raise CorpusError(
            f"{path}, line {line}: {word[:40]!r} is no link",
            hint="a line has links such as 0-0 1-2 (sure) or 1p2 (possible), between spaces",
        )
    return int(match[1]), match[2], int(match[3])


def _turned(links: frozenset[Link]) -> frozenset[Link]:
    return frozenset((j, i) for i, j in links)


def _base_notices(path: Path, links: _Links, base: int, option: str) -> Iterator[Notice]:
    if base == 0 and len(links.sure) >= _ENOUGH and links.lowest:
        yield Notice(
            name="index-base",
            message=f"{path}: no link has the index 0, so its words seem to be counted from 1",
            hint=f"if they are, say so: {option} 1",
        )


def _past_the_end(
    path: Path, links: Sequence[frozenset[Link]], request: AlignmentRequest
) -> Iterator[Notice]:
    for side, (file, name) in enumerate(((request.source, "source"), (request.target, "target"))):
        if file is None:
            continue
        sentences = read_lines(file)
        if len(sentences) != len(links):
            raise CorpusError(
                f"{file} has {len(sentences):,} lines, {path} has {len(links):,}",
                hint="line n of both must belong to sentence pair n",
            )
        past = [
            row + 1
            for row, (line, found) in enumerate(zip(sentences, links, strict=True))
            if any(link[side] >= len(line.split()) for link in found)
        ]
        if past:
            yield Notice(
                name="past-the-end",
                message=f"{path}: {some_lines(past)} have links past the end of the {name} sentence",
                hint="check from which number words are counted, and the order of source and target",
            )


def _order_notices(
    path: Path,
    links: Sequence[frozenset[Link]],
    targets: Sequence[GoldLinks],
    score: AlignmentScore,
    *,
    reverse: bool,
) -> Iterator[Notice]:
    turned = score_alignments(zip(map(_turned, links), targets, strict=True))
    if len(targets) >= _ENOUGH and turned.error_rate < _BETTER_REVERSED * score.error_rate:
        yield Notice(
            name="order",
            message=f"{path}: the other way round its AER would be {turned.error_rate:.1%} "
            f"instead of {score.error_rate:.1%}",
            hint="its links seem to be source-target: leave out --reverse"
            if reverse
            else "its links seem to be target-source: add --reverse",
        )
