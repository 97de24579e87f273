"""Sentences side by side, with what differs between them."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from nmt_cli.evaluation.report.differences import closest, marked_hypothesis, marked_reference
from nmt_cli.evaluation.result import Example, SystemResult

Pictures = Mapping[tuple[str, int], str]  # name of the system and line → SVG

_TITLES = (
    ("worst", "Worst sentences"),
    ("best", "Best sentences"),
    ("gained", "Furthest above the baseline"),
    ("lost", "Furthest below the baseline"),
)


def system_examples(system: SystemResult, baseline: str | None, pictures: Pictures, *, opened: bool) -> str:
    """The examples of one system, to be folded away."""
    assert system.examples is not None
    parts = []
    for key, title in _TITLES:
        examples: Sequence[Example] = getattr(system.examples, key)
        if examples and (baseline != system.name or key in ("worst", "best")):
            cards = "".join(_card(example, system.name, baseline, pictures) for example in examples)
            parts.append(f"<h3>{title}</h3>{cards}")
    state = " open" if opened else ""
    return (
        f'<details class="system"{state}><summary>{escape(system.name)}</summary>{"".join(parts)}</details>'
    )


def _card(example: Example, name: str, baseline: str | None, pictures: Pictures) -> str:
    reference = closest(example.hypothesis, example.references)
    return "".join(
        [
            '<div class="example">',
            f'<div class="where"><span>line {example.line:,}</span><span>chrF {example.chrf:.1f}</span></div>',
            *_rows(example, name, baseline, reference),
            _picture(pictures.get((name, example.line))),
            "</div>",
        ]
    )


def _rows(example: Example, name: str, baseline: str | None, reference: str) -> Iterator[str]:
    if example.source is not None:
        yield _row("source", escape(example.source))
    yield _row("reference", marked_reference(reference, example.hypothesis))
    yield _row(name, marked_hypothesis(example.hypothesis, reference))
    if example.baseline is not None and baseline not in (None, name):
        against = closest(example.baseline, example.references)
        score = f" ({example.baseline_chrf:.1f})" if example.baseline_chrf is not None else ""
        yield _row(f"{baseline}{score}", marked_hypothesis(example.baseline, against))


def _row(label: str, html: str) -> str:
    text = html or '<span class="faint">(empty)</span>'
    return f'<div class="row"><div class="label">{escape(label)}</div><div class="text" dir="auto">{text}</div></div>'


def _picture(svg: str | None) -> str:
    if svg is None:
        return ""
    return (
        f'<details class="attention"><summary>attention</summary><div class="picture">{svg}</div></details>'
    )
