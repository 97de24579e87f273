"""The page of the report. All text in it comes from others, so all of it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from nmt_cli.drawing.charts import (
    Series,
    Whisker,
    category_chart,
    histogram,
    legend,
    whisker_chart,
)
from nmt_cli.evaluation.report.examples import Pictures, system_examples
from nmt_cli.evaluation.report.style import COLORS, REST, STYLE
from nmt_cli.evaluation.result import ErrorLines, Evaluation, MetricScore, SystemResult


def report_page(evaluation: Evaluation, pictures: Pictures) -> str:
    """One HTML file without any other resource; `pictures` are of attention, for the examples of runs."""
    shown = _shown(evaluation)
    title = f"Evaluation of {evaluation.systems[0].name}" if len(evaluation.systems) == 1 else "Evaluation"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="faint">{escape(_subtitle(evaluation))}</p>',
            _warnings(evaluation),
            _scores(evaluation),
            _charts(evaluation, shown),
            _faults(evaluation),
            _examples(evaluation, shown, pictures),
            _facts(evaluation),
            "</body></html>\n",
        ]
    )


def _shown(evaluation: Evaluation) -> list[SystemResult]:
    """The systems of the charts: the best, and the baseline in any case."""
    best = evaluation.systems[:COLORS]
    baseline = evaluation.comparison.baseline if evaluation.comparison is not None else None
    if baseline is not None and baseline not in [system.name for system in best]:
        best = [*best[:-1], *(system for system in evaluation.systems if system.name == baseline)]
    return best


def _subtitle(evaluation: Evaluation) -> str:
    names = ", ".join(Path(text.name).name for text in evaluation.references)
    return f"{evaluation.sentences:,} sentences against {names} · {evaluation.created[:10]}"


def _warnings(evaluation: Evaluation) -> str:
    notices = evaluation.all_warnings()
    if not notices:
        return ""
    items = (
        f'<li>{escape(notice.message)}<br><span class="faint">{escape(notice.hint)}</span></li>'
        for notice in notices
    )
    return f'<h2>Warnings</h2><ul class="warnings">{"".join(items)}</ul>'


def _scores(evaluation: Evaluation) -> str:
    comparison = evaluation.comparison
    headings = ["system"]
    for score in evaluation.systems[0].scores:
        headings += [score.metric, "p"] if comparison is not None else [score.metric]
    headings += ["length", "brevity penalty", "precisions (1–4-grams)"]
    rows = []
    for system in evaluation.systems:
        is_baseline = comparison is not None and comparison.baseline == system.name
        badge = '<span class="badge">baseline</span>' if is_baseline else ""
        cells = [f"<td>{escape(system.name)}{badge}</td>"]
        for score in system.scores:
            cells.append(f'<td><span class="score">{_value(score)}</span></td>')
            if comparison is not None:
                cells.append(f"<td>{_p(score)}</td>")
        rows.append(
            f"<tr{' class=baseline' if is_baseline else ''}>{''.join(cells)}{_bleu_cells(system)}</tr>"
        )
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    return (
        f'<h2>Scores</h2><div class="scroll"><table class="wide"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{_reading(evaluation)}"
    )


def _value(score: MetricScore) -> str:
    interval = f" ± {score.interval.half_width:.1f}" if score.interval is not None else ""
    return f"<b>{score.score:.1f}</b>{interval}"


def _p(score: MetricScore) -> str:
    return "" if score.p_value is None else f"{score.p_value:.4f}" + ("*" if score.significant else "&nbsp;")


def _bleu_cells(system: SystemResult) -> str:
    if system.bleu is None:
        return "<td>–</td>" * 3
    precisions = " / ".join(f"{precision:.1f}" for precision in system.bleu.precisions)
    return (
        f"<td>{system.bleu.length_ratio:.2f}</td><td>{system.bleu.brevity_penalty:.3f}</td>"
        f"<td>{precisions}</td>"
    )


def _reading(evaluation: Evaluation) -> str:
    notes = ["± is a 95 % interval; length is hypothesis / reference."]
    comparison = evaluation.comparison
    if comparison is not None:
        test = "paired bootstrap" if comparison.test == "bootstrap" else "paired approximate randomization"
        notes.append(
            f"* differs from {comparison.baseline} with p < 0.05 ({test}, {comparison.samples:,} samples)."
        )
    return f'<p class="faint">{escape(" ".join(notes))}</p>'


def _charts(evaluation: Evaluation, shown: Sequence[SystemResult]) -> str:
    figures = [
        _whisker_figure(evaluation, shown),
        _length_figure(evaluation, shown),
        _distribution_figure(shown),
        _frequency_figure(evaluation, shown),
    ]
    left_out = len(evaluation.systems) - len(shown)
    note = (
        f'<p class="faint">Charts in color show {len(shown)} systems, the best and any baseline; '
        f"{left_out} more {'is' if left_out == 1 else 'are'} in the tables.</p>"
        if left_out
        else ""
    )
    return f'<h2>Behind the scores</h2>{note}<div class="charts">{"".join(figures)}</div>'


def _figure(title: str, legend_html: str, chart: str, caption: str) -> str:
    return f"<figure><h3>{escape(title)}</h3>{legend_html}{chart}<figcaption>{escape(caption)}</figcaption></figure>"


def _whisker_figure(evaluation: Evaluation, shown: Sequence[SystemResult]) -> str:
    if len(evaluation.systems) < 2 or evaluation.systems[0].scores[0].interval is None:
        return ""
    colors = {system.name: color for color, system in enumerate(shown)}
    rows = []
    for system in evaluation.systems:
        score = system.scores[0]
        assert score.interval is not None
        color = colors.get(system.name, REST)
        rows.append(Whisker(system.name, color, score.score, score.interval.low, score.interval.high))
    metric = evaluation.systems[0].scores[0].metric
    caption = "Intervals may overlap although a paired test tells two systems apart: see p."
    return _figure(f"{metric} with 95 % interval", "", whisker_chart(metric, rows), caption)


def _length_figure(evaluation: Evaluation, shown: Sequence[SystemResult]) -> str:
    buckets = shown[0].length_buckets
    if not buckets:
        return ""
    names = [
        f"{bucket.shortest}–{bucket.longest}" if bucket.longest is not None else f"{bucket.shortest}+"
        for bucket in buckets
    ]
    series = [
        Series(system.name, color, [bucket.bleu for bucket in system.length_buckets])
        for color, system in enumerate(shown)
    ]
    counts = [f"{bucket.sentences:,}" for bucket in buckets]
    title = f"BLEU by length of the {evaluation.length_of}"
    caption = f"{evaluation.length_unit}, and the number of sentences below"
    return _figure(title, legend(series), category_chart(title, names, counts, series), caption)


def _distribution_figure(shown: Sequence[SystemResult]) -> str:
    series = []
    for color, system in enumerate(shown):
        if system.distribution is None:
            return ""
        total = sum(system.distribution.counts)
        series.append(
            Series(system.name, color, [100 * count / total for count in system.distribution.counts])
        )
    title = "Distribution of sentence scores"
    return _figure(title, legend(series), histogram(title, series), "share of the sentences")


def _frequency_figure(evaluation: Evaluation, shown: Sequence[SystemResult]) -> str:
    title = "Recall of words by frequency in training"
    buckets = shown[0].frequency_buckets
    if not buckets:
        caption = "Not available: name the target side of the training data with --train FILE."
        return _figure(title, "", "", caption)
    names = [_frequency_name(bucket.least, bucket.most) for bucket in buckets]
    series = [
        Series(system.name, color, [100 * bucket.recall for bucket in system.frequency_buckets or ()])
        for color, system in enumerate(shown)
    ]
    counts = [f"{bucket.words:,}" for bucket in buckets]
    caption = f"times seen in {evaluation.training_data}, and the number of words of the reference below"
    return _figure(title, legend(series), category_chart(title, names, counts, series, unit=" %"), caption)


def _frequency_name(least: int, most: int | None) -> str:
    if most is None:
        return f"{least}+"
    return "never" if most == 0 else str(least) if least == most else f"{least}–{most}"


def _faults(evaluation: Evaluation) -> str:
    headings = {"empty": "empty", "untranslated": "left untranslated", "repeated": "caught in a loop"}
    headings["dropped_numbers"] = "number lost"
    if evaluation.source is None:
        del headings["untranslated"]
    rows = []
    for system in evaluation.systems:
        cells = "".join(f"<td>{_fault(getattr(system.faults, key))}</td>" for key in headings)
        rows.append(f"<tr><td>{escape(system.name)}</td>{cells}</tr>")
    head = "".join(f"<th>{heading}</th>" for heading in ("system", *headings.values()))
    whose = "the reference has it" if evaluation.source is None else "source and reference have it"
    return (
        f'<h2>Faults</h2><div class="scroll"><table class="wide"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="faint">Lines with each fault; a number is lost if {whose}. Point at a figure to see the first '
        "lines.</p>"
    )


def _fault(fault: ErrorLines) -> str:
    share = f" ({fault.count / fault.of:.1%})" if fault.of and fault.count else ""
    where = f"lines {', '.join(map(str, fault.lines))}" if fault.lines else "none"
    return f'<span title="{escape(where)}">{fault.count:,}{share}</span>'


def _examples(evaluation: Evaluation, shown: Sequence[SystemResult], pictures: Pictures) -> str:
    baseline = evaluation.comparison.baseline if evaluation.comparison is not None else None
    parts = [
        system_examples(system, baseline, pictures, opened=index == 0)
        for index, system in enumerate(shown)
        if system.examples is not None and system.distribution is not None
    ]
    if not parts:
        return ""
    note = (
        'By chrF of the sentence. <mark class="extra">Only in the hypothesis</mark>, '
        '<mark class="missing">missing from it</mark>.'
    )
    return f'<h2>Examples</h2><p class="faint">{note}</p>{"".join(parts)}'


def _facts(evaluation: Evaluation) -> str:
    rows = [(score.metric, score.signature) for score in evaluation.systems[0].scores]
    rows.append(("tokenizer", f"{evaluation.tokenizer} ({evaluation.tokenizer_reason})"))
    texts = [*evaluation.references, *([evaluation.source] if evaluation.source is not None else [])]
    rows += [(text.name, f"SHA-256 {text.sha256}") for text in texts]
    for system in evaluation.systems:
        if system.run is not None:
            settings = ", ".join(f"{key} = {value}" for key, value in system.run.search.items())
            rows.append((system.name, f"model SHA-256 {system.run.model_sha256}; {settings}"))
    versions = evaluation.versions
    rows.append(("made by", f"nmt {versions.nmt}, sacreBLEU {versions.sacrebleu}, Python {versions.python}"))
    items = "".join(f"<dt>{escape(name)}</dt><dd><code>{escape(value)}</code></dd>" for name, value in rows)
    return f'<h2>To compute it again</h2><dl class="facts">{items}</dl>'
