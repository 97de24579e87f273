"""An interactive page of explanations: one file that loads nothing and is safe with any text."""

import json
from collections.abc import Sequence

from markupsafe import Markup

from nmt_cli.drawing.attention import attention_svg
from nmt_cli.drawing.html import render, resource
from nmt_cli.explanation.explanation import Explanation

_PACKAGE = "nmt_cli.explanation"
_SCRIPTS = ("elements.js", "attention.js", "beam.js", "page.js")  # each uses those before it

# The browser must not fetch anything, whatever a sentence contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def explanation_page(explanations: Sequence[Explanation]) -> str:
    """The page for one or more explanations from one model."""
    first = explanations[0]
    return render(
        _PACKAGE,
        "page.html",
        policy=_POLICY,
        title=f"nmt explain: {first.system}, {first.source_lang} → {first.target_lang}",
        note=first.note,
        style=Markup(resource(_PACKAGE, "page.css")),
        pictures=[(explanation, _picture(explanation)) for explanation in explanations],
        data=Markup(script_data([explanation.to_data() for explanation in explanations])),
        script=Markup("\n".join(resource(_PACKAGE, name) for name in _SCRIPTS)),
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
