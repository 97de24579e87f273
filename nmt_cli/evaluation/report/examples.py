"""Two sentences, and the words that only one of them has."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape

from nmt_cli.evaluation.result import Example, SystemResult

_WIDE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # no spaces between words
_UNIT = re.compile(rf"\s+|[{_WIDE}]|[^\W{_WIDE}]+|[^\w\s]")


def units(text: str) -> list[str]:
    """Words, punctuation and spaces; together they are the text again."""
    return _UNIT.findall(text)


def marked_hypothesis(hypothesis: str, reference: str) -> str:
    """The hypothesis as HTML; what the reference does not have in that order is marked."""
    return _marked(hypothesis, reference, "extra")


def marked_reference(reference: str, hypothesis: str) -> str:
    """The reference as HTML; what the hypothesis misses is marked."""
    return _marked(reference, hypothesis, "missing")


def closest(hypothesis: str, references: Sequence[str]) -> str:
    """The reference that the hypothesis is most like."""
    if len(references) < 2:
        return references[0] if references else ""
    words = _words(units(hypothesis))
    return max(
        references, key=lambda text: SequenceMatcher(None, words, _words(units(text)), autojunk=False).ratio()
    )


def _marked(text: str, other: str, kind: str) -> str:
    parts = units(text)
    places = [place for place, part in enumerate(parts) if not part.isspace()]
    matcher = SequenceMatcher(None, [parts[place] for place in places], _words(units(other)), autojunk=False)
    same = {
        places[index]
        for block in matcher.get_matching_blocks()
        for index in range(block.a, block.a + block.size)
    }
    html: list[str] = []
    open_mark = False
    for place, part in enumerate(parts):
        differs = place not in same
        if part.isspace():  # marked only between marked words
            differs = open_mark and place + 1 < len(parts) and place + 1 not in same
        if differs != open_mark:
            html.append(f'<mark class="{kind}">' if differs else "</mark>")
            open_mark = differs
        html.append(escape(part))
    if open_mark:
        html.append("</mark>")
    return "".join(html)


def _words(parts: Sequence[str]) -> list[str]:
    return [part for part in parts if not part.isspace()]


# Sentences side by side, with what differs between them.


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
