"""The result as Markdown, for a paper or a pull request."""

from collections.abc import Iterator

from nmt_cli.evaluation.result import Evaluation, MetricScore
from nmt_cli.files.markdown import literal, table


def evaluation_markdown(evaluation: Evaluation) -> str:
    """A table of scores, the signatures, and the warnings."""
    compares = evaluation.comparison is not None
    headings = ["system"]
    for score in evaluation.systems[0].scores:
        headings += [score.metric, "p"] if compares else [score.metric]
    rows = []
    for system in evaluation.systems:
        cells = [literal(system.name)]
        for score in system.scores:
            cells += [_value(score), _p(score)] if compares else [_value(score)]
        rows.append([*cells, f"{system.bleu.length_ratio:.2f}" if system.bleu is not None else "–"])
    lines = [*table([*headings, "length"], rows), "", *_notes(evaluation)]
    return "\n".join(lines) + "\n"


def _notes(evaluation: Evaluation) -> Iterator[str]:
    comparison = evaluation.comparison
    yield f"{evaluation.sentences:,} sentences; ± is a 95 % interval; length is hypothesis / reference."
    if comparison is not None:
        test = "paired bootstrap" if comparison.test == "bootstrap" else "paired approximate randomization"
        yield (
            f"\\* differs from {literal(comparison.baseline)} with p < 0.05 "
            f"({test}, {comparison.samples:,} samples, seed {comparison.seed})."
        )
    yield ""
    for score in evaluation.systems[0].scores:
        yield f"- {score.metric}: `{score.signature}`"
    for text in evaluation.references:
        yield f"- reference: {literal(text.name)}, SHA-256 `{text.sha256[:12]}…`"
    for warning in evaluation.all_warnings():
        yield f"- warning: {literal(warning.message)}"


def _value(score: MetricScore) -> str:
    return f"{score.score:.1f}" + (
        f" ± {score.interval.half_width:.1f}" if score.interval is not None else ""
    )


def _p(score: MetricScore) -> str:
    return "" if score.p_value is None else f"{score.p_value:.4f}" + ("\\*" if score.significant else "")
