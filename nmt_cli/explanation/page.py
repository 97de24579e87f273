"""Explanations in a browser: scripts and styles that draw them, also for a server, and an interactive page.

views.js describes the interface of the scripts. The page is one file that loads nothing and is safe with any text.
"""

import json
from collections.abc import Sequence

from markupsafe import Markup

from nmt_cli.drawing.attention import attention_svg
from nmt_cli.drawing.markup import content_security_policy, render, resource
from nmt_cli.explanation.explanation import Explanation

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
    """The page for one or more explanations from one model; `open_beam` unfolds the beams."""
    first = explanations[0]
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
        title=f"nmt explain: {first.system}, {first.source_lang} → {first.target_lang}",
        note=first.note,
        style=Markup(style),
        pictures=[(explanation, _picture(explanation)) for explanation in explanations],
        data=Markup(script_data(data)),
        script=Markup(script),
    )


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
