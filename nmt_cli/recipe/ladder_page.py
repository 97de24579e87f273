"""The results of a ladder as a web page: scores, BLEU by length of all systems, attention maps, translations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup
from pydantic import ValidationError

from nmt_cli.drawing.attention import attention_svg
from nmt_cli.drawing.charts import Series, category_chart
from nmt_cli.drawing.markup import content_security_policy, render, resource
from nmt_cli.errors import DirectoryError
from nmt_cli.evaluation.breakdowns import Pieces, differences
from nmt_cli.evaluation.result import Evaluation, SystemResult
from nmt_cli.files.guarded import GuardedDirectory
from nmt_cli.info.runs import run_info
from nmt_cli.recipe.ladder import Ladder, LadderPlan, Rung

_PACKAGE = "nmt_cli.recipe"
_STYLE = "nmt_cli.evaluation", "report.css"  # the pages of one toolkit look alike


class Row(NamedTuple):
    """One system in the tables."""

    title: str
    idea: str
    parameters: int | None
    minutes: float | None
    greedy: SystemResult
    beam: SystemResult


class Map(NamedTuple):
    """The attention of one system."""

    title: str
    translation: str
    picture: Markup


class TranslatedSentence(NamedTuple):
    """A sentence with the translation of each system, in pieces that say what differs from the reference."""

    source: str
    reference: str
    translations: list[tuple[str, Pieces]]


class LadderResult(NamedTuple):
    """What the steps of a ladder have written, read again."""

    rows: list[Row]  # one per rung
    greedy: Evaluation
    explanations: list[list[dict[str, Any]]]  # of each rung, one per passage


def read_result(ladder: Ladder, plan: LadderPlan, out: Path) -> LadderResult:
    """The results in the output directory."""
    directory = GuardedDirectory(out)
    greedy, beam = (_evaluation(directory, plan.scores(name).name) for name in ("greedy", "beam"))
    rows, explanations = [], []
    for rung in ladder.rung:
        info = run_info(plan.run(rung))
        minutes = 60 * info.hours if info.hours is not None else None
        found = [_system(evaluation, rung) for evaluation in (greedy, beam)]
        rows.append(Row(rung.title, rung.idea, info.parameters, minutes, *found))
        explanations.append(directory.read_json(plan.explanations(rung).name))
    return LadderResult(rows, greedy, explanations)


def ladder_page(ladder: Ladder, result: LadderResult, command: str) -> str:
    """The whole page; `command` makes it again."""
    score = result.rows[0].greedy.scores[0]
    style = resource(*_STYLE) + resource(_PACKAGE, "ladder.css")
    return render(
        _PACKAGE,
        "ladder.html",
        policy=content_security_policy(style=style),
        title=ladder.title,
        style=Markup(style),
        ladder=ladder,
        rows=result.rows,
        evaluation=result.greedy,
        lengths=length_names(result.rows[0].greedy),
        series=(series := _series(ladder, result)),
        chart=Markup(_chart(result, series)),
        maps=_maps(ladder, result),
        passages=_passages(ladder, result),
        facts=[
            ("command", command),
            (score.metric, score.signature),
            ("made by", f"nmt {result.greedy.versions.nmt}, sacreBLEU {result.greedy.versions.sacrebleu}"),
        ],
    )


def length_names(system: SystemResult) -> list[str]:
    """The ranges of sentence lengths, such as 11–20 and 31+."""
    return [
        f"{bucket.shortest}+" if bucket.longest is None else f"{bucket.shortest}–{bucket.longest}"
        for bucket in system.length_buckets
    ]


def _series(ladder: Ladder, result: LadderResult) -> list[Series]:
    """BLEU by length: greedy search for every rung, and beam search for the last one."""
    systems = [(row.title, row.greedy) for row in result.rows]
    systems.append((f"{result.rows[-1].title}, beam {ladder.beam_size}", result.rows[-1].beam))
    return [
        Series(title, color, [bucket.bleu for bucket in system.length_buckets])
        for color, (title, system) in enumerate(systems)
    ]


def _chart(result: LadderResult, series: Sequence[Series]) -> str:
    system = result.rows[0].greedy
    counts = [f"{bucket.sentences:,}" for bucket in system.length_buckets]
    return category_chart("BLEU by source length", length_names(system), counts, series)


def _maps(ladder: Ladder, result: LadderResult) -> list[Map]:
    """The attention maps of the systems that have attention."""
    drawn = [index for index, passage in enumerate(ladder.passage) if passage.attention]
    found = []
    for row, explanations in zip(result.rows, result.explanations, strict=True):
        for one in (explanations[index] for index in drawn):
            if one["word_attention"] is not None:
                source, target = (
                    [word["text"] for word in one[f"{side}_words"]] for side in ("source", "target")
                )
                picture = Markup(attention_svg(source, target, one["word_attention"]))
                found.append(Map(row.title, one["translation"], picture))
    return found


def _passages(ladder: Ladder, result: LadderResult) -> list[TranslatedSentence]:
    return [
        TranslatedSentence(
            passage.source,
            passage.reference,
            [
                (row.title, differences(explanations[index]["translation"], passage.reference))
                for row, explanations in zip(result.rows, result.explanations, strict=True)
            ],
        )
        for index, passage in enumerate(ladder.passage)
    ]


def _evaluation(directory: GuardedDirectory, name: str) -> Evaluation:
    try:
        return Evaluation.model_validate(directory.read_json(name))
    except (ValueError, ValidationError) as error:
        raise DirectoryError(
            f"{directory.path / name} is damaged", hint="remove it and run the same command again"
        ) from error


def _system(evaluation: Evaluation, rung: Rung) -> SystemResult:
    return next(system for system in evaluation.systems if system.name == rung.name)
