"""The result for people: an HTML page (report.html, report.css) and a Markdown table.

A report can be passed on: it says nothing about the directories of the machine it was made on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from nmt_cli.drawing.attention import attention_svg
from nmt_cli.drawing.charts import Series, Whisker, category_chart, histogram, whisker_chart
from nmt_cli.drawing.markup import content_security_policy, literal, render, resource, table
from nmt_cli.errors import DataWarning
from nmt_cli.evaluation.breakdowns import Pieces, closest, differences
from nmt_cli.evaluation.result import (
    Comparison,
    Confusion,
    Evaluation,
    Example,
    MetricScore,
    SystemResult,
    TextFacts,
)
from nmt_cli.evaluation.systems import System
from nmt_cli.evaluation.texts import distinct_names, language_of

_PACKAGE = "nmt_cli.evaluation"
_COLORS = 6  # systems that get a color of their own in charts: --c0 … --c5
_GRAY = _COLORS  # the color of all others: --c6
_NAMES_IN_TITLE = 4
_GROUPS = (
    ("worst", "Worst sentences"),
    ("best", "Best sentences"),
    ("gained", "Furthest above the baseline"),
    ("lost", "Furthest below the baseline"),
)

Pictures = Mapping[tuple[str, int], str]  # name of the system and line number → SVG


class Figure(NamedTuple):
    """A chart with its surroundings."""

    title: str
    series: Sequence[Series]  # for the legend
    chart: Markup
    caption: str


class Card(NamedTuple):
    """One example: texts as pieces, with the differences marked."""

    line: int
    chrf: float
    source: Pieces | None
    reference: Pieces
    hypothesis: Pieces
    baseline_name: str
    baseline: Pieces | None
    picture: Markup | None


class ExampleGroup(NamedTuple):
    """Examples of one kind."""

    title: str
    cards: list[Card]


class SystemExamples(NamedTuple):
    """The examples of one system."""

    name: str
    groups: list[ExampleGroup]


def report_page(evaluation: Evaluation, pictures: Pictures) -> str:
    """The whole page; `pictures` are the attention maps of examples."""
    evaluation = without_absolute_paths(evaluation)
    baseline = evaluation.comparison.baseline if evaluation.comparison is not None else None
    shown = _shown(evaluation.systems, baseline)
    style = resource(_PACKAGE, "report.css")
    return render(
        _PACKAGE,
        "report.html",
        policy=content_security_policy(style=style),
        style=Markup(style),
        title=_title(evaluation),
        evaluation=evaluation,
        comparison=evaluation.comparison,
        reference_names=[Path(text.name).name for text in evaluation.references],
        warnings=evaluation.all_warnings(),
        shown=shown,
        hidden=len(evaluation.systems) - len(shown),
        figures=list(_figures(evaluation, shown)),
        confusions=[
            (system.name, confusion_rows(system.confusion))
            for system in evaluation.systems
            if system.confusion is not None
        ],
        examples=[
            _examples(system, baseline, pictures)
            for system in shown
            if system.examples is not None and system.distribution is not None
        ],
        facts=list(_facts(evaluation)),
    )


def _title(evaluation: Evaluation) -> str:
    """`Evaluation of small and large, de → en`"""
    names = [system.name for system in evaluation.systems]
    if len(names) > _NAMES_IN_TITLE:
        names = [*names[: _NAMES_IN_TITLE - 1], f"{len(names) - _NAMES_IN_TITLE + 1} more"]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    runs = [system.run for system in evaluation.systems if system.run is not None]
    source = runs[0].source_language if runs else None
    if source is None and evaluation.source is not None:
        source = language_of(Path(evaluation.source.name))
    if evaluation.target_language is None:
        return f"Evaluation of {listed}"
    return f"Evaluation of {listed}, {f'{source} →' if source else 'into'} {evaluation.target_language}"


def attention_pictures(system: System, result: SystemResult) -> dict[tuple[str, int], str]:
    """(name, line) → the attention map, for every example of a run whose model has attention."""
    from nmt_cli.translator import Details

    assert system.translator is not None
    examples = [example for key, _ in _GROUPS for example in getattr(result.examples, key, ())]
    sources = {example.line: example.source for example in examples if example.source is not None}
    lines = sorted(sources)
    translations = system.translator.translate(
        [sources[line] for line in lines], details=Details(attention=True)
    )
    pictures = {}
    for line, translation in zip(lines, translations, strict=True):
        if (found := translation.attention_map()) is not None:
            source, target, weights = found
            pictures[result.name, line] = attention_svg(source, target, weights.tolist())
    return pictures


def evaluation_markdown(evaluation: Evaluation) -> str:
    """The scores as a Markdown table, for a paper or a pull request, with signatures and warnings."""
    evaluation = without_absolute_paths(evaluation)
    comparison = evaluation.comparison
    headings = ["system"]
    for score in evaluation.systems[0].scores:
        headings += [score.metric, "p"] if comparison is not None else [score.metric]
    rows = []
    for system in evaluation.systems:
        cells = [literal(system.name)]
        for score in system.scores:
            cells += [_value(score)] if comparison is None else [_value(score), _p_value(score, comparison)]
        rows.append([*cells, f"{system.bleu.length_ratio:.2f}" if system.bleu is not None else "–"])
    parts = [*table([*headings, "length"], rows), "", *_confusion_markdown(evaluation), *_notes(evaluation)]
    return "\n".join(parts) + "\n"


def confusion_rows(confusion: Confusion) -> list[list[str]]:
    """The confusion matrix as a table with its headings; precision is below each label, recall beside it."""
    others = ["other"] if confusion.others else []
    rows = [["", *confusion.labels, *others, "recall"]]
    for index, (label, counts) in enumerate(zip(confusion.labels, confusion.counts, strict=True)):
        missing = [f"{confusion.missing[index]:,}"] if others else []
        rows.append([label, *(f"{count:,}" for count in counts), *missing, _share(confusion.recall(index))])
    shares = [_share(confusion.precision(index)) for index in range(len(confusion.labels))]
    rows.append(["precision", *shares, *([""] if others else []), ""])
    return rows


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}".replace("%", " %")


def _confusion_markdown(evaluation: Evaluation) -> Iterator[str]:
    for system in evaluation.systems:
        if system.confusion is not None:
            headings, *rows = confusion_rows(system.confusion)
            yield f"{literal(system.name)}, correct label by row, predicted label by column:"
            yield ""
            yield from table(
                [literal(one) for one in headings], [[literal(one) for one in row] for row in rows]
            )
            yield ""


def _notes(evaluation: Evaluation) -> Iterator[str]:
    comparison = evaluation.comparison
    yield f"{evaluation.sentences:,} sentences; ± is a 95 % interval; length is hypothesis / reference."
    if comparison is not None:
        yield (
            f"\\* differs from {literal(comparison.baseline)} with p < 0.05 "
            f"({comparison.test_name}, {comparison.samples:,} samples, seed {comparison.seed})."
        )
    yield ""
    for score in evaluation.systems[0].scores:
        yield f"- {score.metric}: `{score.signature}`"
    for text in evaluation.references:
        yield f"- reference: {literal(text.name)}, SHA-256 `{text.sha256[:12]}…`"
    for warning in evaluation.all_warnings():
        yield f"- warning: {literal(warning.message)}"


def _value(score: MetricScore) -> str:
    interval = f" ± {score.interval.half_width:.1f}" if score.interval is not None else ""
    return f"{score.score:.1f}{interval}"


def _p_value(score: MetricScore, comparison: Comparison) -> str:
    if score.p_value is None:
        return ""
    return comparison.shown(score.p_value) + ("\\*" if score.significant else "")


def _shown(systems: Sequence[SystemResult], baseline: str | None) -> list[SystemResult]:
    """The systems with colors: the best ones, and the baseline in any case."""
    best = list(systems[:_COLORS])
    if baseline is not None and baseline not in [system.name for system in best]:
        best = [*best[:-1], *(system for system in systems if system.name == baseline)]
    return best


def _figures(evaluation: Evaluation, shown: Sequence[SystemResult]) -> Iterator[Figure]:
    if len(evaluation.systems) > 1 and evaluation.systems[0].scores[0].interval is not None:
        yield _whisker_figure(evaluation, shown)
    if shown[0].length_buckets:
        yield _length_figure(evaluation, shown)
    if all(system.distribution is not None for system in shown):
        yield _distribution_figure(shown)
    yield _frequency_figure(evaluation, shown)


def _whisker_figure(evaluation: Evaluation, shown: Sequence[SystemResult]) -> Figure:
    colors = {system.name: color for color, system in enumerate(shown)}
    rows = []
    for system in evaluation.systems:
        score = system.scores[0]
        assert score.interval is not None
        color = colors.get(system.name, _GRAY)
        rows.append(Whisker(system.name, color, score.score, score.interval.low, score.interval.high))
    metric = evaluation.systems[0].scores[0].metric
    caption = "Intervals can overlap even if a paired test finds a significant difference: see p."
    return Figure(f"{metric} with 95 % interval", (), Markup(whisker_chart(metric, rows)), caption)


def _length_figure(evaluation: Evaluation, shown: Sequence[SystemResult]) -> Figure:
    buckets = shown[0].length_buckets
    names = [_range(bucket.shortest, bucket.longest) for bucket in buckets]
    series = [
        Series(system.name, color, [bucket.bleu for bucket in system.length_buckets])
        for color, system in enumerate(shown)
    ]
    title = f"BLEU by {evaluation.length_of} length"
    chart = category_chart(title, names, [f"{bucket.sentences:,}" for bucket in buckets], series)
    return Figure(
        title, series, Markup(chart), f"{evaluation.length_unit}, and below them the number of sentences"
    )


def _distribution_figure(shown: Sequence[SystemResult]) -> Figure:
    series = []
    for color, system in enumerate(shown):
        assert system.distribution is not None
        counts = system.distribution.counts
        series.append(Series(system.name, color, [100 * count / sum(counts) for count in counts]))
    title = "Distribution of sentence scores"
    return Figure(title, series, Markup(histogram(title, series)), "share of sentences")


def _frequency_figure(evaluation: Evaluation, shown: Sequence[SystemResult]) -> Figure:
    title = "Word recall by frequency in the training data"
    buckets = shown[0].frequency_buckets
    if not buckets:
        caption = "Not available: pass the target side of the training data with --train FILE."
        return Figure(title, (), Markup(""), caption)
    names = ["never" if bucket.most == 0 else _range(bucket.least, bucket.most) for bucket in buckets]
    series = [
        Series(system.name, color, [100 * bucket.recall for bucket in system.frequency_buckets or ()])
        for color, system in enumerate(shown)
    ]
    chart = category_chart(title, names, [f"{bucket.words:,}" for bucket in buckets], series, unit=" %")
    caption = f"occurrences in {evaluation.training_data}, and below them the number of reference words"
    return Figure(title, series, Markup(chart), caption)


def _range(low: int, high: int | None) -> str:
    if high is None:
        return f"{low}+"
    return str(low) if low == high else f"{low}–{high}"


def _examples(system: SystemResult, baseline: str | None, pictures: Pictures) -> SystemExamples:
    groups = []
    for key, title in _GROUPS:
        examples: Sequence[Example] = getattr(system.examples, key)
        if examples and (baseline != system.name or key in ("worst", "best")):
            cards = [_card(example, system.name, baseline, pictures) for example in examples]
            groups.append(ExampleGroup(title, cards))
    return SystemExamples(system.name, groups)


def _card(example: Example, name: str, baseline: str | None, pictures: Pictures) -> Card:
    reference = closest(example.hypothesis, example.references)
    picture = pictures.get((name, example.line))
    compared = None
    if example.baseline is not None and baseline not in (None, name):
        compared = differences(example.baseline, closest(example.baseline, example.references))
    score = f" ({example.baseline_chrf:.1f})" if example.baseline_chrf is not None else ""
    return Card(
        line=example.line,
        chrf=example.chrf,
        source=_plain(example.source) if example.source is not None else None,
        reference=differences(reference, example.hypothesis),
        hypothesis=differences(example.hypothesis, reference),
        baseline_name=f"{baseline}{score}",
        baseline=compared,
        picture=Markup(picture) if picture is not None else None,
    )


def _plain(text: str) -> Pieces:
    return [(text, False)] if text else []


def _facts(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """What it takes to compute the same scores again."""
    for score in evaluation.systems[0].scores:
        yield score.metric, score.signature
    yield "tokenizer", f"{evaluation.tokenizer} ({evaluation.tokenizer_reason})"
    for text in (*evaluation.references, *filter(None, [evaluation.source])):
        yield text.name, f"SHA-256 {text.sha256}"
    for system in evaluation.systems:
        if system.run is not None:
            settings = ", ".join(f"{key} = {value}" for key, value in system.run.search.items())
            yield system.name, f"model SHA-256 {system.run.model_sha256}; {settings}"
    versions = evaluation.versions
    yield "made by", f"nmt {versions.nmt}, sacreBLEU {versions.sacrebleu}, Python {versions.python}"


def without_absolute_paths(evaluation: Evaluation) -> Evaluation:
    """The result with the names of files and directories in place of their absolute paths."""
    texts = [*evaluation.references, *filter(None, [evaluation.source])]
    names = [text.name for text in (*texts, *(system.text for system in evaluation.systems))]
    names += [system.run.path for system in evaluation.systems if system.run is not None]
    names += [evaluation.training_data] if evaluation.training_data is not None else []
    absolute = [Path(name) for name in dict.fromkeys(names) if Path(name).is_absolute()]
    shorter = dict(zip(map(str, absolute), distinct_names(absolute), strict=True))
    return evaluation.model_copy(
        update={
            "references": [_text(text, shorter) for text in evaluation.references],
            "source": _text(evaluation.source, shorter) if evaluation.source is not None else None,
            "training_data": shorter.get(evaluation.training_data or "", evaluation.training_data),
            "systems": [_system(system, shorter) for system in evaluation.systems],
            "warnings": [_warning(warning, shorter) for warning in evaluation.warnings],
        }
    )


def _text(text: TextFacts, shorter: Mapping[str, str]) -> TextFacts:
    return text.model_copy(update={"name": shorter.get(text.name, text.name)})


def _system(system: SystemResult, shorter: Mapping[str, str]) -> SystemResult:
    run = system.run
    if run is not None:
        run = run.model_copy(update={"path": shorter.get(run.path, run.path)})
    warnings = [_warning(warning, shorter) for warning in system.warnings]
    return system.model_copy(update={"text": _text(system.text, shorter), "run": run, "warnings": warnings})


def _warning(warning: DataWarning, shorter: Mapping[str, str]) -> DataWarning:
    message, hint = warning.message, warning.hint
    for path in sorted(shorter, key=len, reverse=True):  # a path may be the beginning of another
        message, hint = message.replace(path, shorter[path]), hint.replace(path, shorter[path])
    return DataWarning(warning.name, message, hint)
