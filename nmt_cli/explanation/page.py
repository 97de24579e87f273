"""Explanations in a browser: scripts and styles that draw them, also for a server, and an interactive page.

views.js describes the interface of the scripts. The page is one file that loads nothing and is safe with any text.
"""

import json
from collections.abc import Sequence

from markupsafe import Markup

from nmt_cli.drawing.attention import HeatMap, attention_svg, heat_maps_svg
from nmt_cli.drawing.lines import line_chart
from nmt_cli.drawing.markup import content_security_policy, render, resource
from nmt_cli.explanation.explanation import DistanceMean, Explanation, Gradients, merged_distances

_PACKAGE = "nmt_cli.explanation"
_SCRIPTS = ("elements.js", "words.js", "matrix.js", "beam.js", "views.js")  # each uses those before it
_VIEWS = ("showExplanation", "showAttention", "showAlternatives", "showBeam", "showNBest")
_PARTS = (  # for pages that draw words of their own
    "make",
    "roving",
    "direction",
    "percent",
    "shade",
    "confidenceBar",
    "confidenceClass",
    "levelOf",
    "weightsOf",
    "describeWord",
)


def views_script() -> str:
    """A script that defines `nmtViews` and nothing else."""
    body = "\n".join(resource(_PACKAGE, name) for name in _SCRIPTS)
    exported = ", ".join((*_VIEWS, *_PARTS))
    return f'const nmtViews = (() => {{\n"use strict";\n{body}\nreturn {{ {exported} }};\n}})();\n'


def views_style() -> str:
    """The style sheet of the views, with the colors of light and dark mode."""
    return resource(_PACKAGE, "views.css")


def explanation_page(explanations: Sequence[Explanation], *, open_beam: bool = False) -> str:
    """The page for one or more explanations; `open_beam` unfolds the beams."""
    first = explanations[0]
    systems = dict.fromkeys(explanation.system for explanation in explanations)
    notes = dict.fromkeys(explanation.note for explanation in explanations)
    style = views_style() + resource(_PACKAGE, "page.css")
    script = views_script() + resource(_PACKAGE, "page.js")
    data = {
        "explanations": [explanation.to_data() for explanation in explanations],
        "open": ["matrix", "beam"] if open_beam else ["matrix"],
    }
    return render(
        _PACKAGE,
        "page.html",
        policy=content_security_policy(style=style, script=script),
        title=f"nmt explain: {', '.join(systems)}, {first.source_lang} → {first.target_lang}",
        note=first.note if len(notes) == 1 else "",
        style=Markup(style),
        pictures=[(explanation, _picture(explanation)) for explanation in explanations],
        gradients=[
            (explanation, Markup(gradient_maps_svg(explanation)))
            for explanation in explanations
            if explanation.gradients is not None
        ],
        distances=Markup(gradient_distances_svg(explanations)) if first.gradients is not None else "",
        data=Markup(script_data(data)),
        script=Markup(script),
    )


def gradient_maps_svg(explanation: Explanation) -> str:
    """Attention, if there is any, gradient norm and gradient × input of one sentence, side by side."""
    assert explanation.gradients is not None
    norms, products = explanation.gradients.shares()
    maps = [
        HeatMap("gradient norm", "share of the row", norms),
        HeatMap("gradient × input", "share of the row", products, signed=True),
    ]
    if explanation.word_attention is not None:
        maps.insert(0, HeatMap("attention", "attention weight", explanation.word_attention))
    return heat_maps_svg(explanation.source_labels, explanation.target_labels, maps)


def gradient_distances_svg(explanations: Sequence[Explanation]) -> str:
    """The mean gradient norm by distance, a line for each run."""
    series = {
        name: [(float(mean.distance), mean.norm) for mean in means]
        for name, means in distances_of_runs(explanations).items()
    }
    return line_chart(series, "gradient norm by distance", "steps from x_i to y_t", logarithmic=True)


def distances_of_runs(explanations: Sequence[Explanation]) -> dict[str, tuple[DistanceMean, ...]]:
    """The mean norm at each distance over all sentences of a run, by its name."""
    runs: dict[str, list[Gradients]] = {}
    for explanation in explanations:
        assert explanation.gradients is not None
        runs.setdefault(explanation.run or explanation.system, []).append(explanation.gradients)
    return {name: merged_distances(found) for name, found in runs.items()}


def script_data(data: object) -> str:
    """JSON that cannot end the script element it is embedded in."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _picture(explanation: Explanation) -> Markup:
    if explanation.word_attention is None:
        return Markup("")
    return Markup(
        attention_svg(explanation.source_labels, explanation.target_labels, explanation.word_attention)
    )
