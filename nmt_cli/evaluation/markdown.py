"""The result as Markdown, for a paper or a pull request."""

from collections.abc import Iterator, Sequence

from nmt_cli.evaluation.result import AlignmentEvaluation, Evaluation, MetricScore


def evaluation_markdown(evaluation: Evaluation) -> str:
    """A table of scores, the signatures, and the warnings."""
    compares = evaluation.comparison is not None
    headings = ["system"]
    for score in evaluation.systems[0].scores:
        headings += [score.metric, "p"] if compares else [score.metric]
    rows = []
    for system in evaluation.systems:
        cells = [_cell(system.name)]
        for score in system.scores:
            cells += [_value(score), _p(score)] if compares else [_value(score)]
        rows.append([*cells, f"{system.bleu.length_ratio:.2f}" if system.bleu is not None else "–"])
    lines = [*table([*headings, "length"], rows), "", *_notes(evaluation)]
    return "\n".join(lines) + "\n"


def alignment_markdown(evaluation: AlignmentEvaluation) -> str:
    """A table of precision, recall and AER."""
    rows = [
        [
            _cell(system.name),
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


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, numbers to the right."""
    rule = ["---", *("---:" for _ in headings[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows)]


def _notes(evaluation: Evaluation) -> Iterator[str]:
    comparison = evaluation.comparison
    yield f"{evaluation.sentences:,} sentences; ± is a 95 % interval; length is hypothesis / reference."
    if comparison is not None:
        test = "paired bootstrap" if comparison.test == "bootstrap" else "paired approximate randomization"
        yield (
            f"\\* differs from {_cell(comparison.baseline)} with p < 0.05 "
            f"({test}, {comparison.samples:,} samples, seed {comparison.seed})."
        )
    yield ""
    for score in evaluation.systems[0].scores:
        yield f"- {score.metric}: `{score.signature}`"
    for text in evaluation.references:
        yield f"- reference: {_cell(text.name)}, SHA-256 `{text.sha256[:12]}…`"
    for notice in evaluation.all_warnings():
        yield f"- warning: {_cell(notice.message)}"


def _value(score: MetricScore) -> str:
    return f"{score.score:.1f}" + (
        f" ± {score.interval.half_width:.1f}" if score.interval is not None else ""
    )


def _p(score: MetricScore) -> str:
    return "" if score.p_value is None else f"{score.p_value:.4f}" + ("\\*" if score.significant else "")


def _cell(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{character}" if character in "\\|*_`<>[]" else character for character in text)
